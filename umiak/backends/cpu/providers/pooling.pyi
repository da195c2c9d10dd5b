from umiak.backends.cpu.providers.table import Shapes

ADDRESS: int

class LaunchState(Shapes):
    """The state of a launch; ``pointer`` is its ``self``. ``other``: address and ``self`` of the other launch."""

    def __init__(self, spread: bool, nd: int, other: int, other_self: int) -> None: ...
