"""Ranges of a profile under the names of NVTX."""

from __future__ import annotations

import functools
import threading
from typing import Any

from paddle._public import public
from paddle.profiler.ranges import RecordEvent
from umiak.util.errors import op_error


class _Open(threading.local):
    """The ranges of a thread that are open, the innermost last."""

    def __init__(self) -> None:
        self.ranges: list[RecordEvent] = []


_open = _Open()


@functools.cache
def _package() -> Any:
    """The package ``nvtx``, whose ranges tools of NVIDIA show; None where it is not installed."""
    try:
        import nvtx
    except ImportError:
        return None
    return nvtx


@public("paddle.device paddle.cuda")
class nvtx:
    """Ranges in the profile, as :class:`paddle.profiler.RecordEvent` makes them, that end in the reverse order.

    Where the package ``nvtx`` is installed, they are ranges of NVTX, too, which tools of NVIDIA show.

    Example:
        >>> import paddle
        >>> with paddle.profiler.Profiler() as profiler:
        ...     paddle.cuda.nvtx.range_push("mine")
        ...     x = paddle.ones([2]) + 1
        ...     paddle.cuda.nvtx.range_pop()
        >>> [e.name for e in profiler.profiler_result.of("PythonUserDefined")]
        ['mine']
    """

    @staticmethod
    def range_push(msg: str) -> None:
        """Begin a range.

        Args:
            msg: the name of the range.
        """
        event = RecordEvent(msg)
        event.begin()
        package = _package()
        if package is not None:
            package.push_range(msg)
        _open.ranges.append(event)

    @staticmethod
    def range_pop() -> None:
        """End the range that this thread began last.

        Raises:
            RuntimeError: none is open.
        """
        if not _open.ranges:
            raise op_error(RuntimeError, "range_pop", "a range that range_push began in this thread", "none")
        _open.ranges.pop().end()
        package = _package()
        if package is not None:
            package.pop_range()
