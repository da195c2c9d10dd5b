"""Copies of elements to, from and within a plug-in's devices, however they lie."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from umiak.backends.plugin.device import PluginDevice
from umiak.core import stream
from umiak.core.buffer import Buffer
from umiak.core.context import current

Axes = list[tuple[int, int, int]]  # size, stride in the target, stride in the source


def to_host(device: PluginDevice, target: np.ndarray, address: int, id: int) -> None:
    """Queue a copy to bytes of the host, which have to stay until whoever reads them has waited."""
    library, where = device.library, target.ctypes.data
    if library.has("async_memory_copy_d2h"):
        device.queue(id).put("copy", lambda h: device.call("async_memory_copy_d2h", h, where, address, target.nbytes))
    else:
        wait(device, id)
        device.call("memory_copy_d2h", where, address, target.nbytes)


def to_device(device: PluginDevice, address: int, source: np.ndarray, id: int) -> None:
    """Queue a copy of bytes of the host, which have been read when this returns."""
    library, nbytes = device.library, source.nbytes
    if library.has("async_memory_copy_h2d"):
        where, kept = device.memory.staged(source)
        submit = lambda h: device.call("async_memory_copy_h2d", h, address, where, nbytes)  # noqa: E731
        device.queue(id).put("copy", submit, keep=kept)
    else:
        wait(device, id)
        device.call("memory_copy_h2d", address, source.ctypes.data, nbytes)


def within(device: PluginDevice, target: int, source: int, nbytes: int, id: int) -> None:
    """Queue a copy within a device."""
    library = device.library
    if library.has("async_memory_copy_d2d"):
        device.queue(id).put("copy", lambda h: device.call("async_memory_copy_d2d", h, target, source, nbytes))
    else:
        wait(device, id)
        device.memory.move(target, source, nbytes)


def between(to: PluginDevice, of: PluginDevice, target: int, source: int, nbytes: int, id: int) -> bool:
    """Queue a copy between two devices on a stream of ``to``, behind which the source's work is; False where the
    plug-in makes none."""
    library = to.library
    if library.has("async_memory_copy_p2p"):
        args = to.pointer, of.pointer
        to.queue(id).put(
            "copy",
            lambda h: library.call("async_memory_copy_p2p", *args, h, target, source, nbytes, on=to.place.name),
        )
    elif library.has("memory_copy_p2p"):
        wait(to, id)
        to.choose()
        library.call("memory_copy_p2p", to.pointer, of.pointer, target, source, nbytes, on=to.place.name)
    else:
        return False
    return True


def wait(device: PluginDevice, id: int) -> None:
    """Wait for a stream; raises what failed on it."""
    stream.stream(device.place.index, id).synchronize()


# --- the op `copy`


def copy(device: PluginDevice, target: Buffer, source: Buffer) -> None:
    """Queue a copy of elements of one dtype and shape, on the current stream. The two must not overlap.

    Elements that lie apart go by the host, which waits. Where the target has gaps, these are read and written again:
    another stream must not write there meanwhile.
    """
    if not target.size:
        return
    id = current().get_stream(device.place)
    if target.dtype.is_packed:  # always dense
        within(device, target.pointer, source.pointer, target.nbytes, id)
        return
    item = target.dtype.itemsize
    axes = ordered(target.shape, target.strides, source.strides)
    (first, to, count), (first_of, of, count_of) = span(axes, 1), span(axes, 2)
    if is_dense(axes, 1) and is_dense(axes, 2):
        within(device, target.pointer, source.pointer, target.nbytes, id)
        return
    elements = strided(fetch(device, source.pointer + first_of * item, count_of, item, id), -first_of, axes, of)
    if is_dense(axes, 1):
        to_device(device, target.pointer, np.ascontiguousarray(elements).view(np.uint8).reshape(-1), id)
        return
    start = target.pointer + first * item
    written = fetch(device, start, count, item, id)
    strided(written, -first, axes, to)[...] = elements
    to_device(device, start, written.view(np.uint8), id)


def ordered(shape: Sequence[int], target: Sequence[int], source: Sequence[int]) -> Axes:
    """The axes of more than one element, those of the target's largest steps first, neighbours merged."""
    axes = sorted(((n, t, s) for n, t, s in zip(shape, target, source) if n != 1), key=lambda a: -abs(a[1]))
    made: Axes = []
    for n, t, s in axes:
        if made and made[-1][1] == t * n and made[-1][2] == s * n:
            made[-1] = (made[-1][0] * n, t, s)
        else:
            made.append((n, t, s))
    return made


def is_dense(axes: Axes, side: int) -> bool:
    """Return whether elements lie one after the other, in the order of the axes."""
    step = 1
    for axis in reversed(axes):
        if axis[side] != step:
            return False
        step *= axis[0]
    return True


def span(axes: Axes, side: int) -> tuple[int, list[int], int]:
    """(offset of the lowest element, strides, elements from the lowest to the highest)"""
    reach = [(a[0] - 1) * a[side] for a in axes]
    low, high = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
    return low, [a[side] for a in axes], high - low + 1


def fetch(device: PluginDevice, address: int, count: int, item: int, id: int) -> np.ndarray:
    """Elements as the host's, as they are after the work of a stream."""
    found = np.empty(count * item, np.uint8)
    to_host(device, found, address, id)
    wait(device, id)
    return found.view(np.dtype((np.void, item)))


def strided(elements: np.ndarray, first: int, axes: Axes, strides: Sequence[int]) -> np.ndarray:
    """Elements seen along the axes, from the one with number ``first``."""
    item = elements.itemsize
    shape = [a[0] for a in axes]
    return np.ndarray(shape, elements.dtype, elements, first * item, [s * item for s in strides])
