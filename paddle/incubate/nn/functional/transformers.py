"""The two parts of a transformer's layer as one call each."""

from __future__ import annotations

from paddle._public import need_tensor, public
from paddle.incubate.nn.functional.dropouts import need_mode
from paddle.nn.functional.attention import scaled_dot_product_attention
from paddle.nn.functional.common import dropout
from paddle.nn.functional.norm import layer_norm
from paddle.tensor._args import fraction
from paddle.tensor.splitting import unbind
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.promotion import cast
from umiak.util.errors import op_error

_ACTIVATIONS = {"relu": F.relu, "gelu": lambda x: F.gelu(x, approximate=False)}


def need_one_process(op_name: str, ring_id: int, nranks: int = 1) -> None:
    """Refuse tensor parallelism."""
    if ring_id != -1 or nranks != 1:
        required = "ring_id -1 and one rank: parameters are not divided among processes"
        raise op_error(ValueError, op_name, required, f"ring_id {ring_id} and {nranks} ranks")


@public("paddle.incubate.nn.functional", usual=False)
def fused_feedforward(
    x: Tensor,
    linear1_weight: Tensor,
    linear2_weight: Tensor,
    linear1_bias: Tensor | None = None,
    linear2_bias: Tensor | None = None,
    ln1_scale: Tensor | None = None,
    ln1_bias: Tensor | None = None,
    ln2_scale: Tensor | None = None,
    ln2_bias: Tensor | None = None,
    dropout1_rate: float = 0.5,
    dropout2_rate: float = 0.5,
    activation: str = "relu",
    ln1_epsilon: float = 1e-5,
    ln2_epsilon: float = 1e-5,
    pre_layer_norm: bool = False,
    training: bool = True,
    mode: str = "upscale_in_train",
    ring_id: int = -1,
    add_residual: bool = True,
    name: str | None = None,
) -> Tensor:
    """Feed-forward part of a transformer's layer: two linear maps with an activation between, dropout behind each, a
    residual connection and a norm, which comes first or last.

    Args:
        x: floating tensor ``[*, d_model]``.
        linear1_weight: matrix ``[d_model, dim_feedforward]`` of x's dtype.
        linear2_weight: matrix ``[dim_feedforward, d_model]`` of x's dtype.
        linear1_bias: tensor ``[dim_feedforward]`` of x's dtype, or None.
        linear2_bias: tensor ``[d_model]`` of x's dtype, or None.
        ln1_scale, ln1_bias: tensors ``[d_model]`` of the norm that comes first, of x's dtype or float32; None for ones
            and zeros.
        ln2_scale, ln2_bias: the same of the norm that comes last.
        dropout1_rate: the probability of dropout behind the activation.
        dropout2_rate: the probability of dropout behind the second linear map.
        activation: ``"relu"`` or ``"gelu"``.
        ln1_epsilon, ln2_epsilon: added to the variance in either norm.
        pre_layer_norm: True normalises x before the first linear map, False the result.
        training: False drops nothing.
        mode: ``"upscale_in_train"`` or ``"downscale_in_infer"``; see :func:`fused_dropout_add`.
        ring_id: -1; other processes take no part.
        add_residual: whether x is added before the last norm.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating, or dtypes differ.
        ValueError: rates outside [0, 1], an unknown mode or activation, a ring, or sizes that do not fit.

    References:
        Vaswani et al., Attention Is All You Need, 2017.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import fused_feedforward
        >>> fused_feedforward(paddle.ones([1, 3, 8]), paddle.ones([8, 16]), paddle.ones([16, 8])).shape
        paddle.Size([1, 3, 8])
    """
    op_name = "fused_feedforward"
    need_mode(op_name, mode)
    need_one_process(op_name, ring_id)
    if activation not in _ACTIVATIONS:
        raise op_error(ValueError, op_name, f"an activation of {tuple(_ACTIVATIONS)}", repr(activation))
    p1, p2 = fraction(dropout1_rate, op_name, "dropout1_rate"), fraction(dropout2_rate, op_name, "dropout2_rate")
    if not need_tensor(x, op_name).ndim:
        raise op_error(ValueError, op_name, "x of rank 1 or more", list(x.shape))
    n = x.shape[-1]
    y = layer_norm(x, n, ln1_scale, ln1_bias, ln1_epsilon) if pre_layer_norm else x
    y = _ACTIVATIONS[activation](F.linear(y, linear1_weight, linear1_bias))
    y = F.linear(dropout(y, p1, training=training, mode=mode), linear2_weight, linear2_bias)
    y = dropout(y, p2, training=training, mode=mode)
    if add_residual:
        y = F.add(x, y)
    return y if pre_layer_norm else layer_norm(y, n, ln2_scale, ln2_bias, ln2_epsilon)


@public("paddle.incubate.nn.functional", usual=False)
def fused_multi_head_attention(
    x: Tensor,
    qkv_weight: Tensor,
    linear_weight: Tensor,
    pre_layer_norm: bool = False,
    pre_ln_scale: Tensor | None = None,
    pre_ln_bias: Tensor | None = None,
    ln_scale: Tensor | None = None,
    ln_bias: Tensor | None = None,
    pre_ln_epsilon: float = 1e-5,
    qkv_bias: Tensor | None = None,
    linear_bias: Tensor | None = None,
    cache_kv: Tensor | None = None,
    attn_mask: Tensor | None = None,
    dropout_rate: float = 0.5,
    attn_dropout_rate: float = 0.5,
    ln_epsilon: float = 1e-5,
    training: bool = True,
    mode: str = "upscale_in_train",
    ring_id: int = -1,
    add_residual: bool = True,
    num_heads: int = -1,
    transpose_qkv_wb: bool = False,
    name: str | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Self-attention part of a transformer's layer: one linear map to query, key and value, attention of each head, a
    linear map that joins the heads, dropout, a residual connection and a norm, which comes first or last.

    Args:
        x: floating tensor ``[batch, sequence, embed_dim]``.
        qkv_weight: tensor ``[3, heads, head_dim, embed_dim]`` of x's dtype, or ``[embed_dim, 3 * heads * head_dim]``
            with ``transpose_qkv_wb``.
        linear_weight: matrix ``[heads * head_dim, embed_dim]`` of x's dtype.
        pre_layer_norm: True normalises x before the first linear map, False the result.
        pre_ln_scale, pre_ln_bias: tensors ``[embed_dim]`` of the norm that comes first, of x's dtype or float32; None
            for ones and zeros.
        ln_scale, ln_bias: the same of the norm that comes last.
        pre_ln_epsilon: added to the variance in the first norm.
        qkv_bias: tensor ``[3, heads, head_dim]``, or ``[3 * heads * head_dim]`` with ``transpose_qkv_wb``; None for
            zeros.
        linear_bias: tensor ``[embed_dim]``, or None.
        cache_kv: keys and values of earlier positions ``[2, batch, heads, length, head_dim]``, which are attended to as
            well, or None.
        attn_mask: broadcasts to ``[batch, heads, sequence, keys]``; bools or integers that are True or 1 where a query
            may see a key, or floating numbers that are added to the scores.
        dropout_rate: the probability of dropout behind the last linear map.
        attn_dropout_rate: the probability that a weight of attention is dropped.
        ln_epsilon: added to the variance in the last norm.
        training: False drops nothing.
        mode: ``"upscale_in_train"`` or ``"downscale_in_infer"``; see :func:`fused_dropout_add`.
        ring_id: -1; other processes take no part.
        add_residual: whether x is added before the last norm.
        num_heads: the number of heads, with ``transpose_qkv_wb``.
        transpose_qkv_wb: whether qkv_weight is a matrix and qkv_bias a vector.

    Returns:
        Tensor of x's shape and dtype; with cache_kv, a pair of it and the cache with the new keys and values appended.

    Raises:
        TypeError: x is not floating, or dtypes differ.
        ValueError: rates outside [0, 1], an unknown mode, a ring, or shapes that do not fit.

    References:
        Vaswani et al., Attention Is All You Need, 2017.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import fused_multi_head_attention
        >>> x, weight = paddle.ones([1, 3, 8]), paddle.ones([3, 2, 4, 8])
        >>> fused_multi_head_attention(x, weight, paddle.ones([8, 8])).shape
        paddle.Size([1, 3, 8])
    """
    op_name = "fused_multi_head_attention"
    need_mode(op_name, mode)
    need_one_process(op_name, ring_id)
    p, attention_p = (
        fraction(v, op_name, arg)
        for v, arg in ((dropout_rate, "dropout_rate"), (attn_dropout_rate, "attn_dropout_rate"))
    )
    if need_tensor(x, op_name).ndim != 3:
        raise op_error(ValueError, op_name, "x of shape [batch, sequence, embed_dim]", list(x.shape))
    n = x.shape[2]
    heads, head_dim, weight, bias = _projection(op_name, x, qkv_weight, qkv_bias, num_heads, transpose_qkv_wb)
    y = layer_norm(x, n, pre_ln_scale, pre_ln_bias, pre_ln_epsilon) if pre_layer_norm else x
    projected = F.reshape(F.linear(y, weight, bias), shape=(x.shape[0], x.shape[1], 3, heads, head_dim))
    q, k, v = unbind(projected, 2)
    if cache_kv is not None:
        k, v, cache_kv = _with_cache(op_name, k, v, cache_kv)
    attended = scaled_dot_product_attention(
        q, k, v, _mask(op_name, attn_mask, x), attention_p, False, training, scale=head_dim**-0.5
    )
    if mode == "downscale_in_infer" and attention_p:
        # Weights in training are not divided by 1 - p in this mode, those outside of it multiplied with it.
        attended = F.mul(attended, 1.0 - attention_p)
    y = F.linear(F.reshape(attended, shape=(x.shape[0], x.shape[1], heads * head_dim)), linear_weight, linear_bias)
    y = dropout(y, p, training=training, mode=mode)
    if add_residual:
        y = F.add(x, y)
    if not pre_layer_norm:
        y = layer_norm(y, n, ln_scale, ln_bias, ln_epsilon)
    return y if cache_kv is None else (y, cache_kv)


def _projection(
    op_name: str, x: Tensor, weight: Tensor, bias: Tensor | None, num_heads: int, is_matrix: bool
) -> tuple[int, int, Tensor, Tensor | None]:
    """Heads, their size, and the linear map to all queries, keys and values: ``[embed_dim, 3 * heads * head_dim]``."""
    shape, n = need_tensor(weight, op_name, "qkv_weight").shape, x.shape[2]
    if is_matrix:
        if num_heads < 1:
            raise op_error(ValueError, op_name, "a positive num_heads with transpose_qkv_wb", num_heads)
        if len(shape) != 2 or not dim.eq(shape[0], n) or not dim.eq(shape[1] % (3 * num_heads), 0):
            required = f"qkv_weight of shape [{n}, 3 * {num_heads} * head_dim]"
            raise op_error(ValueError, op_name, required, list(shape))
        if bias is not None and (
            need_tensor(bias, op_name, "qkv_bias").ndim != 1 or not dim.eq(bias.shape[0], shape[1])
        ):
            raise op_error(ValueError, op_name, f"qkv_bias of shape [{shape[1]}]", list(bias.shape))
        return num_heads, shape[1] // (3 * num_heads), weight, bias
    if len(shape) != 4 or not dim.eq(shape[0], 3) or not dim.eq(shape[3], n):
        raise op_error(ValueError, op_name, f"qkv_weight of shape [3, heads, head_dim, {n}]", list(shape))
    heads, head_dim = shape[1], shape[2]
    rows = 3 * heads * head_dim
    if bias is not None:
        own = need_tensor(bias, op_name, "qkv_bias").shape
        if len(own) != 3 or not all(map(dim.eq, own, shape[:3])):
            raise op_error(ValueError, op_name, f"qkv_bias of shape {list(shape[:3])}", list(own))
        bias = F.reshape(bias, shape=(rows,))
    return heads, head_dim, F.permute(F.reshape(weight, shape=(rows, n)), perm=(1, 0)), bias


def _with_cache(op_name: str, k: Tensor, v: Tensor, cache: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Keys and values behind those of a cache, ``[batch, sequence, heads, head_dim]``, and the cache of both."""
    batch, _, heads, head_dim = k.shape
    shape = need_tensor(cache, op_name, "cache_kv").shape
    if len(shape) != 5 or not all(map(dim.eq, (shape[0], shape[1], shape[2], shape[4]), (2, batch, heads, head_dim))):
        required = f"cache_kv of shape [2, {batch}, {heads}, length, {head_dim}]"
        raise op_error(ValueError, op_name, required, list(shape))
    # [2, batch, heads, sequence, head_dim]
    new = F.permute(F.stack([k, v], axis=0), perm=(0, 1, 3, 2, 4))
    joined = F.concat([cache, new], axis=3)
    k, v = unbind(F.permute(joined, perm=(0, 1, 3, 2, 4)), 0)
    return k, v, joined


def _mask(op_name: str, mask: Tensor | None, x: Tensor) -> Tensor | None:
    """A mask as attention takes it: bools, or numbers of x's dtype."""
    if mask is None:
        return None
    if need_tensor(mask, op_name, "attn_mask").dtype.is_floating:
        return cast(mask, x.dtype)
    return mask if mask.dtype.is_bool else F.cast(mask, dtype=dt.bool)
