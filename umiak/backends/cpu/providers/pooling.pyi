"""The launch of sums and means over windows and of the sums' transpose: see pooling.pyx."""

from umiak.backends.cpu.providers.table import Shapes

ADDRESS: int

class LaunchState(Shapes):
    """The state of a launch; ``pointer`` is its ``self``. ``kind``: "sum", "spread" or "mean". ``other``: address and
    ``self`` of the other launch, of sums where this one is of means.
    """

    def __init__(self, kind: str, nd: int, other: int, other_self: int) -> None: ...
