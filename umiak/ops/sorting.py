"""Sorting and what is read off a sorted axis. NaN counts as larger than every number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops._common import (
    accept,
    check_axes,
    draw,
    factor_names,
    reduced_shape,
    shard_reduce,
    shard_string,
    zeros,
)
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.movement import require


def distinct(rng: Any, shape: tuple, dtype: Any = None) -> np.ndarray:
    """Numbers far enough apart that a small change does not alter their order."""
    n = int(np.prod(shape))
    return ((rng.permutation(n).reshape(shape) - n / 2) * 0.5).astype((dtype or dt.float64).numpy)


class SortLike(Op):
    """Values chosen along ``axis``, and where in ``x`` they stood."""

    axis: int

    def vjp(self, s, g, _):
        return (F.scatter_along(zeros(s.inputs[0]), s.outputs[1], g, axis=self.axis),)

    def shard(self, x, *params):
        names = factor_names(len(x.shape))
        out = [f if i != self.axis else "1" for i, f in enumerate(names)]
        return shard_string([names], [out, out], **{names[self.axis]: "replicated"})


@register
class Sort(SortLike):
    """``x`` in rising (``descending``: falling) order along ``axis``, and the index of each element in ``x``.

    Equal elements keep their order; ``stable=False`` allows a backend to let that go.
    """

    descending: bool = False
    stable: bool = True

    def infer(self, x):
        accept(self, "bif", x)
        check_axes(self, (self.axis,), len(x.shape))
        return Meta(tuple(x.shape), x.dtype), Meta(tuple(x.shape), dt.int64)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for descending in (False, True):
            yield Sample((distinct(rng, (3, 4)),), {"axis": 1, "descending": descending})
            yield Sample((np.array([2, 1, 2, 1, 2]),), {"axis": 0, "descending": descending}, note="ties")
            nan = np.array([1, np.nan, -np.inf, np.inf, np.nan, 0], np.float32)
            yield Sample((nan,), {"axis": 0, "descending": descending}, differentiable=(), note="NaN")
        yield Sample((distinct(rng, (2, 3, 2)),), {"axis": 1, "stable": False})
        yield Sample((distinct(rng, (0, 2)),), {"axis": 0}, note="0-size")
        yield Sample((draw(rng, (4,), dt.bool),), {"axis": 0})
        yield Sample((distinct(rng, (5,), dt.bfloat16),), {"axis": 0})


@register
class TopK(SortLike):
    """The ``k`` largest (or smallest) elements along ``axis`` and their indices; of equals, the first.

    ``sorted``: best first.
    """

    largest: bool = True
    sorted: bool = True
    k: int = param("int")

    def infer(self, x, k):
        accept(self, "bif", x)
        check_axes(self, (self.axis,), len(x.shape))
        n = x.shape[self.axis]
        require(self, (0 <= k) & (k <= n), f"k from 0 to {n}, the size of axis {self.axis}", k)
        shape = tuple(k if i == self.axis else m for i, m in enumerate(x.shape))
        return Meta(shape, x.dtype), Meta(shape, dt.int64)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for largest in (True, False):
            yield Sample((distinct(rng, (3, 5)),), {"axis": 1, "largest": largest}, {"k": 2})
            yield Sample((np.array([2, 1, 2, 1, 2]),), {"axis": 0, "largest": largest}, {"k": 3}, note="ties")
            nan = np.array([1, np.nan, 3, 0], np.float32)
            yield Sample((nan,), {"axis": 0, "largest": largest}, {"k": 2}, differentiable=(), note="NaN")
        yield Sample((distinct(rng, (4, 2)),), {"axis": 0}, {"k": 4}, note="all")
        yield Sample((distinct(rng, (2, 3)),), {"axis": 1}, {"k": 0}, note="none")
        yield Sample((distinct(rng, (0, 3), dt.float32),), {"axis": 1}, {"k": 2}, note="0-size")


class OrderStatistic(Op):
    """One element along ``axis``, found by order: its value and its index in ``x``."""

    axis: int
    keepdim: bool = False
    params: ClassVar[dict] = {}

    def infer(self, x, *params):
        accept(self, "bif", x)
        check_axes(self, (self.axis,), len(x.shape))
        self.check(x.shape[self.axis], *params)
        shape = reduced_shape(x.shape, (self.axis,), self.keepdim)
        return Meta(shape, x.dtype), Meta(shape, dt.int64)

    def check(self, n):
        """Refuse an axis of size ``n`` that has no such element."""
        require(self, n >= 1, "at least one element to choose from", n)

    def picked(self, x, index):
        """Value and index at ``index``, which has the reduced dim as size 1."""
        value = F.take_along(x, index, axis=self.axis)
        return (
            (value, index)
            if self.keepdim
            else (F.squeeze(value, axes=(self.axis,)), F.squeeze(index, axes=(self.axis,)))
        )

    def vjp(self, s, g, _):
        x, index = s.inputs[0], s.outputs[1]
        index_and_gradient = (
            v if self.keepdim else F.unsqueeze(v, axes=(self.axis,)) for v in (index, g)
        )  # broadcasting will not do
        return (F.scatter_along(zeros(x), *index_and_gradient, axis=self.axis),)

    def shard(self, x, *params):
        return shard_reduce(x, (self.axis,), self.keepdim, "replicated", results=2)

    @classmethod
    def samples(cls, rng) -> Iterator[Sample]:
        yield Sample((distinct(rng, (3, 5)),), {"axis": 1}, cls.params)
        yield Sample((distinct(rng, (3, 5)),), {"axis": 0, "keepdim": True}, cls.params)
        yield Sample((distinct(rng, (4, 3)),), {"axis": 0}, cls.params)
        yield Sample((np.array([2, 1, 2, 1, 3]),), {"axis": 0}, cls.params, note="ties")
        yield Sample((distinct(rng, (0, 3), dt.float32),), {"axis": 1}, cls.params, note="0-size")


@register
class Kthvalue(OrderStatistic):
    """The ``k``-th smallest element along ``axis``, counted from 1."""

    k: int = param("int")
    params = {"k": 2}

    def check(self, n, k):
        require(self, (1 <= k) & (k <= n), f"k from 1 to {n}, the size of axis {self.axis}", k)

    def decompose(self, x, k):
        _, order = F.sort(x, axis=self.axis)
        return self.picked(x, F.slice(order, axes=(self.axis,), starts=(k - 1,), sizes=(1,), steps=(1,)))


@register
class Mode(OrderStatistic):
    """The most frequent element along ``axis``, the smallest of several, and its last position."""

    def decompose(self, x):
        last = x.ndim - 1
        values, order = F.sort(x, axis=self.axis)
        rows, positions = (F.permute(v, perm=_to_last(x.ndim, self.axis)) for v in (values, order))
        if x.dtype.is_bool:
            rows = F.cast(rows, dtype=dt.uint8)
        end = F.search_sorted(rows, rows, right=True)
        length = F.sub(end, F.search_sorted(rows, rows))
        best = F.argmax(length, axis=last, keepdim=True)
        index = F.take_along(positions, F.sub(F.take_along(end, best, axis=last), 1), axis=last)
        return self.picked(x, F.permute(index, perm=_from_last(x.ndim, self.axis)))


def _to_last(ndim: int, axis: int) -> tuple:
    return (*(i for i in range(ndim) if i != axis), axis)


def _from_last(ndim: int, axis: int) -> tuple:
    perm = _to_last(ndim, axis)
    return tuple(perm.index(i) for i in range(ndim))


def median_positions(valid: Any, lower: bool) -> Any:
    """The positions of the middle elements among ``valid`` sorted ones: below and above the middle, or the one below
    alone.
    """
    below = F.floor_div(F.sub(valid, 1), 2)
    return below if lower else (below, F.floor_div(valid, 2))


@register
class MedianLower(OrderStatistic):
    """The lower middle element along ``axis``; the first NaN if there is one, unless ``ignore_nan``."""

    ignore_nan: bool = False

    def decompose(self, x):
        n = x.shape[self.axis]
        _, order = F.sort(x, axis=self.axis)
        if not x.dtype.is_floating:
            return self.picked(x, F.slice(order, axes=(self.axis,), starts=((n - 1) // 2,), sizes=(1,), steps=(1,)))
        nan = F.sum(F.cast(F.isnan(x), dtype=dt.int64), axes=(self.axis,), keepdim=True)
        valid = F.sub(n, nan)
        if self.ignore_nan:
            position = F.maximum(median_positions(valid, True), 0)
        else:
            position = F.where(F.eq(nan, 0), (n - 1) // 2, valid)
        return self.picked(x, F.take_along(order, position, axis=self.axis))


@register
class Median(Op):
    """The middle element along ``axis``, or the mean of the two in the middle; NaN if there is one, unless
    ``ignore_nan``.
    """

    axis: int
    keepdim: bool = False
    ignore_nan: bool = False

    def infer(self, x):
        accept(self, "f", x)
        check_axes(self, (self.axis,), len(x.shape))
        require(self, x.shape[self.axis] >= 1, "at least one element", tuple(x.shape))
        return Meta(reduced_shape(x.shape, (self.axis,), self.keepdim), x.dtype)

    def decompose(self, x):
        n = x.shape[self.axis]
        rising, _ = F.sort(x, axis=self.axis)
        nan = F.sum(F.cast(F.isnan(x), dtype=dt.int64), axes=(self.axis,), keepdim=True)
        below, above = median_positions(
            F.maximum(F.sub(n, nan), 1) if self.ignore_nan else F.sub(n, F.mul(nan, 0)), False
        )
        low, high = (F.take_along(rising, position, axis=self.axis) for position in (below, above))
        # Half of each, not half of the sum: the sum of two large numbers may be infinite.
        out = F.add(F.mul(low, 0.5), F.mul(high, 0.5))
        if not self.ignore_nan:
            out = F.where(F.gt(nan, 0), float("nan"), out)
        return out if self.keepdim else F.squeeze(out, axes=(self.axis,))

    def shard(self, x):
        return shard_reduce(x, (self.axis,), self.keepdim, "replicated")

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        nan = np.array([[1, np.nan, 3, 0], [np.nan] * 4, [2, 5, 1, 0]])
        for ignore in (False, True):
            yield Sample((distinct(rng, (3, 4)),), {"axis": 1, "ignore_nan": ignore})
            yield Sample((distinct(rng, (3, 2)),), {"axis": 0, "keepdim": True, "ignore_nan": ignore})
            yield Sample((nan,), {"axis": 1, "ignore_nan": ignore}, differentiable=(), note="NaN")
        yield Sample((distinct(rng, (0, 3), dt.float32),), {"axis": 1}, note="0-size")
        yield Sample((distinct(rng, (5,), dt.bfloat16),), {"axis": 0})


@register
class Quantile(Op):
    """The elements at the fractions ``q`` (1-d, from 0 to 1) of the sorted ``axis``: a new leading dim runs over q.

    ``interpolation`` between two positions: linear, lower, higher, nearest or midpoint. A row with NaN gives NaN,
    unless ``ignore_nan``.
    """

    inputs = ("x", "q")
    axis: int
    keepdim: bool = False
    interpolation: str = "linear"
    ignore_nan: bool = False

    def infer(self, x, q):
        accept(self, "f", x, q)
        check_axes(self, (self.axis,), len(x.shape))
        if self.interpolation not in ("linear", "lower", "higher", "nearest", "midpoint"):
            self.fail(ValueError, "an interpolation of linear, lower, higher, nearest or midpoint", self.interpolation)
        if x.dtype is not q.dtype or len(q.shape) != 1:
            self.fail(ValueError, f"fractions as a 1-d {x.dtype.name} tensor", f"{q.dtype.name} {tuple(q.shape)}")
        require(self, x.shape[self.axis] >= 1, "at least one element", tuple(x.shape))
        return Meta((q.shape[0], *reduced_shape(x.shape, (self.axis,), self.keepdim)), x.dtype)

    def decompose(self, x, q):
        last = x.ndim - 1
        rows = F.permute(x, perm=_to_last(x.ndim, self.axis))
        rising, _ = F.sort(rows, axis=last)
        nan = F.sum(F.cast(F.isnan(rows), dtype=dt.int64), axes=(last,), keepdim=True)
        n = x.shape[self.axis]
        valid = F.maximum(F.sub(n, nan), 1) if self.ignore_nan else F.sub(n, F.mul(nan, 0))
        position = F.mul(F.cast(F.sub(valid, 1), dtype=x.dtype), q)  # [..., len(q)]
        low = F.floor(position)
        high = F.ceil(position)
        if self.interpolation == "nearest":
            low = high = F.round(position)
        elif self.interpolation in ("lower", "higher"):
            low = high = low if self.interpolation == "lower" else high
        a = F.take_along(rising, F.cast(low, dtype=dt.int64), axis=last)
        if low is not high:
            b = F.take_along(rising, F.cast(high, dtype=dt.int64), axis=last)
            weight = F.sub(position, low) if self.interpolation == "linear" else 0.5
            a = F.add(a, F.mul(F.sub(b, a), weight))
        if not self.ignore_nan:
            a = F.where(F.gt(nan, 0), float("nan"), a)
        out = F.permute(a, perm=(last, *range(last)))
        return F.unsqueeze(out, axes=(self.axis + 1,)) if self.keepdim else out

    def shard(self, x, q):
        names = factor_names(len(x.shape))
        out = [f if i != self.axis else "1" for i, f in enumerate(names) if self.keepdim or i != self.axis]
        return shard_string([names, ["q"]], [["q", *out]], **{names[self.axis]: "replicated"})

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        q = np.array([0.0, 0.3, 0.5, 1.0])
        for interpolation in ("linear", "lower", "higher", "nearest", "midpoint"):
            attrs = {"axis": 1, "interpolation": interpolation}
            yield Sample((distinct(rng, (3, 6)), q), attrs, differentiable=(0,))
        yield Sample((distinct(rng, (4, 2, 2)), q), {"axis": 0, "keepdim": True}, differentiable=(0,))
        nan = np.array([[1, np.nan, 3, 0], [np.nan] * 4, [2, 5, 1, 0]])
        for ignore in (False, True):
            yield Sample((nan, q), {"axis": 1, "ignore_nan": ignore}, differentiable=(), note="NaN")
        yield Sample((distinct(rng, (0, 3)), q), {"axis": 1}, differentiable=(0,), note="0-size")
