"""Attention at positions that are listed row by row."""

from __future__ import annotations

import numpy as np

from paddle._public import need_tensor, public
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.place import Place
from umiak.core.tensor import Tensor
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

    Time and memory are those of the listed positions; no matrix of queries by keys is formed.

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
    if query.ndim != 4 or not list(query.shape) == list(key.shape) == list(value.shape):
        got = f"{list(query.shape)}, {list(key.shape)} and {list(value.shape)}"
        raise op_error(ValueError, OP, "query, key and value of one shape [batch, heads, length, dim]", got)
    batch, heads, length, _ = query.shape
    offsets = _integers(sparse_csr_offset, "sparse_csr_offset", [batch, heads, length + 1])
    columns = _integers(sparse_csr_columns, "sparse_csr_columns", [batch, heads, None])
    for arg_name, mask, shape in (
        ("key_padding_mask", key_padding_mask, [batch, length]),
        ("attn_mask", attn_mask, [length, length]),
    ):
        if mask is not None and list(need_tensor(mask, OP, arg_name).shape) != shape:
            raise op_error(ValueError, OP, f"{arg_name} of shape {shape}", list(mask.shape))
    return sparse_math.attention(
        query, key, value, _pattern(offsets, columns, length, query.place), key_padding_mask, attn_mask
    )


def _integers(x: Tensor, arg_name: str, shape: list) -> np.ndarray:
    """The numbers of an operand ``shape``, where None stands for any size."""
    if need_tensor(x, OP, arg_name).dtype not in (dt.int32, dt.int64):
        raise op_error(TypeError, OP, f"{arg_name} of int32 or int64", x.dtype.name)
    got = list(x.shape)
    if len(got) != len(shape) or any(m not in (None, n) for n, m in zip(got, shape, strict=True)):
        required = "[" + ", ".join("positions" if n is None else str(n) for n in shape) + "]"
        raise op_error(ValueError, OP, f"{arg_name} of shape {required}", got)
    return read(x, OP, arg_name)


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
