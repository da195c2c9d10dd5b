"""Attention, and operators that passes of PaddlePaddle made of several."""

from __future__ import annotations

import math
from typing import Any

import paddle
from paddle.incubate.nn import functional as IF
from paddle.incubate.nn.functional._levels import as_levels
from paddle.nn import functional as F
from paddle.nn.functional.flash_attention import flash_attn_unpadded as flash_attn_unpadded_of
from paddle.static.formats.operators.table import Number, Tensors, dropout_mode, operator
from umiak.core.tensor import Tensor


def _activated(x: Tensor, name: str) -> Tensor:
    """An activation by its name in attributes; empty for none."""
    if name in ("", "identity", "Identity"):
        return x
    known: dict[str, Any] = {
        "relu": F.relu, "relu6": F.relu6, "sigmoid": F.sigmoid, "tanh": paddle.tanh, "gelu": F.gelu, "swish": F.swish,
        "silu": F.silu, "leaky_relu": F.leaky_relu, "hard_swish": F.hardswish, "hardswish": F.hardswish,
        "hard_sigmoid": F.hardsigmoid, "mish": F.mish, "swiglu": F.swiglu,
    }  # fmt: skip
    if name not in known:
        raise ValueError(f"an activation of {sorted(known)} is required, got {name!r}")
    return known[name](x)


@operator("flash_attn")
def flash_attn(
    q: Tensor, k: Tensor, v: Tensor, fixed_seed_offset: Tensor | None = None, attn_mask: Tensor | None = None, *,
    dropout: float = 0.0, causal: bool = False, return_softmax: bool = False, is_test: bool = False,
) -> Any:  # fmt: skip
    return F.scaled_dot_product_attention(q, k, v, attn_mask, dropout, causal, not is_test), None, None, None


@operator("flashmask_attention")
def flashmask_attention(
    q: Tensor, k: Tensor, v: Tensor, startend_row_indices: Tensor, fixed_seed_offset: Tensor | None = None, *,
    dropout: float = 0.0, causal: bool = False, return_softmax: bool = False, is_test: bool = False,
) -> Any:  # fmt: skip
    y = F.flashmask_attention(q, k, v, startend_row_indices, dropout=dropout, causal=causal, training=not is_test)
    return y, None, None, None


@operator("fused_dot_product_attention")
def fused_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None = None, cu_seqlen_q: Tensor | None = None,
    cu_seqlen_kv: Tensor | None = None, *, scaling_factor: float, dropout_probability: float,
    is_training: bool = False, mask_type_str: str = "none", bias_type_str: str = "none",
) -> Any:  # fmt: skip
    if cu_seqlen_q is not None or cu_seqlen_kv is not None or mask_type_str not in ("none", "causal"):
        raise ValueError(f"[fused_dot_product_attention] requires whole sequences, got a mask {mask_type_str!r}")
    if bias_type_str not in ("none", "pre_scale_bias", "post_scale_bias"):
        raise ValueError(f"[fused_dot_product_attention] requires a bias that is given, got {bias_type_str!r}")
    if bias is not None and bias_type_str == "pre_scale_bias":
        bias = bias * scaling_factor
    causal = mask_type_str == "causal"
    return F.scaled_dot_product_attention(
        q, k, v, bias, dropout_probability, causal, is_training, scale=scaling_factor
    ), None, None  # fmt: skip


@operator("sparse_attention")
def sparse_attention(
    q: Tensor, k: Tensor, v: Tensor, offset: Tensor, columns: Tensor, key_padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
) -> Any:  # fmt: skip
    return F.sparse_attention(q, k, v, offset, columns, key_padding_mask, attn_mask), None, None


@operator("fused_partial_rope")
def fused_partial_rope(x: Tensor, cos: Tensor, sin: Tensor) -> Any:
    return IF.fused_partial_rope(x, cos, sin)


@operator("memory_efficient_attention")
def memory_efficient_attention(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None = None, *unused: Tensor, causal: bool = False,
    dropout_p: float = 0.0, scale: float = -1.0, is_test: bool = True,
) -> Any:  # fmt: skip
    factor = None if scale <= 0 else scale
    y = F.scaled_dot_product_attention(query, key, value, bias, dropout_p, causal, not is_test, scale=factor)
    return y, None, None


@operator("fused_softmax_mask")
def fused_softmax_mask(x: Tensor, mask: Tensor) -> Any:
    return F.softmax(x + mask.astype(x.dtype), -1)


@operator("fused_softmax_mask_upper_triangle")
def fused_softmax_mask_upper_triangle(X: Tensor) -> Any:
    return paddle.incubate.softmax_mask_fuse_upper_triangle(X)


@operator("multihead_matmul")
def multihead_matmul(
    input: Tensor, w: Tensor, bias: Tensor, bias_qk: Tensor | None = None, *, transpose_q: bool = False,
    transpose_k: bool = True, transpose_v: bool = False, alpha: float = 1.0, head_number: int = 1,
) -> Any:  # fmt: skip
    batch, length, _ = input.shape
    size = w.shape[-1] // head_number
    made = paddle.matmul(input, w.reshape([w.shape[0], -1])).reshape([batch, length, 3, head_number, size])
    made = made + bias.reshape([1, 1, 3, head_number, size])
    q, k, v = (paddle.transpose(made[:, :, i], [0, 2, 1, 3]) for i in range(3))
    scores = paddle.matmul(q, k, transpose_y=True) * alpha
    if bias_qk is not None:
        scores = scores + bias_qk
    return paddle.transpose(paddle.matmul(F.softmax(scores, -1), v), [0, 2, 1, 3]).reshape([batch, length, -1])


@operator("fused_rotary_position_embedding")
def fused_rotary_position_embedding(
    q: Tensor, k: Tensor | None = None, v: Tensor | None = None, sin: Tensor | None = None, cos: Tensor | None = None,
    position_ids: Tensor | None = None, *, use_neox_rotary_style: bool = True, time_major: bool = False,
    rotary_emb_base: float = 10000.0,
) -> Any:  # fmt: skip
    if time_major:
        q = paddle.transpose(q, [1, 0, 2, 3])
        k, v = (None if x is None else paddle.transpose(x, [1, 0, 2, 3]) for x in (k, v))
    size, length = q.shape[-1], q.shape[1]
    if sin is None or cos is None:
        rates = paddle.pow(paddle.full([], rotary_emb_base), -paddle.arange(0, size, 2, "float32") / size)
        angles = paddle.arange(0, length, 1, "float32").reshape([-1, 1]) * rates
        # Neighbours turn together, or the halves do.
        angles = paddle.repeat_interleave(angles, 2, -1) if use_neox_rotary_style else paddle.concat([angles] * 2, -1)
        sin, cos = paddle.sin(angles), paddle.cos(angles)
    sin, cos = (x.reshape([-1, size]) for x in (sin, cos))
    if position_ids is not None:
        shape = [*position_ids.shape, 1, size]
        sin, cos = (paddle.gather(x, position_ids.reshape([-1])).reshape(shape) for x in (sin, cos))
    else:
        sin, cos = (x.reshape([1, -1, 1, size])[:, :length] for x in (sin, cos))

    def rotated(x: Tensor | None) -> Tensor | None:
        if x is None:
            return None
        if use_neox_rotary_style:
            pairs = x.reshape([*x.shape[:-1], size // 2, 2])
            other = paddle.stack([-pairs[..., 1], pairs[..., 0]], -1).reshape(x.shape)
        else:
            other = paddle.concat([-x[..., size // 2 :], x[..., : size // 2]], -1)
        y = (x * cos + other * sin).astype(x.dtype)
        return paddle.transpose(y, [1, 0, 2, 3]) if time_major else y

    return rotated(q), rotated(k), rotated(v)


# --- sums and norms behind one another -------------------------------------------------------------------------------


@operator("fc", "gemm_epilogue")
def fc(
    input: Tensor, w: Tensor, bias: Tensor | None = None, *, in_num_col_dims: int = 1, activation_type: str = "",
    padding_weights: bool = False,
) -> Any:  # fmt: skip
    if padding_weights:
        w = w[: w.shape[0] - 4, : w.shape[1] - 4]
    flat = paddle.flatten(input, in_num_col_dims, -1) if input.ndim > in_num_col_dims + 1 else input
    y = paddle.matmul(flat, w)
    return _activated(y if bias is None else y + bias.reshape([-1]), activation_type)


@operator("fused_gemm_epilogue")
def fused_gemm_epilogue(
    x: Tensor, y: Tensor, bias: Tensor, *, trans_x: bool = False, trans_y: bool = False, activation: str = "none"
) -> Any:
    z = paddle.matmul(x, y, trans_x, trans_y) + bias
    return _activated(z, "" if activation == "none" else activation), None


@operator("fused_bias_act")
def fused_bias_act(
    x: Tensor, bias: Tensor | None = None, dequant_scales: Tensor | None = None, shift: Tensor | None = None,
    smooth: Tensor | None = None, *, act_method: str = "gelu", compute_dtype: str = "default",
    quant_scale: float = -1.0, quant_round_type: int = 1, quant_max_bound: float = 127.0,
    quant_min_bound: float = -127.0,
) -> Any:  # fmt: skip
    if act_method in ("gelu", "relu", "geglu", "swiglu"):
        return IF.fused_bias_act(
            x, bias, dequant_scales, shift, smooth, act_method, compute_dtype, quant_scale, quant_round_type,
            quant_max_bound, quant_min_bound,
        )  # fmt: skip
    if any(v is not None for v in (dequant_scales, shift, smooth)) or quant_scale > 0:
        raise ValueError(f"[fused_bias_act] requires nothing quantised around {act_method!r}")
    return _activated(x if bias is None else x + bias, act_method)


@operator("fused_dropout_add")
def fused_dropout_add(
    x: Tensor, y: Tensor, seed_tensor: Tensor | None = None, *, p: float, is_test: bool, mode: str, seed: int = 0,
    fix_seed: bool = False,
) -> Any:  # fmt: skip
    return F.dropout(x, p, training=not is_test, mode=dropout_mode(mode)) + y, None


@operator("fused_bias_dropout_residual_layer_norm")
def fused_bias_dropout_residual_layer_norm(
    x: Tensor, residual: Tensor, bias: Tensor | None = None, ln_scale: Tensor | None = None,
    ln_bias: Tensor | None = None, *, dropout_rate: float = 0.5, is_test: bool = False,
    dropout_implementation: str = "downgrade_in_infer", ln_epsilon: float = 1e-5,
) -> Any:  # fmt: skip
    y = x if bias is None else x + bias
    y = residual + F.dropout(y, dropout_rate, training=not is_test, mode=dropout_mode(dropout_implementation))
    return F.layer_norm(y, y.shape[-1:], ln_scale, ln_bias, ln_epsilon), y


@operator("skip_layernorm")
def skip_layernorm(
    x: Tensor, y: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float, begin_norm_axis: int = -1
) -> Any:
    return F.layer_norm(x + y, x.shape[-1:], scale, bias, epsilon)


@operator("fused_embedding_eltwise_layernorm")
def fused_embedding_eltwise_layernorm(
    ids: Tensors, embs: Tensors, bias: Tensor, scale: Tensor, *, epsilon: float = 1e-5
) -> Any:
    found = [F.embedding(paddle.squeeze(i, [-1]) if i.ndim == 3 else i, e) for i, e in zip(ids, embs, strict=True)]
    total = paddle.add_n(found)
    return F.layer_norm(total, total.shape[-1:], scale, bias, epsilon)


@operator("fused_fc_elementwise_layernorm")
def fused_fc_elementwise_layernorm(
    x: Tensor, w: Tensor, y: Tensor, bias0: Tensor | None = None, scale: Tensor | None = None,
    bias1: Tensor | None = None, *, x_num_col_dims: int = 1, activation_type: str = "", epsilon: float = 1e-5,
    begin_norm_axis: int = 1,
) -> Any:  # fmt: skip
    flat = paddle.flatten(x, x_num_col_dims, -1) if x.ndim > x_num_col_dims + 1 else x
    z = paddle.matmul(flat, w)
    z = _activated(z if bias0 is None else z + bias0, activation_type) + y
    return F.layer_norm(z, z.shape[-1:], scale, bias1, epsilon)


@operator("fast_ln")
def fast_ln(x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float) -> Any:
    return F.layer_norm(x, x.shape[-1:], scale, bias, epsilon)


@operator("fast_rms_norm", "fused_rms_norm_ext")
def fast_rms_norm(x: Tensor, scale: Tensor, *, epsilon: float) -> Any:
    return tuple(F.rms_norm(x, x.shape[-1:], scale, epsilon))


@operator("add_group_norm_silu")
def add_group_norm_silu(
    x: Tensor, residual: Tensor | None = None, scale: Tensor | None = None, bias: Tensor | None = None, *,
    epsilon: float = 1e-5, groups: int, data_format: str = "NCHW", activation: str = "",
) -> Any:  # fmt: skip
    total = x if residual is None else x + residual
    return _activated(F.group_norm(total, groups, epsilon, scale, bias, data_format), activation), total


@operator("fused_conv2d_add_act")
def fused_conv2d_add_act(
    input: Tensor, filter: Tensor, bias: Tensor | None = None, residual_data: Tensor | None = None, *,
    strides: Any = (1, 1), paddings: Any = (0, 0), padding_algorithm: str = "EXPLICIT", dilations: Any = (1, 1),
    groups: int = 1, data_format: str = "NCHW", activation: str = "relu", split_channels: Any = (),
) -> Any:  # fmt: skip
    padding = list(paddings) if padding_algorithm == "EXPLICIT" else padding_algorithm
    y = F.conv2d(input, filter, bias, strides, padding, dilations, groups, data_format)
    y = _activated(y if residual_data is None else y + residual_data, activation)
    return (y, paddle.split(y, list(split_channels), 1)) if split_channels else y


@operator("fused_scale_bias_add_relu")
def fused_scale_bias_add_relu(
    x1: Tensor, scale1: Tensor, bias1: Tensor, x2: Tensor, scale2: Tensor | None = None, bias2: Tensor | None = None,
    *, fuse_dual: bool = False,
) -> Any:  # fmt: skip
    other = x2 * scale2 + bias2 if fuse_dual and scale2 is not None and bias2 is not None else x2
    return F.relu(x1 * scale1 + bias1 + other)


@operator("fusion_squared_mat_sub")
def fusion_squared_mat_sub(x: Tensor, y: Tensor, *, scalar: float = 1.0) -> Any:
    left, right, product = x * x, y * y, paddle.matmul(x, y)
    return left, right, product * product, (product * product - paddle.matmul(left, right)) * scalar


@operator("fusion_repeated_fc_relu")
def fusion_repeated_fc_relu(x: Tensor, w: Tensors, bias: Tensors) -> Any:
    between = []
    for matrix, b in zip(w, bias, strict=True):
        x = F.relu(paddle.matmul(x, matrix) + b)
        between.append(x)
    return between[:-1], x


@operator("fusion_transpose_flatten_concat")
def fusion_transpose_flatten_concat(x: Tensors, *, trans_axis: Any, flatten_axis: int, concat_axis: int) -> Any:
    rows = []
    for y in x:
        transposed = paddle.transpose(y, list(trans_axis))
        rows.append(paddle.flatten(paddle.flatten(transposed, flatten_axis, -1), 0, flatten_axis - 1))
    return paddle.concat(rows, concat_axis)


def _fused_elementwise(function: Any) -> Any:
    def call(
        x: Tensor, y: Tensor, *, axis: int = -1, fuse_activation: str = "", scale_x: float = 1.0, scale_y: float = 1.0,
        scale_out: float = 1.0,
    ) -> Any:  # fmt: skip
        if (scale_x, scale_y, scale_out) != (1.0, 1.0, 1.0):
            raise ValueError("[fused_elementwise] requires operands that are not quantised")
        return _activated(function(x, y), fuse_activation)

    return call


for _end, _function in {
    "add": paddle.add, "sub": paddle.subtract, "mul": paddle.multiply, "div": paddle.divide
}.items():  # fmt: skip
    operator(f"fused_elementwise_{_end}")(_fused_elementwise(_function))


@operator("fused_elemwise_activation", "fused_elemwise_add_activation")
def fused_elemwise_activation(
    x: Tensor, y: Tensor, *, functor_list: Any, axis: int = -1, scale: float = 0.0, save_intermediate_out: bool = False
) -> Any:
    functions: dict[str, Any] = {"elementwise_add": paddle.add, "elementwise_mul": paddle.multiply}
    outer, inner = functor_list
    if outer in functions:  # a sum with what an activation gives
        between = paddle.scale(y, scale) if inner == "scale" else _activated(y, inner)
        return functions[outer](x, between), between
    between = functions[inner](x, y)
    return (paddle.scale(between, scale) if outer == "scale" else _activated(between, outer)), between


@operator("qkv_unpack_mha")
def qkv_unpack_mha(q: Tensor, k: Tensor, v: Tensor, src_mask: Tensor) -> Any:
    return F.scaled_dot_product_attention(q, k, v, src_mask, training=False)


@operator("self_dp_attention")
def self_dp_attention(x: Tensor, *, alpha: float = 1.0, head_number: int = 1) -> Any:
    q, k, v = (paddle.transpose(x[:, :, i], [0, 2, 1, 3]) for i in range(3))
    scores = F.softmax(paddle.matmul(q, k, transpose_y=True) * alpha, -1)
    return paddle.transpose(paddle.matmul(scores, v), [0, 2, 1, 3])


@operator("flash_attn_qkvpacked")
def flash_attn_qkvpacked(
    qkv: Tensor, fixed_seed_offset: Tensor | None = None, attn_mask: Tensor | None = None, *, dropout: float = 0.0,
    causal: bool = False, return_softmax: bool = False, is_test: bool = False,
) -> Any:  # fmt: skip
    y, _ = F.flash_attn_qkvpacked(qkv, dropout, causal, training=not is_test)
    return y


@operator("flash_attn_unpadded")
def flash_attn_unpadded(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor,
    fixed_seed_offset: Tensor | None = None, attn_mask: Tensor | None = None, max_seqlen_q: Number = 0,
    max_seqlen_k: Number = 0, *, scale: float, dropout: float = 0.0, causal: bool = False,
    return_softmax: bool = False, is_test: bool = False,
) -> Any:  # fmt: skip
    y, _ = flash_attn_unpadded_of(
        q, k, v, cu_seqlens_q, cu_seqlens_k, int(max_seqlen_q), int(max_seqlen_k), scale, dropout, causal,
        training=not is_test,
    )  # fmt: skip
    return y


@operator("fused_bias_residual_layernorm")
def fused_bias_residual_layernorm(
    x: Tensor, bias: Tensor | None = None, residual: Tensor | None = None, norm_weight: Tensor | None = None,
    norm_bias: Tensor | None = None, *, epsilon: float, residual_alpha: float = 1.0, begin_norm_axis: int = 1,
    quant_scale: float = -1.0, quant_round_type: int = 0, quant_max_bound: float = 0.0, quant_min_bound: float = 0.0,
) -> Any:  # fmt: skip
    y = x if bias is None else x + bias
    y = y if residual is None else y + residual * residual_alpha
    shape = list(y.shape[begin_norm_axis:])
    weight, shift = (None if w is None else w.reshape(shape) for w in (norm_weight, norm_bias))
    rows = y.reshape([-1, math.prod(shape)])
    if weight is None and shift is None:
        out = y
    else:
        out = F.layer_norm(y, shape, weight, shift, epsilon)
        out = as_levels(
            "fused_bias_residual_layernorm", out, quant_scale, quant_round_type, quant_max_bound, quant_min_bound
        )
    return out, y, rows.mean(1), paddle.rsqrt(rows.var(1, unbiased=False) + epsilon)


@operator("fused_rms_norm_quant")
def fused_rms_norm_quant(
    x: Tensor, bias: Tensor | None = None, residual: Tensor | None = None, norm_weight: Tensor | None = None,
    norm_bias: Tensor | None = None, *, epsilon: float, begin_norm_axis: int, quant_scale: float = -1.0,
    quant_round_type: int = 0, quant_max_bound: float = 0.0, quant_min_bound: float = 0.0,
) -> Any:  # fmt: skip
    y = x if bias is None else x + bias
    y = y if residual is None else y + residual
    shape = list(y.shape[begin_norm_axis:])
    weight = None if norm_weight is None else norm_weight.reshape(shape)
    out, scales = F.rms_norm(y, shape, weight, epsilon)
    out = out if norm_bias is None else out + norm_bias.reshape(shape)
    levels = as_levels("fused_rms_norm_quant", out, quant_scale, quant_round_type, quant_max_bound, quant_min_bound)
    return levels, y, scales.flatten()


@operator("fused_feedforward")
def fused_feedforward(
    x: Tensor, dropout1_seed: Tensor | None, dropout2_seed: Tensor | None, linear1_weight: Tensor,
    linear1_bias: Tensor | None, linear2_weight: Tensor, linear2_bias: Tensor | None, ln1_scale: Tensor | None,
    ln1_bias: Tensor | None, ln2_scale: Tensor | None, ln2_bias: Tensor | None, *, pre_layer_norm: bool,
    ln1_epsilon: float, ln2_epsilon: float, act_method: str, dropout1_prob: float, dropout2_prob: float,
    dropout1_implementation: str, dropout2_implementation: str, is_test: bool, add_residual: bool = True,
) -> Any:  # fmt: skip
    width = x.shape[-1:]
    y = F.layer_norm(x, width, ln1_scale, ln1_bias, ln1_epsilon) if pre_layer_norm else x
    y = _activated(F.linear(y, linear1_weight, linear1_bias), act_method)
    y = F.dropout(y, dropout1_prob, training=not is_test, mode=dropout_mode(dropout1_implementation))
    y = F.linear(y, linear2_weight, linear2_bias)
    y = F.dropout(y, dropout2_prob, training=not is_test, mode=dropout_mode(dropout2_implementation))
    y = x + y if add_residual else y
    return y if pre_layer_norm else F.layer_norm(y, width, ln2_scale, ln2_bias, ln2_epsilon)


@operator("fused_attention")
def fused_attention(
    x: Tensor, ln_scale: Tensor | None, ln_bias: Tensor | None, qkv_weight: Tensor, qkv_bias: Tensor | None,
    cache_kv: Tensor | None, src_mask: Tensor | None, out_linear_weight: Tensor, out_linear_bias: Tensor | None,
    ln_scale_2: Tensor | None, ln_bias_2: Tensor | None, *, num_heads: int, transpose_qkv_wb: bool = False,
    pre_layer_norm: bool, epsilon: float, attn_dropout_rate: float, is_test: bool,
    attn_dropout_implementation: str = "upscale_in_train", dropout_rate: float,
    dropout_implementation: str = "upscale_in_train", ln_epsilon: float, add_residual: bool = True,
) -> Any:  # fmt: skip
    if cache_kv is not None:
        raise ValueError("[fused_attention] requires no cache of keys and values")
    width = x.shape[-1]
    heads = num_heads if transpose_qkv_wb else qkv_weight.shape[1]
    y = F.layer_norm(x, [width], ln_scale, ln_bias, epsilon) if pre_layer_norm else x
    weight = qkv_weight if transpose_qkv_wb else paddle.transpose(qkv_weight.reshape([-1, width]), [1, 0])
    made = F.linear(y, weight, None if qkv_bias is None else qkv_bias.reshape([-1]))
    made = made.reshape([*x.shape[:2], 3, heads, -1])
    q, k, v = (paddle.transpose(made[:, :, i], [0, 2, 1, 3]) for i in range(3))
    scores = paddle.matmul(q * made.shape[-1] ** -0.5, k, transpose_y=True)
    scores = F.softmax(scores if src_mask is None else scores + src_mask, -1)
    scores = F.dropout(scores, attn_dropout_rate, training=not is_test, mode=dropout_mode(attn_dropout_implementation))
    y = paddle.transpose(paddle.matmul(scores, v), [0, 2, 1, 3]).reshape([*x.shape[:2], -1])
    y = F.linear(y, out_linear_weight, out_linear_bias)
    y = F.dropout(y, dropout_rate, training=not is_test, mode=dropout_mode(dropout_implementation))
    y = x + y if add_residual else y
    y = y if pre_layer_norm else F.layer_norm(y, [width], ln_scale_2, ln_bias_2, ln_epsilon)
    return (*[None] * 19, y)  # what is in between is for gradients
