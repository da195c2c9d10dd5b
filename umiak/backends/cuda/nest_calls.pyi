"""Calls of nests whose work was prepared, from dispatch to the driver without Python."""

from collections.abc import Callable
from typing import Any

from umiak.backends.cuda.launch_entry import Entry

def wait_for_each(bit: int, on: bool) -> None:
    """Leave calls to Python, or do so no longer, for the reason of this number."""

class Line:
    """A stream as launches see it: the driver's handle, and what records its work (None: nothing does)."""

    handle: int
    capture: Any

    def __init__(self, place: int, id: int, handle: int) -> None: ...

class Lines:
    """The streams of a device, its context, and the driver's ``cuCtxSetCurrent`` by its address. ``check(call, code)``
    raises for a code of the driver's."""

    place: int

    def __init__(self, place: int, set_current: int, context: int, check: Callable[[str, int], None]) -> None: ...
    def add(self, id: int, line: Line) -> None:
        """Know a stream."""

    def clear(self) -> None:
        """Forget all streams."""

class Table:
    """The work that was prepared of one kernel, by the first ``n_keys`` of the integers that it asked for; the extras
    behind them are handed on. ``n_pointers``: of operands and results."""

    n_keys: int
    n_extras: int
    n_pointers: int
    count: int
    address: int

    def __init__(self, owner: Lines, n_keys: int, n_extras: int) -> None: ...
    def add(
        self,
        key: tuple[int, ...],
        n_pointers: int,
        temporaries: tuple[int, ...],
        launches: list[tuple[Entry, int, int, int, int]],
        keep: object,
    ) -> None:
        """Know the work of calls with these integers: bytes of temporaries, and of each launch its entry, global
        scratch (-1: that of the launch before), scratch of its units, and which extras are its first integers (from,
        number). ``keep`` lives as long."""
