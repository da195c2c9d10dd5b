"""Reductions of rows that share a number: segments of a tensor, messages that meet at a node of a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops._common import accept, draw, factor_names, in_compute_type, shard_string, zeros
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.movement import require

MODES = ("sum", "mean", "max", "min")


@register
class SegmentReduce(Op):
    """Sums, means or extrema of the rows of ``x`` that have one number in ``index``; 0 where a number has no rows.

    With ``source``, row ``e`` is ``x[source[e]]``. Every row that reaches an extremum gets its whole gradient. Numbers
    are not negative.
    """

    inputs = ("x", "index", "source?")
    mode: str
    count: int = param("int")

    def infer(self, x, index, source, count):
        if self.mode not in MODES:
            self.fail(ValueError, f"a mode of {MODES}", self.mode)
        accept(self, "ifc" if self.mode in ("sum", "mean") else "if", x)
        if not x.shape:
            self.fail(ValueError, "an x of rank 1 or more", "a 0-d tensor")
        for name, m in (("index", index), ("source", source)):
            if m is not None and not (len(m.shape) == 1 and m.dtype is not None and m.dtype.is_integer):
                self.fail(TypeError, f"a 1-d integer tensor as {name}", f"{m.dtype} of shape {tuple(m.shape)}")
        rows = x.shape[0] if source is None else source.shape[0]
        require(self, index.shape[0] == rows, "a number for each row", f"{index.shape[0]} numbers and {rows} rows")
        return Meta((count, *x.shape[1:]), x.dtype)

    @in_compute_type
    def decompose(self, x, index, source, count):
        at, rows = self._places(index, count), x if source is None else F.take(x, _checked(source, x.shape[0]), axis=0)
        shape = (count, *x.shape[1:])
        if self.mode in ("max", "min"):
            reduced = F.put(F.full(_last(x.dtype, self.mode), dtype=x.dtype, shape=shape), at, rows, 0, mode=self.mode)
            there = F.put(F.full(False, dtype=dt.bool, shape=(count,)), at, True, axis=0)
            return F.where(_as_rows(there, reduced), reduced, 0)
        total = F.put(F.full(0, dtype=x.dtype, shape=shape), at, rows, axis=0, mode="add")
        return total if self.mode == "sum" else self._shared(total, at, count)

    def _places(self, index: Any, count: Any) -> Any:
        """The index, with negative numbers beyond its range, where they are refused."""
        return F.where(F.lt(index, 0), count, index)

    def _shared(self, total: Any, at: Any, count: Any) -> Any:
        """Sums divided by the numbers of their rows; of integers towards 0."""
        exact = total.dtype.is_integer
        counts = F.put(F.full(0, dtype=dt.int64, shape=(count,)), at, 1, axis=0, mode="add")
        counts = _as_rows(F.cast(F.maximum(counts, 1), dtype=total.dtype), total)
        if not exact:
            return F.div(total, counts)
        return F.mul(F.sign(total), F.floor_div(F.abs(total), counts))

    def vjp(self, s, g):
        x, index, source = s.inputs
        if self.mode == "mean":
            g = self._shared(g, self._places(index, s.params.count), s.params.count)
        rows = F.take(g, index, axis=0)
        if self.mode in ("max", "min"):
            messages = x if source is None else F.take(x, source, axis=0)
            rows = F.where(F.eq(messages, F.take(s.outputs[0], index, axis=0)), rows, 0)
        return rows if source is None else F.put(zeros(x), source, rows, axis=0, mode="add"), None, None

    def shard(self, x, index, source, count):
        names = factor_names(len(x.shape))
        columns, mark = names[1:], "sum" if self.mode == "sum" and source is None else "replicated"
        if source is None:
            return shard_string([names, names[:1], []], [["1", *columns]], **{names[0]: mark})
        return shard_string([names, ["e"], ["e"]], [["1", *columns]], **{names[0]: mark, "e": mark})

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        x, index = draw(rng, (4, 3)), np.array([2, 0, 2, 2])
        for mode in MODES:
            yield Sample((x, index, None), {"mode": mode}, {"count": 4})
            yield Sample((x, index[:3], np.array([3, 0, 0])), {"mode": mode}, {"count": 3}, note="of sources")
            yield Sample((draw(rng, (4,)), index.astype(np.int32), None), {"mode": mode}, {"count": 3}, note="numbers")
            yield Sample((draw(rng, (0, 3)), index[:0], None), {"mode": mode}, {"count": 2}, note="0-size")
            yield Sample((draw(rng, (4, 2), dt.int64, -8, 8), index, None), {"mode": mode}, {"count": 3})
            yield Sample((draw(rng, (4, 2), dt.bfloat16), index, None), {"mode": mode}, {"count": 3})
        yield Sample((draw(rng, (4, 2), dt.complex128), index, None), {"mode": "mean"}, {"count": 3})


def _checked(source: Any, rows: Any) -> Any:
    return F.where(F.lt(source, 0), rows, source)


def _as_rows(v: Any, like: Any) -> Any:
    """A 1-d tensor that broadcasts along the rows of ``like``."""
    return F.unsqueeze(v, axes=tuple(range(1, like.ndim))) if like.ndim > 1 else v


def _last(dtype: Any, mode: str) -> Any:
    """The number of a dtype that every other one replaces."""
    if dtype.is_floating:
        return -np.inf if mode == "max" else np.inf
    limits = np.iinfo(dtype.numpy)
    return int(limits.min if mode == "max" else limits.max)
