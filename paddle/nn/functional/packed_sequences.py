"""Sequences that follow each other in one tensor, as the mask by columns that lets each see itself alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from paddle.tensor._args import create_on, integer, need_tensor
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import capture_of, current
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.util.errors import op_error

MOST_ROWS = 2**31 - 1  # numbers of rows are columns of int32


class Sequences(NamedTuple):
    """Places of sequences: ``starts`` and ``lengths``, int64 ``[batch]``; of each, ``most`` rows count at most."""

    starts: Tensor
    lengths: Tensor
    most: Any

    def counted(self) -> Tensor:
        """Numbers of rows of each sequence that count."""
        return F.minimum(self.lengths, self.most)


def counter(n: Any, like: Tensor) -> Tensor:
    """0, 1 … n - 1."""
    return create_on(like.place, F.iota, 0, 1, dt.int64, n)


class Given(NamedTuple):
    """Arguments about sequences of queries, or of keys: where they end, in how many rows, and how many rows count."""

    ends: Tensor
    rows: Any
    most: Any
    used: Tensor | None = None


def both_sequences(op_name: str, queries: Given, keys: Given) -> tuple[Sequences, Sequences, bool]:
    """The sequences of queries and of keys, and whether they are the same by what is given.

    Where values can be read, those are refused that decrease or lie outside of the rows.
    """
    alike = queries.ends is keys.ends and queries.most == keys.most and queries.used is keys.used
    rows = _sequences(op_name, "q", queries)
    if alike and not (type(queries.rows) is type(keys.rows) is int and queries.rows != keys.rows):
        return rows, rows, True
    key_rows = _sequences(op_name, "k", keys)
    n, m = rows.starts.shape[0], key_rows.starts.shape[0]
    if not dim.eq(n, m):
        raise op_error(ValueError, op_name, "cu_seqlens_q and cu_seqlens_k of as many sequences", f"{n} and {m}")
    return rows, key_rows, False


def _sequences(op_name: str, side: str, given: Given) -> Sequences:
    """The sequences that cumulative lengths ``[batch + 1]`` tell of, of which ``used`` rows count if it is given."""
    ends, rows, most, used = given
    arg_name = f"cu_seqlens_{side}"
    need_tensor(ends, op_name, arg_name)
    if ends.ndim != 1 or not ends.dtype.is_integer or _is(ends.shape[0], 0):
        got = f"{ends.dtype.name} of shape {list(ends.shape)}"
        raise op_error(ValueError, op_name, f"{arg_name} as integers [batch + 1], cumulative lengths", got)
    if not isinstance(most, Tensor):
        most = integer(most, op_name, f"max_seqlen_{side}")
        if type(most) is int and most < 0:
            raise op_error(ValueError, op_name, f"max_seqlen_{side} of 0 at least", most)
    _need_ascending(op_name, arg_name, ends, rows)
    wide, n = F.cast(ends, dtype=dt.int64), ends.shape[0] - 1
    low, high = (F.slice(wide, axes=(0,), starts=(i,), sizes=(n,), steps=(1,)) for i in (0, 1))
    lengths = F.sub(high, low)
    if used is not None:
        arg_name = f"seqused_{side}"
        need_tensor(used, op_name, arg_name)
        if used.ndim != 1 or not used.dtype.is_integer or not dim.eq(used.shape[0], n):
            got = f"{used.dtype.name} of shape {list(used.shape)}"
            raise op_error(ValueError, op_name, f"{arg_name} as integers [{n}]", got)
        _need_within(op_name, arg_name, used, ends)
        lengths = F.minimum(F.maximum(F.cast(used, dtype=dt.int64), 0), lengths)
    return Sequences(low, lengths, most)


def _is(n: Any, value: int) -> bool:
    return isinstance(n, int) and n == value


def _reads() -> bool:
    """Do tensors have values, as those of a program do not?"""
    return capture_of() is None and not current().trace


def _need_within(op_name: str, arg_name: str, used: Tensor, ends: Tensor) -> None:
    if not _reads():
        return
    n, most = used.numpy(), np.diff(ends.numpy())
    if ((n < 0) | (n > most)).any():
        required = f"{arg_name} from 0 to the lengths of the sequences"
        raise op_error(ValueError, op_name, required, n.tolist() if n.size <= 8 else "others")


def _need_ascending(op_name: str, arg_name: str, ends: Tensor, rows: Any) -> None:
    if not _reads():
        return
    at = ends.numpy()
    if at[0] < 0 or (np.diff(at) < 0).any() or at[-1] > rows:
        required = f"{arg_name} that begins with 0 or more, never decreases and ends with {rows} rows at most"
        raise op_error(ValueError, op_name, required, at.tolist() if at.size <= 8 else f"{at[0]} … {at[-1]}")


def need_rows(op_name: str, *counts: Any) -> None:
    """Refuse more rows than columns of int32 can tell apart."""
    for n in counts:
        if isinstance(n, int) and n > MOST_ROWS:
            raise op_error(ValueError, op_name, f"{MOST_ROWS} rows at most", n)


def _places(rows: Sequences, n: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Of each of ``n`` rows: its sequence, its place in it, and whether it counts."""
    row = counter(n, rows.starts)
    which = F.sub(F.search_sorted(rows.starts, row, right=True), 1)
    sequence = F.maximum(which, 0)
    place = F.sub(row, F.take(rows.starts, sequence, axis=0))
    counts = F.logical_and(F.ge(which, 0), F.lt(place, F.take(rows.counted(), sequence, axis=0)))
    return sequence, place, counts


def columns_of(queries: Sequences, keys: Sequences, n_keys: Any, left: int | None, right: int | None) -> Tensor:
    """The mask by columns ``[1, 1, keys, 2]`` of attention that is not causal: each sequence of queries sees its keys.

    The last query of a sequence stands at its last key; a query sees ``left`` keys before its own and ``right`` behind
    it, None for all. Rows of no sequence see nothing and are not seen.
    """
    sequence, place, counts = _places(keys, n_keys)
    start, n = (F.take(x, sequence, axis=0) for x in (queries.starts, queries.counted()))
    own = F.sub(place, F.take(F.sub(keys.lengths, queries.lengths), sequence, axis=0))
    begin, second_end = n, F.mul(n, 0)
    if left is not None:
        begin = F.minimum(F.maximum(F.add(own, left + 1), 0), n)
    if right is not None:
        second_end = F.minimum(F.maximum(F.sub(own, right), 0), n)
    columns = [F.where(counts, F.add(start, x), 0) for x in (begin, second_end)]
    return F.unsqueeze(F.cast(F.stack(columns, axis=1), dtype=dt.int32), axes=(0, 1))


def causal_columns_of(rows: Sequences, n_rows: Any, left: int | None) -> Tensor:
    """The same, ``[1, 1, rows, 1]``, of causal attention of rows that are queries and keys."""
    columns = columns_of(rows, rows, n_rows, left, None)
    return F.slice(columns, axes=(3,), starts=(0,), sizes=(1,), steps=(1,))


# --- side by side --------------------------------------------------------------------------------------------------


def beside(x: Tensor, rows: Sequences) -> Tensor:
    """Sequences of ``x [total, heads, dim]`` as ``[batch, most, heads, dim]``, with zeros behind the shorter ones."""
    zero_row = create_on(x.place, F.full, 0, x.dtype, (1, *x.shape[1:]))  # what all read where there are no rows
    at = F.add(F.unsqueeze(rows.starts, axes=(1,)), counter(rows.most, rows.starts))
    got = F.take(F.concat([x, zero_row], axis=0), F.minimum(at, x.shape[0]), axis=0)
    here = F.lt(counter(rows.most, rows.starts), F.unsqueeze(rows.lengths, axes=(1,)))
    return F.where(F.unsqueeze(here, axes=(2, 3)), got, 0.0)


def behind(x: Tensor, rows: Sequences, total: Any) -> Tensor:
    """The inverse of :func:`beside`; rows of no sequence are zeros."""
    batch, size, *rest = x.shape
    sequence, place, counts = _places(rows, total)
    index = F.where(counts, F.add(F.mul(sequence, size), place), 0)
    got = F.take(F.reshape(x, shape=(batch * size, *rest)), index, axis=0)
    return F.where(F.unsqueeze(counts, axes=tuple(range(1, got.ndim))), got, 0.0)


def only_counted(x: Tensor, rows: Sequences) -> Tensor:
    """``x [total, heads, dim]`` with zeros in rows that do not count, which may be anything."""
    _, _, counts = _places(rows, x.shape[0])
    return F.where(F.unsqueeze(counts, axes=(1, 2)), x, 0.0)


def visible(queries: Sequences, keys: Sequences, left: int | None, right: int | None) -> Tensor:
    """``[batch, 1, queries, keys]``: which keys a query sees, of sequences side by side."""
    j = F.unsqueeze(counter(keys.most, keys.starts), axes=(0, 1, 2))
    seen = F.lt(j, F.unsqueeze(keys.lengths, axes=(1, 2, 3)))
    i = F.unsqueeze(counter(queries.most, queries.starts), axes=(0, 1, 3))
    seen = F.logical_and(seen, F.lt(i, F.unsqueeze(queries.lengths, axes=(1, 2, 3))))
    if left is None and right is None:
        return seen
    own = F.unsqueeze(F.sub(keys.lengths, queries.lengths), axes=(1, 2, 3))
    own = F.add(own, i)
    if left is not None:
        seen = F.logical_and(seen, F.ge(j, F.sub(own, left)))
    if right is not None:
        seen = F.logical_and(seen, F.le(j, F.add(own, right)))
    return seen
