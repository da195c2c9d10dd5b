"""Attention on the CPU: see attention.pyx."""

STRIPS: int  # of lanes in a tile of the gradient

class Attention:
    address: int
    self_pointer: int
    def __init__(
        self,
        functions: dict[str, int],
        keep: object,
        *,
        gradient: int,
        wide: bool,
        stored: int,
        lanes: int,
        width: int,
        sizes: list[int],
        keys: int,
        causal: bool,
        by_rows: int = 0,
        inputs: int = 4,
        mask_at: int = 3,
        mask: str | None = None,
        mask_stored: int = 0,
        hides_rows: bool = False,
        blocks: bool = False,
        dropout: bool = False,
        with_lse: bool = False,
        with_mask: bool = False,
        with_grad_lse: bool = False,
        softcap: float = 0.0,
    ) -> None: ...
