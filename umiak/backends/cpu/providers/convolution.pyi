from collections.abc import Sequence

from umiak.backends.cpu.providers.table import Shapes

ADDRESS: int

class Record(Shapes):
    """What a launch needs; ``pointer`` is its ``self``."""

    def __init__(self, kind: int, dtype: int, nd: int, libs: int, steps: tuple[int, ...] = ()) -> None: ...
    def preferred(self, dims: Sequence[int], words: Sequence[int]) -> dict[str, tuple[str, int]] | None:
        """How oneDNN would have the operands of a launch with these integers lie, if it could choose.

        For x, w and g each: "first" or "last" (channels), or "own" for blocks of its own; and bytes. None where it has
        nothing of its own for them. The place where a pass that keeps weights in such a layout starts.
        """
