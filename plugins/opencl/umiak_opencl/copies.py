"""Copies of elements within a device, however they lie: the kernel of ``copy``, and of results that lie apart."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any

import numpy as np
import pyopencl as cl

from umiak.core.buffer import Buffer
from umiak.core.context import current
from umiak.core.tensor import empty
from umiak_opencl.device import Device
from umiak_opencl.programs import program

CELLS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong", 16: "ulong2"}
GROUP = 64
GROUPS_PER_UNIT = 32

Run = Callable[[Any, Sequence[Any], Sequence[Any], tuple], None]


@functools.cache
def text(name: str) -> str:
    """The text of a file of kernels."""
    return resources.files("umiak_opencl").joinpath("kernels", f"{name}.cl").read_text()


@functools.lru_cache(maxsize=1024)
def numbers(device: Device, values: tuple[int, ...]) -> cl.Buffer:
    """Integers in a device's memory."""
    flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
    return cl.Buffer(device.context, flags, hostbuf=np.asarray(values, np.int64))


def merged(shape: Sequence[int], *strides: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """Sizes and strides with axes of size 1 dropped, and neighbours merged where all strides allow it."""
    axes = [(n, *s) for n, *s in zip(shape, *strides) if n != 1]
    made: list[tuple[int, ...]] = []
    for n, *s in axes:
        if made and all(outer == inner * n for outer, inner in zip(made[-1][1:], s)):
            made[-1] = (made[-1][0] * n, *s)
        else:
            made.append((n, *s))
    made = made or [(1, *(0 for _ in strides))]
    sizes, *rest = map(list, zip(*made))
    return sizes, rest


def strided(x: Buffer, shape: Sequence[int], strides: Sequence[int] | None = None, first: int = 0) -> Buffer:
    """The same memory seen as another tensor, dense unless strides are given, from its element ``first`` on."""
    made = Buffer.__new__(Buffer)
    made.storage, made.offset, made.dtype = x.storage, x.offset + first * x.dtype.itemsize, x.dtype
    made.shape = tuple(shape)
    made.strides = tuple(dense_strides(shape) if strides is None else strides)
    return made


def dense_strides(shape: Sequence[int], step: int = 1) -> tuple[int, ...]:
    """Strides of a dense shape whose last dim has stride ``step``."""
    strides: list[int] = []
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def copy(device: Device, target: Buffer, source: Buffer, name: str = "copy") -> None:
    """Queue a copy of elements of one dtype and shape, on the current stream. The two must not overlap."""
    if not target.size:
        return
    item = target.dtype.itemsize
    sizes, strides = merged(target.shape, target.strides, source.strides)
    (to, to_at), (of, of_at) = device.memory.find(target.pointer), device.memory.find(source.pointer)
    kernel = cl.Kernel(program(device, text("copy"), f"-DCELL={CELLS[item]} -DRANK={len(sizes)}"), "copy")
    count = math.prod(sizes)
    groups = min(-(-count // GROUP), GROUPS_PER_UNIT * device.units)
    kernel.set_args(
        to, of, np.int64(to_at // item), np.int64(of_at // item), np.int64(count),
        numbers(device, (*sizes, *strides[0], *strides[1])),
    )  # fmt: skip
    queue = device.queue(current().get_stream(target.place))
    queue.put(name, lambda q: cl.enqueue_nd_range_kernel(q, kernel, (groups * GROUP,), (GROUP,)))


def is_dense(x: Buffer) -> bool:
    stride = 1
    for n, s in zip(reversed(x.shape), reversed(x.strides)):
        if n != 1 and s != stride:
            return False
        stride *= n
    return True


def densely(device: Device, run: Run) -> Run:
    """A kernel that writes dense results as one that writes them wherever they lie."""

    def into(op: Any, outs: Sequence[Buffer], ins: Sequence[Any], params: tuple) -> None:
        if all(map(is_dense, outs)):
            run(op, outs, ins, params)
            return
        made = [x if is_dense(x) else Buffer(empty(x.shape, x.dtype, x.place)) for x in outs]
        run(op, made, ins, params)
        for x, y in zip(outs, made, strict=True):
            if x is not y:
                copy(device, x, y, op.name)

    return into
