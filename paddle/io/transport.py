"""Transport of batches from workers to the loader: objects pickled, arrays behind them, large batches in shared memory.

A batch becomes a region: the pickle, then each array at a multiple of 64 bytes. Small regions are the body of a
message. Others are written into a segment (``umiak.util.shared_memory``), and the message says which; the loader's
arrays, and so its tensors, lie over it. When the last of them is gone, the segment is free for the worker's next batch.
"""

from __future__ import annotations

import io
import os
import pickle
from typing import Any

import numpy as np

from paddle.io.channel import Message
from paddle.io.collate import Stack
from umiak.core.array import from_numpy, to_numpy
from umiak.core.tensor import Tensor
from umiak.util import shared_memory
from umiak.util.shared_memory import Segment

ALIGNMENT = 64
MOST_LEASED = 64  # segments of one worker in the loader's hands: batches beyond are copied


def _array(shape: tuple[int, ...], dtype: Any, buffer: Any) -> np.ndarray:
    return np.ndarray(shape, dtype, buffer)


def _tensor(shape: tuple[int, ...], dtype: Any, buffer: Any, stop_gradient: bool) -> Tensor:
    t = from_numpy(np.ndarray(shape, dtype, buffer), copy=None)
    t.stop_gradient = stop_gradient
    return t


class _Pickler(pickle.Pickler):
    """Takes arrays out of a batch: in the pickle, each is a buffer that comes from elsewhere."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, 5, buffer_callback=lambda _: None)
        self.arrays: list[np.ndarray | Stack] = []

    def reducer_override(self, x: Any) -> Any:
        kind = type(x)
        if kind is Stack or ((kind is np.ndarray or kind is np.memmap) and not x.dtype.hasobject):
            return _array, self._take(x)
        if kind is Tensor and x.place.device_type == "cpu":
            return _tensor, (*self._take(to_numpy(x)), x.stop_gradient)
        return NotImplemented

    def _take(self, x: np.ndarray | Stack) -> tuple[Any, ...]:
        if x.dtype.hasobject:
            raise TypeError(f"[DataLoader] requires arrays without Python objects to stack, got dtype {x.dtype}")
        self.arrays.append(x)
        # One that numpy knows by a letter is told so: pickled types are long.
        return x.shape, x.dtype.char if x.dtype.isbuiltin == 1 and x.dtype.kind in "biufc" else x.dtype, _ELSEWHERE


_ELSEWHERE = pickle.PickleBuffer(bytearray(1))


class Packer:
    """A worker's side. ``inline``: bytes of a region that still goes into a message; ``spare``: free segments kept."""

    def __init__(self, inline: int, shared: bool, spare: int) -> None:
        self.inline = inline
        self.shared = shared
        self.spare = spare
        self.segments: dict[int, Segment] = {}
        self.made = 0
        self.dropped: list[int] = []  # not yet told

    def pack(self, batch: Any) -> tuple[tuple[Any, ...], Any, list[int]]:
        """Pack a batch: return its description, the region if it is small, and a descriptor if the segment is new."""
        file = io.BytesIO()
        pickler = _Pickler(file)
        pickler.dump(batch)
        pickled = file.getbuffer()
        spans = []
        end = len(pickled)
        for x in pickler.arrays:
            start = -(-end // ALIGNMENT) * ALIGNMENT
            end = start + x.dtype.itemsize * _count(x.shape)
            spans.append((start, end))
        if end <= self.inline or not self.shared:
            region = bytearray(end)
            _write(region, pickled, pickler.arrays, spans)
            return (-1, 0, False, [], len(pickled), spans), region, []
        number = self._choose(end)
        descriptors = []
        if number is None:
            number = self.made
            self.made += 1
            segment, descriptor = shared_memory.create(end)
            descriptors.append(descriptor)
        else:
            segment = self.segments[number]
        try:
            _write(segment, pickled, pickler.arrays, spans)
        except BaseException:
            for descriptor in descriptors:
                os.close(descriptor)
            raise
        self.segments[number] = segment
        segment.state = shared_memory.LEASED
        crowded = len(self.segments) > MOST_LEASED
        dropped, self.dropped = self.dropped, []
        return (number, segment.nbytes, crowded, dropped, len(pickled), spans), b"", descriptors

    def _choose(self, nbytes: int) -> int | None:
        """The smallest free segment for so much, if there is one. Drops what is of no more use."""
        free, dropped = [], []
        for number, segment in self.segments.items():
            state = segment.state
            if state == shared_memory.FREE:
                free.append((segment.nbytes, number))
            elif state == shared_memory.RETIRED:
                dropped.append(number)
        free.sort()
        fitting = [number for size, number in free if size >= nbytes]
        if fitting:
            surplus = max(len(free) - 1 - self.spare, 0)
            dropped += [number for _, number in free if number != fitting[0]][:surplus]
        else:  # those that are too small will be so again
            dropped += [number for _, number in free]
        for number in dropped:
            del self.segments[number]
        self.dropped += dropped
        return fitting[0] if fitting else None


def _write(target: Any, pickled: Any, arrays: list[Any], spans: list[tuple[int, int]]) -> None:
    np.frombuffer(target, np.uint8, len(pickled))[:] = np.frombuffer(pickled, np.uint8)
    for x, (start, _) in zip(arrays, spans):
        out = np.ndarray(x.shape, x.dtype, target, start)
        if type(x) is Stack:
            x.write(out)
        else:
            np.copyto(out, x)


def _count(shape: tuple[int, ...]) -> int:
    n = 1
    for size in shape:
        n *= size
    return n


class Unpacker:
    """The loader's side, for one worker."""

    def __init__(self) -> None:
        self.segments: dict[int, Segment] = {}

    def lease(self, message: Message) -> tuple[np.ndarray, bool]:
        """The bytes of a message's region, and whether they are to be copied soon."""
        number, nbytes, crowded, dropped, _, _ = message.meta
        for old in dropped:
            self.segments.pop(old, None)
        if number < 0:
            return np.frombuffer(message.body, np.uint8), False
        if message.descriptors:
            (descriptor,) = message.descriptors
            try:
                self.segments[number] = Segment(descriptor, nbytes)
            finally:
                os.close(descriptor)
        return np.frombuffer(memoryview(self.segments[number].lease()), np.uint8), crowded

    def unpack(self, message: Message, region: np.ndarray) -> Any:
        *_, pickled, spans = message.meta
        return pickle.loads(region[:pickled].data, buffers=[region[start:end] for start, end in spans])
