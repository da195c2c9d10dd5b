from umiak.backends.cpu.providers.table import Shapes

ADDRESS: int

class Record(Shapes):
    """What a launch needs; ``pointer`` is its ``self``."""

    def __init__(self, kind: int, dtype: int, nd: int, libs: int, steps: tuple[int, ...] = ()) -> None: ...
