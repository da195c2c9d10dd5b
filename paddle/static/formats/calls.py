"""``paddle._C_ops``: operators of PaddlePaddle as functions, for programs that call its kernels by name.

``relu(x)`` is what ``pd_op.relu`` means in a file (``operators``); ``relu_(x)`` writes it into x. Arguments come by
position, operands and attributes in the order of the kernel's declaration: that of the operator's function here but for
``_ARGUMENTS``. Results that only kernels of gradients read are None. Gradients come by autograd: operators
``<name>_grad`` are not here, but for those of attention, which programs call in layers of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from paddle._absent import refuse
from paddle._public import into
from paddle.nn.functional.attention_kernels import KERNELS as OF_ATTENTION
from paddle.optimizer.kernels import KERNELS as OF_OPTIMIZERS
from paddle.static.formats import operators
from paddle.static.formats.graph import Attribute, Operation
from paddle.static.formats.operators.buffers import KERNELS as OF_BUFFERS
from paddle.static.formats.operators.known import tensor_of
from paddle.static.formats.operators.table import TABLE, Operator
from umiak.core.dtype import DType
from umiak.core.inplace import call_before_overwrite

_SUBJECTS = operators  # imported for what they enter in the table

# Of operators that a file may hold, too, these are called: they give more results than others read there.
KERNELS = OF_OPTIMIZERS | OF_ATTENTION | OF_BUFFERS

_CONVOLUTION = "input filter strides paddings padding_algorithm groups dilations data_format"
_TRANSPOSED = "x filter strides paddings output_padding output_size padding_algorithm groups dilations data_format"
_SUMMED = (
    "x y axis fuse_activation fuse_alpha fuse_beta fused_output_scale fused_unsqueeze2_axes scale_x scale_y scale_out"
)

# Arguments of kernels where they differ from the operands and attributes of our function: another order, or arguments
# that have no meaning here. Facts of the reference's headers (phi/api/include/api.h).
_ARGUMENTS = {
    "arange": "start end step dtype place",
    "class_center_sample": "label num_classes num_samples ring_id rank nranks fix_seed seed",
    "conv2d_transpose": _TRANSPOSED,
    "conv2d_transpose_bias": _TRANSPOSED.replace("filter", "filter bias"),
    "conv3d": _CONVOLUTION,
    "decode_jpeg": "x mode place",
    "depthwise_conv2d": _CONVOLUTION,
    "depthwise_conv2d_bias": _CONVOLUTION.replace("filter", "filter bias"),
    "depthwise_conv2d_transpose": _TRANSPOSED,
    "empty": "shape dtype place",
    "empty_like": "x dtype place",
    "eye": "num_rows num_columns dtype place",
    "flash_attn_qkvpacked": "qkv fixed_seed_offset attn_mask dropout causal return_softmax is_test rng_name",
    "flash_attn_unpadded": (
        "q k v cu_seqlens_q cu_seqlens_k fixed_seed_offset attn_mask max_seqlen_q max_seqlen_k scale dropout causal "
        "return_softmax is_test rng_name"
    ),
    "full": "shape value dtype place",
    "full_batch_size_like": "input shape dtype value input_dim_idx output_dim_idx place",
    "full_int_array": "value dtype place",
    "full_like": "x value dtype place",
    "fused_bias_act": (
        "x bias dequant_scales shift smooth act_method compute_dtype quant_scale quant_round_type quant_max_bound "
        "quant_min_bound"
    ),
    "fused_bias_dropout_residual_layer_norm": (
        "x residual bias ln_scale ln_bias dropout_rate is_test dropout_fix_seed dropout_seed dropout_implementation "
        "ln_epsilon"
    ),
    "fused_bias_residual_layernorm": (
        "x bias residual norm_weight norm_bias epsilon residual_alpha begin_norm_axis quant_scale quant_round_type "
        "quant_max_bound quant_min_bound"
    ),
    "fused_elementwise_add": _SUMMED,
    "fused_elementwise_div": _SUMMED,
    "fused_elementwise_mul": _SUMMED,
    "fused_elementwise_sub": _SUMMED,
    "gaussian": "shape mean std seed dtype place",
    "linspace": "start stop number dtype place",
    "logspace": "start stop num base dtype place",
    "lp_pool2d": (
        "x kernel_size strides paddings ceil_mode exclusive data_format pooling_type global_pooling adaptive "
        "padding_algorithm norm_type"
    ),
    "memcpy_d2h": "x dst_place_type",
    "memcpy_h2d": "x dst_place_type",
    "memory_efficient_attention": (
        "query key value bias cu_seqlens_q cu_seqlens_k causal_diagonal seqlen_k max_seqlen_q max_seqlen_k causal "
        "dropout_p scale is_test"
    ),
    "mish": "x lambda",
    "npu_identity": "x format",
    "ones": "shape dtype place",
    "ones_like": "x dtype place",
    "pad": "x paddings pad_value",
    "randint": "low high shape dtype place",
    "randperm": "n dtype place",
    "range_v2": "start end step dtype place",
    "send_u_recv": "x src_index dst_index reduce_op out_size",
    "send_ue_recv": "x y src_index dst_index message_op reduce_op out_size",
    "slice": "input axes starts ends infer_flags decrease_axis",
    "split_with_num": "x num axis",
    "strided_slice": "x axes starts ends strides",
    "tril_indices": "rows cols offset dtype place",
    "triu_indices": "row col offset dtype place",
    "truncated_gaussian_random": "shape mean std seed a b dtype place",
    "uniform": "shape dtype min max seed place",
    "uniform_inplace": "x min max seed diag_num diag_step diag_val",
    "uniform_random_batch_size_like": (
        "input shape input_dim_idx output_dim_idx min max seed diag_num diag_step diag_val dtype"
    ),
    "unique": "x return_index return_inverse return_counts axis dtype",
    "unpool": "x indices ksize strides padding output_size data_format",
    "variance": "x axis keepdim",
    "zeros": "shape dtype place",
    "zeros_like": "x dtype place",
}

# How many results kernels have, where our function has another number.
_RESULTS = {
    **dict.fromkeys(
        "dropout flatten fused_bias_dropout_residual_layer_norm gru_unit huber_loss reshape roi_pool rrelu "
        "segment_pool send_u_recv send_ue_recv squeeze unsqueeze warpctc warprnnt".split(),
        1,
    ),
    "flash_attn_unpadded": 2,
    **dict.fromkeys("einsum fast_ln".split(), 3),
    **dict.fromkeys("add_group_norm_silu cudnn_lstm flash_attn_qkvpacked fused_bias_residual_layernorm".split(), 4),
    **dict.fromkeys("batch_norm fused_batch_norm_act".split(), 6),
}


def __getattr__(name: str) -> Any:
    if name in KERNELS:
        return KERNELS[name]
    operator = None if name.startswith("__") else TABLE.get(f"pd_op.{name}")
    if operator is None:
        raise refuse("paddle._C_ops", name, not name.startswith("__"), sys._getframe(1))
    function = globals()[name] = _call_of(name, operator)
    return function


def __dir__() -> list[str]:
    return sorted({name.removeprefix("pd_op.") for name in TABLE} | KERNELS.keys())


def _call_of(name: str, operator: Operator) -> Callable[..., Any]:
    """The function of an operator."""
    base = name.removesuffix("_")
    operands, attributes = [x for x, *_ in operator.operands], [x for x, _ in operator.attributes]
    order = _ARGUMENTS[base].split() if base in _ARGUMENTS else [*operands, *attributes]
    count = _RESULTS.get(base)

    def call(*args: Any) -> Any:
        if len(args) > len(order) and not operator.variadic:
            raise TypeError(f"[{name}] requires at most {len(order)} arguments ({', '.join(order)}), got {len(args)}")
        given = dict(zip(order, args, strict=False))
        values = [given.get(x) for x in operands] + list(args[len(order) :])
        results = operator_call(f"pd_op.{base}", values, {x: given[x] for x in attributes if given.get(x) is not None})
        if count is None:
            return results
        results = results if isinstance(results, (tuple, list)) else (results,)
        return results[0] if count == 1 else (*results, *[None] * count)[:count]

    def call_into(x: Any, *args: Any) -> Any:
        results = call_before_overwrite(call, x, args, {})
        first, *rest = results if isinstance(results, tuple) else (results,)
        into(x, first)
        return (x, *rest) if rest else x

    function = call if base == name else call_into
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"What ``pd_op.{name}`` of {', '.join(order)} means in a program."
    return function


def operator_call(name: str, values: list[Any], attributes: dict[str, Any]) -> Any:
    """The results of an operator of the table."""
    named = {x: Attribute("", _plain(value)) for x, value in attributes.items()}
    return _tensors(TABLE[name].call(Operation(name, attributes=named), values))


def _tensors(x: Any) -> Any:
    """Results, small numbers among them as tensors."""
    return type(x)(map(_tensors, x)) if type(x) in (list, tuple) else tensor_of(x)


def _plain(x: Any) -> Any:
    """An attribute as files have it: a dtype by its name."""
    return x.name if isinstance(x, DType) else x
