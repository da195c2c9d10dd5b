"""Searches in sorted rows, whose sizes are known, as element by element operations."""

from __future__ import annotations

from typing import Any

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir.tracer import SymTensor
from umiak.ops.index import SearchSorted


def searched(op: SearchSorted, rows: SymTensor, values: SymTensor) -> Any:
    """A binary search by powers of two: each round moves on by one where the element before the new place allows it."""
    size: Any = rows.shape[-1]
    place = F.full(0, dt.int64, tuple(values.shape))
    step = 1 << size.bit_length() >> 1
    while step:
        on = F.add(place, step)
        inside = F.le(on, size)
        at = F.where(inside, F.sub(on, 1), 0)
        there = F.take(rows, at, axis=0) if rows.ndim == 1 else F.take_along(rows, at, axis=rows.ndim - 1)
        before = F.logical_not(_less(values, there)) if op.right else _less(there, values)
        place = F.where(F.logical_and(inside, before), on, place)
        step >>= 1
    return F.cast(place, dtype=op.dtype)


def _less(x: SymTensor, y: SymTensor) -> Any:
    """The condition that x comes before y in rising order; NaN is the largest."""
    less = F.lt(x, y)
    if not x.dtype.is_floating:
        return less
    return F.logical_or(less, F.logical_and(F.eq(x, x), F.ne(y, y)))
