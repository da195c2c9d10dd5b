"""Classes of tiles by the bounds of the intervals of their keys, without a look at each key."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from umiak.masks.column_mask import ColumnMask
from umiak.masks.tiles import TILE, Tile


class Logic(NamedTuple):
    """Comparisons, of arrays or of what stands for numbers in a kernel's text."""

    lt: Callable[[Any, Any], Any]
    le: Callable[[Any, Any], Any]
    conjunction: Callable[[Any, Any], Any]
    disjunction: Callable[[Any, Any], Any]


ARRAYS = Logic(operator.lt, operator.le, operator.and_, operator.or_)


class Interval(NamedTuple):
    """Bounds of an interval's begins and ends over the keys of a tile; an interval without queries begins behind the
    last query and ends at 0."""

    least_begin: Any
    most_begin: Any
    least_end: Any
    most_end: Any


def hidden_and_touched(logic: Logic, low: Any, high: Any, intervals: Sequence[Interval]) -> tuple[Any, Any]:
    """Return whether an interval of each key holds queries ``[low, high)``, and whether any interval holds some."""
    hidden: Any = False
    touched: Any = False
    for x in intervals:
        all_in = logic.conjunction(logic.le(x.most_begin, low), logic.le(high, x.least_end))
        any_in = logic.conjunction(logic.lt(low, x.most_end), logic.lt(x.least_begin, high))
        hidden = all_in if hidden is False else logic.disjunction(hidden, all_in)
        touched = any_in if touched is False else logic.disjunction(touched, any_in)
    return hidden, touched


def later_and_crossed(logic: Logic, seen_by_first: Any, seen_by_last: Any, first: Any, last: Any) -> tuple[Any, Any]:
    """Return whether causal attention hides keys ``first`` to ``last`` from all queries of a tile, and from any;
    ``seen_by_first`` and ``seen_by_last`` are the last keys that its first and last query see."""
    return logic.lt(seen_by_last, first), logic.lt(seen_by_first, last)


def cuts(length: int, chunk: int) -> np.ndarray:
    """Return where tiles begin that stay within chunks of ``chunk`` tokens: int64, ``length`` at the end."""
    within = np.arange(0, chunk, TILE)
    return np.append((np.arange(0, length, chunk)[:, None] + within).reshape(-1), length)


def bounded_tiles(mask: ColumnMask, rows: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the class of each tile between cuts: int8 ``[batch, heads, row tiles, key tiles]``.

    As the kernels of attention decide it before they look at scores: what is called ``SKIP`` or ``FULL`` is so; a tile
    that only several intervals together hide, or leave alone, is called ``PARTIAL``. The work is that of the tiles,
    where :meth:`ColumnMask.tiles` takes that of the tiles' keys.

    Args:
        mask: what queries see.
        rows, keys: where tiles begin, rising, and the number of queries, and of keys, at the end.
    """
    low, high, begins = rows[:-1, None], rows[1:, None], keys[:-1]
    intervals = []
    begin, end, second_begin, second_end = mask.intervals()
    for a, b in ((begin, end), (second_begin, second_end)):
        # An interval that holds no query hides nothing, whatever its ends are.
        starts, ends = np.where(a < b, a, mask.queries), np.where(a < b, b, 0)
        bounds = [bound.reduceat(x, begins, -1) for x in (starts, ends) for bound in (np.minimum, np.maximum)]
        intervals.append(Interval(*(x[:, :, None] for x in bounds)))
    hidden, touched = hidden_and_touched(ARRAYS, low, high, intervals)
    if mask.causal:
        shift = mask.keys - mask.queries
        later, crossed = later_and_crossed(ARRAYS, low + shift, high - 1 + shift, begins, keys[1:] - 1)
        hidden, touched = hidden | later, touched | crossed
    return np.where(hidden, Tile.SKIP, np.where(touched, Tile.PARTIAL, Tile.FULL)).astype(np.int8)
