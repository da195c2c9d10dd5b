"""The launch of ``matmul``: see matmul.pyx."""

from umiak.backends.cpu.providers.table import Shapes

ADDRESS: int
STEPS: dict[str, int]

def native_bfloat16() -> bool:
    """Return whether the processor multiplies bfloat16 itself."""

def strip_of(m: int, n: int, k: int) -> tuple[int, int] | None:
    """Return (columns, multiple of rows) of the strips in which the library has the second of two matrices of bfloat16,
    m × k and k × n; None where it is as fast with one that lies as it is."""

class LaunchState(Shapes):
    """The state of a launch; ``pointer`` is its ``self``."""

    def __init__(
        self,
        dtype: int,
        rank_x: int,
        rank_y: int,
        tx: bool,
        ty: bool,
        libs: int,
        steps: tuple[int, ...] = (),
        strip: tuple[int, int] = (0, 0),
        widens: bool = False,
    ) -> None: ...
