"""Attention at positions that are listed row by row."""

from __future__ import annotations

import math

import numpy as np

import paddle
from paddle._public import need_tensor, public
from paddle.nn.functional.attention_call import attend
from paddle.tensor._args import create_on, reads_numbers
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.place import Place
from umiak.core.tensor import KIND_SYMBOLIC, Tensor
from umiak.ir import sym as dim
from umiak.ops.promotion import cast
from umiak.runtime import sparse_math
from umiak.runtime.sparse_tensor import SparseCsr, read
from umiak.util.errors import op_error

OP = "sparse_attention"


@public("paddle.nn.functional", usual=False)
def sparse_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    sparse_csr_offset: Tensor,
    sparse_csr_columns: Tensor,
    key_padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """Attention ``softmax(query @ key^T / sqrt(dim)) @ value`` where each query sees the keys that are listed for it.

    Time and memory are those of the listed positions; no matrix of queries by keys is formed. Static programs, saved
    models and functions captured with ``full_graph=True``, in which what is listed is not known yet, make a mask of
    queries by keys of it.

    Args:
        query: floating tensor ``[batch, heads, length, dim]``.
        key, value: tensors of query's shape and dtype.
        sparse_csr_offset: int32 or int64 ``[batch, heads, length + 1]``: where a query's keys begin in
            ``sparse_csr_columns`` and, as the next number, where they end.
        sparse_csr_columns: int32 or int64 ``[batch, heads, positions]``: the keys, query by query.
        key_padding_mask: ``[batch, length]``: keys where it is 0 are not seen.
        attn_mask: ``[length, length]``: pairs of query and key where it is 0 are not seen.

    Returns:
        Tensor of query's shape and dtype; zeros for a query that sees no key.

    Raises:
        TypeError: an operand is no tensor, is not floating, or offsets or columns are no integers.
        ValueError: shapes that do not fit, offsets that decrease or end beyond the positions, or keys that are not
            there.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[[[1.0, 0.0], [0.0, 2.0]]]])
        >>> offset, columns = paddle.to_tensor([[[0, 1, 2]]]), paddle.to_tensor([[[1, 0]]])
        >>> paddle.nn.functional.sparse_attention(x, x, x, offset, columns).tolist()
        [[[[0.0, 2.0], [1.0, 0.0]]]]
    """
    for arg_name, x in (("query", query), ("key", key), ("value", value)):
        if not need_tensor(x, OP, arg_name).dtype.is_floating:
            raise op_error(TypeError, OP, f"floating {arg_name}", x.dtype.name)
    alike = query.ndim == key.ndim == value.ndim == 4
    if not alike or not all(all(map(dim.eq, query.shape, x.shape)) for x in (key, value)):
        got = f"{list(query.shape)}, {list(key.shape)} and {list(value.shape)}"
        raise op_error(ValueError, OP, "query, key and value of one shape [batch, heads, length, dim]", got)
    batch, heads, length, _ = query.shape
    offsets = _integers(sparse_csr_offset, "sparse_csr_offset", [batch, heads, length + 1])
    columns = _integers(sparse_csr_columns, "sparse_csr_columns", [batch, heads, None])
    for arg_name, mask, shape in (
        ("key_padding_mask", key_padding_mask, [batch, length]),
        ("attn_mask", attn_mask, [length, length]),
    ):
        if mask is not None and not _fits(need_tensor(mask, OP, arg_name), shape):
            raise op_error(ValueError, OP, f"{arg_name} of shape {shape}", list(mask.shape))
    given = (offsets, columns, key_padding_mask, attn_mask)
    if reads_numbers() and any(x is not None and x._kind & KIND_SYMBOLIC for x in given):
        return _masked(query, key, value, offsets, columns, key_padding_mask, attn_mask)
    listed = read(offsets, OP, "sparse_csr_offset"), read(columns, OP, "sparse_csr_columns")
    pattern = _pattern(*listed, length, query.place)
    return sparse_math.attention(query, key, value, pattern, key_padding_mask, attn_mask)


def _fits(x: Tensor, shape: list) -> bool:
    """Has a tensor this shape, where None stands for any size?"""
    return x.ndim == len(shape) and all(n is None or dim.eq(m, n) for m, n in zip(x.shape, shape))


def _integers(x: Tensor, arg_name: str, shape: list) -> Tensor:
    if need_tensor(x, OP, arg_name).dtype not in (dt.int32, dt.int64):
        raise op_error(TypeError, OP, f"{arg_name} of int32 or int64", x.dtype.name)
    if not _fits(x, shape):
        required = "[" + ", ".join("positions" if n is None else str(n) for n in shape) + "]"
        raise op_error(ValueError, OP, f"{arg_name} of shape {required}", list(x.shape))
    return x


def _masked(
    query: Tensor, key: Tensor, value: Tensor, offsets: Tensor, columns: Tensor, padding: Tensor | None,
    pairs: Tensor | None,
) -> Tensor:  # fmt: skip
    """The same by a mask: a key that is listed n times counts as n keys, by the logarithm of n added to its score."""
    batch, heads, length, size = query.shape
    positions = columns.shape[2]
    offsets, columns = (F.cast(x, dtype=dt.int64) for x in (offsets, columns))
    _require(F.eq(offsets[:, :, 0], 0), "sparse_csr_offset that begins with 0")
    _require(F.ge(F.sub(offsets[:, :, 1:], offsets[:, :, :-1]), 0), "sparse_csr_offset that never decreases")
    _require(F.le(offsets[:, :, -1], positions), "sparse_csr_offset that ends with the positions at most")
    place = create_on(query.place, F.iota, 0, 1, dt.int64, positions)
    place = F.add(F.mul(columns, 0), place)
    listed = F.lt(place, offsets[:, :, -1:])
    there = F.logical_and(F.ge(columns, 0), F.lt(columns, length))
    _require(F.logical_or(there, F.logical_not(listed)), "sparse_csr_columns below the number of keys")
    row = F.sub(paddle.searchsorted(offsets, place, right=True), 1)
    at = F.where(listed, F.add(F.mul(row, length), columns), 0)
    none = create_on(query.place, F.full, 0.0, dtype=query.dtype, shape=(batch, heads, length * length))
    counts = paddle.put_along_axis(none, at, F.cast(listed, dtype=query.dtype), 2, reduce="add")
    counts = F.reshape(counts, shape=(batch, heads, length, length))
    if padding is not None:
        counts = F.where(F.unsqueeze(F.ne(padding, 0), axes=(1, 2)), counts, 0.0)
    if pairs is not None:
        counts = F.where(F.ne(pairs, 0), counts, 0.0)
    q, k, v = (F.permute(x, perm=(0, 2, 1, 3)) for x in (query, key, value))
    out = attend(q, k, v, F.log(counts), False, 1.0 / math.sqrt(size or 1))
    return cast(F.permute(out, perm=(0, 2, 1, 3)), query.dtype)


def _require(holds: Tensor, required: str) -> None:
    ok = F.all(holds, axes=tuple(range(holds.ndim)), keepdim=False)
    F.require(ok, kind="ValueError", args=(f"[{OP}] requires {required}, got another",))


def _pattern(offsets: np.ndarray, columns: np.ndarray, length: int, place: Place) -> SparseCsr:
    """The positions of all heads as one sparse tensor ``[batch * heads, length, length]``."""
    batch, heads, positions = columns.shape
    flat = offsets.reshape(batch * heads, length + 1).astype(np.int64)
    if ((flat[:, 0] != 0) | (np.diff(flat, axis=1) < 0).any(1) | (flat[:, -1] > positions)).any():
        required = f"sparse_csr_offset that begins with 0, never decreases and ends with {positions} at most"
        raise op_error(ValueError, OP, required, "another")
    listed = np.arange(positions) < flat[:, -1:]
    keys = columns.reshape(batch * heads, positions)[listed].astype(np.int64)
    if ((keys < 0) | (keys >= length)).any():
        raise op_error(ValueError, OP, f"sparse_csr_columns from 0 to {length - 1}", f"{keys.min()} to {keys.max()}")
    ones = create_on(place, F.full, 1.0, dtype=dt.float32, shape=(keys.size,))
    return SparseCsr(
        from_numpy(flat.reshape(-1), place), from_numpy(keys, place), ones, [batch * heads, length, length]
    )
