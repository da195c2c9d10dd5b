"""The launch of ``matmul``: see matmul.pyx."""

from umiak.backends.cpu.providers.table import Shapes

ADDRESS: int
STEPS: dict[str, int]

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
    ) -> None: ...
