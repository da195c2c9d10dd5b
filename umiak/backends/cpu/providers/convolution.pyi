from collections.abc import Sequence

ADDRESS: int
ROOM: int

class Record:
    """What a launch needs; ``pointer`` is its ``self``."""

    pointer: int
    def __init__(self, kind: int, dtype: int, nd: int, libs: int, steps: tuple[int, ...] = ()) -> None: ...
    def preferred(self, dims: Sequence[int], words: Sequence[int]) -> dict[str, tuple[str, int]] | None:
        """How oneDNN would have the operands of a launch with these integers lie, if it could choose.

        For x, w and g each: "first" or "last" (channels), or "own" for blocks of its own; and bytes. None where it has
        nothing of its own for them. The place where a pass that keeps weights in such a layout starts.
        """

    def entries(self) -> tuple[int, int, int]:
        """Shapes in the table, shapes that were not found in it, and evictions."""
