"""Convolutions as matmuls: windows become columns, whose products with the weights are the results.

With K offsets in a kernel, P positions, and c channels and o results in each of g groups:

* ``conv``: [o, c K] times columns [c K, P], for each image and group;
* ``conv_weight_grad``: gradients [o, n P] times columns [n P, c K], for each group;
* ``conv_input_grad``: weights [c K, o] times gradients [o, P], whose elements are then added up where they came from.

For backends in Python: what differs from device to device is a :class:`Columns`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from umiak.backends.matmul_work import Geometry, Matrices
from umiak.backends.strided import is_dense, reshaped
from umiak.core.buffer import Buffer
from umiak.core.tensor import empty
from umiak.ops.convolution import Conv, ConvInputGrad

COLUMN_BYTES = 1 << 28  # images at a time have columns of at most so many, where they are independent


class Columns(Protocol):
    """The parts that a device has of its own. Each queues work on the current stream; ``name``: the calling op."""

    def multiply(self, out: Buffer, a: Matrices, b: Matrices, name: str) -> None:
        """Compute ``out = a b`` over batches; ``out`` is dense."""

    def copy(self, target: Buffer, source: Buffer, name: str) -> None:
        """Copy elements, however they lie."""

    def columns(self, s: Geometry, columns: Buffer, x: Buffer, steps: tuple[int, int, int], name: str) -> None:
        """Write the columns of dense images: :func:`umiak.backends.matmul_work.columns_work`."""

    def images(self, s: Geometry, x: Buffer, columns: Buffer, name: str) -> None:
        """Add up columns: :func:`umiak.backends.matmul_work.images_work`."""


class Convolutions:
    """The kernel of the three ops on one device, for dense results."""

    def __init__(self, device: Columns) -> None:
        self.device = device

    def __call__(self, op: Any, outs: Sequence[Buffer], ins: Sequence[Any], params: tuple) -> None:
        (out,) = outs
        a, b = (self.dense(x, op.name) for x in ins)
        if not out.size:
            return
        if type(op) is Conv:
            self.forward(Geometry(a.shape, b.shape, out.shape, params), out, a, b, op.name)
        elif type(op) is ConvInputGrad:
            self.input_gradient(Geometry(out.shape, b.shape, a.shape, params), out, a, b, op.name)
        else:
            self.weight_gradient(Geometry(a.shape, out.shape, b.shape, params), out, a, b, op.name)

    def dense(self, x: Buffer, name: str) -> Buffer:
        if is_dense(x):
            return x
        copy = Buffer(empty(x.shape, x.dtype, x.place))
        self.device.copy(copy, x, name)
        return copy

    def images_per_step(self, s: Geometry, itemsize: int) -> int:
        """Images whose columns are computed at a time."""
        return max(1, COLUMN_BYTES // (s.groups * s.channels * s.offsets * s.positions * itemsize or 1))

    def forward(self, s: Geometry, out: Buffer, x: Buffer, w: Buffer, name: str) -> None:
        rows = s.channels * s.offsets
        weights = reshaped(w, (s.groups, s.results, rows))
        step = self.images_per_step(s, x.dtype.itemsize)
        for first in range(0, s.images, step):
            n = min(step, s.images - first)
            columns = Buffer(empty((n, s.groups, rows, s.positions), x.dtype, x.place))
            image = s.groups * rows * s.positions
            steps = (image, s.offsets * s.positions, s.positions)
            self.device.columns(s, columns, _images(x, first, n), steps, name)
            result = reshaped(_images(out, first, n), (n, s.groups, s.results, s.positions))
            self.device.multiply(result, Matrices(weights, False), Matrices(columns, False), name)

    def input_gradient(self, s: Geometry, out: Buffer, g: Buffer, w: Buffer, name: str) -> None:
        rows = s.channels * s.offsets
        weights = Matrices(reshaped(w, (s.groups, s.results, rows)), True)
        step = self.images_per_step(s, g.dtype.itemsize)
        for first in range(0, s.images, step):
            n = min(step, s.images - first)
            columns = Buffer(empty((n, s.groups, rows, s.positions), g.dtype, g.place))
            gradients = reshaped(_images(g, first, n), (n, s.groups, s.results, s.positions))
            self.device.multiply(columns, weights, Matrices(gradients, False), name)
            self.device.images(s, _images(out, first, n), columns, name)

    def weight_gradient(self, s: Geometry, out: Buffer, x: Buffer, g: Buffer, name: str) -> None:
        rows, terms = s.channels * s.offsets, s.images * s.positions
        columns = Buffer(empty((s.groups, rows, terms), x.dtype, x.place))
        if columns.size:
            self.device.columns(s, columns, x, (s.positions, s.offsets * terms, terms), name)
        side = Buffer(empty((s.groups, s.results, s.images, s.positions), g.dtype, g.place))
        strides = (s.results * s.positions, s.positions, s.groups * s.results * s.positions, 1)
        self.device.copy(side, reshaped(g, side.shape, strides), name)
        gradients = reshaped(side, (s.groups, s.results, terms))
        result = reshaped(out, (s.groups, s.results, rows))
        self.device.multiply(result, Matrices(gradients, False), Matrices(columns, True), name)


def _images(x: Buffer, first: int, count: int) -> Buffer:
    return reshaped(x, (count, *x.shape[1:]), x.strides, first * x.strides[0])
