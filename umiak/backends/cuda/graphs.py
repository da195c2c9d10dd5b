"""Work of a function as graphs of the driver, which later calls launch without Python.

A function of tensors is run once on the *capture stream* of its device. What it hands to that stream is recorded; where
something cannot be recorded (an op that runs on the host), the graph so far is launched, the op is done, and another
graph begins. A later call copies its tensors to where the first ones were, and launches the graphs and does these ops
in turn.

All graphs of a device share the capture stream and its memory: blocks that one has freed are the next one's, so they
run one after the other. Blocks that a graph uses do not go back to the driver before the graph does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from umiak.backends.base import Kernel
from umiak.backends.cuda.device import Capture, CaptureError, Device
from umiak.backends.cuda.driver import CudaError
from umiak.backends.transfer import copy
from umiak.core import stream
from umiak.core.context import current
from umiak.core.place import Place
from umiak.core.tensor import Tensor, empty

_streams: dict[int, int] = {}  # the capture stream of each place, by index
_lock = threading.RLock()  # one function at a time is captured


class Segment(NamedTuple):
    """A graph of the driver, ready to be launched."""

    graph: int
    instance: int
    capture: Capture
    blocks: set[int]


class Graph:
    """A function of tensors of one CUDA device, captured on examples; ``graph(*tensors)`` is ``function(*tensors)``.

    The results are the same tensors at each call, whose elements the next call writes. Sizes, numbers and whatever else
    the function reads are those of the capture. Other tensors that it uses, such as parameters, are pinned.

    Raises:
        CaptureError: the function reads elements of a tensor, draws random numbers, or has no tensor of the device.
        ValueError: a call with tensors of other shapes, dtypes or places.
    """

    def __init__(self, device: Device, function: Callable[..., Any], examples: Sequence[Tensor]) -> None:
        self.device = device
        self.place: Place = device.place
        self.steps: list[Segment | Callable[[], None]] = []
        if not examples or any(x.place is not self.place for x in examples):
            raise CaptureError(f"[graph] requires tensors of {self.place.name}")
        with _lock:
            self.queue = device.queue(capture_stream(self.place))
            try:
                with on_capture_stream(self.place):
                    self.inputs = [empty(tuple(x.shape), x.dtype, self.place) for x in examples]
                    for mine, x in zip(self.inputs, examples, strict=True):
                        copy(mine, x)
                    self.record(function)
            except BaseException:
                self.close()
                raise

    # --- capture ---

    def record(self, function: Callable[..., Any]) -> None:
        """Run the function, and record what it does."""
        self.begin()
        self.device.recording = self
        try:
            self.outputs = function(*self.inputs)
            self.end()
        except BaseException:
            self.abandon()
            raise
        finally:
            self.device.recording = None

    def begin(self) -> None:
        """Record what the capture stream gets from now on."""
        self.device.enter().stream_begin_capture(self.queue.handle)
        self.queue.capture = Capture(set(), [], [], [])

    def end(self) -> None:
        """End a graph and launch it: its results are wanted. One without work is dropped."""
        queue, driver = self.queue, self.device.enter()
        capture, queue.capture = queue.capture, None
        assert capture is not None
        graph = driver.stream_end_capture(queue.handle)
        instance = driver.graph_instantiate(graph)
        segment = Segment(graph, instance, capture, self.device.memory.protect(capture.addresses))
        self.steps.append(segment)
        self.launch(segment)

    def abandon(self) -> None:
        """Drop what was recorded since the last graph."""
        capture, self.queue.capture = self.queue.capture, None
        if capture is None:
            return
        driver = self.device.enter()
        # The driver refuses to end a capture that a call has spoiled.
        with suppress(CudaError):
            driver.graph_destroy(driver.stream_end_capture(self.queue.handle))
        release(capture)

    def apart(self, step: Callable[[], None]) -> None:
        """Do something between two graphs, at this call and at all later ones."""
        self.end()
        self.device.recording = None
        step()
        self.device.recording = self
        self.steps.append(step)
        self.begin()

    # --- calls ---

    def launch(self, segment: Segment) -> None:
        queue = self.queue
        queue.put("graph", lambda handle: self.device.driver.graph_launch(segment.instance, handle))
        for name, check in segment.capture.pending:
            queue.put(name, lambda handle: None, check)

    def __call__(self, *tensors: Tensor) -> Any:
        if len(tensors) != len(self.inputs):
            raise ValueError(f"[graph] requires {len(self.inputs)} tensors, got {len(tensors)}")
        for mine, x in zip(self.inputs, tensors):
            if (tuple(x.shape), x.dtype, x.place) != (tuple(mine.shape), mine.dtype, mine.place):
                required = f"{mine.dtype.name}{list(mine.shape)} on {mine.place.name}, as it was captured"
                raise ValueError(f"[graph] requires {required}, got {x.dtype.name}{list(x.shape)} on {x.place.name}")
        with _lock, on_capture_stream(self.place):
            for mine, x in zip(self.inputs, tensors):
                copy(mine, x)
            for step in self.steps:
                if isinstance(step, Segment):
                    self.launch(step)
                else:
                    step()
        return self.outputs

    def close(self) -> None:
        """Give the graphs back, when their launches are done."""
        steps, self.steps = self.steps, []
        if self.device.lost is not None:
            return
        self.queue.wait(self.queue.stream.submitted)
        driver = self.device.enter()
        for step in steps:
            if isinstance(step, Segment):
                driver.graph_exec_destroy(step.instance)
                driver.graph_destroy(step.graph)
                release(step.capture)
                self.device.memory.unprotect(step.blocks)


def release(capture: Capture) -> None:
    """Give back what a graph kept."""
    for done in capture.keep:
        if callable(done):
            done()
    capture.keep.clear()
    for storage in capture.storages:
        storage.unpin()
    capture.storages.clear()


def capture_stream(place: Place) -> int:
    if place.index not in _streams:
        _streams[place.index] = stream.new_stream(place.index).id
    return _streams[place.index]


@contextmanager
def on_capture_stream(place: Place) -> Iterator[None]:
    """Hand work to the capture stream: behind what the current stream has, and in front of what it gets later."""
    before = stream.stream(place.index, current().get_stream(place))
    inner = stream.stream(place.index, capture_stream(place))
    inner.wait(before.record())
    current().set_stream(place, inner.id)
    try:
        yield
    finally:
        current().set_stream(place, before.id)
        before.wait(inner.record())


def between(device: Device, kernel: Kernel) -> Kernel:
    """A kernel over tensors that graphs do not record: within a capture it runs between two of them, and its results
    are written to where the first ones were."""
    assert kernel.call is not None
    call = kernel.call

    def run(operands: tuple, params: tuple) -> tuple:
        graph = device.recording
        if graph is None:
            return call(operands, params)
        results: list[Tensor] = []

        def step() -> None:
            made = call(operands, params)
            if not results:
                results.extend(made)
                return
            for mine, x in zip(results, made, strict=True):
                copy(mine, x)

        graph.apart(step)
        return tuple(results)

    return kernel._replace(call=run)
