"""Clocks of one machine, compared."""

from __future__ import annotations

from collections.abc import Callable

TRIES = 5


def clock_offset(clock: Callable[[], int], other: Callable[[], int]) -> int:
    """Return what a reading of ``other`` lacks of one of ``clock`` at the same moment.

    A thread may be put aside between two readings, for as long as others compute. Of a few comparisons the shortest
    counts, which is wrong by half of what it takes at most.
    """
    least, offset = None, 0
    for _ in range(TRIES):
        start = clock()
        reading = other()
        end = clock()
        if least is None or end - start < least:
            least, offset = end - start, (start + end) // 2 - reading
    return offset
