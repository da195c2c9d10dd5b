"""Operators that PaddlePaddle saves on other devices than a CPU, or in older versions, against our own."""

from __future__ import annotations

import zlib

import numpy as np
import onnx
import pytest
import torch

import paddle
from paddle.onnx.convert import convert
from paddle.static.formats.graph import COMBINE, DATA, FETCH, Attribute, Block, Module, Operation, Result, TensorType
from paddle.static.formats.operators.known import tensor_of
from paddle.static.formats.operators.table import TABLE
from tests.onnx.conftest import run
from tests.onnx.inputs import Maker


def attribute(x) -> Attribute:
    if isinstance(x, (list, tuple)):
        return Attribute("array", tuple(attribute(v) for v in x))
    kinds = {bool: "bool", int: "i64", float: "f32", str: "str"}
    return Attribute(kinds[type(x)], x)


class Builder:
    """A program of one operation: lists among its operands are combined."""

    def __init__(self) -> None:
        self.block, self.inputs, self.count = Block(), {}, 0

    def result(self, type) -> Result:
        self.count += 1
        return Result(self.count, type)

    def append(self, name, operands, said, *types) -> list[Result]:
        made = [self.result(t) for t in types]
        self.block.operations.append(Operation(name, operands, said, made))
        return made

    def fed(self, x) -> Result | None:
        if x is None:
            return None
        if isinstance(x, list):
            parts = [self.fed(v) for v in x]
            return self.append(COMBINE, [p.number for p in parts], {}, tuple(p.type for p in parts))[0]
        name = f"x{len(self.inputs)}"
        self.inputs[name] = x
        said = {"name": attribute(name), "shape": Attribute("intarray", x.shape)}
        said["dtype"] = Attribute("dtype", str(x.dtype))
        return self.append(DATA, [], said, TensorType(str(x.dtype), x.shape))[0]


def program(op, operands, attributes, results) -> tuple[Module, dict[str, np.ndarray]]:
    """The program, and its inputs; ``results``: arrays like those that it gives."""
    b = Builder()
    fed = [b.fed(x) for x in operands]
    types = [TensorType(str(y.dtype), y.shape) for y in results]
    said = {k: attribute(v) for k, v in attributes.items()}
    made = b.append(f"pd_op.{op}", [None if r is None else r.number for r in fed], said, *types)
    for i, y in enumerate(made):
        b.append(FETCH, [y.number], {"name": attribute(f"y{i}"), "col": attribute(i)}, y.type)
    return Module(b.block), b.inputs


def ours(op, operands, attributes, count) -> list[np.ndarray]:
    """What our operator gives at once."""
    given = [[paddle.to_tensor(v) for v in x] if isinstance(x, list) else x for x in operands]
    given = [paddle.to_tensor(x) if isinstance(x, np.ndarray) else x for x in given]
    name = f"pd_op.{op}"
    found = TABLE[name].call(Operation(name, [], {k: attribute(v) for k, v in attributes.items()}), given)
    found = found if isinstance(found, (tuple, list)) else [found]
    return [tensor_of(y).numpy() for y in found[:count]]


# Name → operator, operands, attributes, of a maker of operands (inputs.py).
CASES = {
    "fc": lambda m: ("fc", [m.N(2, 12), m.N(12, 5), m.N(5)], {"in_num_col_dims": 1, "activation_type": "relu"}),
    "fc_columns": lambda m: ("fc", [m.N(2, 3, 12), m.N(12, 5), m.N(5)], {"in_num_col_dims": 2}),
    "fused_gemm_epilogue": lambda m: (
        "fused_gemm_epilogue",
        [m.N(2, 3), m.N(5, 3), m.N(5)],
        {"trans_x": False, "trans_y": True, "activation": "gelu"},
    ),
    "matmul_with_flatten": lambda m: (
        "matmul_with_flatten",
        [m.N(2, 3, 4), m.N(12, 5)],
        {"x_num_col_dims": 1, "y_num_col_dims": 1},
    ),
    "matmul_with_flatten_two": lambda m: (
        "matmul_with_flatten",
        [m.N(2, 3, 4), m.N(4, 5)],
        {"x_num_col_dims": 2, "y_num_col_dims": 1},
    ),
    "linear_v2": lambda m: ("linear_v2", [m.N(2, 3), m.N(3, 5), m.N(5)], {"transpose_weight": False}),
    "fused_elementwise_add": lambda m: ("fused_elementwise_add", [m.N(2, 3), m.N(2, 3)], {"axis": -1}),
    "fused_elementwise_sub": lambda m: ("fused_elementwise_sub", [m.N(2, 3), m.N(2, 3)], {"axis": -1}),
    "fused_elementwise_mul": lambda m: ("fused_elementwise_mul", [m.N(2, 3), m.N(2, 3)], {"axis": -1}),
    "fused_elementwise_div": lambda m: (
        "fused_elementwise_div",
        [m.N(2, 3), m.U(2, 3, low=1.0, high=2.0)],
        {"axis": -1},
    ),
    "flash_attn": lambda m: (
        "flash_attn",
        [m.N(2, 5, 2, 4), m.N(2, 5, 2, 4), m.N(2, 5, 2, 4), None, None],
        {"dropout": 0.0, "causal": True, "is_test": True},
    ),
    "self_dp_attention": lambda m: ("self_dp_attention", [m.N(2, 3, 3, 2, 4)], {"alpha": 0.5, "head_number": 2}),
    "multihead_matmul": lambda m: (
        "multihead_matmul",
        [m.N(2, 3, 8), m.N(8, 3, 8), m.N(3, 8), m.N(2, 2, 3, 3)],
        {"alpha": 0.5, "head_number": 2},
    ),
    "memory_efficient_attention": lambda m: (
        "memory_efficient_attention",
        [m.N(2, 5, 2, 4), m.N(2, 5, 2, 4), m.N(2, 5, 2, 4), m.N(2, 2, 5, 5)],
        {"causal": False, "dropout_p": 0.0, "scale": 0.3, "is_test": True},
    ),
    "fused_softmax_mask_upper_triangle": lambda m: ("fused_softmax_mask_upper_triangle", [m.N(2, 2, 4, 4)], {}),
    "fused_bias_act": lambda m: ("fused_bias_act", [m.N(2, 6), m.N(6)], {"act_method": "gelu"}),
    "fused_bias_act_swiglu": lambda m: ("fused_bias_act", [m.N(2, 6), m.N(6)], {"act_method": "swiglu"}),
    "fused_bias_dropout_residual": lambda m: (
        "fused_bias_dropout_residual_layer_norm",
        [m.N(2, 3, 4), m.N(2, 3, 4), m.N(4), m.N(4), m.N(4)],
        {"dropout_rate": 0.3, "is_test": True, "ln_epsilon": 1e-5, "dropout_implementation": "upscale_in_train"},
    ),
    "skip_layernorm": lambda m: (
        "skip_layernorm",
        [m.N(2, 3, 4), m.N(2, 3, 4), m.N(4), m.N(4)],
        {"epsilon": 1e-5, "begin_norm_axis": 2},
    ),
    "fast_ln": lambda m: ("fast_ln", [m.N(2, 3, 4), m.N(4), m.N(4)], {"epsilon": 1e-5}),
    "fast_rms_norm": lambda m: ("fast_rms_norm", [m.N(2, 3, 4), m.N(4)], {"epsilon": 1e-5}),
    "rms_norm": lambda m: ("rms_norm", [m.N(2, 3, 4), m.N(4)], {"normalized_shape": [4], "epsilon": 1e-5}),
    "fused_rms_norm_ext": lambda m: ("fused_rms_norm_ext", [m.N(2, 3, 4), m.N(4)], {"epsilon": 1e-5}),
    "fused_rotary": lambda m: (
        "fused_rotary_position_embedding",
        [m.N(2, 5, 2, 4), m.N(2, 5, 2, 4), None, m.N(1, 5, 1, 4), m.N(1, 5, 1, 4)],
        {"use_neox_rotary_style": False},
    ),
    "fused_rotary_pairs": lambda m: (
        "fused_rotary_position_embedding",
        [m.N(2, 5, 2, 4), None, None, m.N(1, 5, 1, 4), m.N(1, 5, 1, 4)],
        {"use_neox_rotary_style": True},
    ),
    "fused_embedding_eltwise_layernorm": lambda m: (
        "fused_embedding_eltwise_layernorm",
        [[m.I(2, 3, high=4), m.I(2, 3, high=4)], [m.N(4, 6), m.N(4, 6)], m.N(6), m.N(6)],
        {"epsilon": 1e-5},
    ),
    "fused_fc_elementwise_layernorm": lambda m: (
        "fused_fc_elementwise_layernorm",
        [m.N(2, 3), m.N(3, 4), m.N(2, 4), m.N(4), m.N(4), m.N(4)],
        {"x_num_col_dims": 1, "activation_type": "", "epsilon": 1e-5, "begin_norm_axis": 1},
    ),
    "fused_conv2d_add_act": lambda m: (
        "fused_conv2d_add_act",
        [m.N(1, 3, 6, 6), m.N(4, 3, 3, 3), m.N(4), m.N(1, 4, 6, 6)],
        {
            "strides": [1, 1],
            "paddings": [1, 1],
            "padding_algorithm": "EXPLICIT",
            "dilations": [1, 1],
            "groups": 1,
            "data_format": "NCHW",
            "activation": "relu",
        },
    ),
    "depthwise_conv2d_bias": lambda m: (
        "depthwise_conv2d_bias",
        [m.N(1, 3, 6, 6), m.N(3, 1, 3, 3), m.N(3)],
        {
            "strides": [1, 1],
            "paddings": [1, 1],
            "padding_algorithm": "EXPLICIT",
            "dilations": [1, 1],
            "groups": 3,
            "data_format": "NCHW",
        },
    ),
    "conv2d_transpose_bias": lambda m: (
        "conv2d_transpose_bias",
        [m.N(1, 3, 4, 4), m.N(3, 4, 3, 3), m.N(4)],
        {
            "strides": [2, 2],
            "paddings": [1, 1],
            "output_padding": [],
            "output_size": [],
            "padding_algorithm": "EXPLICIT",
            "groups": 1,
            "dilations": [1, 1],
            "data_format": "NCHW",
        },
    ),
    "max_pool3d_with_index": lambda m: (
        "max_pool3d_with_index",
        [m.N(1, 2, 4, 4, 6)],
        {
            "kernel_size": [2, 2, 2],
            "strides": [2, 2, 2],
            "paddings": [0, 0, 0],
            "global_pooling": False,
            "adaptive": False,
            "ceil_mode": False,
        },
    ),
    "fill": lambda m: ("fill", [m.N(2, 3)], {"value": 2.5}),
    "identity_loss": lambda m: ("identity_loss", [m.N(2, 3)], {"reduction": 1}),
    "margin_cross_entropy": lambda m: (
        "margin_cross_entropy",
        [m.U(3, 5, low=-0.9, high=0.9), m.I(3, high=5)],
        {
            "return_softmax": True,
            "ring_id": 0,
            "rank": 0,
            "nranks": 1,
            "margin1": 1.0,
            "margin2": 0.5,
            "margin3": 0.1,
            "scale": 8.0,
        },
    ),
    "nansum": lambda m: ("nansum", [m.A([[1, np.nan, 3], [4, 5, 6]])], {"axis": [1], "keepdim": False}),
    "partial_concat": lambda m: ("partial_concat", [[m.N(2, 5), m.N(2, 5)]], {"start_index": 1, "length": 2}),
    "partial_sum": lambda m: ("partial_sum", [[m.N(2, 5), m.N(2, 5)]], {"start_index": 1, "length": 2}),
    "rint": lambda m: ("rint", [m.N(2, 3)], {}),
    "reverse": lambda m: ("reverse", [m.N(2, 3)], {"axis": [1]}),
    "shuffle_channel": lambda m: ("shuffle_channel", [m.N(1, 6, 2, 3)], {"group": 2}),
    "std": lambda m: ("std", [m.N(2, 5)], {"axis": [1], "keepdim": False, "correction": 1.0}),
    "var": lambda m: ("var", [m.N(2, 5)], {"axis": [1], "keepdim": True, "correction": 0.0, "unbiased": False}),
    "trunc_divide": lambda m: ("trunc_divide", [m.A([-7, 7, 5], "int64"), m.A([2, -2, 3], "int64")], {}),
    "zeros_like": lambda m: ("zeros_like", [m.N(2, 3)], {}),
    "ones_like": lambda m: ("ones_like", [m.N(2, 3)], {}),
    "box_clip": lambda m: ("box_clip", [m.A([[0, 0, 40, 4], [1, -1, 5, 50]]), m.A([[24, 20, 1.0]])], {}),
    "fake_dequantize_channels": lambda m: (
        "fake_channel_wise_dequantize_max_abs",
        [m.N(2, 3), [m.U(2, low=0.5)]],
        {"quant_bits": [8], "quant_axis": 0},
    ),
    "fake_quantize_moving_average": lambda m: (
        "fake_quantize_moving_average_abs_max",
        [m.N(2, 3), m.A([1.5])],
        {"bit_length": 8, "is_test": True, "round_type": 0},
    ),
    "fake_quantize_dequantize_moving_average": lambda m: (
        "fake_quantize_dequantize_moving_average_abs_max",
        [m.N(2, 3), m.A([1.5])],
        {"bit_length": 8, "is_test": True, "round_type": 0},
    ),
    "fake_quantize_range": lambda m: (
        "fake_quantize_range_abs_max",
        [m.N(2, 3), m.A([1.5])],
        {"bit_length": 8, "is_test": True, "round_type": 0},
    ),
    "dequantize_linear": lambda m: (
        "dequantize_linear",
        [m.A([[-128, 3], [127, 5]]), m.A([2.0]), m.A([0.0])],
        {"quant_axis": -1, "bit_length": 8, "is_test": True},
    ),
    "dequantize_channels": lambda m: (
        "dequantize_linear",
        [m.A([[-128, 3], [127, 5]]), m.A([2.0, 1.0]), m.A([0.0, 0.0])],
        {"quant_axis": 1, "bit_length": 8, "is_test": True},
    ),
    "dequantize_abs_max": lambda m: (
        "dequantize_abs_max",
        [m.I(2, 3, low=-128, high=127, dtype="int8"), m.A([0.5])],
        {"max_range": 127.0},
    ),
    "apply_per_channel_scale": lambda m: ("apply_per_channel_scale", [m.N(2, 3), m.N(3)], {}),
    "sync_batch_norm": lambda m: (
        "sync_batch_norm_",
        [m.N(2, 3, 4, 4), m.N(3), m.U(3, low=0.5), m.N(3), m.N(3)],
        {
            "is_test": True,
            "momentum": 0.9,
            "epsilon": 1e-5,
            "data_format": "NCHW",
            "use_global_stats": False,
            "trainable_statistics": False,
        },
    ),
    "legacy_matmul": lambda m: (
        "legacy_matmul",
        [m.N(2, 4, 3), m.N(2, 4, 5)],
        {"transpose_x": True, "transpose_y": False, "alpha": 0.5},
    ),
    "lookup_table": lambda m: ("lookup_table", [m.N(5, 4), m.I(2, 3, 1, high=5)], {"padding_idx": 2}),
    "lrn": lambda m: ("lrn", [m.N(2, 6, 3, 3)], {"n": 3, "k": 1.5, "alpha": 0.1, "beta": 0.75, "data_format": "NCHW"}),
    "lrn_last": lambda m: (
        "lrn",
        [m.N(2, 3, 3, 6)],
        {"n": 5, "k": 1.5, "alpha": 0.1, "beta": 0.75, "data_format": "NHWC"},
    ),
    "soft_relu": lambda m: ("soft_relu", [m.N(2, 3)], {"threshold": 1.0}),
    "max_with_index": lambda m: ("max_with_index", [m.N(2, 3)], {"dim": 1, "keepdim": True, "flatten": False}),
    "min_with_index": lambda m: ("min_with_index", [m.N(2, 3)], {"dim": 0, "keepdim": False, "flatten": True}),
    "renorm": lambda m: ("renorm", [m.N(2, 3, 4)], {"p": 2.0, "axis": 1, "max_norm": 1.5}),
    "row_conv": lambda m: ("row_conv", [m.N(2, 5, 3), m.N(3, 3)], {}),
    "add_position_encoding": lambda m: ("add_position_encoding", [m.N(2, 5, 6)], {"alpha": 0.5, "beta": 2.0}),
    "cvm": lambda m: ("cvm", [m.U(2, 5), m.U(2, 2)], {"use_cvm": True}),
    "cvm_without": lambda m: ("cvm", [m.U(2, 5), m.U(2, 2)], {"use_cvm": False}),
    "dequantize_log": lambda m: ("dequantize_log", [m.I(2, 3, low=-128, high=127, dtype="int8"), m.N(128)], {}),
    "add_group_norm_silu": lambda m: (
        "add_group_norm_silu",
        [m.N(2, 4, 3, 3), m.N(2, 4, 3, 3), m.N(4), m.N(4)],
        {"groups": 2, "epsilon": 1e-5, "data_format": "NCHW", "activation": "silu"},
    ),
    "fused_batch_norm_act": lambda m: (
        "fused_batch_norm_act",
        [m.N(2, 3, 3, 4), m.N(4), m.N(4), m.N(4), m.U(4, low=0.5)],
        {"momentum": 0.9, "epsilon": 1e-5, "act_type": "relu"},
    ),
    "fused_elemwise_activation": lambda m: (
        "fused_elemwise_activation",
        [m.N(2, 3), m.N(2, 3)],
        {"functor_list": ["elementwise_add", "relu"], "axis": -1},
    ),
    "fused_elemwise_add_activation": lambda m: (
        "fused_elemwise_add_activation",
        [m.N(2, 3), m.N(2, 3)],
        {"functor_list": ["relu", "elementwise_add"], "axis": -1},
    ),
    "fused_scale_bias_add_relu": lambda m: (
        "fused_scale_bias_add_relu",
        [m.N(2, 3), m.N(3), m.N(3), m.N(2, 3), m.N(3), m.N(3)],
        {"fuse_dual": True},
    ),
    "fusion_squared_mat_sub": lambda m: ("fusion_squared_mat_sub", [m.N(2, 3), m.N(3, 4)], {"scalar": 0.5}),
    "fusion_transpose_flatten_concat": lambda m: (
        "fusion_transpose_flatten_concat",
        [[m.N(2, 3, 4), m.N(2, 3, 5)]],
        {"trans_axis": [0, 2, 1], "flatten_axis": 1, "concat_axis": 1},
    ),
    "gru_unit": lambda m: (
        "gru_unit",
        [m.N(2, 12), m.N(2, 4), m.N(4, 12), m.N(1, 12)],
        {"activation": 2, "gate_activation": 1, "origin_mode": False},
    ),
    "gru_unit_origin": lambda m: (
        "gru_unit",
        [m.N(2, 12), m.N(2, 4), m.N(4, 12), None],
        {"activation": 2, "gate_activation": 1, "origin_mode": True},
    ),
    "qkv_unpack_mha": lambda m: (
        "qkv_unpack_mha",
        [m.N(2, 5, 2, 4), m.N(2, 5, 2, 4), m.N(2, 5, 2, 4), m.N(2, 1, 5, 5)],
        {},
    ),
    "variance": lambda m: ("variance", [m.N(2, 5)], {"axis": [1], "keepdim": False}),
    "depthwise_conv3d": lambda m: (
        "depthwise_conv3d",
        [m.N(1, 2, 4, 4, 4), m.N(2, 1, 3, 3, 3)],
        {
            "strides": [1, 1, 1],
            "paddings": [1, 1, 1],
            "padding_algorithm": "EXPLICIT",
            "dilations": [1, 1, 1],
            "groups": 2,
            "data_format": "NCDHW",
        },
    ),
    "range_v2": lambda m: ("range_v2", [m.A(1, "int64"), m.A(9, "int64"), m.A(2, "int64")], {"dtype": "int64"}),
}
# How many results are compared where it is not one.
RESULTS = {
    "fused_rotary": 2,
    "margin_cross_entropy": 2,
    "max_pool3d_with_index": 2,
    "max_with_index": 2,
    "min_with_index": 2,
    "gru_unit": 3,
    "fusion_squared_mat_sub": 4,
}


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize("name", sorted(CASES))
def test_an_operator_gives_what_ours_gives(name, opset):
    op, operands, attributes = CASES[name](Maker(zlib.crc32(name.encode())))
    wanted = ours(op, operands, attributes, RESULTS.get(name, 1))
    module, inputs = program(op, operands, attributes, wanted)
    model = convert(module, {}, opset)
    onnx.checker.check_model(model, full_check=True)
    for x, y in zip(run(model, inputs), wanted, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def test_windows_along_an_axis():
    x = np.arange(9, dtype="float32")
    wanted = np.stack([x[i : i + 3] for i in (0, 2, 4, 6)])
    module, inputs = program("tensor_unfold", [x], {"axis": 0, "size": 3, "step": 2}, [wanted])
    np.testing.assert_array_equal(run(convert(module, {}, 17), inputs)[0], wanted)


def test_resizing_with_less_aliasing_needs_opset_18():
    x = np.random.RandomState(0).standard_normal((1, 1, 8, 8)).astype("float32")
    said = {"out_d": -1, "out_h": 4, "out_w": 4, "scale": [], "interp_method": "bilinear", "align_corners": False}
    said |= {"align_mode": 0, "data_format": "NCHW"}
    module, inputs = program("interp_antialias", [x, None, None, None], said, [x[:, :, :4, :4]])
    with pytest.raises(ValueError, match=r"antialias .* \(opset 18\)"):
        convert(module, {}, 17)
    wanted = torch.nn.functional.interpolate(torch.tensor(x), (4, 4), mode="bilinear", antialias=True).numpy()
    np.testing.assert_allclose(run(convert(module, {}, 18), inputs)[0], wanted, rtol=1e-4, atol=1e-5)
