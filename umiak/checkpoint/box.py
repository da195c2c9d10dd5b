"""Boxes: blocks of an N-d tensor, as offsets and sizes along its axes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, order=True)
class Box:
    """The elements from ``offset`` (inclusive) to ``offset + shape`` (exclusive) along every axis."""

    offset: tuple[int, ...]
    shape: tuple[int, ...]

    @classmethod
    def full(cls, shape: tuple[int, ...]) -> Box:
        """All of a tensor of ``shape``."""
        return cls((0,) * len(shape), tuple(shape))

    @property
    def end(self) -> tuple[int, ...]:
        """The first index past the box along every axis."""
        return tuple(o + n for o, n in zip(self.offset, self.shape))

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def slices(self) -> tuple[Any, ...]:
        """The index of the box in an array of the whole tensor. It gives a view, also of an array without axes."""
        return tuple(slice(o, o + n) for o, n in zip(self.offset, self.shape)) or (...,)

    def intersect(self, other: Box) -> Box | None:
        """The common part; None where there is none. A box without elements has no part in common with any."""
        offset = tuple(map(max, self.offset, other.offset))
        shape = tuple(min(a, b) - o for a, b, o in zip(self.end, other.end, offset))
        return Box(offset, shape) if all(n > 0 for n in shape) else None

    def contains(self, other: Box) -> bool:
        """Return whether every element of ``other`` lies in this box."""
        return all(a <= b for a, b in zip(self.offset, other.offset)) and all(
            b <= a for a, b in zip(self.end, other.end)
        )

    def relative_to(self, origin: tuple[int, ...]) -> Box:
        """The same elements, counted from ``origin``."""
        return Box(tuple(o - b for o, b in zip(self.offset, origin)), self.shape)

    def shifted(self, by: tuple[int, ...]) -> Box:
        """The box moved by ``by``."""
        return Box(tuple(o + b for o, b in zip(self.offset, by)), self.shape)

    def permuted(self, axes: tuple[int, ...]) -> Box:
        """The box of the transposed tensor: its axis i is axis ``axes[i]`` of this one."""
        return Box(tuple(self.offset[a] for a in axes), tuple(self.shape[a] for a in axes))


def enclosing(shape: tuple[int, ...], start: int, stop: int) -> Box:
    """The smallest box that holds elements ``start`` to ``stop`` of the row-major flattening of ``shape``.

    Axes are fixed as long as the first and the last element agree in all of their indices so far; at the first axis
    where they differ the box spans what lies between, and all axes after it are whole.
    """
    if stop <= start:
        return Box((0,) * len(shape), (0,) * len(shape))
    offset, sizes = [], []
    first, last, same = start, stop - 1, True
    stride = math.prod(shape)
    for n in shape:
        stride //= n
        a, first = divmod(first, stride)
        b, last = divmod(last, stride)
        if not same:
            a, b = 0, n - 1
        same = same and a == b
        offset.append(a)
        sizes.append(b - a + 1)
    return Box(tuple(offset), tuple(sizes))


def flat_runs(shape: tuple[int, ...], start: int, stop: int) -> Iterator[tuple[Box, int]]:
    """Yield elements ``start`` to ``stop`` (row-major) of a tensor as disjoint boxes, each with its first flat index.

    There are at most ``2 * rank - 1`` boxes, in order; each is contiguous in row-major order.
    """
    if stop <= start:
        return
    if not shape:
        yield Box((), ()), 0
        return
    stride = math.prod(shape[1:])
    row, rest = shape[0], shape[1:]
    a, b = -(-start // stride), stop // stride  # the whole rows

    def inside(i: int, lo: int, hi: int) -> Iterator[tuple[Box, int]]:
        for box, at in flat_runs(rest, lo, hi):
            yield Box((i, *box.offset), (1, *box.shape)), i * stride + at

    if a > b:  # within one row
        yield from inside(b, start - b * stride, stop - b * stride)
        return
    if start < a * stride:
        yield from inside(a - 1, start - (a - 1) * stride, stride)
    if a < b:
        yield Box((a,) + (0,) * len(rest), (b - a, *rest)), a * stride
    if b < row and b * stride < stop:
        yield from inside(b, 0, stop - b * stride)


def difference(box: Box, hole: Box) -> list[Box]:
    """Return ``box`` minus ``hole``, which lies in it, as disjoint boxes: at most two for each axis."""
    out = []
    offset, shape = list(box.offset), list(box.shape)
    for axis, (start, size) in enumerate(zip(hole.offset, hole.shape)):
        before, after = start - offset[axis], offset[axis] + shape[axis] - start - size
        if before:
            out.append(Box(tuple(offset), (*shape[:axis], before, *shape[axis + 1 :])))
        if after:
            out.append(
                Box((*offset[:axis], start + size, *offset[axis + 1 :]), (*shape[:axis], after, *shape[axis + 1 :]))
            )
        offset[axis], shape[axis] = start, size
    return out
