"""Attention in the forms of flash attention (Dao et al., 2022): packed operands, and sequences of several lengths.

All of them run the engine's attention. Sequences that follow each other in one tensor are laid side by side first, as
rows of a batch as long as the longest.
"""

from __future__ import annotations

import math
from typing import Any

from paddle import _lazy
from paddle._public import also, public
from paddle.nn.functional.attention import (
    masked_scores,
    need_heads,
    scaled_dot_product_attention,
    weighted_values,
)
from paddle.tensor._args import InternedOps, create_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard
from umiak.core.eager import apply
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_ATTENTION = InternedOps(F.Attention)


def _only_default_stream(op_name: str, fixed_seed_offset: Any, rng_name: str) -> None:
    """Dropout draws from the device's stream alone."""
    if fixed_seed_offset is not None or rng_name:
        raise ValueError(
            f"[{op_name}] requires fixed_seed_offset=None and rng_name='' (seed dropout with paddle.seed), "
            f"got {fixed_seed_offset} and {rng_name!r}"
        )


@public("paddle.nn.functional.flash_attention")
def flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout: float = 0.0,
    causal: bool = False,
    return_softmax: bool = False,
    *,
    fixed_seed_offset: Tensor | None = None,
    rng_name: str = "",
    training: bool = True,
    name: str | None = None,
    softmax_scale: float | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Attention ``softmax(scale * query @ key^T) @ value`` for each head.

    Args:
        query: floating tensor ``[batch, queries, heads, dim]``.
        key, value: tensors ``[batch, keys, heads, dim]`` of query's dtype, of as many heads or of fewer, each serving
            several consecutive query heads.
        dropout: the probability that a weight is dropped in training, from 0 to 1.
        causal: query i sees keys 0 to i.
        return_softmax: return the weights, after dropout, too.
        fixed_seed_offset, rng_name: only None and ``""``: dropout draws from the stream that ``paddle.seed`` seeds.
        training: False turns dropout off.
        softmax_scale: factor of the scores, by default ``dim ** -0.5``.

    Returns:
        (result ``[batch, queries, heads, dim]``, weights ``[batch, heads, queries, keys]`` or None), of query's dtype.

    Raises:
        TypeError: the operands are not floating or have different dtypes.
        ValueError: shapes that do not fit, ``dropout`` outside [0, 1], or another ``fixed_seed_offset`` or
            ``rng_name``.

    References:
        Dao et al., FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness, 2022.

    Example:
        >>> import paddle
        >>> x = paddle.rand([1, 5, 2, 8])
        >>> out, _ = paddle.nn.functional.flash_attention.flash_attention(x, x, x, causal=True)
        >>> out.shape
        paddle.Size([1, 5, 2, 8])
    """
    _only_default_stream("flash_attention", fixed_seed_offset, rng_name)
    if not return_softmax:
        p = dropout if training else 0.0
        out = scaled_dot_product_attention(query, key, value, None, p, causal, training, scale=softmax_scale)
        return out, None
    try:
        scale = 1.0 / math.sqrt(query.shape[3] or 1) if softmax_scale is None else softmax_scale
        return weighted_values(query, key, value, None, dropout if training else 0.0, causal, scale)
    except (AttributeError, IndexError, ValueError):
        need_heads(query, key, value)
        raise


def _unpacked(op_name: str, qkv: Tensor, rank: int) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value from ``[..., groups + 2, key heads, dim]``; query heads stand group by group."""
    if qkv.ndim != rank or qkv.shape[-3] < 3:
        lead = "batch, length" if rank == 5 else "total"
        raise op_error(
            ValueError, op_name, f"qkv [{lead}, heads/key heads + 2, key heads, dim]", f"shape {list(qkv.shape)}"
        )
    axis, parts = rank - 3, qkv.shape[rank - 3]
    *lead_sizes, _, heads, size = qkv.shape

    def part(start: int, count: int) -> Tensor:
        sliced = F.slice(qkv, axes=(axis,), starts=(start,), sizes=(count,), steps=(1,))
        return F.reshape(sliced, shape=(*lead_sizes, count * heads, size))

    return part(0, parts - 2), part(parts - 2, 1), part(parts - 1, 1)


@public("paddle.nn.functional paddle.nn.functional.flash_attention")
def flash_attn_qkvpacked(
    qkv: Tensor,
    dropout: float = 0.0,
    causal: bool = False,
    return_softmax: bool = False,
    *,
    fixed_seed_offset: Tensor | None = None,
    rng_name: str = "",
    training: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor | None]:
    """:func:`flash_attention` of query, key and value in one tensor.

    Args:
        qkv: floating tensor ``[batch, length, heads/key_heads + 2, key_heads, dim]``: groups of query heads, then key,
            then value.
        dropout: the probability that a weight is dropped in training, from 0 to 1.
        causal: query i sees keys 0 to i.
        return_softmax: return the weights, after dropout, too.
        fixed_seed_offset, rng_name: only None and ``""``: dropout draws from the stream that ``paddle.seed`` seeds.
        training: False turns dropout off.

    Returns:
        (result ``[batch, length, heads, dim]``, weights ``[batch, heads, length, length]`` or None), of qkv's dtype.

    Raises:
        TypeError: qkv is not floating.
        ValueError: qkv has another shape, ``dropout`` is outside [0, 1], or another ``fixed_seed_offset`` or
            ``rng_name``.

    Example:
        >>> import paddle
        >>> out, _ = paddle.nn.functional.flash_attn_qkvpacked(paddle.rand([2, 5, 3, 2, 8]))
        >>> out.shape
        paddle.Size([2, 5, 2, 8])
    """
    _only_default_stream("flash_attn_qkvpacked", fixed_seed_offset, rng_name)
    parts = _unpacked("flash_attn_qkvpacked", qkv, 5)
    return flash_attention(*parts, dropout, causal, return_softmax, training=training)


# --- sequences of several lengths -----------------------------------------------------------------------------------


def _counter(n: Any, like: Tensor) -> Tensor:
    return create_on(like.place, F.iota, 0, 1, dt.int64, n)


def _starts(op_name: str, cu_seqlens: Tensor) -> tuple[Tensor, Tensor]:
    """Return the starts and lengths of the sequences, ``[batch]`` each."""
    if cu_seqlens.ndim != 1 or not cu_seqlens.dtype.is_integer:
        raise ValueError(
            f"[{op_name}] requires cumulative lengths as integers [batch + 1], "
            f"got {cu_seqlens.dtype.name} of shape {list(cu_seqlens.shape)}"
        )
    ends, n = F.cast(cu_seqlens, dtype=dt.int64), cu_seqlens.shape[0] - 1
    low, high = (F.slice(ends, axes=(0,), starts=(i,), sizes=(n,), steps=(1,)) for i in (0, 1))
    return low, F.sub(high, low)


def _beside(x: Tensor, starts: Tensor, lengths: Tensor, size: int) -> Tensor:
    """Sequences of ``x [total, heads, dim]`` as ``[batch, size, heads, dim]``, with zeros behind the shorter ones."""
    at = F.add(F.unsqueeze(starts, axes=(1,)), _counter(size, starts))
    rows = F.take(x, F.minimum(at, x.shape[0] - 1), axis=0)
    return _cut(rows, lengths)


def _cut(rows: Tensor, lengths: Tensor) -> Tensor:
    """``[batch, size, heads, dim]`` with zeros beyond the lengths."""
    here = F.lt(_counter(rows.shape[1], lengths), F.unsqueeze(lengths, axes=(1,)))
    return F.where(F.unsqueeze(here, axes=(2, 3)), rows, 0.0)


def _behind(rows: Tensor, starts: Tensor, total: int, axis: int = 1) -> Tensor:
    """The inverse of :func:`_beside`: what stands at ``(batch, position)`` along the first dim and ``axis`` goes to one
    dim of ``total``, in place of the first. Rows of no sequence are zeros.
    """
    if axis != 1:
        rows = F.permute(rows, perm=(0, axis, *(i for i in range(1, rows.ndim) if i != axis)))
    batch, size, *rest = rows.shape
    t = _counter(total, starts)
    which = F.sub(F.search_sorted(starts, t, right=True), 1)
    at = F.sub(t, F.take(starts, F.maximum(which, 0), axis=0))
    fits = F.logical_and(F.ge(which, 0), F.lt(at, size))
    index = F.where(fits, F.add(F.mul(which, size), at), 0)
    rows_of_batch = F.take(F.reshape(rows, shape=(batch * size, *rest)), index, axis=0)
    return F.where(F.unsqueeze(fits, axes=tuple(range(1, rows_of_batch.ndim))), rows_of_batch, 0.0)


def _visible(
    queries: int, keys: int, lengths: Tensor, key_lengths: Tensor, left: int | None, right: int | None
) -> Tensor:
    """``[batch, 1, queries or 1, keys]``: which keys a query sees.

    The last query of a sequence stands at its last key; a query sees ``left`` keys before its own and ``right`` after
    it, None for all.
    """
    j = F.unsqueeze(_counter(keys, key_lengths), axes=(0, 1, 2))
    seen = F.lt(j, F.unsqueeze(key_lengths, axes=(1, 2, 3)))
    if left is None and right is None:
        return seen
    own = F.unsqueeze(F.sub(key_lengths, lengths), axes=(1, 2, 3))
    own = F.add(own, F.unsqueeze(_counter(queries, lengths), axes=(0, 1, 3)))
    if left is not None:
        seen = F.logical_and(seen, F.ge(j, F.sub(own, left)))
    if right is not None:
        seen = F.logical_and(seen, F.le(j, F.add(own, right)))
    return seen


def _attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    lengths: Tensor,
    key_lengths: Tensor,
    alike: bool,
    causal: bool,
    window: tuple[int, int],
    scale: float,
    p: float,
    weights: bool,
) -> tuple[Tensor, Tensor | None]:
    """Attention of sequences side by side, and its weights where they are asked for.

    ``alike``: queries and keys have the same lengths, so that causal order needs no mask.
    """
    left, right = (None if n < 0 else n for n in window)
    by_order = causal and alike and left is None
    if causal and not by_order:
        right = 0
    mask = _visible(q.shape[1], k.shape[1], lengths, key_lengths, left, None if by_order else right)
    if p or weights:
        out, probabilities = weighted_values(q, k, v, mask, p, by_order, scale)
        return out, probabilities if weights else None
    return apply(_ATTENTION[by_order], (q, k, v, mask), (scale,)), None


def _need_packed(op_name: str, query: Tensor, key: Tensor, value: Tensor) -> None:
    if not query.ndim == key.ndim == value.ndim == 3:
        got = [list(t.shape) for t in (query, key, value)]
        raise op_error(ValueError, op_name, "query, key and value [total, heads, dim]", got)


@public("paddle.nn.functional.flash_attention")
def flash_attn_unpadded(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    scale: float,
    dropout: float = 0.0,
    causal: bool = False,
    return_softmax: bool = False,
    fixed_seed_offset: Tensor | None = None,
    rng_name: str = "",
    training: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Attention within each of several sequences that follow each other in one tensor.

    Args:
        query: floating tensor ``[total queries, heads, dim]``.
        key, value: tensors ``[total keys, heads, dim]`` of query's dtype, of as many heads or of fewer, each serving
            several consecutive query heads.
        cu_seqlens_q, cu_seqlens_k: integer tensors ``[batch + 1]`` from 0: where each sequence begins, and the last
            ends. Give the same tensor twice where they are equal.
        max_seqlen_q, max_seqlen_k: the largest lengths; what lies beyond them in a sequence is left out.
        scale: factor of the scores.
        dropout: the probability that a weight is dropped in training, from 0 to 1.
        causal: the last query of a sequence sees all its keys, one before it all but the last, and so on.
        return_softmax: return the weights, after dropout, too.
        fixed_seed_offset, rng_name: only None and ``""``: dropout draws from the stream that ``paddle.seed`` seeds.
        training: False turns dropout off.

    Returns:
        (result ``[total queries, heads, dim]``, weights ``[batch, heads, max_seqlen_q, max_seqlen_k]`` or None), of
        query's dtype.

    Raises:
        TypeError: the operands are not floating or have different dtypes.
        ValueError: shapes that do not fit, cumulative lengths that are not integers, ``dropout`` outside [0, 1], or
            another ``fixed_seed_offset`` or ``rng_name``.

    Example:
        >>> import paddle
        >>> x, ends = paddle.rand([5, 2, 8]), paddle.to_tensor([0, 2, 5])
        >>> flash = paddle.nn.functional.flash_attention
        >>> out, _ = flash.flash_attn_unpadded(x, x, x, ends, ends, 3, 3, 0.35)
        >>> out.shape
        paddle.Size([5, 2, 8])
    """
    op_name = "flash_attn_unpadded"
    _only_default_stream(op_name, fixed_seed_offset, rng_name)
    _need_packed(op_name, query, key, value)
    alike = cu_seqlens_q is cu_seqlens_k and max_seqlen_q == max_seqlen_k
    (at, lengths), (key_at, key_lengths) = _starts(op_name, cu_seqlens_q), _starts(op_name, cu_seqlens_k)
    q = _beside(query, at, lengths, max_seqlen_q)
    k, v = (_beside(t, key_at, key_lengths, max_seqlen_k) for t in (key, value))
    p = dropout if training else 0.0
    results = _attend(q, k, v, lengths, key_lengths, alike, causal, (-1, -1), scale, p, return_softmax)
    return _behind(results[0], at, query.shape[0]), results[1]


@public("paddle.nn.functional paddle.nn.functional.flash_attention")
def flash_attn_varlen_qkvpacked(
    qkv: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    scale: float,
    dropout: float = 0.0,
    causal: bool = False,
    return_softmax: bool = False,
    fixed_seed_offset: Tensor | None = None,
    rng_name: str = "",
    varlen_padded: bool = True,
    training: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor | None]:
    """:func:`flash_attn_unpadded` of query, key and value in one tensor.

    Args:
        qkv: floating tensor ``[total, heads/key_heads + 2, key_heads, dim]``: groups of query heads, then key, then
            value.
        cu_seqlens_q, cu_seqlens_k: integer tensors ``[batch + 1]`` from 0: where each sequence begins, and the last
            ends, if they followed each other closely. Give the same tensor twice where they are equal.
        max_seqlen_q, max_seqlen_k: the largest lengths; equal with ``varlen_padded``.
        scale: factor of the scores.
        dropout: the probability that a weight is dropped in training, from 0 to 1.
        causal: the last query of a sequence sees all its keys, one before it all but the last, and so on.
        return_softmax: return the weights, after dropout, too.
        fixed_seed_offset, rng_name: only None and ``""``: dropout draws from the stream that ``paddle.seed`` seeds.
        varlen_padded: each sequence takes ``max_seqlen_q`` rows of ``qkv``, of which the first count; False: sequences
            follow each other closely.
        training: False turns dropout off.

    Returns:
        (result ``[total, heads, dim]``, with zeros in the rows that do not count, weights
        ``[batch, heads, max_seqlen_q, max_seqlen_k]`` or None), of qkv's dtype.

    Raises:
        TypeError: qkv is not floating.
        ValueError: shapes that do not fit, cumulative lengths that are not integers, ``dropout`` outside [0, 1], or
            another ``fixed_seed_offset`` or ``rng_name``.

    Example:
        >>> import paddle
        >>> qkv, ends = paddle.rand([6, 3, 2, 8]), paddle.to_tensor([0, 2, 5])
        >>> out, _ = paddle.nn.functional.flash_attn_varlen_qkvpacked(qkv, ends, ends, 3, 3, 0.35)
        >>> out.shape
        paddle.Size([6, 2, 8])
    """
    op_name = "flash_attn_varlen_qkvpacked"
    _only_default_stream(op_name, fixed_seed_offset, rng_name)
    q, k, v = _unpacked(op_name, qkv, 4)
    more = (dropout, causal, return_softmax)
    ends = (cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k)
    if not varlen_padded:
        return flash_attn_unpadded(q, k, v, *ends, scale, *more, training=training)
    (_, lengths), (_, key_lengths) = _starts(op_name, cu_seqlens_q), _starts(op_name, cu_seqlens_k)
    batch = cu_seqlens_q.shape[0] - 1
    if max_seqlen_q != max_seqlen_k or batch * max_seqlen_q != qkv.shape[0]:
        raise ValueError(
            f"[{op_name}] requires max_seqlen_q rows for each of {batch} padded sequences, and as many for keys, "
            f"got {qkv.shape[0]} rows for {max_seqlen_q} and {max_seqlen_k}"
        )
    q, k, v = (F.reshape(t, shape=(batch, max_seqlen_q, *t.shape[1:])) for t in (q, k, v))
    k, v = _cut(k, key_lengths), _cut(v, key_lengths)
    p = dropout if training else 0.0
    alike = cu_seqlens_q is cu_seqlens_k
    out, weights = _attend(q, k, v, lengths, key_lengths, alike, causal, (-1, -1), scale, p, return_softmax)
    return F.reshape(_cut(out, lengths), shape=(batch * max_seqlen_q, *out.shape[2:])), weights


@public("paddle.nn.functional paddle.nn.functional.flash_attention")
def flash_attention_v3_varlen(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    seqused_q: Tensor | None = None,
    seqused_k: Tensor | None = None,
    softmax_scale: float | None = None,
    causal: bool = False,
    qv: Tensor | None = None,
    q_descale: Tensor | None = None,
    k_descale: Tensor | None = None,
    v_descale: Tensor | None = None,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    num_splits: int = 1,
    pack_gqa: bool | None = None,
    sm_margin: int = 0,
) -> tuple[Tensor, Tensor]:
    """:func:`flash_attn_unpadded` with windows and capped scores, and the log-sum-exp of the scores.

    Args:
        query: floating tensor ``[total queries, heads, dim]``.
        key, value: tensors ``[total keys, heads, dim]`` of query's dtype, of as many heads or of fewer, each serving
            several consecutive query heads.
        cu_seqlens_q, cu_seqlens_k: integer tensors ``[batch + 1]`` from 0: where each sequence begins, and the last
            ends. Give the same tensor twice where they are equal.
        max_seqlen_q, max_seqlen_k: the largest lengths; what lies beyond them in a sequence is left out.
        seqused_q, seqused_k: integer tensors ``[batch]``, how many rows of each sequence count, by default all.
        softmax_scale: factor of the scores, by default ``dim ** -0.5``.
        causal: the last query of a sequence sees all its keys, one before it all but the last, and so on.
        qv, q_descale, k_descale, v_descale: only None; there are no 8-bit operands.
        window_size: how many keys before and after its own place a query sees, -1 for all.
        softcap: scores become ``softcap * tanh(score / softcap)``; 0 leaves them.
        num_splits, pack_gqa, sm_margin: accepted; they say how a GPU divides its work.

    Returns:
        (result ``[total queries, heads, dim]`` of query's dtype, log-sum-exp ``[heads, total queries]`` without
        gradient: float32, or of query's dtype if that is float64 or with ``softcap``).

    Raises:
        TypeError: the operands are not floating or have different dtypes.
        ValueError: shapes that do not fit, cumulative lengths that are not integers, ``qv`` or scales of 8-bit
            operands.

    Example:
        >>> import paddle
        >>> x, ends = paddle.rand([5, 2, 8]), paddle.to_tensor([0, 2, 5])
        >>> out, lse = paddle.nn.functional.flash_attention_v3_varlen(x, x, x, ends, ends, 3, 3, causal=True)
        >>> out.shape, lse.shape
        (paddle.Size([5, 2, 8]), paddle.Size([2, 5]))
    """
    op_name = "flash_attention_v3_varlen"
    if any(t is not None for t in (qv, q_descale, k_descale, v_descale)):
        raise op_error(ValueError, op_name, "qv and the scales of 8-bit operands to be None", "one of them")
    _need_packed(op_name, query, key, value)
    alike = cu_seqlens_q is cu_seqlens_k and max_seqlen_q == max_seqlen_k and seqused_q is seqused_k
    (at, lengths), (key_at, key_lengths) = _starts(op_name, cu_seqlens_q), _starts(op_name, cu_seqlens_k)
    lengths = lengths if seqused_q is None else F.cast(seqused_q, dtype=dt.int64)
    key_lengths = key_lengths if seqused_k is None else F.cast(seqused_k, dtype=dt.int64)
    scale = 1.0 / math.sqrt(query.shape[2] or 1) if softmax_scale is None else softmax_scale
    q = _beside(query, at, lengths, max_seqlen_q)
    k, v = (_beside(t, key_at, key_lengths, max_seqlen_k) for t in (key, value))
    left, right = (None if n < 0 else n for n in window_size)
    by_order = causal and alike and left is None and not softcap
    if causal and not by_order:
        right = 0
    mask = _visible(max_seqlen_q, max_seqlen_k, lengths, key_lengths, left, None if by_order else right)
    if softcap:
        out, _ = weighted_values(q, k, v, mask, 0.0, False, scale, softcap)
        with no_grad_guard():
            scores, _ = masked_scores(q, k, mask, False, scale, softcap)
            lse = F.logsumexp(scores, axes=(3,))
    else:
        out = apply(_ATTENTION[by_order], (q, k, v, mask), (scale,))
        with no_grad_guard():
            _, lse = F.attention_train(q, k, v, mask, causal=by_order, scale=scale)
    out = _behind(_cut(out, lengths), at, query.shape[0])
    lse = F.permute(_behind(lse, at, query.shape[0], axis=2), perm=(1, 0))
    return out, lse


flash_attn_varlen_func = also(
    flash_attention_v3_varlen, "flash_attn_varlen_func", "paddle.nn.functional.flash_attention"
)


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
