"""Copies of elements within a device, however they lie."""

from __future__ import annotations

import functools
import math
from importlib import resources

import numpy as np
import pyopencl as cl

from umiak.backends.strided import merged
from umiak.core.buffer import Buffer
from umiak.core.context import current
from umiak_opencl.device import Device
from umiak_opencl.programs import program

CELLS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong", 16: "ulong2"}
GROUP = 64
GROUPS_PER_UNIT = 32


@functools.cache
def text(name: str) -> str:
    """The text of a file of kernels."""
    return resources.files("umiak_opencl").joinpath("kernels", f"{name}.cl").read_text()


@functools.lru_cache(maxsize=1024)
def numbers(device: Device, values: tuple[int, ...]) -> cl.Buffer:
    """Integers in a device's memory."""
    flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
    return cl.Buffer(device.context, flags, hostbuf=np.asarray(values, np.int64))


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
