"""Convolutions as products of matrices: windows become columns, whose products with the weights are the results.

With K offsets in a kernel, P positions, and c channels and o results in each of g groups:

* ``conv``: [o, c K] times columns [c K, P], for each image and group;
* ``conv_weight_grad``: gradients [o, n P] times columns [n P, c K], for each group;
* ``conv_input_grad``: weights [c K, o] times gradients [o, P], whose elements are then added up where they came from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl

from umiak import ops as F
from umiak.backends.base import Kernel
from umiak.core import dtype as dt
from umiak.core import eager
from umiak.core.buffer import Buffer
from umiak.core.context import current
from umiak.core.tensor import empty
from umiak.ops.convolution import Conv, ConvInputGrad
from umiak_opencl import copies
from umiak_opencl.copies import strided
from umiak_opencl.device import Device
from umiak_opencl.products import NUMBERS, Matrices, multiply
from umiak_opencl.programs import program

COLUMN_BYTES = 1 << 28  # images at a time have columns of at most so many, where they are independent


def kernel(device: Device, call: Any) -> Kernel:
    """The kernel of a convolution, or of one of its gradients."""
    op, dtype = call.op, call.metas[0].dtype
    if dtype.name in ("float32", "float64"):
        return Kernel(run=copies.densely(device, _Run(device)), name=op.name)

    def wide(operands: tuple, params: tuple) -> tuple:
        made = eager.apply(op, tuple(F.cast(x, dtype=dt.float32) for x in operands), params)
        return (F.cast(made, dtype=dtype),)

    return Kernel(call=wide)


class Geometry(NamedTuple):
    """Sizes of one convolution."""

    images: int
    groups: int
    channels: int  # of x, in a group
    results: int  # channels of the result, in a group
    offsets: int
    positions: int
    numbers: tuple[int, ...]  # as kernels/convolution.cl has them


def geometry(x: Sequence[int], w: Sequence[int], g: Sequence[int], params: Sequence[Any]) -> Geometry:
    groups, strides, lows, _, dilations = params[:5]

    def three(values: Sequence[int], one: int) -> tuple[int, ...]:
        return (*[one] * (3 - len(values)), *values)

    numbers = (*three(x[2:], 1), *three(w[2:], 1), *three(g[2:], 1),
               *three(strides, 1), *three(lows, 0), *three(dilations, 1))  # fmt: skip
    return Geometry(
        x[0], groups, w[1], w[0] // groups, math.prod(w[2:]), math.prod(g[2:]), tuple(map(int, numbers))
    )  # fmt: skip


class _Run:
    """The three kernels of one device."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def __call__(self, op: Any, outs: Sequence[Buffer], ins: Sequence[Any], params: tuple) -> None:
        (out,) = outs
        a, b = (self.dense(x, op.name) for x in ins)
        if not out.size:
            return
        if type(op) is Conv:
            s = geometry(a.shape, b.shape, out.shape, params)
            self.forward(s, out, a, b, op.name)
        elif type(op) is ConvInputGrad:
            s = geometry(out.shape, b.shape, a.shape, params)
            self.input_gradient(s, out, a, b, op.name)
        else:
            s = geometry(a.shape, out.shape, b.shape, params)
            self.weight_gradient(s, out, a, b, op.name)

    def dense(self, x: Buffer, name: str) -> Buffer:
        if copies.is_dense(x):
            return x
        made = Buffer(empty(x.shape, x.dtype, x.place))
        copies.copy(self.device, made, x, name)
        return made

    def at_once(self, s: Geometry, itemsize: int) -> int:
        """Images whose columns are made at a time."""
        return max(1, COLUMN_BYTES // (s.groups * s.channels * s.offsets * s.positions * itemsize or 1))

    def forward(self, s: Geometry, out: Buffer, x: Buffer, w: Buffer, name: str) -> None:
        rows = s.channels * s.offsets
        weights = strided(w, (s.groups, s.results, rows))
        step = self.at_once(s, x.dtype.itemsize)
        for first in range(0, s.images, step):
            n = min(step, s.images - first)
            shape = (n, s.groups, rows, s.positions)
            columns = Buffer(empty(shape, x.dtype, x.place))
            image = s.groups * rows * s.positions
            self.columns(s, columns, _images(x, first, n), (image, s.offsets * s.positions, s.positions), name)
            result = strided(_images(out, first, n), (n, s.groups, s.results, s.positions))
            multiply(self.device, result, Matrices(weights, False), Matrices(columns, False), name)

    def input_gradient(self, s: Geometry, out: Buffer, g: Buffer, w: Buffer, name: str) -> None:
        rows = s.channels * s.offsets
        weights = Matrices(strided(w, (s.groups, s.results, rows)), True)
        step = self.at_once(s, g.dtype.itemsize)
        for first in range(0, s.images, step):
            n = min(step, s.images - first)
            columns = Buffer(empty((n, s.groups, rows, s.positions), g.dtype, g.place))
            gradients = strided(_images(g, first, n), (n, s.groups, s.results, s.positions))
            multiply(self.device, columns, weights, Matrices(gradients, False), name)
            self.images(s, _images(out, first, n), columns, name)

    def weight_gradient(self, s: Geometry, out: Buffer, x: Buffer, g: Buffer, name: str) -> None:
        rows, terms = s.channels * s.offsets, s.images * s.positions
        columns = Buffer(empty((s.groups, rows, terms), x.dtype, x.place))
        self.columns(s, columns, x, (s.positions, s.offsets * terms, terms), name)
        side = Buffer(empty((s.groups, s.results, s.images, s.positions), g.dtype, g.place))
        lies = strided(
            g, side.shape,
            (s.results * s.positions, s.positions, s.groups * s.results * s.positions, 1),
        )  # fmt: skip
        copies.copy(self.device, side, lies, name)
        gradients = strided(side, (s.groups, s.results, terms))
        result = strided(out, (s.groups, s.results, rows))
        multiply(self.device, result, Matrices(gradients, False), Matrices(columns, True), name)

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


def _images(x: Buffer, first: int, count: int) -> Buffer:
    return strided(x, (count, *x.shape[1:]), x.strides, first * x.strides[0])
