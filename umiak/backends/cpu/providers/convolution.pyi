from umiak.backends.cpu.providers.table import Shapes

ADDRESS: int

class LaunchState(Shapes):
    """The state of a launch; ``pointer`` is its ``self``."""

    def __init__(self, kind: int, dtype: int, nd: int, libs: int, steps: tuple[int, ...] = ()) -> None: ...
