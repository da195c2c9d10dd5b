"""Ranges of a profile under the names of NVTX."""

from __future__ import annotations

import threading

from paddle._public import public
from paddle.profiler.ranges import RecordEvent
from umiak.observe.collector import EventCollector
from umiak.observe.emitter import Emitter
from umiak.observe.emitter import nvtx as _package
from umiak.util.errors import op_error


class _Open(threading.local):
    """The ranges of a thread that are open, the innermost last."""

    def __init__(self) -> None:
        self.ranges: list[tuple[RecordEvent, Emitter | None]] = []  # and what was told besides


_open = _Open()


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
        collector = EventCollector.active
        emitter = None if collector is not None and collector.emitter is not None else _package()
        if emitter is not None:  # else a profiler has told it
            emitter.push_range(msg)
        _open.ranges.append((event, emitter))

    @staticmethod
    def range_pop() -> None:
        """End the range that this thread began last.

        Raises:
            RuntimeError: none is open.
        """
        if not _open.ranges:
            raise op_error(RuntimeError, "range_pop", "a range that range_push began in this thread", "none")
        event, emitter = _open.ranges.pop()
        if emitter is not None:
            emitter.pop_range()
        event.end()
