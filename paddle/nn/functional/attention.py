"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from paddle._public import need_tensor, public
from paddle.nn.functional.common import dropout
from paddle.tensor._args import InternedOps
from umiak import ops as F
from umiak.core.array import from_numpy
from umiak.core.eager import apply
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_ATTENTION = InternedOps(F.Attention)


@public("paddle.nn.functional paddle.nn.functional.flash_attention")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    training: bool = True,
    backend: str | None = None,
    scale: float | None = None,
    enable_gqa: bool = True,
    name: str | None = None,
) -> Tensor:
    """Scaled dot-product attention: ``softmax(scale * query @ key^T + mask) @ value`` for each head.

    Args:
        query: floating tensor ``[batch, queries, heads, dim]``.
        key, value: tensors ``[batch, keys, heads, dim]`` of query's dtype; with ``enable_gqa`` their heads may be
            fewer, each serving several consecutive query heads.
        attn_mask: bool (True: visible), or of query's dtype and added to the scores; broadcasts to
            ``[batch, heads, queries, keys]``.
        dropout_p: the probability that a weight is dropped, in training.
        is_causal: query i sees keys 0 to i.
        training: False turns dropout off.
        backend: accepted; there is one implementation.
        scale: factor of the scores, by default ``dim ** -0.5``.
        enable_gqa: False refuses fewer key than query heads.

    Returns:
        Tensor ``[batch, queries, heads, dim]`` of query's dtype; 0 where a query sees no key.

    Raises:
        TypeError: operands that are not floating, or of different dtypes; a mask of another dtype.
        ValueError: shapes that do not fit, or ``dropout_p`` outside [0, 1].

    Example:
        >>> import paddle
        >>> x = paddle.ones([1, 3, 2, 4])
        >>> paddle.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True).shape
        paddle.Size([1, 3, 2, 4])
    """
    try:
        if not enable_gqa and query.shape[2] != key.shape[2]:
            raise ValueError(
                f"[scaled_dot_product_attention] requires as many key as query heads without enable_gqa, "
                f"got {key.shape[2]} and {query.shape[2]}"
            )
        if scale is None:
            scale = 1.0 / math.sqrt(query.shape[3] or 1)
        if is_causal and query.shape[1] != key.shape[1]:
            key, value, attn_mask, is_causal = _first_keys(query, key, value, attn_mask)
        if dropout_p and training:
            return weighted_values(query, key, value, attn_mask, dropout_p, is_causal, scale)[0]
    except (AttributeError, IndexError, ValueError):
        need_heads(query, key, value)
        raise
    return apply(_ATTENTION[bool(is_causal)], (query, key, value, attn_mask), (scale,))


def need_heads(query: Any, key: Any, value: Any) -> None:
    """Refuse operands that are not ``[batch, sequence, heads, dim]``."""
    op_name = "scaled_dot_product_attention"
    for arg_name, x in (("query", query), ("key", key), ("value", value)):
        need_tensor(x, op_name, arg_name)
    if not query.ndim == key.ndim == value.ndim == 4:
        got = ", ".join(str(tuple(x.shape)) for x in (query, key, value))
        required = "query, key and value of rank 4, [batch, sequence, heads, dim]"
        raise op_error(ValueError, op_name, required, got) from None


def _visible(queries: int, keys: int, like: Tensor) -> Tensor:
    """``[queries, keys]``: whether query i sees key j, both counted from the first."""
    return from_numpy(np.tri(queries, keys, dtype=bool), like.place)


def _both(mask: Tensor | None, visible: Tensor) -> Tensor:
    """A mask further restricted to what is visible."""
    if mask is None:
        return visible
    return F.bitwise_and(mask, visible) if mask.dtype.is_bool else F.where(visible, mask, -math.inf)


def _first_keys(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> tuple[Any, Any, Any, bool]:
    """Operands of causal attention aligned at the first key, for the engine's, which is aligned at the last."""
    queries, keys = query.shape[1], key.shape[1]
    if queries > keys:
        return key, value, _both(mask, _visible(queries, keys, query)), False
    key, value = (F.slice(v, axes=(1,), starts=(0,), sizes=(queries,), steps=(1,)) for v in (key, value))
    if mask is not None and mask.shape[-1] > 1:
        mask = F.slice(mask, axes=(mask.ndim - 1,), starts=(0,), sizes=(queries,), steps=(1,))
    return key, value, mask, True


def masked_scores(
    query: Tensor, key: Tensor, mask: Tensor | None, causal: bool, scale: float, softcap: float = 0.0
) -> tuple[Tensor, Tensor | None]:
    """Scores ``[batch, heads, queries, keys]`` with -inf where a boolean mask hides a key, and whether a query sees any
    (None where all do): the scores of one that does not are left as they are.
    """
    group = query.shape[2] // key.shape[2]
    if group > 1:
        key = F.repeat_interleave(key, axis=2, repeats=group)
    q, k = (F.permute(t, perm=(0, 2, 1, 3)) for t in (query, key))
    scores = F.mul(F.matmul(q, k, transpose_y=True), scale)
    if softcap:
        scores = F.mul(F.tanh(F.div(scores, softcap)), softcap)
    if causal:
        mask = _both(mask, _visible(query.shape[1], key.shape[1], query))
    if mask is None:
        return scores, None
    if not mask.dtype.is_bool:
        return F.add(scores, mask), None
    seen = F.any(mask, axes=(mask.ndim - 1,), keepdim=True)
    hidden = F.logical_and(F.logical_not(mask), seen)
    return F.where(hidden, -math.inf, scores), seen


def weighted_values(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    p: float,
    causal: bool,
    scale: float,
    softcap: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Attention with its weights formed, some of them dropped with probability ``p``: the result, and the weights
    ``[batch, heads, queries, keys]``.

    A query that sees no key has the weights 0, as in the engine's op.
    """
    scores, seen = masked_scores(query, key, mask, causal, scale, softcap)
    weights = F.softmax(scores, axis=3)
    if seen is not None:
        weights = F.where(seen, weights, 0.0)
    weights = dropout(weights, p)
    group = query.shape[2] // value.shape[2]
    if group > 1:
        value = F.repeat_interleave(value, axis=2, repeats=group)
    out = F.matmul(weights, F.permute(value, perm=(0, 2, 1, 3)))
    return F.permute(out, perm=(0, 2, 1, 3)), weights
