"""Attention in the forms of flash attention (Dao et al., 2022): packed operands, and sequences of several lengths.

All of them run the engine's attention. Of sequences that follow each other in one tensor each sees itself alone, as a
mask by columns says; only where weights are asked for, they are laid side by side as rows of a batch.
"""

from __future__ import annotations

import math

from paddle import _lazy
from paddle._public import also, need_tensor, public
from paddle.nn.functional.attention import from_first_key, need_heads, scaled
from paddle.nn.functional.attention_call import (
    NO_DROPOUT,
    Dropout,
    attend,
    attend_with_lse,
    dropout_of,
    visible_pairs,
    weighted_values,
)
from paddle.nn.functional.packed_sequences import (
    MOST_ROWS,
    Given,
    Sequences,
    behind,
    beside,
    both_sequences,
    causal_columns_of,
    columns_of,
    counter,
    need_rows,
    only_counted,
    visible,
)
from paddle.tensor._args import create_on, integer
from umiak import ops as F
from umiak.core.context import capture_of, no_grad_guard
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.util.errors import op_error


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
        fixed_seed_offset: two integers, the seed and the offset of the random numbers that dropout draws; by default
            the next ones of a stream.
        rng_name: the name of that stream (``paddle.framework.random.set_random_seed_generator``), by default the one
            that ``paddle.seed`` seeds.
        training: False turns dropout off.
        softmax_scale: factor of the scores, by default ``dim ** -0.5``.

    Returns:
        (result ``[batch, queries, heads, dim]``, weights ``[batch, heads, queries, keys]`` or None), of query's dtype.

    Raises:
        TypeError: the operands are not floating or have different dtypes.
        ValueError: shapes that do not fit, ``dropout`` outside [0, 1], ``fixed_seed_offset`` that is not two integers,
            or a stream that is not there.

    References:
        Dao et al., FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness, 2022.

    Example:
        >>> import paddle
        >>> x = paddle.rand([1, 5, 2, 8])
        >>> out, _ = paddle.nn.functional.flash_attention.flash_attention(x, x, x, causal=True)
        >>> out.shape
        paddle.Size([1, 5, 2, 8])
    """
    drops = dropout_of("flash_attention", dropout, training, fixed_seed_offset, rng_name)
    try:
        query, scale = scaled(query) if softmax_scale is None else (query, softmax_scale)
        if return_softmax:
            mask = visible_pairs(query.shape[1], key.shape[1], 0, query) if causal else None
            return weighted_values(query, key, value, mask, scale, drops)
        key, value, mask, causal = from_first_key(query, key, value, None, causal)
        return attend(query, key, value, mask, causal, scale, drops), None
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
        fixed_seed_offset: two integers, the seed and the offset of the random numbers that dropout draws; by default
            the next ones of a stream.
        rng_name: the name of that stream (``paddle.framework.random.set_random_seed_generator``), by default the one
            that ``paddle.seed`` seeds.
        training: False turns dropout off.

    Returns:
        (result ``[batch, length, heads, dim]``, weights ``[batch, heads, length, length]`` or None), of qkv's dtype.

    Raises:
        TypeError: qkv is not floating.
        ValueError: qkv has another shape, ``dropout`` is outside [0, 1], ``fixed_seed_offset`` is not two integers, or
            there is no such stream.

    Example:
        >>> import paddle
        >>> out, _ = paddle.nn.functional.flash_attn_qkvpacked(paddle.rand([2, 5, 3, 2, 8]))
        >>> out.shape
        paddle.Size([2, 5, 2, 8])
    """
    parts = _unpacked("flash_attn_qkvpacked", need_tensor(qkv, "flash_attn_qkvpacked", "qkv"), 5)
    return flash_attention(
        *parts,
        dropout,
        causal,
        return_softmax,
        fixed_seed_offset=fixed_seed_offset,
        rng_name=rng_name,
        training=training,
    )


# --- sequences of several lengths -----------------------------------------------------------------------------------


def _attend_within(
    query: Tensor, key: Tensor, value: Tensor, rows: Sequences, key_rows: Sequences, alike: bool, causal: bool,
    window: tuple[int, int], scale: float, dropout: Dropout = NO_DROPOUT, lse: bool = False, softcap: float = 0.0,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Attention within sequences of ``[total, heads, dim]``, and the log-sum-exp ``[heads, total]`` if it is asked for.

    ``alike``: queries and keys have the same sequences, so that causal order needs no mask.
    """
    left, right = _reach(causal, window)
    need_rows("attention", query.shape[0], key.shape[0])
    by_order = alike and right == 0
    if by_order:
        mask = causal_columns_of(rows, query.shape[0], left)
    else:
        mask = columns_of(rows, key_rows, key.shape[0], left, right)
    q, k, v = (F.unsqueeze(t, axes=(0,)) for t in (query, key, value))
    if not lse and not softcap:
        return F.squeeze(attend(q, k, v, mask, by_order, scale, dropout), axes=(0,)), None
    out, sums, _ = attend_with_lse(q, k, v, mask, by_order, scale, dropout, softcap=softcap)
    return F.squeeze(out, axes=(0,)), F.squeeze(sums, axes=(0,))


def _reach(causal: bool, window: tuple[int, int]) -> tuple[int | None, int | None]:
    """Numbers of keys that a query sees before and behind its own, None for all."""
    left, right = (None if n < 0 else min(n, MOST_ROWS) for n in window)
    return left, 0 if causal else right


def _weights_within(
    query: Tensor, key: Tensor, value: Tensor, rows: Sequences, key_rows: Sequences, causal: bool, scale: float,
    dropout: Dropout,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The same with its weights, of sequences side by side."""
    q, k, v = beside(query, rows), beside(key, key_rows), beside(value, key_rows)
    mask = visible(rows, key_rows, *_reach(causal, (-1, -1)))
    out, weights = weighted_values(q, k, v, mask, scale, dropout)
    return behind(out, rows, query.shape[0]), weights


def _need_packed(op_name: str, query: Tensor, key: Tensor, value: Tensor) -> None:
    for arg_name, x in (("query", query), ("key", key), ("value", value)):
        need_tensor(x, op_name, arg_name)
    if not query.ndim == key.ndim == value.ndim == 3:
        got = [list(t.shape) for t in (query, key, value)]
        raise op_error(ValueError, op_name, "query, key and value [total, heads, dim]", got)


def _within(
    query: Tensor, key: Tensor, value: Tensor, rows: Sequences, key_rows: Sequences, alike: bool, causal: bool,
    scale: float, dropout: Dropout, weights: bool,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    if weights:
        return _weights_within(query, key, value, rows, key_rows, causal, scale, dropout)
    return _attend_within(query, key, value, rows, key_rows, alike, causal, (-1, -1), scale, dropout)


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
        fixed_seed_offset: two integers, the seed and the offset of the random numbers that dropout draws; by default
            the next ones of a stream.
        rng_name: the name of that stream (``paddle.framework.random.set_random_seed_generator``), by default the one
            that ``paddle.seed`` seeds.
        training: False turns dropout off.

    Returns:
        (result ``[total queries, heads, dim]``, weights ``[batch, heads, max_seqlen_q, max_seqlen_k]`` or None), of
        query's dtype.

    Raises:
        TypeError: the operands are not floating or have different dtypes.
        ValueError: shapes that do not fit, cumulative lengths that are not integers, decrease or end beyond the rows,
            ``dropout`` outside [0, 1], ``fixed_seed_offset`` that is not two integers, or a stream that is not there.

    Example:
        >>> import paddle
        >>> x, ends = paddle.rand([5, 2, 8]), paddle.to_tensor([0, 2, 5])
        >>> flash = paddle.nn.functional.flash_attention
        >>> out, _ = flash.flash_attn_unpadded(x, x, x, ends, ends, 3, 3, 0.35)
        >>> out.shape
        paddle.Size([5, 2, 8])
    """
    op_name = "flash_attn_unpadded"
    drops = dropout_of(op_name, dropout, training, fixed_seed_offset, rng_name)
    _need_packed(op_name, query, key, value)
    rows, key_rows, alike = both_sequences(
        op_name, Given(cu_seqlens_q, query.shape[0], max_seqlen_q), Given(cu_seqlens_k, key.shape[0], max_seqlen_k)
    )
    return _within(query, key, value, rows, key_rows, alike, causal, scale, drops, return_softmax)


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
        fixed_seed_offset: two integers, the seed and the offset of the random numbers that dropout draws; by default
            the next ones of a stream.
        rng_name: the name of that stream (``paddle.framework.random.set_random_seed_generator``), by default the one
            that ``paddle.seed`` seeds.
        varlen_padded: each sequence takes ``max_seqlen_q`` rows of ``qkv``, of which the first count; False: sequences
            follow each other closely.
        training: False turns dropout off.

    Returns:
        (result ``[total, heads, dim]``, with zeros in the rows that do not count, weights
        ``[batch, heads, max_seqlen_q, max_seqlen_k]`` or None), of qkv's dtype.

    Raises:
        TypeError: qkv is not floating.
        ValueError: shapes that do not fit, cumulative lengths that are not integers, decrease or end beyond the rows,
            ``dropout`` outside [0, 1], ``fixed_seed_offset`` that is not two integers, or a stream that is not there.

    Example:
        >>> import paddle
        >>> qkv, ends = paddle.rand([6, 3, 2, 8]), paddle.to_tensor([0, 2, 5])
        >>> out, _ = paddle.nn.functional.flash_attn_varlen_qkvpacked(qkv, ends, ends, 3, 3, 0.35)
        >>> out.shape
        paddle.Size([6, 2, 8])
    """
    op_name = "flash_attn_varlen_qkvpacked"
    drops = dropout_of(op_name, dropout, training, fixed_seed_offset, rng_name)
    q, k, v = _unpacked(op_name, need_tensor(qkv, op_name, "qkv"), 4)
    total, batch = qkv.shape[0], need_tensor(cu_seqlens_q, op_name, "cu_seqlens_q").shape[0] - 1
    if varlen_padded and (max_seqlen_q != max_seqlen_k or not dim.eq(batch * max_seqlen_q, total)):
        raise ValueError(
            f"[{op_name}] requires max_seqlen_q rows for each of {batch} padded sequences, and as many for keys, "
            f"got {total} rows for {max_seqlen_q} and {max_seqlen_k}"
        )
    rows, key_rows, alike = both_sequences(
        op_name, Given(cu_seqlens_q, total, max_seqlen_q), Given(cu_seqlens_k, total, max_seqlen_k)
    )
    if varlen_padded:
        starts = F.mul(counter(batch, rows.starts), max_seqlen_q)
        rows = rows._replace(starts=starts)
        key_rows = rows if alike else key_rows._replace(starts=starts)
        k, v = only_counted(k, key_rows), only_counted(v, key_rows)
    return _within(q, k, v, rows, key_rows, alike, causal, scale, drops, return_softmax)


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
        seqused_q, seqused_k: integer tensors ``[batch]``, how many rows of each sequence count, by default all, which
            is as many as may.
        softmax_scale: factor of the scores, by default ``dim ** -0.5``.
        causal: the last query of a sequence sees all its keys, one before it all but the last, and so on.
        qv, q_descale, k_descale, v_descale: only None; there are no 8-bit operands.
        window_size: how many keys before and after its own place a query sees, -1 for all.
        softcap: scores become ``softcap * tanh(score / softcap)``; 0 leaves them.
        num_splits, pack_gqa, sm_margin: accepted; they say how a GPU divides its work.

    Returns:
        (result ``[total queries, heads, dim]`` of query's dtype, natural log-sum-exp of the scores
        ``[heads, total queries]``, with a gradient of its own: float32, or float64 for such operands). Rows that do not
        count are 0 and -inf.

    Raises:
        TypeError: the operands are not floating or have different dtypes.
        ValueError: shapes that do not fit, cumulative lengths that are not integers, decrease or end beyond the rows,
            rows in use that there are not, ``qv`` or scales of 8-bit operands, a ``window_size`` that is not two
            numbers, or a ``softcap`` below 0.

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
    rows, key_rows, alike = both_sequences(
        op_name,
        Given(cu_seqlens_q, query.shape[0], max_seqlen_q, seqused_q),
        Given(cu_seqlens_k, key.shape[0], max_seqlen_k, seqused_k),
    )
    scale = 1.0 / math.sqrt(query.shape[2] or 1) if softmax_scale is None else softmax_scale
    if not 0 <= softcap < math.inf:
        raise op_error(ValueError, op_name, "a softcap of 0 or more", softcap)
    if not isinstance(window_size, (tuple, list)) or len(window_size) != 2:
        raise op_error(ValueError, op_name, "a window_size of two numbers, of keys before and after", window_size)
    before, after = (integer(n, op_name, "window_size") for n in window_size)
    if seqused_k is not None:
        key, value = only_counted(key, key_rows), only_counted(value, key_rows)
    out, lse = _attend_within(
        query, key, value, rows, key_rows, alike, causal, (before, after), scale, lse=True, softcap=float(softcap)
    )
    return out, lse  # type: ignore[return-value]


@public("paddle.nn.functional.flash_attention")
def calc_reduced_attention_scores(query: Tensor, key: Tensor, softmax_lse: Tensor) -> Tensor:
    """Weight that each key gets from all queries together: sums of the columns of the softmax of the scores.

    No matrix of queries by keys is formed. It is for inference: there is no gradient.

    Args:
        query: floating tensor ``[batch, queries, heads, dim]``.
        key: tensor ``[batch, keys, key heads, dim]`` of query's dtype, each head serving several consecutive query
            heads.
        softmax_lse: the log-sum-exp of the scores, natural, as :func:`flashmask_attention` returns it:
            ``[batch, heads, rows]`` with as many rows as there are queries, or more.

    Returns:
        Tensor ``[batch, heads, 1, keys]``, float32, or float64 for such operands. Scores are multiplied by
        ``dim ** -0.5``.

    Raises:
        TypeError: operands that are not floating or of different dtypes.
        ValueError: shapes that do not fit, or operands that a gradient is asked for.

    Example:
        >>> import paddle
        >>> x = paddle.rand([1, 5, 2, 8])
        >>> _, lse = paddle.nn.functional.flashmask_attention(x, x, x, return_softmax_lse=True)
        >>> paddle.nn.functional.flash_attention.calc_reduced_attention_scores(x, x, lse).sum(3).round(4).tolist()
        [[[5.0], [5.0]]]
    """
    op_name = "calc_reduced_attention_scores"
    for arg_name, x, rank in (("query", query, 4), ("key", key, 4), ("softmax_lse", softmax_lse, 3)):
        if need_tensor(x, op_name, arg_name).ndim != rank:
            raise op_error(ValueError, op_name, f"{arg_name} of rank {rank}", f"shape {list(x.shape)}")
    if not (query.stop_gradient and key.stop_gradient):
        raise op_error(ValueError, op_name, "operands with stop_gradient=True, as it is for inference", "another")
    batch, queries, heads, size = query.shape
    keys, key_heads = key.shape[1], key.shape[2]
    if list(softmax_lse.shape[:2]) != [batch, heads] or softmax_lse.shape[2] < queries or heads % key_heads:
        got = ", ".join(str(list(x.shape)) for x in (query, key, softmax_lse))
        raise op_error(ValueError, op_name, "heads that fit, and softmax_lse [batch, heads, queries or more]", got)
    wide = query.dtype.compute
    if type(keys) is int and not keys:
        return create_on(query.place, F.full, 0.0, dtype=wide, shape=(batch, heads, 1, 0))
    q, k = (F.cast(x, dtype=wide) for x in (query, key))
    k = k if heads == key_heads else F.repeat_interleave(k, axis=2, repeats=heads // key_heads)
    lse = F.cast(F.slice(softmax_lse, axes=(2,), starts=(0,), sizes=(queries,), steps=(1,)), dtype=wide)
    tracer = capture_of()
    if tracer is not None and tracer.static:  # attention in operators of files has sums of exponentials of its own
        q, k = (F.permute(x, perm=(0, 2, 1, 3)) for x in (q, k))
        scores = F.mul(F.matmul(q, k, transpose_y=True), 1.0 / math.sqrt(size or 1))
        weights = F.exp(F.sub(scores, F.reshape(lse, shape=(*lse.shape, 1))))
        return F.sum(weights, axes=(2,), keepdim=True)
    # The gradient of values are the sums of weights times the gradient of the result.
    v = create_on(query.place, F.full, 0.0, dtype=wide, shape=(batch, keys, heads, 1))
    out, ones = (create_on(query.place, F.full, x, dtype=wide, shape=(batch, queries, heads, 1)) for x in (0.0, 1.0))
    with no_grad_guard():
        sums = F.attention_grad(q, k, v, out, lse, ones, None, causal=False, scale=1.0 / math.sqrt(size or 1))[2]
    return F.permute(F.cast(sums, dtype=wide), perm=(0, 2, 3, 1))  # auto_cast has narrowed them


flash_attn_varlen_func = also(
    flash_attention_v3_varlen, "flash_attn_varlen_func", "paddle.nn.functional.flash_attention"
)


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
