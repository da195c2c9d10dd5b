from umiak.backends.cpu.providers.table import Shapes

ADDRESS: int
STEPS: dict[str, int]

class Record(Shapes):
    """What a launch needs; ``pointer`` is its ``self``."""

    def __init__(
        self,
        dtype: int,
        rank_x: int,
        rank_y: int,
        tx: bool,
        ty: bool,
        libs: int,
        steps: tuple[int, ...] = (),
    ) -> None: ...
