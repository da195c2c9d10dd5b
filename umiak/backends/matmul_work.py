"""Matmuls of devices that have no library for them: a kernel of the loop IR, one element of the result per thread.

It is right for all strides and dtypes, and far from what a device can do.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from umiak.compiler.loop import node as n
from umiak.compiler.loop.monoid import SUM
from umiak.compiler.loop.node import add, axis, counted, dim, i64, mul, rem
from umiak.compiler.loop.tree import IN, LANE, OUT, Axis, Kernel, Loop, Reduce, Store
from umiak.compiler.loop.tree import Buffer as LoopBuffer
from umiak.compiler.loop.types import F32, F64, I32, I64, STORED
from umiak.core.buffer import Buffer


class Matrices:
    """An operand: matrices in the last two dims, perhaps taken transposed. Strides are in elements."""

    def __init__(self, x: Buffer, transposed: bool) -> None:
        self.x, self.batch, self.strides = x, x.shape[:-2], x.strides[:-2]
        self.rows, self.columns = x.shape[-2:]
        self.row, self.column = x.strides[-2:]
        if transposed:
            self.rows, self.columns, self.row, self.column = self.columns, self.rows, self.column, self.row

    def steps(self, batch: Sequence[int]) -> list[int]:
        """Strides over a batch that this operand's own is broadcast to."""
        lead = len(batch) - len(self.batch)
        return [0] * lead + [s if size != 1 else 0 for size, s in zip(self.batch, self.strides)]


def matmul_work(out: Buffer, a: Matrices, b: Matrices) -> tuple[Kernel, tuple[int, ...]]:
    """The kernel that computes ``out = a b`` over broadcast batches, and its dims. ``out`` is dense; the kernel reads
    ``a`` and ``b`` and writes ``out``, in this order."""
    batch = out.shape[:-2]
    of_a, of_b = a.steps(batch), b.steps(batch)
    numbers = (out.size, a.rows, b.columns, a.columns, a.row, a.column, b.row, b.column, *batch, *of_a, *of_b)
    return _kernel(len(batch), out.dtype.name), numbers


@functools.cache
def _kernel(rank: int, dtype: str) -> Kernel:
    cell, at, k = STORED[dtype], axis("i"), axis("k")
    sums = F64 if cell is F64 else F32 if cell.is_float else I64 if cell is I64 else I32
    rows, columns = dim(1), dim(2)
    column, rest = rem(at, columns), counted(at, columns)
    row, rest = rem(rest, rows), counted(rest, rows)
    of_a, of_b = add(mul(row, dim(4)), mul(k, dim(5))), add(mul(k, dim(6)), mul(column, dim(7)))
    for j in reversed(range(rank)):
        size = dim(8 + j)
        index = rem(rest, size) if j else rest
        of_a, of_b = add(of_a, mul(index, dim(8 + rank + j))), add(of_b, mul(index, dim(8 + 2 * rank + j)))
        rest = counted(rest, size)
    x, y = (n.cast(n.load(name, cell, index), sums) for name, index in (("a", of_a), ("b", of_b)))
    result = n.var("sum", sums)
    product = n.exact_product(x, y) if sums.is_float else mul(x, y)
    body = (
        Reduce((result,), SUM, (Axis(k, dim(3)),), (product,)),
        Store("out", at, n.cast(result, cell)),
    )
    return Kernel(
        f"matmul_{rank}_{dtype}",
        (LoopBuffer("a", cell, IN), LoopBuffer("b", cell, IN), LoopBuffer("out", cell, OUT)),
        8 + 3 * rank,
        (Loop(Axis(at, dim(0), kind=LANE), body, parallel=True),),
    )


# --- convolutions as matmuls ---


class Geometry:
    """Sizes of one convolution, with three spatial dims always.

    With ``offsets`` in a kernel, ``positions``, and in each of ``groups`` groups ``channels`` of x and ``results`` of
    the result. ``numbers`` are sizes of the image, of the kernel and of the grid of positions, strides, pads in front,
    and dilations.
    """

    def __init__(self, x: Sequence[int], w: Sequence[int], g: Sequence[int], params: Sequence) -> None:
        groups, strides, lows, _, dilations = params[:5]

        def three(values: Sequence[int], one: int) -> tuple[int, ...]:
            return (*[one] * (3 - len(values)), *map(int, values))

        self.images, self.groups, self.channels, self.results = x[0], groups, w[1], w[0] // groups
        self.offsets, self.positions, self.points = math.prod(w[2:]), math.prod(g[2:]), math.prod(x[2:])
        self.numbers = (
            *three(x[2:], 1), *three(w[2:], 1), *three(g[2:], 1),
            *three(strides, 1), *three(lows, 0), *three(dilations, 1),
        )  # fmt: skip


_SIZE, _WINDOW, _GRID, _STRIDE, _PAD, _DILATION = range(0, 18, 3)


def columns_work(s: Geometry, images: int, steps: tuple[int, int, int], dtype: str) -> tuple[Kernel, tuple[int, ...]]:
    """The kernel that writes ``columns[image, channel, offset, position]``, the elements of dense images ``x`` that a
    kernel's offset meets at a position, and its dims. ``steps`` are strides of the columns' images, channels and
    offsets; positions lie side by side. It reads ``x`` and writes the columns."""
    channels = s.groups * s.channels
    total = images * channels * s.offsets * s.positions
    return _columns_kernel(dtype), (total, channels, s.offsets, s.positions, *steps, *s.numbers)


@functools.cache
def _columns_kernel(dtype: str) -> Kernel:
    cell, at, first = STORED[dtype], axis("i"), 7
    position, rest = rem(at, dim(3)), counted(at, dim(3))
    offset, rest = rem(rest, dim(2)), counted(rest, dim(2))
    channel, image = rem(rest, dim(1)), counted(rest, dim(1))
    p, o = _three(position, first + _GRID), _three(offset, first + _WINDOW)
    inside, index = n.const(True, n.lt(at, 0).type), add(mul(image, dim(1)), channel)
    for a in range(3):
        i = n.sub(
            add(mul(p[a], dim(first + _STRIDE + a)), mul(o[a], dim(first + _DILATION + a))), dim(first + _PAD + a)
        )
        condition = n.conjunction(inside, n.le(0, i), n.lt(i, dim(first + _SIZE + a)))
        assert condition is not None
        inside, index = condition, add(mul(index, dim(first + _SIZE + a)), i)
    to = add(add(mul(image, dim(4)), mul(channel, dim(5))), add(mul(offset, dim(6)), position))
    return Kernel(
        f"columns_{dtype}",
        (LoopBuffer("x", cell, IN), LoopBuffer("columns", cell, OUT)),
        first + 18,
        (Loop(Axis(at, dim(0), kind=LANE), (Store("columns", to, n.load("x", cell, index, inside)),), parallel=True),),
    )


def images_work(s: Geometry, images: int, dtype: str) -> tuple[Kernel, tuple[int, ...]]:
    """The kernel that adds up dense columns where they came from, and its dims: every element of the images looks for
    its own terms. It reads the columns and writes the images."""
    total = images * s.groups * s.channels * s.points
    return _images_kernel(dtype), (total, s.offsets, s.positions, s.points, *s.numbers)


@functools.cache
def _images_kernel(dtype: str) -> Kernel:
    cell, at, offset, first = STORED[dtype], axis("i"), axis("o"), 4
    point, channel = rem(at, dim(3)), counted(at, dim(3))
    i, o = _three(point, first + _SIZE), _three(offset, first + _WINDOW)
    where, position = n.const(True, n.lt(at, 0).type), i64(0)
    for a in range(3):
        stride = dim(first + _STRIDE + a)
        reach = n.sub(add(i[a], dim(first + _PAD + a)), mul(o[a], dim(first + _DILATION + a)))
        grid = n.div(reach, stride)
        condition = n.conjunction(
            where, n.le(0, reach), n.eq(rem(reach, stride), 0), n.lt(grid, dim(first + _GRID + a))
        )
        assert condition is not None
        where, position = condition, add(mul(position, dim(first + _GRID + a)), grid)
    index = add(mul(add(mul(channel, dim(1)), offset), dim(2)), position)
    result = n.var("sum", cell)
    body = (
        Reduce((result,), SUM, (Axis(offset, dim(1)),), (n.load("columns", cell, index, where),), None, where),
        Store("x", at, result),
    )
    return Kernel(
        f"images_{dtype}",
        (LoopBuffer("columns", cell, IN), LoopBuffer("x", cell, OUT)),
        first + 18,
        (Loop(Axis(at, dim(0), kind=LANE), body, parallel=True),),
    )


def _three(index: n.Node, sizes: int) -> list[n.Node]:
    """The coordinates of a point among three dims, whose sizes begin at a dim of the kernel."""
    last, middle = dim(sizes + 2), dim(sizes + 1)
    rest = counted(index, last)
    return [counted(rest, middle), rem(rest, middle), rem(index, last)]
