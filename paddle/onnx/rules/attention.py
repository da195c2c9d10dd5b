"""Attention and other fused operators of transformers, as the nodes that they stand for."""

from __future__ import annotations

import math

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.rules.activations import along
from paddle.onnx.rules.algebra import acted, product
from paddle.onnx.rules.norms import dropped, layer_norm_of
from paddle.onnx.rules.reshaping import triangle
from paddle.onnx.shapes import expand, known, mixed, reshape, shape, sizes_of, slices, squeeze, transpose, unsqueeze
from paddle.onnx.table import Call, rule


def attended(
    g: Builder, q: Value, k: Value, v: Value, mask: Value | None, causal: bool, scale: float | None = None
) -> Value:
    """Attention over ``[batch, length, heads, width]``."""
    if scale is None:
        if q.sizes[-1] < 0:
            raise Unsayable("a known width of the heads in attention")
        scale = 1 / math.sqrt(q.sizes[-1])
    if q.sizes[2] != k.sizes[2]:
        k, v = (_repeated(g, t, q.sizes[2]) for t in (k, v))
    q, v = (transpose(g, t, [0, 2, 1, 3]) for t in (q, v))
    scores = g.node("MatMul", q, transpose(g, k, [0, 2, 3, 1])) * scale
    return transpose(g, known(weighed(g, scores, mask, causal, v), [-1] * 4), [0, 2, 1, 3])


def _repeated(g: Builder, x: Value, heads: int) -> Value:
    """Keys or values, each shared by several heads of the queries."""
    b, n, h, d = sizes_of(g, x)
    if not isinstance(h, int) or heads < 0:
        raise Unsayable("known numbers of heads in attention")
    wide = expand(g, unsqueeze(g, x, [3]), g.ints([1, 1, 1, heads // h, 1]))
    return known(g.node("Reshape", wide, mixed(g, [b, n, heads, d])), [x.sizes[0], x.sizes[1], heads, x.sizes[3]])


def weighed(g: Builder, scores: Value, mask: Value | None, causal: bool, v: Value) -> Value:
    """Values weighed by the softmax of scores ``[..., queries, keys]``."""
    if mask is not None:
        if mask.dtype == "bool":
            mask = g.node("Where", mask, g.constant(0.0, scores.dtype), g.constant(-1e9, scores.dtype))
        scores = scores + g.cast(mask, scores.dtype)
    if causal:
        scores = _causal(g, known(scores, [-1] * v.rank))
    return g.node("MatMul", along(g, "Softmax", known(scores, [-1] * v.rank), -1), v)


def _causal(g: Builder, scores: Value) -> Value:
    """Scores without those of keys behind the query."""
    last = slices(g, shape(g, scores), [0], [-2], [2**31])
    allowed = triangle(g, known(expand(g, g.constant(1.0, scores.dtype), last), [-1, -1]), 0, upper=False)
    return g.node("Where", g.node("Equal", allowed, 0.0), g.constant(-math.inf, scores.dtype), scores)


@rule("flash_attn", "fused_dot_product_attention")
def flash_attn(g: Builder, o: Call) -> Value:
    mask = o[4] if o.name == "flash_attn" else o[3]
    causal = o("causal", o("is_causal_masking", False))
    return attended(g, o[0], o[1], o[2], mask, causal, o("scaling_factor"))


@rule("flash_attn_qkvpacked")
def flash_attn_qkvpacked(g: Builder, o: Call) -> Value:
    q, k, v = (
        squeeze(g, known(slices(g, o[0], [2], [i], [i + 1]), [-1, -1, 1, *o[0].shape[3:]]), [2]) for i in range(3)
    )
    return attended(g, q, k, v, o[2], o("causal", False))


@rule("memory_efficient_attention")
def memory_efficient_attention(g: Builder, o: Call) -> Value:
    if any(x is not None for x in o.operands[4:9]):
        raise Unsayable("memory_efficient_attention of batches that are not packed")
    scale = o("scale", -1.0)
    return attended(g, o[0], o[1], o[2], o[3], o("causal", False), scale if scale > 0 else None)


@rule("self_dp_attention")
def self_dp_attention(g: Builder, o: Call) -> Value:
    x = o[0]  # [batch, length, 3, heads, width]
    q, k, v = (squeeze(g, known(slices(g, x, [2], [i], [i + 1]), [-1, -1, 1, *x.shape[3:]]), [2]) for i in range(3))
    return attended(g, q, k, v, None, False, o("alpha", 1.0))


@rule("multihead_matmul")
def multihead_matmul(g: Builder, o: Call) -> Value:
    x, w, bias, mask, heads = o[0], o[1], o[2], o[3], o("head_number", 1)
    width = w.sizes[-1]
    flat = reshape(g, w, [w.sizes[0], -1])
    y = product(g, x, flat)
    y = y if bias is None else y + reshape(g, bias, [-1])
    y = known(g.node("Reshape", y, g.ints([0, 0, 3, heads, width // heads])), [-1, -1, 3, heads, width // heads])
    q, k, v = (
        squeeze(g, known(slices(g, y, [2], [i], [i + 1]), [-1, -1, 1, heads, width // heads]), [2]) for i in range(3)
    )
    made = attended(g, q, k, v, mask, False, o("alpha", 1.0))
    return g.node("Reshape", made, g.ints([0, 0, -1]))


@rule("qkv_unpack_mha")
def qkv_unpack_mha(g: Builder, o: Call) -> Value:
    return attended(g, o[0], o[1], o[2], o[3], False)


@rule("fused_softmax_mask")
def fused_softmax_mask(g: Builder, o: Call) -> Value:
    return along(g, "Softmax", known(o[0] + o[1], o[0].shape), -1)


@rule("fused_softmax_mask_upper_triangle")
def fused_softmax_mask_upper_triangle(g: Builder, o: Call) -> Value:
    return along(g, "Softmax", known(_causal(g, o[0]), o[0].shape), -1)


@rule("fused_bias_act")
def fused_bias_act(g: Builder, o: Call) -> Value:
    if any(x is not None for x in o.operands[2:5]) or o("quant_scale", -1.0) > 0:
        raise Unsayable("fused_bias_act of floating numbers")
    x = o[0] if o[1] is None else o[0] + o[1]
    return acted(g, known(x, o[0].shape), o("act_method", "gelu"))


@rule("fused_bias_residual_layernorm")
def fused_bias_residual_layernorm(g: Builder, o: Call) -> tuple[Value, Value]:
    x, bias, residual, scale, shift = (o[i] for i in range(5))
    if o("quant_scale", -1.0) > 0:
        raise Unsayable("fused_bias_residual_layernorm of results that are not quantised")
    y = x if bias is None else x + bias
    y = y if residual is None else y + residual * o("residual_alpha", 1.0)
    y = known(y, x.shape)
    axis = o("begin_norm_axis", -1) % x.rank
    made = y if scale is None else layer_norm_of(g, y, scale, shift, axis, o("epsilon", 1e-5))[0]
    return made, y


@rule("fused_bias_dropout_residual_layer_norm")
def fused_bias_dropout_residual_layer_norm(g: Builder, o: Call) -> Value:
    x, residual, bias, scale, shift = (o[i] for i in range(5))
    y = x if bias is None else x + bias
    y = dropped(g, y, o("dropout_rate", 0.5), o("dropout_implementation", "downgrade_in_infer"), o("is_test", False))
    y = known(y + residual, x.shape)
    return layer_norm_of(g, y, scale, shift, x.rank - 1, o("ln_epsilon", 1e-5))[0]


@rule("skip_layernorm")
def skip_layernorm(g: Builder, o: Call) -> Value:
    y = known(o[0] + o[1], o[0].shape)
    return layer_norm_of(g, y, o[2], o[3], o("begin_norm_axis", 2), o("epsilon", 1e-5))[0]


@rule("fused_feedforward")
def fused_feedforward(g: Builder, o: Call) -> Value:
    x, _, _, w1, b1, w2, b2, scale1, shift1, scale2, shift2 = (o[i] for i in range(11))
    if not o("is_test", False) and (o("dropout1_prob", 0.0) or o("dropout2_prob", 0.0)):
        raise Unsayable("fused_feedforward without dropout: call eval() before the export")
    first = o("pre_layer_norm", False)
    y = layer_norm_of(g, x, scale1, shift1, x.rank - 1, o("ln1_epsilon", 1e-5))[0] if first else x
    y = product(g, y, w1)
    y = acted(g, y if b1 is None else y + b1, o("act_method", "relu"))
    y = product(g, y, w2)
    y = y if b2 is None else y + b2
    y = known(x + y if o("add_residual", True) else y, x.shape)
    return y if first else layer_norm_of(g, y, scale2, shift2, x.rank - 1, o("ln2_epsilon", 1e-5))[0]


@rule("fused_rotary_position_embedding")
def fused_rotary_position_embedding(g: Builder, o: Call) -> tuple[Value | None, ...]:
    q, k, v, sine, cosine, places = (o[i] for i in range(6))
    if sine is None or cosine is None or o("time_major", False):
        raise Unsayable("sin and cos as tensors, and the batch first, in rotary embeddings")
    width = q.sizes[-1]
    sine, cosine = (reshape(g, t, [1, -1, 1, width]) for t in (sine, cosine))
    if places is not None:
        sine, cosine = (
            unsqueeze(g, g.node("Gather", reshape(g, t, [-1, width]), places, axis=0), [2]) for t in (sine, cosine)
        )
    return tuple(
        None if t is None else _rotated(g, t, sine, cosine, width, o("use_neox_rotary_style", True)) for t in (q, k, v)
    )


def _rotated(g: Builder, x: Value, sine: Value, cosine: Value, width: int, pairs: bool) -> Value:
    if pairs:  # neighbours are a pair
        even, odd = (slices(g, x, [3], [i], [2**31], [2]) for i in (0, 1))
        both = [unsqueeze(g, known(t, [-1] * 4), [-1]) for t in (-odd, even)]
        rotated = g.node("Reshape", g.node("Concat", *both, axis=4), shape(g, x))
    else:  # an element and the one half the width behind it
        low, high = slices(g, x, [3], [0], [width // 2]), slices(g, x, [3], [width // 2], [width])
        rotated = g.node("Concat", -high, low, axis=3)
    return known(x * cosine + rotated * sine, x.shape)


@rule("fused_embedding_eltwise_layernorm")
def fused_embedding_eltwise_layernorm(g: Builder, o: Call) -> Value:
    rows = [g.node("Gather", table, ids, axis=0) for ids, table in zip(o[0], o[1], strict=True)]
    total = rows[0] if len(rows) == 1 else g.node("Sum", *rows)
    total = known(total, o.type().shape)
    return layer_norm_of(g, total, o[3], o[2], total.rank - 1, o("epsilon", 1e-5))[0]


@rule("fused_fc_elementwise_layernorm")
def fused_fc_elementwise_layernorm(g: Builder, o: Call) -> Value:
    x, w, y, bias, scale, shift = (o[i] for i in range(6))
    made = product(g, x, w)
    made = made if bias is None else made + bias
    made = known(acted(g, made, o("activation_type", "")) + y, y.shape)
    return layer_norm_of(g, made, scale, shift, o("begin_norm_axis", 1), o("epsilon", 1e-5))[0]
