"""Launching chains of nests: one launch after the other, with temporaries among the pointers."""

from collections.abc import Sequence
from typing import Any

ALWAYS: int
APART: int
TOGETHER: int

class ChainLauncher:
    """``links``: per nest its launch address, its ``self``, how many dims it asks for and when it is launched:
    ``ALWAYS``, only with the result ``APART`` from the operand, or only with both ``TOGETHER`` in one memory.
    ``pointers``: of a launch; ``into``: of them, this operand and this result.

    The dims of a launch are the bytes of the temporaries, then what the nests ask for. ``keep`` lives as long as the
    launcher.
    """

    def __init__(
        self,
        links: Sequence[tuple[int, int, int, int]],
        pointers: int,
        temporaries: int,
        keep: Any,
        into: tuple[int, int] | None = None,
    ) -> None: ...
    @property
    def address(self) -> int:
        """``int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream)``."""

    @property
    def self_pointer(self) -> int: ...
