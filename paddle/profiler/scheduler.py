"""Schedules: which steps are recorded."""

from __future__ import annotations

from collections.abc import Callable

from paddle._public import public
from paddle.profiler.names import ProfilerState
from umiak.util.errors import op_error


@public("paddle.profiler")
def make_scheduler(
    *, closed: int, ready: int, record: int, repeat: int = 0, skip_first: int = 0
) -> Callable[[int], ProfilerState]:
    """Make a schedule for a ``Profiler``: rounds of ``closed``, then ``ready``, then ``record`` steps.

    Args:
        closed: steps in which nothing is done.
        ready: steps whose recording is dropped.
        record: steps that are recorded; at least 1.
        repeat: how many rounds; 0 for no end.
        skip_first: steps before the first round.

    Returns:
        A function from the number of a step to its ``ProfilerState``.

    Raises:
        ValueError: a negative number, or no step to record.

    Example:
        >>> import paddle
        >>> schedule = paddle.profiler.make_scheduler(closed=1, ready=1, record=2, repeat=1)
        >>> [schedule(step).name for step in range(5)]
        ['CLOSED', 'READY', 'RECORD', 'RECORD_AND_RETURN', 'CLOSED']
    """
    if min(closed, ready, repeat, skip_first) < 0 or record < 1:
        got = f"closed={closed}, ready={ready}, record={record}, repeat={repeat}, skip_first={skip_first}"
        raise op_error(ValueError, "make_scheduler", "numbers of at least 0, and 1 step to record", got)
    length = closed + ready + record

    def state(step: int) -> ProfilerState:
        if step < 0:
            raise op_error(ValueError, "make_scheduler", "a step of at least 0", step)
        at = step - skip_first
        if at < 0 or (repeat and at >= repeat * length) or at % length < closed:
            return ProfilerState.CLOSED
        if at % length < closed + ready:
            return ProfilerState.READY
        return ProfilerState.RECORD if at % length < length - 1 else ProfilerState.RECORD_AND_RETURN

    return state


def always(step: int) -> ProfilerState:
    """Record from start to stop."""
    return ProfilerState.RECORD


def between(first: int, last: int) -> Callable[[int], ProfilerState]:
    """Record the steps from ``first`` to before ``last``."""
    if not 0 <= first < last:
        raise op_error(ValueError, "Profiler", "a pair (first, last) with 0 <= first < last", (first, last))
    ready = min(first, 1)
    return make_scheduler(closed=first - ready, ready=ready, record=last - first, repeat=1)
