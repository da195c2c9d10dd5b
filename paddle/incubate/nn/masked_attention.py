"""Attention by masks that are objects (``attn_bias``)."""

from __future__ import annotations

from paddle._public import need_tensor, public
from paddle.incubate.nn.attention_masks import AttentionBias, LowerTriangularMask, LowerTriangularMaskWithTensorBias
from paddle.nn.functional.flash_attention import scaled_dot_product_attention
from paddle.nn.functional.flashmask import flashmask_attention
from umiak import ops
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.util.errors import op_error


@public("paddle.incubate.nn.memory_efficient_attention")
def memory_efficient_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: AttentionBias | Tensor | None = None,
    p: float = 0.0,
    scale: float | None = None,
    training: bool = True,
) -> Tensor:
    """Attention without an array of queries by keys: ``softmax(scale * query @ key^T + attn_bias) @ value`` of a head.

    Args:
        query: floating tensor ``[batch, queries, heads, head_dim]``; of masks of sequences ``[1, total, …]``.
        key: tensor ``[batch, keys, key_heads, head_dim]`` of its dtype; key_heads divides heads.
        value: tensor ``[batch, keys, key_heads, head_dim]`` of its dtype.
        attn_bias: a mask of :mod:`paddle.incubate.nn.attn_bias`, or a tensor that is added to the scores and broadcasts
            to ``[batch, heads, queries, keys]``.
        p: the probability that a weight is dropped in training.
        scale: factor of the scores, by default ``head_dim ** -0.5``.
        training: whether weights are dropped.

    Returns:
        Tensor of query's shape and dtype; 0 for a query that a mask object lets see no key.

    Raises:
        TypeError: another kind of mask, or operands that are not floating or of different dtypes.
        ValueError: shapes, or lengths of sequences, that do not fit.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.attn_bias import BlockDiagonalMask
        >>> from paddle.incubate.nn.memory_efficient_attention import memory_efficient_attention
        >>> x = paddle.ones([1, 5, 2, 8])
        >>> mask = BlockDiagonalMask.from_seqlens([2, 3]).make_causal()
        >>> memory_efficient_attention(x, x, x, mask).shape
        paddle.Size([1, 5, 2, 8])
    """
    name = "memory_efficient_attention"
    for x, label in ((query, "query"), (key, "key"), (value, "value")):
        if need_tensor(x, name, label).ndim != 4:
            raise op_error(ValueError, name, f"{label} of rank 4", list(x.shape))
    if isinstance(attn_bias, LowerTriangularMaskWithTensorBias):
        # The tensor is as large as the scores may be.
        attn_bias = attn_bias.materialize([query.shape[1], key.shape[1]], query.dtype)
    if type(attn_bias) is LowerTriangularMask and dim.same(query.shape[1], key.shape[1]):
        return scaled_dot_product_attention(query, key, value, None, p, True, training, scale=scale)
    if attn_bias is None or isinstance(attn_bias, Tensor):
        return scaled_dot_product_attention(query, key, value, attn_bias, p, False, training, scale=scale)
    if not isinstance(attn_bias, AttentionBias):
        kinds = "None, a Tensor or a mask of paddle.incubate.nn.attn_bias"
        raise op_error(TypeError, name, f"an attn_bias that is {kinds}", type(attn_bias).__name__)
    rows = attn_bias.visible(query.shape[1], key.shape[1])
    if rows.place is not query.place:  # lengths are numbers of Python
        rows = rows.to(query.place)
    rows = rows.unsqueeze([0, 1])
    rows = ops.broadcast_to(rows, shape=(query.shape[0], 1, *rows.shape[2:]))  # read alone
    return flashmask_attention(query, key, value, rows, dropout=p, training=training, softmax_scale=scale)  # type: ignore[return-value]
