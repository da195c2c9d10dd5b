"""Masks by columns from masks that are spelt out, without a score's worth of memory.

A mask changes, going from query to query, at few places that are known for each key (:mod:`mask_changes`). There, and
at the query before, it is computed: where it begins and ends to hide is what the columns say (``COLUMNS`` in
``umiak/ops/dot_product_attention.py``). What cannot be known beforehand (that a vector is in order, that a key is
hidden from two intervals of queries at most, that every query sees a key) is computed along, in time and memory of
the sum of both lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from umiak import ops as F
from umiak.compiler.passes.fusion import tensor
from umiak.compiler.passes.mask_changes import Change, FlagChange, OrderedChange, RunChange
from umiak.compiler.passes.mask_reader import Node
from umiak.compiler.passes.mask_sums import Sum
from umiak.compiler.passes.mask_values import Places, counted
from umiak.compiler.passes.spelled_mask import SpelledMask
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.ir.program import Value


class Columns(Places):
    """The columns of a mask. All tensors are recorded, or computed, when this is made.

    ``indices``: the columns, int32 ``[batch, heads, keys, columns]``. ``holds``: a flag, whether they are the mask, if
    what is hidden has no weight. ``highest``: the most that is added to hidden scores, or stands in their place; None
    if that is minus infinity.
    """

    def __init__(self, mask: SpelledMask) -> None:
        super().__init__(mask)
        self.checks: list[Any] = []
        self.fills: list[Any] = [_fill(p.fill) for p in mask.parts if p.has_fill]
        for total in mask.sums:
            self._check_sum(total)
        self.indices = self._columns()
        self.holds = reduce(F.logical_and, self.checks)
        self.highest = reduce(F.maximum, self.fills) if mask.bounded else None

    # --- where the mask changes

    def _places(self, change: Change) -> list[Any]:
        """The queries at which the mask changes, and others: ``[batch, heads, keys, 1]``, or with dims of 1."""
        if isinstance(change, RunChange):
            row = self._runs(change.rows)
            return self._bounds(row, row)
        if isinstance(change, FlagChange):
            return self._flips(change.flag)
        at = self.sum(change.at, None)
        if not isinstance(change, OrderedChange):
            return [at]
        row = self._along(change.row)
        up, down = (F.all(compare(*reversed(self._neighbours(row))), axes=(0, 1, 2)) for compare in (F.ge, F.le))
        self.checks.append(F.logical_or(up, down))
        sign = F.where(up, F.full(1, dtype=dt.int64, shape=()), F.full(-1, dtype=dt.int64, shape=()))
        value = F.mul(F.broadcast_to(at, shape=(*self.shape, self.keys, 1)), sign)
        return self._bounds(F.mul(row, sign), F.reshape(value, shape=(*self.shape, self.keys)))

    def _along(self, row: Sum) -> Any:
        """A sum for all queries: ``[batch, heads, queries]``."""
        x = self.sum(row, self.all_queries)
        return F.reshape(F.broadcast_to(x, shape=(*self.shape, 1, self.queries)), shape=(*self.shape, self.queries))

    def _neighbours(self, row: Any) -> list[Any]:
        """The element before each of a row, which for the first is itself, and the row."""
        before = F.maximum(F.sub(counted(row.shape[2]), 1), 0)
        return [F.take(row, before, axis=2), row]

    def _bounds(self, row: Any, value: Any) -> list[Any]:
        """The first places of values in a row that goes up, and those behind the last."""
        if self.is_one:
            row = F.reshape(row, shape=(self.queries,))
        return [F.unsqueeze(F.search_sorted(row, value, right=right), axes=(3,)) for right in (False, True)]

    def _flips(self, flag: Node) -> list[Any]:
        """The queries at which a flag changes: the first two and the last two, which have to be all."""
        row = self._along(Sum(0, 0, 0, ((1, flag),)))
        flips = F.ne(*self._neighbours(row))
        at = F.reshape(counted(self.queries), shape=(1, 1, self.queries))
        along = {"axes": (2,), "keepdim": True, "empty": True}
        first = F.min(F.where(flips, at, self.queries), **along)
        last = F.max(F.where(flips, at, 0), **along)
        second = F.min(F.where(F.logical_and(flips, F.gt(at, first)), at, self.queries), **along)
        third = F.max(F.where(F.logical_and(flips, F.lt(at, last)), at, 0), **along)
        ends = (first, second, third, last)
        known = reduce(F.logical_or, (F.eq(at, x) for x in ends))
        self.checks.append(F.all(F.logical_or(known, F.logical_not(flips)), axes=(0, 1, 2)))
        return [F.unsqueeze(x, axes=(3,)) for x in ends]

    def _runs(self, rows: Sequence[Sum]) -> Any:
        """The number of the run that a query is in, where no run of equal rows comes twice."""
        key = self._along(rows[0])
        for other in rows[1:]:
            row = self._along(other)
            low, high = (f(row, axes=(0, 1, 2), empty=True) for f in (F.min, F.max))
            key = F.sub(key, F.min(key, axes=(0, 1, 2), empty=True))
            width = F.add(F.sub(high, low), 1)
            sizes = (F.cast(x, dtype=dt.float64) for x in (F.add(F.max(key, axes=(0, 1, 2), empty=True), 1), width))
            self.checks.append(F.lt(F.mul(*sizes), 2.0**62))
            key = F.add(F.mul(key, width), F.sub(row, low))
        changed, distinct = (
            F.cast(F.ne(*self._neighbours(x)), dtype=dt.int64) for x in (key, F.sort(key, axis=2)[0])
        )  # fmt: skip
        counts = [F.sum(x, axes=(2,)) for x in (changed, distinct)]
        self.checks.append(F.all(F.eq(*counts), axes=(0, 1)))
        return F.cumsum(changed, axis=2)

    def _columns(self) -> Any:
        queries, full = self.queries, (*self.shape, self.keys, 1)
        zero, last = (F.full(n, dtype=dt.int64, shape=(1, 1, 1, 1)) for n in (0, queries))
        low = None
        places = [zero, last]
        if self.mask.causal:
            low = F.minimum(F.maximum(F.sub(self.key, self.keys - queries), 0), queries)
            places.append(low)
        places += [p for c in self.mask.changes for p in self._places(c)]
        query = F.concat([F.broadcast_to(p, shape=full) for p in places], axis=3)
        query = F.minimum(F.maximum(query, 0), queries)
        hides, hid = (self._hides(q, low) for q in (query, F.sub(query, 1)))
        self._check_values(query)
        begins, ends = F.logical_and(hides, F.logical_not(hid)), F.logical_and(F.logical_not(hides), hid)

        def chosen(flags: Any, extremum: Callable, otherwise: Any) -> Any:
            return extremum(F.where(flags, query, otherwise), axes=(3,), keepdim=True)

        first, last_begin = chosen(begins, F.min, queries), chosen(begins, F.max, 0)
        end, last_end = chosen(ends, F.min, queries), chosen(ends, F.max, 0)
        if low is not None:
            self._check(F.logical_or(F.logical_not(begins), F.eq(query, first)))
            columns = [first, end]
            self._check_rows([(first, end), (zero, low)])
        else:
            in_two = F.logical_or(F.eq(query, first), F.eq(query, last_begin))
            self._check(F.logical_or(F.logical_not(begins), in_two))
            one = F.ge(first, last_begin)
            to_last = F.logical_and(one, F.eq(end, queries))
            columns = [
                F.where(to_last, first, F.where(one, last, last_begin)),
                F.where(one, last, last_end),
                F.where(to_last, zero, first),
                F.where(to_last, zero, end),
            ]
            self._check_rows([(columns[0], columns[1]), (columns[2], columns[3])])
        return F.cast(F.concat(columns, axis=3), dtype=dt.int32)

    def _hides(self, query: Any, low: Any) -> Any:
        """Return whether keys are hidden at queries, from ``low`` on and not beyond the last."""
        within = F.logical_and(F.ge(query, 0 if low is None else low), F.lt(query, self.queries))
        within = F.logical_and(within, F.ge(query, 0))
        inner = F.maximum(F.minimum(query, self.queries - 1), 0)
        hidden = None
        for part in self.mask.parts:
            x = self.at(part.node, inner)
            x = F.logical_not(x) if part.kind == "visible" else x if part.kind == "hidden" else F.ne(x, 0)
            hidden = x if hidden is None else F.logical_or(hidden, x)
        return F.logical_and(within, hidden)

    # --- conditions

    def _check(self, flags: Any) -> None:
        self.checks.append(F.all(flags, axes=(0, 1, 2, 3)))

    def _check_sum(self, total: Sum) -> None:
        """Check that a sum fits the integers in which the program adds it up."""
        assert total.bits is not None
        for by_query in (True, False):
            part = total.part(by_query)
            most = F.full(abs(part.number), dtype=dt.float64, shape=(1, 1, 1, 1))
            for by, x in ((part.i, self.all_queries), (part.j, self.key)):
                most = F.add(most, F.mul(F.cast(x, dtype=dt.float64), float(abs(by))))
            for by, node in part.terms:
                x = F.abs(F.cast(self.at(node, self.all_queries), dtype=dt.float64))
                most = F.add(most, F.mul(x, float(abs(by))))
            self._check(F.lt(most, 2.0 ** (total.bits - 2)))

    def _check_values(self, query: Any) -> None:
        """Check that what is added is 0 or, for what is hidden, minus infinity or one of the fills."""
        inner = F.maximum(F.minimum(query, self.queries - 1), 0)
        for part in self.mask.parts:
            if part.kind == "added":
                x = F.cast(self.at(part.node, inner), dtype=dt.float64)
                if part.is_finite:
                    self._check(F.logical_not(F.isnan(x)))
                    self.fills.append(F.max(F.where(F.eq(x, 0), float("-inf"), x), axes=(0, 1, 2, 3), empty=True))
                else:
                    self._check(F.logical_or(F.eq(x, 0), F.eq(x, float("-inf"))))

    def _check_rows(self, intervals: Sequence[tuple[Any, Any]]) -> None:
        """Every query sees a key: the intervals that hide it are counted, as differences from query to query."""
        if not self.mask.strict:
            return
        index = [
            F.reshape(F.broadcast_to(x, shape=(*self.shape, self.keys, 1)), shape=(*self.shape, self.keys))
            for pair in intervals for x in pair
        ]  # fmt: skip
        one = [F.full(n, dtype=dt.int32, shape=(*self.shape, self.keys)) for _ in intervals for n in (1, -1)]
        zeros = F.full(0, dtype=dt.int32, shape=(*self.shape, self.queries + 1))
        steps = F.scatter_along(zeros, F.concat(index, axis=2), F.concat(one, axis=2), axis=2, mode="add")
        hidden = F.slice(F.cumsum(steps, axis=2), axes=(2,), starts=(0,), sizes=(self.queries,), steps=(1,))
        self.checks.append(F.all(F.lt(hidden, self.keys), axes=(0, 1, 2)))


def weigh_nothing(highest: Any, q: Any, k: Any, scale: float, dtype: DType) -> Any:
    """Return whether scores with ``highest`` added to them, or in their place, have no weight beside any of the
    others: a flag.

    Scores are at most a product of lengths, by Cauchy and Schwarz; weights are 0 an exponent's range below the
    largest.
    """
    wide, exponents = (dt.float64, 800.0) if dtype is dt.float64 else (dt.float32, 110.0)
    squares = (F.sum(F.square(F.cast(x, dtype=wide)), axes=(3,)) for x in (q, k))
    longest = [F.max(x, axes=(0, 1, 2), empty=True) for x in squares]
    most = F.mul(F.mul(F.sqrt(longest[0]), F.sqrt(longest[1])), 1.02 * abs(scale))  # scores of 16 bits are rounded
    return F.le(highest, F.cast(F.sub(F.mul(most, -2.0), exponents), dtype=dt.float64))


def _fill(x: Any) -> Any:
    """A number, or a value of one element, as a 0-d tensor of float64."""
    if not isinstance(x, Value):
        return F.full(x, dtype=dt.float64, shape=())
    return F.cast(F.reshape(tensor(x), shape=()), dtype=dt.float64)
