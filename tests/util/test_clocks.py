"""Clocks that are compared by a thread which others keep from computing."""

import pytest

from umiak.util.clocks import TRIES, clock_offset


@pytest.mark.parametrize("quiet", range(TRIES))
def test_one_comparison_that_nobody_interrupts_is_enough(quiet):
    """Readings take 2; but for those of one comparison there is a pause before or after the other clock."""
    time, readings = 0, 0

    def read():
        nonlocal time, readings
        comparison, step = divmod(readings, 3)
        time += 2 if comparison == quiet or step != 1 + comparison % 2 else 10_000
        readings += 1
        return time

    assert abs(clock_offset(read, lambda: read() - 777) - 777) <= 2
