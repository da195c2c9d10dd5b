"""Places of tokens at experts.

Numbers of places are int64: those of all experts may be more than 2³¹.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import paddle
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor


@dataclass(frozen=True)
class Queues:
    """Requests of experts in the order of a queue: of each expert, those before come first.

    ``rank``: int64 ``[requests]``, how many requests of the same expert come before. ``counts``: int64 ``[E]``.
    """

    rank: Tensor
    counts: Tensor

    def position(self, requested: Tensor) -> Tensor:
        """The number of each request where the experts' queues follow each other."""
        return paddle.gather(paddle.cumsum(self.counts) - self.counts, requested) + self.rank


def queues(requested: Tensor, experts: int) -> Queues:
    """Queue up requests.

    Args:
        requested: int64 ``[requests]``, the expert of each.
        experts: E, their number.
    """
    n = requested.shape[0]
    order = paddle.argsort(requested, stable=True)
    counts = F.bincount_sized(requested, None, count=experts)
    zeros = create_on(order.place, F.full, 0, dt.int64, (n,))
    position = paddle.scatter(zeros, order, create_on(order.place, F.iota, 0, 1, dt.int64, n))
    return Queues(position - paddle.gather(paddle.cumsum(counts) - counts, requested), counts)


def rows_at(index: Tensor, places: int, rows: Tensor, nothing: int) -> Tensor:
    """For each place the row that is there, ``nothing`` where there is none; places from ``places`` on are left out."""
    kept = index < places
    # What is left out goes to one place more, which is cut off.
    empty = create_on(index.place, F.full, nothing, dt.int64, (places + 1,))
    return paddle.scatter(empty, paddle.where(kept, index, paddle.full_like(index, places)), rows)[:places]


def rows_or_zeros(x: Tensor, index: Tensor, none: Any = None) -> Tensor:
    """Rows of x, zeros where an index is ``none``, by default the number of rows; others outside are IndexErrors."""
    n, nothing = x.shape[0], False if x.dtype.is_bool else 0
    there = F.ne(index, n if none is None else none)
    if type(n) is not int or n == 0:  # there may be no row to read in place of none: a row of zeros before them
        padded = F.pad(x, nothing, axes=(0,), lo=(1,), hi=(0,))
        return F.take(padded, F.where(there, F.add(index, 1), 0), axis=0, from_end=False)
    rows = F.take(x, F.where(there, index, 0), axis=0, from_end=False)
    return F.where(F.unsqueeze(there, axes=tuple(range(index.ndim, index.ndim + x.ndim - 1))), rows, nothing)
