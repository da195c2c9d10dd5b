"""One new token of each sequence attends over a cache with a row for each sequence."""

from __future__ import annotations

import math
from typing import Any

from paddle._public import need_tensor, public
from paddle.incubate.nn.functional._packed import Levels, features, row_lengths
from paddle.incubate.nn.functional.rotary import _partners
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard
from umiak.core.inplace import apply_into
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.promotion import cast
from umiak.util.errors import op_error

_OP = "masked_multihead_attention"
_WRITE = F.WritePages()


@public("paddle.incubate.nn.functional", usual=False)
def masked_multihead_attention(
    x: Tensor,
    cache_kv: Tensor | None = None,
    bias: Tensor | None = None,
    src_mask: Tensor | None = None,
    cum_offsets: Tensor | None = None,
    sequence_lengths: Tensor | None = None,
    rotary_tensor: Tensor | None = None,
    beam_cache_offset: Tensor | None = None,
    qkv_out_scale: Tensor | None = None,
    out_shift: Tensor | None = None,
    out_smooth: Tensor | None = None,
    seq_len: int = 1,
    rotary_emb_dims: int = 0,
    use_neox_rotary_style: bool = False,
    compute_dtype: str = "default",
    out_scale: float = -1,
    quant_round_type: int = 1,
    quant_max_bound: float = 127.0,
    quant_min_bound: float = -127.0,
) -> tuple[Tensor, ...]:
    """Attention of one new token of each sequence over the tokens in a cache, which its key and value join:
    ``softmax(q k^T / sqrt(head_dim) + src_mask) v``.

    The cache is written in place, and read where it lies; nothing is recorded for a gradient.

    Args:
        x: tensor ``[batch, (heads + 2 * key_heads) * head_dim]`` of float32, float64, float16 or bfloat16: query, key
            and value of each new token. Of int32 with ``qkv_out_scale``.
        cache_kv: keys and values ``[2, batch, key_heads, positions, head_dim]`` of x's dtype.
        bias: tensor ``[heads + 2 * key_heads, head_dim]``, or ``[3, heads, head_dim]``, added to x.
        src_mask: tensor ``[batch, 1 or heads, 1, n]`` added to the scores of the first n positions, at least those that
            the token attends to.
        cum_offsets: accepted.
        sequence_lengths: int32 or int64 tensor ``[batch]`` or ``[batch, 1]`` of positions that the cache has already;
            by default n - 1 for all.
        rotary_tensor: float32 cosines and sines ``[2, batch, 1, 1, head_dim]`` of the new tokens' rotations, a number
            for each feature; used if ``rotary_emb_dims`` is not 0.
        beam_cache_offset: int32 or int64 tensor ``[batch / beams, beams, n]``: which beam of its group wrote the
            position that a beam attends to. These positions are gathered.
        qkv_out_scale: float32 factors of an int32 x, of bias's shape.
        out_shift, out_smooth: tensors of ``heads * head_dim`` elements: with ``out_scale``, levels are of
            ``(out + out_shift) * out_smooth``.
        seq_len: accepted.
        rotary_emb_dims: the parts of a head that are rotated by themselves, 1 or 2; 0 for no rotation.
        use_neox_rotary_style: whether a rotation pairs features of the first and the second half of a part; else
            neighbours.
        compute_dtype: "fp16", "bf16" or "fp32": the dtype of an int32 x.
        out_scale: with a positive one the output has levels, ``quant_max_bound * out_scale * out``: int8, or
            float8_e4m3fn with a quant_max_bound of 448.
        quant_round_type: 0 rounds ties to even, 1 away from 0.
        quant_max_bound, quant_min_bound: the largest and the smallest level.

    Returns:
        The output ``[batch, heads * head_dim]``, cache_kv, and beam_cache_offset if it was given.

    Raises:
        TypeError: dtypes that do not belong together.
        ValueError: shapes that do not fit, no ``src_mask`` without ``sequence_lengths``, or lengths that are negative
            or fill the cache. Nothing has been written then.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import masked_multihead_attention
        >>> cache = paddle.zeros([2, 3, 4, 16, 8])
        >>> lengths = paddle.to_tensor([0, 5, 2], "int32")
        >>> out, cache = masked_multihead_attention(paddle.randn([3, 96]), cache, sequence_lengths=lengths)
        >>> out.shape
        paddle.Size([3, 32])
    """
    need_tensor(x, _OP, "x")
    cache = need_tensor(cache_kv, _OP, "cache_kv")
    shape, batch = cache.shape, x.shape[0]
    if len(shape) != 5 or not dim.eq(shape[0], 2) or not dim.eq(shape[1], batch):
        required = f"cache_kv of shape [2, {batch}, heads, positions, head_dim]"
        raise op_error(ValueError, _OP, required, list(shape))
    key_heads, size = shape[2], shape[4]
    with no_grad_guard():
        tokens = features(_OP, x, qkv_out_scale, bias, compute_dtype, key_heads, size, cache)
        heads = tokens.shape[1] - 2 * key_heads
        rounding = quant_round_type, quant_max_bound, quant_min_bound
        finish = Levels(_OP, out_scale, rounding, out_shift, out_smooth, heads * size)
        before = _positions(sequence_lengths, src_mask, batch)
        mask = None if src_mask is None else checked_mask(_OP, "src_mask", src_mask, before, batch, heads, tokens)
        if rotary_emb_dims:
            table = need_tensor(rotary_tensor, _OP, "rotary_tensor")
            tokens = rotate(_OP, tokens, heads + key_heads, table, rotary_emb_dims, use_neox_rotary_style)
        parts = ((0, heads), (heads, key_heads), (heads + key_heads, key_heads))
        q, k, v = (F.slice(tokens, axes=(1,), starts=(a,), sizes=(n,), steps=(1,)) for a, n in parts)
        scale = 1.0 / math.sqrt(size)
        out = attend_cached(_OP, q, k, v, cache, before, mask, scale, beam_cache_offset)
        out = finish(F.reshape(out, shape=(batch, heads * size)))
    return (out, cache) if beam_cache_offset is None else (out, cache, beam_cache_offset)


def append(k: Tensor, v: Tensor, cache: Tensor, before: Tensor) -> None:
    """Write n new tokens of each sequence, ``[batch * n, heads, size]``, into a cache ``[2, batch, heads, positions,
    size]``, at the positions from ``before`` on."""
    batch = cache.shape[1]
    row = create_on(before.place, F.iota, 0, 1, before.dtype, 2 * batch)
    count = create_on(before.place, F.full, k.shape[0] // dim.maximum(batch, 1), before.dtype, (2 * batch,))
    both = F.concat([before, before], axis=0)
    apply_into(_WRITE, (cache,), (cache, F.concat([k, v], axis=0), F.unsqueeze(row, axes=(1,)), count, both))


def attend_cached(
    op_name: str,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cache: Tensor,
    before: Tensor,
    mask: Tensor | None,
    scale: float,
    beams: Tensor | None = None,
) -> Tensor:
    """:func:`append`, and attention of each sequence's new token, ``[batch, heads, size]``, to all up to it."""
    batch, positions = cache.shape[1], cache.shape[3]
    if beams is not None:
        rows = _beam_rows(op_name, beams, before, batch, positions)
        append(k, v, cache, before)
        return _attend_beams(q, cache, rows, before, mask, scale)
    append(k, v, cache, before)
    row = F.unsqueeze(create_on(before.place, F.iota, 0, 1, before.dtype, batch), axes=(1,))
    count = create_on(before.place, F.full, 1, before.dtype, (batch,))
    keys, values = (F.slice(cache, axes=(0,), starts=(i,), sizes=(1,), steps=(1,)) for i in (0, 1))
    return F.paged_attention(q, keys, values, row, count, before, mask, None, None, causal=True, scale=scale)


def _positions(lengths: Tensor | None, mask: Tensor | None, batch: Any) -> Tensor:
    """``[batch]``: positions that the cache has already."""
    if lengths is None:
        if mask is None:
            raise op_error(ValueError, _OP, "src_mask or sequence_lengths", "neither")
        size = need_tensor(mask, _OP, "src_mask").shape[-1]
        return create_on(mask.place, F.full, size - 1, dt.int64, (batch,))
    return row_lengths(_OP, "sequence_lengths", lengths, batch)


def checked_mask(
    op_name: str, arg_name: str, mask: Tensor, before: Tensor, batch: Any, heads: Any, x: Tensor
) -> Tensor:
    """A mask ``[batch or 1, heads or 1, 1, positions]`` of x's dtype that covers what the new tokens attend to."""
    shape = need_tensor(mask, op_name, arg_name).shape
    fits = len(shape) == 4 and dim.one_of(shape[0], 1, batch) and dim.eq(shape[2], 1)
    if not fits or not dim.one_of(shape[1], 1, heads):
        required = f"{arg_name} of shape [{batch}, 1 or {heads}, 1, positions]"
        raise op_error(ValueError, op_name, required, list(shape))
    if not mask.dtype.is_floating:
        raise op_error(TypeError, op_name, f"a floating {arg_name}", mask.dtype.name)
    ok = F.all(F.lt(before, shape[3]), axes=(0,), keepdim=False)
    text = f"[{op_name}] requires {arg_name} with a column for each position that is attended to, got {list(shape)}"
    F.require(ok, kind="ValueError", args=(text,))
    return cast(mask, x.dtype)


def need_rotation(op_name: str, tokens: Any, size: Any, table: Tensor, parts: int) -> None:
    """Refuse cosines and sines that are not those of each token's heads."""
    shape = table.shape
    count: Any = 1
    for m in shape[1:-1]:
        count = count * m
    if len(shape) < 3 or not dim.eq(shape[0], 2) or not dim.eq(count, tokens) or not dim.eq(shape[-1], size):
        required = f"cosines and sines of shape [2, {tokens} tokens, {size}]"
        raise op_error(ValueError, op_name, required, list(shape))
    if parts not in (1, 2) or not dim.eq(size % (2 * parts), 0):
        raise op_error(ValueError, op_name, f"rotary_emb_dims of 1 or 2 even parts of {size} features", parts)


def rotate(op_name: str, x: Tensor, n: Any, table: Tensor, parts: int, neox: bool) -> Tensor:
    """``x``, ``[tokens, heads, size]``, with ``n`` heads rotated; ``table`` has cosines and sines of each token."""
    tokens, heads, size = x.shape
    need_rotation(op_name, tokens, size, table, parts)
    table = cast(F.reshape(table, shape=(2, tokens, 1, parts, size // parts)), x.dtype.compute)
    cos, sin = (F.squeeze(F.slice(table, axes=(0,), starts=(i,), sizes=(1,), steps=(1,)), axes=(0,)) for i in (0, 1))
    first = F.slice(x, axes=(1,), starts=(0,), sizes=(n,), steps=(1,))
    rest = F.slice(x, axes=(1,), starts=(n,), sizes=(heads - n,), steps=(1,))
    wide = cast(F.reshape(first, shape=(tokens, n, parts, size // parts)), x.dtype.compute)
    rotated = cast(F.add(F.mul(wide, cos), F.mul(_partners(wide, not neox), sin)), x.dtype)
    return F.concat([F.reshape(rotated, shape=(tokens, n, size)), rest], axis=1)


def _beam_rows(op_name: str, offsets: Tensor, before: Tensor, batch: Any, positions: Any) -> Tensor:
    """``[batch, positions]``: the row of the cache that has what a beam attends to at each position."""
    shape = need_tensor(offsets, op_name, "beam_cache_offset").shape
    if offsets.dtype not in (dt.int32, dt.int64):
        raise op_error(TypeError, op_name, "beam_cache_offset of int32 or int64", offsets.dtype.name)
    if len(shape) != 3 or not dim.eq(shape[0] * shape[1], batch) or not shape[2] >= positions:
        required = f"beam_cache_offset of shape [groups, beams, at least {positions}] with {batch} beams in all"
        raise op_error(ValueError, op_name, required, list(shape))
    beam = F.slice(offsets, axes=(2,), starts=(0,), sizes=(positions,), steps=(1,))
    beam = cast(F.reshape(beam, shape=(batch, positions)), dt.int64)
    row = F.unsqueeze(create_on(offsets.place, F.iota, 0, 1, dt.int64, batch), axes=(1,))
    earlier = F.lt(
        create_on(offsets.place, F.iota, 0, 1, dt.int64, positions), F.unsqueeze(cast(before, dt.int64), axes=(1,))
    )
    inside = F.logical_and(F.ge(beam, 0), F.lt(beam, shape[1]))
    ok = F.all(F.logical_or(inside, F.logical_not(earlier)), axes=(0, 1), keepdim=False)
    text = f"[{op_name}] requires a beam_cache_offset with beams below {shape[1]} at positions that the cache has"
    F.require(ok, kind="ValueError", args=(text,))
    return F.where(earlier, F.add(F.mul(F.floor_div(row, shape[1]), shape[1]), beam), row)


def _attend_beams(q: Tensor, cache: Tensor, rows: Tensor, before: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    batch, positions = rows.shape
    column = create_on(rows.place, F.iota, 0, 1, dt.int64, positions)
    # What no token has written may be NaN, which a weight of 0 does not hide: it is not read.
    position = F.minimum(column, F.unsqueeze(cast(before, dt.int64), axes=(1,)))
    by_position = F.permute(cache, perm=(0, 1, 3, 2, 4))
    keys, values = (
        F.index_get(
            F.squeeze(F.slice(by_position, axes=(0,), starts=(i,), sizes=(1,), steps=(1,)), axes=(0,)), [rows, position]
        )
        for i in (0, 1)
    )
    seen = F.unsqueeze(F.eq(column, position), axes=(1, 2))
    if mask is not None:
        column = F.minimum(column, mask.shape[3] - 1)
        seen = F.where(seen, F.take(mask, column, axis=3), -math.inf)
    return F.attention(F.unsqueeze(q, axes=(1,)), keys, values, seen, causal=False, scale=scale)
