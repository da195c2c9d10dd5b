ADDRESS: int
ROOM: int

class Record:
    """What a launch needs; ``pointer`` is its ``self``. ``other``: address and ``self`` of the other launch."""

    pointer: int
    def __init__(self, spread: bool, nd: int, other: int, other_self: int) -> None: ...
    def entries(self) -> tuple[int, int, int]:
        """Shapes in the table, shapes that were not found in it, and evictions."""
