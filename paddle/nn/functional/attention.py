"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import Any

from paddle._public import need_tensor, public
from paddle.nn.functional.attention_call import NO_DROPOUT, attend, dropout_of, visible_pairs
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import capture_of
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.expr import NumberUnknown
from umiak.ir.sym import Sym
from umiak.util.errors import op_error


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
        query: floating tensor ``[batch, queries, heads, dim]``, or without a batch ``[queries, heads, dim]``.
        key, value: tensors ``[batch, keys, heads, dim]`` of query's dtype and rank; with ``enable_gqa`` their heads may
            be fewer, each serving several consecutive query heads.
        attn_mask: bool (True: visible), or of query's dtype and added to the scores; broadcasts to
            ``[batch, heads, queries, keys]``.
        dropout_p: the probability that a weight is dropped, in training.
        is_causal: query i sees keys 0 to i, and of these what a mask beside it shows.
        training: False turns dropout off.
        backend: accepted; there is one implementation.
        scale: factor of the scores, by default ``dim ** -0.5``.
        enable_gqa: False refuses fewer key than query heads.

    Returns:
        Tensor of query's shape, with value's last dim, and dtype; 0 where a query sees no key.

    Raises:
        TypeError: operands that are not floating, or of different dtypes; a mask of another dtype.
        ValueError: shapes that do not fit, or ``dropout_p`` outside [0, 1].

    Example:
        >>> import paddle
        >>> x = paddle.ones([1, 3, 2, 4])
        >>> paddle.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True).shape
        paddle.Size([1, 3, 2, 4])
    """
    if isinstance(query, Tensor) and query.ndim == 3 == getattr(key, "ndim", 0) == getattr(value, "ndim", 0):
        q, k, v = (F.unsqueeze(x, axes=(0,)) for x in (query, key, value))
        out = scaled_dot_product_attention(
            q, k, v, attn_mask, dropout_p, is_causal, training, scale=scale, enable_gqa=enable_gqa
        )
        return F.squeeze(out, axes=(0,))
    dropout = NO_DROPOUT
    try:
        if not enable_gqa and query.shape[2] != key.shape[2]:
            raise ValueError(
                f"[scaled_dot_product_attention] requires as many key as query heads without enable_gqa, "
                f"got {key.shape[2]} and {query.shape[2]}"
            )
        if scale is None:
            query, scale = scaled(query)
        if attn_mask is not None and attn_mask.dtype is dt.int32:
            # The engine would take its numbers for those of a mask by columns.
            required = f"a mask of bool or {query.dtype.name}"
            raise op_error(TypeError, "scaled_dot_product_attention", required, "int32")
        key, value, attn_mask, is_causal = from_first_key(query, key, value, attn_mask, is_causal)
        if dropout_p and training:
            dropout = dropout_of("scaled_dot_product_attention", dropout_p, training)
        return attend(query, key, value, attn_mask, is_causal, scale, dropout)
    except (AttributeError, IndexError, ValueError):
        need_heads(query, key, value)
        raise


def scaled(query: Tensor) -> tuple[Tensor, float]:
    """A query and the scale of its scores. In a program that does not know the head dim the query itself is scaled."""
    size = query.shape[3]
    try:
        return query, 1.0 / math.sqrt(size or 1)
    except NumberUnknown:
        tracer = capture_of()
        if tracer is None or not tracer.static:
            raise
    factor = F.full(dim.maximum(size, 1) ** -0.5, dtype=query.dtype, shape=())
    return F.mul(query, factor), 1.0


def need_heads(query: Any, key: Any, value: Any) -> None:
    """Refuse operands that are not ``[batch, sequence, heads, dim]``."""
    op_name = "scaled_dot_product_attention"
    for arg_name, x in (("query", query), ("key", key), ("value", value)):
        need_tensor(x, op_name, arg_name)
    if not query.ndim == key.ndim == value.ndim == 4:
        got = ", ".join(str(tuple(x.shape)) for x in (query, key, value))
        required = "query, key and value of rank 4, [batch, sequence, heads, dim]"
        raise op_error(ValueError, op_name, required, got) from None


def both(mask: Tensor, visible: Tensor) -> Tensor:
    """A mask further restricted to what is visible."""
    return F.bitwise_and(mask, visible) if mask.dtype.is_bool else F.where(visible, mask, -math.inf)


def from_first_key(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool
) -> tuple[Any, Any, Any, bool]:
    """Operands and order of attention whose causal order is aligned at the first key, for the engine's, which is
    aligned at the last.
    """
    if not causal:
        return key, value, mask, causal
    queries, keys = query.shape[1], key.shape[1]
    # Neither is known of open sizes in programs that are recorded: what is right for fewer keys is so for more.
    of_any = (type(queries) is Sym or type(keys) is Sym) and _may_differ(queries, keys)
    if not of_any and queries == keys:
        return key, value, mask, causal
    if of_any or queries > keys:
        if mask is None:
            return key, value, later_queries(query, queries, keys), False
        return key, value, both(mask, visible_pairs(queries, keys, 0, query)), False
    key, value = (F.slice(v, axes=(1,), starts=(0,), sizes=(queries,), steps=(1,)) for v in (key, value))
    if mask is not None and mask.shape[-1] > 1:
        mask = F.slice(mask, axes=(mask.ndim - 1,), starts=(0,), sizes=(queries,), steps=(1,))
    return key, value, mask, True


def _may_differ(queries: Any, keys: Any) -> bool:
    return any(type(n) is Sym and not n.hinted for n in (queries, keys)) and not dim.same(queries, keys)


def later_queries(like: Tensor, queries: int, keys: int) -> Tensor:
    """The mask by columns that shows key j to queries from j on."""
    own = create_on(like.place, F.iota, 0, 1, dt.int32, keys)
    columns = F.stack([F.add(F.mul(own, 0), queries), own], axis=1)
    return F.unsqueeze(columns, axes=(0, 1))
