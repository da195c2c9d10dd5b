"""Convolutions as matmuls (:mod:`umiak.backends.im2col`), with kernels for the columns."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl

from umiak import ops as F
from umiak.backends.base import Kernel
from umiak.backends.im2col import Convolutions
from umiak.backends.matmul_work import Geometry, Matrices
from umiak.backends.strided import densely
from umiak.core import dtype as dt
from umiak.core import eager
from umiak.core.buffer import Buffer
from umiak.core.context import current
from umiak_opencl import copies
from umiak_opencl.device import Device
from umiak_opencl.products import NUMBERS, multiply
from umiak_opencl.programs import program


def kernel(device: Device, call: Any) -> Kernel:
    """The kernel of a convolution, or of one of its gradients."""
    op, dtype = call.op, call.metas[0].dtype
    if dtype.name in ("float32", "float64"):
        run = densely(Convolutions(_Columns(device)), partial(copies.copy, device))
        return Kernel(run=run, name=op.name)

    def wide(operands: tuple, params: tuple) -> tuple:
        made = eager.apply(op, tuple(F.cast(x, dtype=dt.float32) for x in operands), params)
        return (F.cast(made, dtype=dtype),)

    return Kernel(call=wide)


class _Columns:
    """The parts of a convolution on one device (:class:`umiak.backends.im2col.Columns`)."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.copy = partial(copies.copy, device)

    def multiply(self, out: Buffer, a: Matrices, b: Matrices, name: str) -> None:
        multiply(self.device, out, a, b, name)

    def columns(self, s: Geometry, columns: Buffer, x: Buffer, steps: tuple[int, int, int], name: str) -> None:
        if not columns.size:
            return
        made = self.made("columns_of", x)
        (to, to_at), (of, of_at) = (self.device.memory.find(y.pointer) for y in (columns, x))
        item = x.dtype.itemsize
        made.set_args(
            to, of, *map(np.int64, (to_at // item, of_at // item, *steps)), copies.numbers(self.device, s.numbers)
        )
        self.put(made, (s.positions, s.groups * s.channels * s.offsets, x.shape[0]), x, name)

    def images(self, s: Geometry, x: Buffer, columns: Buffer, name: str) -> None:
        made = self.made("images_of", x)
        (to, to_at), (of, of_at) = (self.device.memory.find(y.pointer) for y in (x, columns))
        item = x.dtype.itemsize
        made.set_args(to, of, np.int64(to_at // item), np.int64(of_at // item), copies.numbers(self.device, s.numbers))
        self.put(made, (math.prod(x.shape[2:]), x.shape[0] * x.shape[1]), x, name)

    def made(self, name: str, x: Buffer) -> cl.Kernel:
        text = copies.text("convolution")
        return cl.Kernel(program(self.device, text, f"-DCELL={NUMBERS[x.dtype.name][0]}"), name)

    def put(self, made: cl.Kernel, points: tuple[int, ...], x: Buffer, name: str) -> None:
        queue = self.device.queue(current().get_stream(x.place))
        queue.put(name, lambda q: cl.enqueue_nd_range_kernel(q, made, points, None))
