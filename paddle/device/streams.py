"""Streams and events: order of work on a device."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from paddle._public import also, public
from paddle.framework.place import current_place, numbered_place
from umiak.core import stream as _core
from umiak.core.context import current
from umiak.core.place import Place
from umiak.core.place import from_index as place_from_index
from umiak.util.errors import op_error


def _place(device: Any, op_name: str = "device") -> Place:
    return current_place() if device is None else numbered_place(device, op_name, "cpu")


def _backend(place: Place) -> Any:
    from umiak import backends

    return backends.get(place)


_QUEUES = 32  # of one device: programs make streams in loops, and hardly any device has more queues
_queues: dict[int, deque[Any]] = {}  # by place, the one that was given longest ago first
_lock = threading.Lock()


def _new(place: Place) -> Any:
    """A queue for a new stream; where work is done as soon as it is handed in, there is only the default one."""
    if place.device_type == "cpu":
        return _core.stream(place.index, 0)
    with _lock:
        queues = _queues.setdefault(place.index, deque())
        queue = _core.new_stream(place.index) if len(queues) < _QUEUES else queues.popleft()
        queues.append(queue)
    return queue


@public("paddle paddle.device paddle.cuda paddle.device.cuda")
class Stream:
    """Queue of work on a device: what is handed in runs in order.

    A device has 32 queues beside the default one: the 33rd stream shares the first one's, and is equal to it.

    Args:
        device: a name, a place, a number (of the current type; the host's is 0), or None for the current device.
            On the host there is one stream only, whose work is done as soon as it is handed in.
        priority: accepted, without effect.
        stream_base: a stream of the engine to stand for; None: a new one.

    Raises:
        ValueError: a device that is not there.

    Example:
        >>> import paddle
        >>> s = paddle.device.Stream("cpu")
        >>> with paddle.device.stream_guard(s):
        ...     x = paddle.ones([2]) + 1
        >>> s.synchronize()
    """

    def __init__(self, device: Any = None, priority: int = 2, stream_base: Any = None) -> None:
        self.stream_base = stream_base if stream_base is not None else _new(_place(device, "Stream"))

    @property
    def device(self) -> Place:
        return place_from_index(self.stream_base.place)

    @property
    def cuda_stream(self) -> int:
        """The handle by which the driver of CUDA devices knows the stream, for kernels of other libraries.

        Raises:
            AttributeError: the stream of another device.
        """
        if self.device.device_type != "gpu":
            raise op_error(AttributeError, "cuda_stream", "a stream of a CUDA device", f"one of {self.device.name}")
        return self.stream_base.handle

    def query(self) -> bool:
        """Say whether all work handed in is done."""
        return self.stream_base.query()

    def synchronize(self) -> None:
        """Wait until all work handed in is done."""
        self.stream_base.synchronize()

    def wait_event(self, event: Event) -> None:
        """Let work handed in from now on wait for an event; the host does not wait.

        Args:
            event: an :class:`Event`; one that was never recorded is done.
        """
        if event.event_base is not None:
            self.stream_base.wait(event.event_base)

    def wait_stream(self, stream: Stream) -> None:
        """Let work handed in from now on wait for what another stream has; the host does not wait.

        Args:
            stream: the other :class:`Stream`.
        """
        self.stream_base.wait(stream.stream_base.record())

    def record_event(self, event: Event | None = None) -> Event:
        """Mark this place in the queue.

        Args:
            event: the :class:`Event` to record; None: a new one.

        Returns:
            The event.
        """
        event = Event(self.device) if event is None else event
        event.record(self)
        return event

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return False
        return (self.stream_base.place, self.stream_base.id) == (other.stream_base.place, other.stream_base.id)

    def __hash__(self) -> int:
        return hash((self.stream_base.place, self.stream_base.id))

    def __repr__(self) -> str:
        return f"Stream({self.device.name}, id={self.stream_base.id})"


@public("paddle paddle.device paddle.cuda paddle.device.cuda")
class Event:
    """Mark in a stream's queue.

    Args:
        device: a name, a place, a number (of the current type; the host's is 0), or None for the current device.
            A bool in this place is ``enable_timing``.
        enable_timing: note the time, for :meth:`elapsed_time`.
        blocking: accepted, without effect.
        interprocess: only False is possible.

    Raises:
        ValueError: a device that is not there, or ``interprocess=True``.

    Example:
        >>> import paddle
        >>> e = paddle.device.Event("cpu")
        >>> e.record()
        >>> e.synchronize()
        >>> e.query()
        True
    """

    def __init__(
        self, device: Any = None, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        if isinstance(device, bool):
            # Event(enable_timing, blocking, interprocess)
            device, enable_timing = None, device
        if interprocess:
            raise op_error(ValueError, "Event", "interprocess=False", "interprocess=True")
        self._place = _place(device, "Event")
        self.enable_timing = enable_timing
        self.event_base: Any = None
        self._time = 0.0
        self._mark: Any = None

    @property
    def device(self) -> Place:
        return self._place

    def record(self, stream: Stream | None = None) -> None:
        """Mark the end of what a stream has now.

        Args:
            stream: a :class:`Stream`; None: the current one of the event's device.
        """
        base = current_stream(self._place).stream_base if stream is None else stream.stream_base
        self.event_base = base.record()
        if self.enable_timing:
            self._mark = (
                None if self._place.device_type == "cpu" else _backend(self._place).time_mark(self._place, base.id)
            )
            if self._mark is None:
                # Where work is done as soon as it is handed in, the host's clock is the device's.
                self.event_base.synchronize()
                self._time = time.perf_counter()

    def query(self) -> bool:
        """Say whether what came before the mark is done; True before any was made."""
        return self.event_base is None or self.event_base.query()

    def synchronize(self) -> None:
        """Wait until what came before the mark is done."""
        if self.event_base is not None:
            self.event_base.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Time from this event to another, in milliseconds.

        Args:
            end_event: the later :class:`Event`.

        Returns:
            A float.

        Raises:
            RuntimeError: one of them was made without ``enable_timing``.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise RuntimeError("[elapsed_time] requires events with enable_timing=True, got one without")
        if self._mark is not None and end_event._mark is not None:
            return self._mark.milliseconds_to(end_event._mark)
        return (end_event._time - self._time) * 1e3

    def __repr__(self) -> str:
        return f"Event({self._place.name})"


@public("paddle.device paddle.cuda paddle.device.cuda")
def current_stream(device: Any = None) -> Stream:
    """Stream that work on a device goes to.

    Args:
        device: a name, a place, a number (of the current type; the host's is 0), or None for the current device.

    Returns:
        A :class:`Stream`.

    Raises:
        ValueError: a device that is not there.

    Example:
        >>> import paddle
        >>> paddle.device.current_stream("cpu")
        Stream(cpu, id=0)
    """
    place = _place(device)
    return Stream(stream_base=_core.stream(place.index, current().get_stream(place)))


@public("paddle.device paddle.cuda")
def set_stream(stream: Stream) -> Stream:
    """Send work to another stream from now on.

    Args:
        stream: a :class:`Stream`.

    Returns:
        The former :class:`Stream` of its device.

    Raises:
        TypeError: a value that is not a stream.

    Example:
        >>> import paddle
        >>> before = paddle.device.set_stream(paddle.device.Stream("cpu"))
        >>> before
        Stream(cpu, id=0)
    """
    if not isinstance(stream, Stream):
        raise op_error(TypeError, "set_stream", "a Stream", type(stream).__name__)
    before = current_stream(stream.device)
    current().set_stream(stream.device, stream.stream_base.id)
    return before


@public("paddle.device paddle.cuda")
class StreamContext:
    """Send work to another stream inside a ``with`` block.

    Args:
        stream: a :class:`Stream`; None changes nothing.

    Raises:
        TypeError: at the start of the block, a value that is not a stream.

    Example:
        >>> import paddle
        >>> s = paddle.device.Stream("cpu")
        >>> with paddle.device.StreamContext(s):
        ...     paddle.device.current_stream("cpu") == s
        True
    """

    def __init__(self, stream: Stream | None = None) -> None:
        self.stream = stream
        self._before: list[Stream] = []

    def __enter__(self) -> None:
        if self.stream is not None:
            self._before.append(set_stream(self.stream))

    def __exit__(self, *exc: object) -> None:
        if self._before:
            set_stream(self._before.pop())


stream_guard = also(StreamContext, "stream_guard", "paddle.device paddle.device.cuda")
stream = also(StreamContext, "stream", "paddle.device paddle.cuda")


@public("paddle.device paddle.cuda paddle.device.cuda")
def synchronize(device: Any = None) -> None:
    """Wait until all work on a device is done.

    Args:
        device: a name, a place, a number (of the current type; the host's is 0), or None for the current device.

    Raises:
        ValueError: a device that is not there.

    Example:
        >>> import paddle
        >>> paddle.device.synchronize()
    """
    _core.synchronize(_place(device).index)


@public("paddle.device paddle.cuda")
def is_current_stream_capturing() -> bool:
    """Say whether work on the current device is recorded into a graph of the device, rather than done.

    Returns:
        A bool.

    Example:
        >>> import paddle
        >>> paddle.device.is_current_stream_capturing()
        False
    """
    place = current_place()
    return place.device_type != "cpu" and _backend(place).capturing(place, current().get_stream(place))


@public("paddle.device paddle.cuda")
def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    """Stream that another library has made, which no backend takes: the call is refused.

    Args:
        data_ptr: the handle of the stream, an address.
        device: a name, a place, a number (of the current type; the host's is 0), or None for the current device.

    Returns:
        Nothing.

    Raises:
        ValueError: always: the device is not there, or its backend takes no streams of others.

    Example:
        >>> import paddle
        >>> paddle.device.get_stream_from_external(77777, "cpu")
        Traceback (most recent call last):
        ValueError: [get_stream_from_external] requires a device that takes streams of other libraries, got cpu
    """
    place = _place(device, "get_stream_from_external")
    raise op_error(ValueError, "get_stream_from_external", "a device that takes streams of other libraries", place.name)
