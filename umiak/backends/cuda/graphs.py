"""Functions of tensors as graphs of the driver, which later calls launch without Python.

A function is run once on a stream that is captured. Where something cannot be recorded (an op that runs on the host),
the graph so far is launched, the op is done, and another graph begins. A later call copies its tensors to where the
first ones were, and launches the graphs and does these ops in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cuda.device import CaptureError, Device
from umiak.backends.cuda.recordings import LOCK, GraphSequence
from umiak.backends.transfer import copy
from umiak.core.tensor import Tensor, empty


class Graph:
    """A function of tensors of one CUDA device, captured on examples; ``graph(*tensors)`` is ``function(*tensors)``.

    The results are the same tensors at each call, whose elements the next call writes. Sizes, numbers and whatever else
    the function reads are those of the capture. Other tensors that it uses, such as parameters, are pinned.

    Raises:
        CaptureError: the function reads elements of a tensor, draws random numbers, or has no tensor of the device.
        ValueError: a call with tensors of other shapes, dtypes or places.
    """

    def __init__(self, device: Device, function: Callable[..., Any], examples: Sequence[Tensor]) -> None:
        place = device.place
        if not examples or any(x.place is not place for x in examples):
            raise CaptureError(f"[graph] requires tensors of {place.name}")
        with LOCK:
            self.recording = recording = GraphSequence(device)
            try:
                with recording.entered():
                    self.inputs = [empty(tuple(x.shape), x.dtype, place) for x in examples]
                    for mine, x in zip(self.inputs, examples, strict=True):
                        copy(mine, x)
                    recording.begin()
                    self.outputs = function(*self.inputs)
                    recording.end_and_launch()
            except BaseException:
                self.close()
                raise

    @property
    def stream(self) -> int:
        """The id of the stream that its graphs run on."""
        return self.recording.stream

    def __call__(self, *tensors: Tensor) -> Any:
        if len(tensors) != len(self.inputs):
            raise ValueError(f"[graph] requires {len(self.inputs)} tensors, got {len(tensors)}")
        for mine, x in zip(self.inputs, tensors):
            if (tuple(x.shape), x.dtype, x.place) != (tuple(mine.shape), mine.dtype, mine.place):
                required = f"{mine.dtype.name}{list(mine.shape)} on {mine.place.name}, as it was captured"
                raise ValueError(f"[graph] requires {required}, got {x.dtype.name}{list(x.shape)} on {x.place.name}")
        with self.recording.entered():
            for mine, x in zip(self.inputs, tensors):
                copy(mine, x)
            self.recording.play()
        return self.outputs

    def close(self) -> None:
        """Give the graphs back, when their launches are done."""
        self.recording.close()


def between(device: Device, kernel: Kernel) -> Kernel:
    """A kernel over tensors that graphs do not record: within a capture it runs between two of them, and its results
    are written to where the first ones were."""
    assert kernel.call is not None
    call = kernel.call

    def run(operands: tuple, params: tuple) -> tuple:
        if device.probe is not None:
            device.probe.interrupted = True
        recording = device.recording
        if recording is None:
            return call(operands, params)
        results: list[Tensor] = []

        def step() -> None:
            made = call(operands, params)
            if not results:
                results.extend(made)
                return
            for mine, x in zip(results, made, strict=True):
                copy(mine, x)

        recording.apart(step)
        return tuple(results)

    return kernel._replace(call=run)
