"""Attention with a sparse mask, given for each key as the queries that do not see it (Wang et al., FlashMask, 2024)."""

from __future__ import annotations

import math
from typing import Any

from paddle import _lazy
from paddle._public import need_tensor, public
from paddle.nn.functional.attention import need_heads
from paddle.nn.functional.attention_call import (
    attend,
    attend_with_lse,
    dropout_of,
    padded_lse,
    seed_and_offset,
)
from paddle.nn.functional.packed_sequences import MOST_ROWS
from paddle.tensor._args import create_on, integer
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

OP = "flashmask_attention"


@public("paddle.nn.functional paddle.nn.functional.flash_attention")
def flashmask_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    startend_row_indices: Tensor | None = None,
    *,
    dropout: float = 0.0,
    causal: bool = False,
    window_size: int | tuple[int, int] | None = None,
    return_softmax_lse: bool = False,
    return_seed_offset: bool = False,
    fixed_seed_offset: Tensor | None = None,
    rng_name: str = "",
    training: bool = True,
    name: str | None = None,
    softmax_scale: float | None = None,
    block_mask: Tensor | None = None,
) -> Tensor | list[Tensor]:
    """Attention whose mask says for each key which queries do not see it.

    No mask or weights of queries by keys are formed, in the gradient neither: tiles of 128 keys that no query of a
    block sees are skipped, and those that all see are computed as without a mask. :mod:`umiak.masks` makes the indices
    of the usual families of masks.

    Args:
        query: floating tensor ``[batch, queries, heads, dim]``.
        key, value: tensors ``[batch, keys, key heads, dim]`` of query's dtype; each key head serves several consecutive
            query heads.
        startend_row_indices: int32 ``[batch, mask heads, keys, columns]`` with one mask head, one for each key head or
            one for each query head. Hidden from a key are, if causal, queries from the first column on, of two columns
            up to before the second; if not causal, of two columns queries from the first on and those before the
            second, of four those from the first to before the second and from the third to before the fourth. These
            are comparisons and nothing else, as in the reference, whose documentation spells them as slices of
            columns: a number outside the queries stands for the nearest end, and an interval that ends before it begins
            hides nothing.
        dropout: the probability that a weight is dropped in training, from 0 to 1.
        causal: query i sees keys 0 to ``keys - queries + i`` at most.
        window_size: instead of indices, how many keys before its own place (and, if not causal, behind it) a query
            sees: one number for both, or two. The place of query i is key i, whatever the lengths.
        return_softmax_lse: return the log-sum-exp of the scores, too.
        return_seed_offset: return the seed and the offset that dropout drew from, too; 0 and 0 without dropout.
        fixed_seed_offset: two integers, the seed and the offset of the random numbers that dropout draws; by default
            the next ones of a stream.
        rng_name: the name of that stream (``paddle.framework.random.set_random_seed_generator``), by default the one
            that ``paddle.seed`` seeds.
        training: False turns dropout off.
        softmax_scale: factor of the scores, by default ``dim ** -0.5``.
        block_mask: int32 ``[batch, mask heads, query blocks, key blocks]`` beside indices of as many mask heads: where
            it is 0, a block of 128 queries sees nothing of a block of 128 keys, whose scores are not computed.

    Returns:
        The result ``[batch, queries, heads, dim]`` of query's dtype, 0 where a query sees no key; or a list of it and
        what is asked for of: the log-sum-exp of the scores ``[batch, heads, rows]``, natural, float32 (float64 for
        operands of float64), -inf where a query sees no key, with a multiple of 128 rows of which those beyond the
        queries are inf; int64 ``[2]``, seed and offset.

    Raises:
        TypeError: operands that are not floating or of different dtypes, or indices that are not int32.
        ValueError: shapes that do not fit, indices together with a window, ``block_mask`` without indices, ``dropout``
            outside [0, 1], ``fixed_seed_offset`` that is not two integers, or a stream that is not there.

    References:
        Wang et al., FlashMask: Efficient and Rich Mask Extension of FlashAttention, 2024.

    Example:
        >>> import paddle
        >>> from umiak import masks
        >>> x = paddle.rand([1, 10, 2, 8])
        >>> rows = paddle.to_tensor(masks.causal_document([4, 3, 3]).indices)
        >>> paddle.nn.functional.flashmask_attention(x, x, x, rows, causal=True).shape
        paddle.Size([1, 10, 2, 8])
    """
    drops = dropout_of(OP, dropout, training, fixed_seed_offset, rng_name)
    try:
        queries, keys, dim = query.shape[1], key.shape[1], query.shape[3]
        scale = 1.0 / math.sqrt(dim or 1) if softmax_scale is None else softmax_scale
        if startend_row_indices is not None:
            _only(window_size is None, "indices or window_size", "both")
            if need_tensor(startend_row_indices, OP, "startend_row_indices").dtype is not dt.int32:
                got = startend_row_indices.dtype.name
                raise op_error(TypeError, OP, "startend_row_indices of int32", got)
        elif window_size is not None:
            startend_row_indices = _window(query, queries, keys, causal, window_size)
        if block_mask is not None:
            need_tensor(block_mask, OP, "block_mask")
            _only(window_size is None and startend_row_indices is not None, "indices beside block_mask", "none")
    except (AttributeError, IndexError):
        need_heads(query, key, value)
        raise
    operands = (query, key, value, startend_row_indices, bool(causal), scale, drops)
    if block_mask is None and not return_softmax_lse and not return_seed_offset:
        return attend(*operands)
    out, lse, drawn = attend_with_lse(*operands, block_mask)
    results = [out]
    if return_softmax_lse:
        results.append(padded_lse(lse))
    if return_seed_offset:
        results.append(seed_and_offset(query, drawn))
    return results if len(results) > 1 else out


def _only(holds: bool, required: str, got: object) -> None:
    if not holds:
        raise op_error(ValueError, OP, required, got)


def _window(like: Tensor, queries: Any, keys: Any, causal: bool, size: Any) -> Tensor:
    """Indices ``[1, 1, keys, 1 or 2]`` of a window, for queries that stand at the places of the first keys."""
    sizes = tuple(size) if isinstance(size, (tuple, list)) else (size, size)
    _only(len(sizes) == 2, "a window of one number or two", sizes)
    before, after = (integer(n, OP, "window_size") for n in sizes)
    _only(before >= 0 and after >= 0, "a window of 0 keys at least", f"{size}")
    before, after = (min(n, MOST_ROWS) for n in (before, after))
    key = create_on(like.place, F.iota, 0, 1, dt.int64, keys)
    columns = [F.minimum(F.add(key, before + 1), queries)]
    if not causal:
        columns.append(F.maximum(F.sub(key, after), 0))
    indices = F.cast(F.stack(columns, axis=1), dtype=dt.int32)
    return F.unsqueeze(indices, axes=(0, 1))


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
