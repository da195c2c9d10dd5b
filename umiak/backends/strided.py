"""Tensors of a device that lie anyhow: dense or not, seen with other sizes, and the kernel that copies them.

For backends in Python. A kernel that writes dense results becomes one that writes them wherever they lie
(:func:`densely`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from umiak.compiler.loop.node import add, axis, counted, dim, i64, load, mul, rem
from umiak.compiler.loop.tree import IN, LANE, OUT, Axis, Kernel, Loop, Store
from umiak.compiler.loop.tree import Buffer as LoopBuffer
from umiak.compiler.loop.types import U8, U16, U32, U64
from umiak.core.buffer import Buffer
from umiak.core.tensor import empty

Run = Callable[[Any, Sequence[Any], Sequence[Any], tuple], None]

_CELLS = {1: U8, 2: U16, 4: U32, 8: U64}


def dense_strides(shape: Sequence[int], step: int = 1) -> tuple[int, ...]:
    """Strides of a dense shape whose last dim has stride ``step``."""
    strides: list[int] = []
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def is_dense(x: Buffer) -> bool:
    """Return whether elements lie one after the other, in order."""
    return all(n == 1 or s == d for n, s, d in zip(x.shape, x.strides, dense_strides(x.shape)))


def reshaped(x: Buffer, shape: Sequence[int], strides: Sequence[int] | None = None, first: int = 0) -> Buffer:
    """The same memory seen as another tensor, dense unless strides are given, from its element ``first`` on."""
    view = Buffer.__new__(Buffer)
    view.storage, view.offset, view.dtype = x.storage, x.offset + first * x.dtype.itemsize, x.dtype
    view.shape = tuple(shape)
    view.strides = dense_strides(shape) if strides is None else tuple(strides)
    return view


def merged(shape: Sequence[int], *strides: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """Sizes and strides with axes of size 1 dropped, and neighbours merged where all strides allow it."""
    axes: list[tuple[int, ...]] = []
    for n, *s in zip(shape, *strides):
        if n == 1:
            continue
        if axes and all(outer == inner * n for outer, inner in zip(axes[-1][1:], s)):
            axes[-1] = (axes[-1][0] * n, *s)
        else:
            axes.append((n, *s))
    axes = axes or [(1, *(0 for _ in strides))]
    sizes, *rest = map(list, zip(*axes))
    return sizes, rest


def densely(run: Run, copy: Callable[[Buffer, Buffer, str], None]) -> Run:
    """A kernel that writes dense results as one that writes them wherever they lie; ``copy(target, source, op)`` copies
    elements."""

    def into(op: Any, outs: Sequence[Buffer], ins: Sequence[Any], params: tuple) -> None:
        if all(map(is_dense, outs)):
            run(op, outs, ins, params)
            return
        dense = [x if is_dense(x) else Buffer(empty(x.shape, x.dtype, x.place)) for x in outs]
        run(op, dense, ins, params)
        for x, y in zip(outs, dense, strict=True):
            if x is not y:
                copy(x, y, op.name)

    return into


def copy_work(target: Buffer, source: Buffer) -> tuple[Kernel, tuple[int, ...]]:
    """The kernel that copies elements of one dtype and shape, and its dims: the number of elements, then sizes, strides
    of the target and strides of the source."""
    sizes, (to, of) = merged(target.shape, target.strides, source.strides)
    item = target.dtype.itemsize
    if item == 16:  # no number is as wide: two words each
        sizes, to, of, item = [*sizes, 2], [2 * s for s in to] + [1], [2 * s for s in of] + [1], 8
    count = 1
    for n in sizes:
        count *= n
    return _copy_kernel(len(sizes), item), (count, *sizes, *to, *of)


@functools.cache
def _copy_kernel(rank: int, itemsize: int) -> Kernel:
    cell, at = _CELLS[itemsize], axis("i")
    to, of, rest = i64(0), i64(0), at
    for k in reversed(range(rank)):
        size = dim(1 + k)
        index = rem(rest, size) if k else rest
        to, of = add(to, mul(index, dim(1 + rank + k))), add(of, mul(index, dim(1 + 2 * rank + k)))
        rest = counted(rest, size)
    body = (Store("target", to, load("source", cell, of)),)
    return Kernel(
        f"copy_{rank}_{itemsize}",
        (LoopBuffer("source", cell, IN), LoopBuffer("target", cell, OUT)),
        1 + 3 * rank,
        (Loop(Axis(at, dim(0), kind=LANE), body, parallel=True),),
    )
