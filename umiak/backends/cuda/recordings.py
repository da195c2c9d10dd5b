"""Work of a device as graphs of the driver: begun and ended, launched again, given back.

A recording has a stream of its own, and with it memory of its own: what the allocator has given to that stream is used
by nobody else until the recording is closed, so that a graph may write there at any time. Blocks that a graph uses do
not go back to the driver before the graph does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple

from umiak.backends.cuda.device import FINISHING, Capture, CaptureError, Device
from umiak.backends.cuda.driver import CudaError
from umiak.core import stream
from umiak.core.context import current
from umiak.core.place import Place

MOST_STREAMS = 128  # of a place, that recordings have at a time

LOCK = threading.RLock()  # one thread at a time captures or launches
_STREAMS = threading.RLock()  # of what follows: a graph may be collected in a thread that whoever captures waits for
_free: dict[int, list[int]] = {}  # streams of closed recordings, by index of the place
_opened: dict[int, int] = {}


@dataclass
class Pool:
    """A stream that several recordings have in common."""

    stream: int
    users: int = 1


_pools: dict[tuple[int, int], Pool] = {}  # by index of the place and number of the pool


class Segment(NamedTuple):
    """A graph of the driver, ready to be launched."""

    graph: int
    instance: int
    capture: Capture
    blocks: set[int]


class GraphSequence:
    """Graphs of one device, and what is done between them, in order. ``settable``, ``draws``: see :class:`Capture`.

    Those of one ``pool`` have one stream, and so their memory, in common.
    """

    def __init__(self, device: Device, settable: bool = False, draws: bool = False, pool: int | None = None) -> None:
        self.device = device
        self.place: Place = device.place
        self.settable, self.draws, self.pool = settable, draws, pool
        self.steps: list[Segment | Callable[[], None]] = []
        self.stream = _take_stream(self.place, pool)
        self.queue = device.queue(self.stream)
        self.outer = current().get_stream(self.place)
        self.launches = 0
        self.closed = False

    # --- capture ---

    def begin(self) -> None:
        """Record what the stream gets from now on."""
        with FINISHING:  # in which whoever asks the stream sets a mark on it, unless it is captured
            self.queue.mark()  # none can be set while it records
            self.device.enter().stream_begin_capture(self.queue.handle)
            self.queue.capture = Capture(self.queue.stream.submitted, self.settable, self.draws)
        self.device.recording = self

    def end(self) -> Segment | None:
        """End a graph; None, where nothing was recorded."""
        driver, capture = self.device.enter(), self.queue.capture
        self.device.recording = None
        assert capture is not None
        graph = 0
        try:
            graph = self._end_capture()
            if not capture.work:
                driver.graph_destroy(graph)
                return None
            instance = driver.graph_instantiate(graph)
        except CudaError:
            if graph:
                driver.graph_destroy(graph)
            _release(capture)
            raise
        segment = Segment(graph, instance, capture, self.device.memory.protect(capture.addresses))
        self.steps.append(segment)
        return segment

    def end_and_launch(self) -> None:
        """End a graph and launch it: its results are wanted."""
        segment = self.end()
        if segment is not None:
            self.launch(segment)

    def abandon(self) -> None:
        """Drop what was recorded since the last graph."""
        if self.device.recording is self:  # not another one, in which this is collected
            self.device.recording = None
        capture = self.queue.capture
        if capture is None:
            return
        # The driver refuses to end a capture that a call has spoiled.
        with suppress(CudaError):
            self.device.enter().graph_destroy(self._end_capture())
        _release(capture)

    def _end_capture(self) -> int:
        """Have the stream do again what it gets; the graph of what it has recorded."""
        with FINISHING:
            try:
                return self.device.enter().stream_end_capture(self.queue.handle)
            finally:
                self.queue.capture = None

    def apart(self, step: Callable[[], None]) -> None:
        """Do something between two graphs, at this call and at all later ones, on the stream of whoever calls."""
        self.end_and_launch()
        with on_stream(self.place, self.outer):
            step()
        self.steps.append(step)
        self.begin()

    # --- calls ---

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Hand work to the recording's stream, in the order of the current one, while no other thread does."""
        with LOCK:
            before, self.outer = self.outer, current().get_stream(self.place)
            if before != self.outer:  # which may still read what the graphs have written for it
                stream.stream(self.place.index, self.stream).wait(stream.stream(self.place.index, before).record())
            with on_stream(self.place, self.stream):
                try:
                    yield
                except BaseException:
                    self.abandon()  # streams that are captured cannot be waited for
                    raise

    def launch(self, segment: Segment) -> None:
        queue = self.queue
        self.launches += 1
        queue.put("graph", lambda handle: self.device.driver.graph_launch(segment.instance, handle))
        for name, check in segment.capture.pending:
            queue.put(name, lambda handle: None, check)

    def play(self) -> None:
        """Launch all graphs, and do what is between them."""
        for step in self.steps:
            if isinstance(step, Segment):
                self.launch(step)
            else:
                with on_stream(self.place, self.outer):
                    step()

    def segments(self) -> list[Segment]:
        return [s for s in self.steps if isinstance(s, Segment)]

    def close(self) -> None:
        """Give the graphs back, when their launches are done."""
        if self.closed:
            return
        self.closed = True
        self.abandon()
        segments = self.segments()
        self.steps = []
        if self.device.lost is not None:
            return
        self.queue.wait(self.queue.stream.submitted)
        driver = self.device.enter()
        for segment in segments:
            driver.graph_exec_destroy(segment.instance)
            driver.graph_destroy(segment.graph)
            _release(segment.capture)
            self.device.memory.unprotect(segment.blocks)
        _give_stream(self.place, self.stream, self.pool)


def _release(capture: Capture) -> None:
    """Give back what a graph kept."""
    for done in capture.keep:
        if callable(done):
            done()
    capture.keep.clear()
    for storage in capture.storages.values():
        storage.unpin()
    capture.storages.clear()


def _take_stream(place: Place, pool: int | None) -> int:
    with _STREAMS:
        if pool is not None and (place.index, pool) in _pools:
            shared = _pools[place.index, pool]
            shared.users += 1
            return shared.stream
        id = _new_stream(place)
        if pool is not None:
            _pools[place.index, pool] = Pool(id)
        return id


def _give_stream(place: Place, id: int, pool: int | None) -> None:
    with _STREAMS:
        if pool is not None:
            shared = _pools[place.index, pool]
            shared.users -= 1
            if shared.users:
                return
            del _pools[place.index, pool]
        _free.setdefault(place.index, []).append(id)


def _new_stream(place: Place) -> int:
    with _STREAMS:
        free = _free.setdefault(place.index, [])
        if free:
            return free.pop()
        if _opened.get(place.index, 0) >= MOST_STREAMS:
            raise CaptureError(f"[graph] requires at most {MOST_STREAMS} graphs on {place.name} at a time")
        _opened[place.index] = _opened.get(place.index, 0) + 1
        return stream.new_stream(place.index).id


@contextmanager
def on_stream(place: Place, id: int) -> Iterator[None]:
    """Hand work to a stream: behind what the current one has, and in front of what that gets later."""
    before = stream.stream(place.index, current().get_stream(place))
    inner = stream.stream(place.index, id)
    inner.wait(before.record())
    current().set_stream(place, inner.id)
    try:
        yield
    finally:
        current().set_stream(place, before.id)
        before.wait(inner.record())
