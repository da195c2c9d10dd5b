"""Attention under its name of fused kernels of a library."""

from __future__ import annotations

from paddle._public import need_tensor, public
from paddle.nn.functional.attention import need_heads, scaled_dot_product_attention
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_OP = "fused_dot_product_attention"


@public("paddle.incubate.nn.functional", usual=False)
def fused_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scaling_factor: float | None = None,
    training: bool = True,
    name: str | None = None,
) -> Tensor:
    """Scaled dot-product attention: ``softmax(scaling_factor * query @ key^T + attn_mask) @ value`` for each head, as
    :func:`paddle.nn.functional.scaled_dot_product_attention`.

    Args:
        query: floating tensor ``[batch, queries, heads, dim]``.
        key, value: tensors ``[batch, keys, heads, dim]`` of its dtype.
        attn_mask: tensor of query's dtype that broadcasts to ``[batch, heads, queries, keys]``, added to the scores.
        dropout_p: the probability that a weight is dropped, in training.
        is_causal: query i sees keys 0 to i; without a mask.
        scaling_factor: factor of the scores, by default ``dim ** -0.5``.
        training: False turns dropout off.

    Returns:
        Tensor of query's shape, with value's last dim, and dtype.

    Raises:
        TypeError: operands that are not floating, or of different dtypes; a mask of another dtype.
        ValueError: shapes that do not fit, a mask beside ``is_causal``, or ``dropout_p`` outside [0, 1].

    Example:
        >>> import paddle
        >>> x = paddle.ones([1, 3, 2, 4])
        >>> paddle.incubate.nn.functional.fused_dot_product_attention(x, x, x, is_causal=True).shape
        paddle.Size([1, 3, 2, 4])
    """
    need_heads(query, key, value)
    if attn_mask is not None:
        if is_causal:
            raise op_error(ValueError, _OP, "attn_mask or is_causal", "both")
        if need_tensor(attn_mask, _OP, "attn_mask").dtype is not query.dtype:
            raise op_error(TypeError, _OP, f"attn_mask of query's {query.dtype.name}", attn_mask.dtype.name)
    return scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, training, scale=scaling_factor
    )
