"""Attention of padded sequences of different lengths, and the largest of lengths."""

from __future__ import annotations

import math
from typing import Any

from paddle._public import need_tensor, public
from paddle.incubate.nn.functional._packed import row_lengths
from paddle.nn.functional.attention_call import attend
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.promotion import cast
from umiak.util.errors import op_error

_OP = "variable_length_memory_efficient_attention"


@public("paddle.incubate.nn.functional", usual=False)
def variable_length_memory_efficient_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    seq_lens: Tensor,
    kv_seq_lens: Tensor,
    mask: Tensor | None = None,
    scale: float | None = None,
    causal: bool = False,
    pre_cache_length: int = 0,
) -> Tensor:
    """Attention of padded sequences: ``softmax(scale * query @ key^T + mask) @ value`` of each head, of the first
    queries and keys alone.

    Lengths are intervals of a mask by columns: no array of queries by keys is made, but for ``mask``.

    Args:
        query: floating tensor ``[batch, heads, queries, head_dim]``.
        key: tensor ``[batch, key_heads, keys, head_dim]`` of its dtype; key_heads divides heads.
        value: tensor ``[batch, key_heads, keys, value_dim]`` of its dtype.
        seq_lens: int32 or int64 tensor ``[batch]`` or ``[batch, 1]``: how many queries of each sequence count.
        kv_seq_lens: the same for keys, beside those of a prefix.
        mask: tensor added to the scores, that broadcasts to ``[batch, heads, queries, keys]``.
        scale: factor of the scores, by default ``head_dim ** -0.5``.
        causal: query i sees keys 0 to ``pre_cache_length + i``.
        pre_cache_length: the first keys, which are a prefix of each sequence.

    Returns:
        Tensor ``[batch, heads, queries, value_dim]``; 0 for queries beyond a sequence's length, which the reference
        leaves as memory has them.

    Raises:
        TypeError: operands that are not floating or of different dtypes, lengths that are no integers.
        ValueError: shapes that do not fit, or lengths that are negative or more than there are.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import variable_length_memory_efficient_attention
        >>> x = paddle.ones([2, 1, 4, 8])
        >>> lengths = paddle.to_tensor([4, 2], "int32")
        >>> variable_length_memory_efficient_attention(x, x, x, lengths, lengths)[:, 0, :, 0].tolist()
        [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]]
    """
    for name, x in (("query", query), ("key", key), ("value", value)):
        if need_tensor(x, _OP, name).ndim != 4:
            raise op_error(ValueError, _OP, f"{name} of shape [batch, heads, sequence, head_dim]", list(x.shape))
    batch, queries, keys = query.shape[0], query.shape[2], key.shape[2]
    n, m = (
        F.unsqueeze(lengths(_OP, name, x, batch, most), axes=(1, 2))
        for name, x, most in (("seq_lens", seq_lens, queries), ("kv_seq_lens", kv_seq_lens, keys - pre_cache_length))
    )
    position = create_on(query.place, F.iota, 0, 1, dt.int64, keys)
    there = F.lt(position, F.add(m, pre_cache_length))
    scale = 1.0 / math.sqrt(query.shape[3] or 1) if scale is None else scale
    if mask is None:
        # Of a key, queries from `begin` on and before `end` do not see it.
        begin = F.where(there, n, 0)
        end = F.maximum(F.sub(position, pre_cache_length), 0) if causal else F.mul(position, 0)
        columns = [begin, F.broadcast_to(end, shape=(batch, 1, keys))]
        mask = F.cast(F.minimum(F.stack(columns, axis=3), queries), dtype=dt.int32)
    else:
        if not need_tensor(mask, _OP, "mask").dtype.is_floating or mask.ndim != 4:
            required = "a floating mask of shape [batch, 1, queries, keys]"
            raise op_error(ValueError, _OP, required, f"{mask.dtype.name} {list(mask.shape)}")
        row = F.unsqueeze(create_on(query.place, F.iota, 0, 1, dt.int64, queries), axes=(1,))
        seen = F.logical_and(F.unsqueeze(there, axes=(1,)), F.lt(row, F.unsqueeze(n, axes=(1,))))
        if causal:
            seen = F.logical_and(seen, F.le(position, F.add(row, pre_cache_length)))
        mask = F.where(seen, cast(mask, query.dtype), -math.inf)
    q, k, v = (F.permute(x, perm=(0, 2, 1, 3)) for x in (query, key, value))
    return F.permute(attend(q, k, v, mask, False, scale), perm=(0, 2, 1, 3))


def lengths(op_name: str, arg_name: str, x: Tensor, batch: Any, most: Any) -> Tensor:
    """``[batch]`` of int64, from 0 to ``most``, of ``[batch]`` or ``[batch, 1]``."""
    x = row_lengths(op_name, arg_name, x, batch)
    ok = F.all(F.logical_and(F.ge(x, 0), F.le(x, most)), axes=(0,), keepdim=False)
    F.require(ok, kind="ValueError", args=(f"[{op_name}] requires {arg_name} from 0 to {most}, got others",))
    return cast(x, dt.int64)


@public("paddle.incubate.nn.functional", usual=False)
def blha_get_max_len(seq_lens_encoder: Tensor, seq_lens_decoder: Tensor, batch_size: Tensor) -> tuple[Tensor, Tensor]:
    """The largest of the lengths that ``block_multihead_attention`` gets.

    Args:
        seq_lens_encoder: int32 or int64 tensor ``[batch]`` or ``[batch, 1]`` of lengths of prompts.
        seq_lens_decoder: the same of positions that the cache has.
        batch_size: a tensor whose first size is how many of the sequences count.

    Returns:
        Two int32 tensors ``[1]``; 0 where there is no sequence.

    Raises:
        TypeError: lengths that are no integers.
        ValueError: fewer lengths than sequences.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import blha_get_max_len
        >>> lengths = paddle.to_tensor([3, 0, 7], "int32"), paddle.to_tensor([0, 9, 0], "int32")
        >>> [x.item() for x in blha_get_max_len(*lengths, paddle.ones([2]))]
        [3, 9]
    """
    op_name = "blha_get_max_len"
    if need_tensor(batch_size, op_name, "batch_size").ndim < 1:
        raise op_error(ValueError, op_name, "a batch_size with a dim, whose size counts", "a 0-d tensor")
    n = batch_size.shape[0]
    largest = []
    for name, x in (("seq_lens_encoder", seq_lens_encoder), ("seq_lens_decoder", seq_lens_decoder)):
        if need_tensor(x, op_name, name).dtype not in (dt.int32, dt.int64):
            raise op_error(TypeError, op_name, f"{name} of int32 or int64", x.dtype.name)
        x = F.reshape(x, shape=(math.prod(x.shape),))
        if n == 0:
            largest.append(create_on(x.place, F.full, 0, dt.int32, (1,)))
            continue
        if not (dim.le(1, n) and dim.le(n, x.shape[0])):
            raise op_error(ValueError, op_name, f"{name} with at least {n} lengths", x.shape[0])
        first = F.slice(x, axes=(0,), starts=(0,), sizes=(n,), steps=(1,))
        largest.append(cast(F.max(first, axes=(0,), keepdim=True), dt.int32))
    return largest[0], largest[1]
