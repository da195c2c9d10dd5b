"""Older operators that became others: what they mean, by formulas in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import paddle
from paddle.static.formats import record
from paddle.static.formats.graph import TensorType
from paddle.static.formats.legacy import program
from paddle.static.formats.legacy.translate import read_pdmodel
from tests.support.legacy_calls import Inputs, operator, result
from umiak.ir.serialise import FormatError


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed + sum(shape)).uniform(-1, 1, shape).astype("float32")


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def norm(x: np.ndarray, scale: np.ndarray, bias: np.ndarray, axes: int = 1) -> np.ndarray:
    over = tuple(range(x.ndim - axes, x.ndim))
    centred = x - x.mean(over, keepdims=True)
    return centred / np.sqrt((centred**2).mean(over, keepdims=True) + 1e-5) * scale + bias


X = np.arange(6, dtype="float32").reshape(2, 3) - 2
N, J = np.array([1, 0]), np.array([[1], [0]])

Case = tuple[str, Inputs, dict[str, Any], Any]
# The operator, its inputs and attributes, and what it gives: from before an attribute was added, or got its name.
OLDER: dict[str, Case] = {
    "roll, dims": ("roll", {"X": X}, {"shifts": [1], "dims": [1]}, np.roll(X, 1, 1)),
    "roll, none": ("roll", {"X": X}, {"shifts": [1]}, np.roll(X.ravel(), 1).reshape(2, 3)),
    "flip, dims": ("flip", {"X": X}, {"dims": [0]}, X[::-1]),
    "trace, dim1": ("trace", {"Input": X}, {"offset": 1, "dim1": 1, "dim2": 0}, np.trace(X.T, 1)),
    "softplus without beta": ("softplus", {"X": X}, {}, np.log1p(np.exp(X))),
    "cumsum without flatten": ("cumsum", {"X": X}, {"axis": 0}, np.cumsum(X, 0)),
    "gather without axis": ("gather", {"X": X, "Index": N}, {}, X[[1, 0]]),
    "clip without tensors": ("clip", {"X": X}, {"min": -1.0, "max": 2.0}, X.clip(-1, 2)),
    "allclose, floats": ("allclose", {"Input": X, "Other": X + 0.5}, {"rtol": 0.0, "atol": 1.0}, True),
    "allclose, text": ("allclose", {"Input": X, "Other": X + 0.5}, {"rtol": "0.0", "atol": "0.25"}, False),
    "assign_value, by type": (
        "assign_value", {}, {"shape": [2], "dtype": 2, "int32_values": [3, 4], "fp32_values": []}, [3, 4],
    ),
    "fill_constant, text": ("fill_constant", {}, {"shape": [1], "dtype": 3, "str_value": "7", "value": 0.0}, [7]),
    "arg_max without flatten": ("arg_max", {"X": X}, {"axis": 1}, [2, 2]),
}  # fmt: skip

FIRST: dict[str, Case] = {
    "lookup_table": ("lookup_table", {"W": X, "Ids": J}, {}, X[[1, 0]]),
    "lookup_table, padding": ("lookup_table", {"W": X, "Ids": J}, {"padding_idx": 1}, [[0, 0, 0], X[0]]),
    "top_k": ("top_k", {"X": X}, {"k": 2}, X[:, :0:-1]),
    "transpose": ("transpose", {"X": X}, {"axis": [1, 0]}, X.T),
    "reshape": ("reshape", {"X": X}, {"shape": [0, -1, 1]}, X[:, :, None]),
    "squeeze": ("squeeze", {"X": X[None]}, {"axes": [0]}, X),
    "unsqueeze": ("unsqueeze", {"X": X}, {"axes": [1]}, X[:, None]),
    "expand": ("expand", {"X": X}, {"expand_times": [1, 2]}, np.tile(X, (1, 2))),
    "expand_as": ("expand_as", {"X": X[:1], "target_tensor": X}, {}, X[[0, 0]]),
    "expand_as, a multiple": ("expand_as", {"X": X, "target_tensor": drawn(4, 3)}, {}, np.tile(X, (2, 1))),
    "one_hot": ("one_hot", {"X": J}, {"depth": 3}, np.eye(3, dtype="float32")[[1, 0]]),
    "flatten": ("flatten", {"X": X}, {"axis": 0}, X.reshape(1, 6)),
    "flatten2": ("flatten2", {"X": drawn(2, 3, 4)}, {"axis": 2}, drawn(2, 3, 4).reshape(6, 4)),
    "flatten2, last": ("flatten2", {"X": X}, {"axis": 2}, X.reshape(6, 1)),
    "crop": ("crop", {"X": X}, {"shape": [1, 2], "offsets": [1, 1]}, X[1:, 1:]),
    "isfinite": ("isfinite", {"X": np.array([1.0, np.inf])}, {}, False),
    "isnan": ("isnan", {"X": np.array([1.0, np.nan])}, {}, True),
    "bilinear_interp": (
        "bilinear_interp", {"X": X[None, None]}, {"out_h": 2, "out_w": 5, "scale": 0.0, "align_corners": True},
        np.stack([np.interp(np.arange(5) / 2, range(3), row) for row in X])[None, None],
    ),
    "nearest_interp, a scale": (
        "nearest_interp", {"X": X[None, None]}, {"out_h": 0, "out_w": 0, "scale": 2.0, "align_corners": False},
        X.repeat(2, 0).repeat(2, 1)[None, None],
    ),
    "pad2d": (
        "pad2d", {"X": X[None, None]}, {"paddings": [1, 0, 0, 2], "mode": "constant", "pad_value": 0.5},
        np.pad(X, ((1, 0), (0, 2)), constant_values=0.5)[None, None],
    ),
    "pad2d, edge, channels last": (
        "pad2d", {"X": X[None, :, :, None]}, {"paddings": [0, 1, 2, 0], "mode": "edge", "data_format": "NHWC"},
        np.pad(X, ((0, 1), (2, 0)), mode="edge")[None, :, :, None],
    ),
    "affine_channel": (
        "affine_channel", {"X": X.reshape(1, 2, 3, 1), "Scale": drawn(2), "Bias": drawn(2, seed=1)}, {},
        X.reshape(1, 2, 3, 1) * drawn(2).reshape(2, 1, 1) + drawn(2, seed=1).reshape(2, 1, 1),
    ),
    "reduce_mean of all": ("reduce_mean", {"X": X}, {"dim": [0], "reduce_all": True}, X.mean()),
    "reduce_any": ("reduce_any", {"X": X > 2}, {"dim": [1], "keep_dim": True}, [[False], [True]]),
    "tril_triu": ("tril_triu", {"X": X}, {"lower": False, "diagonal": 1}, np.triu(X, 1)),
    "fill_zeros_like": ("fill_zeros_like", {"X": X}, {}, X * 0),
    "elementwise_add, a middle axis": (
        "elementwise_add", {"X": drawn(2, 3, 4), "Y": drawn(3)}, {"axis": 1}, drawn(2, 3, 4) + drawn(3)[:, None],
    ),
    "elementwise_sub, ones at the end": (
        "elementwise_sub", {"X": drawn(2, 3, 4), "Y": drawn(2, 1, 1)}, {"axis": 0}, drawn(2, 3, 4) - drawn(2, 1, 1),
    ),
    "elementwise_mul, the first is smaller": (
        "elementwise_mul", {"X": drawn(3), "Y": drawn(2, 3, 4)}, {"axis": 1}, drawn(3)[:, None] * drawn(2, 3, 4),
    ),
    "mul": (
        "mul", {"X": drawn(2, 3, 4), "Y": drawn(2, 6, 5)}, {"x_num_col_dims": 1, "y_num_col_dims": 2},
        drawn(2, 3, 4).reshape(2, 12) @ drawn(2, 6, 5).reshape(12, 5),
    ),
    "mul, more columns": (
        "mul", {"X": drawn(2, 3, 4), "Y": drawn(4, 5, 2)}, {"x_num_col_dims": 2, "y_num_col_dims": 1},
        np.einsum("abc,cde->abde", drawn(2, 3, 4), drawn(4, 5, 2)),
    ),
    "matmul, alpha": (
        "matmul", {"X": X, "Y": X}, {"transpose_X": False, "transpose_Y": True, "alpha": 0.5}, X @ X.T * 0.5,
    ),
    "share_buffer": ("share_buffer", {"X": X}, {}, X),
    "leaky_relu, above 1": ("leaky_relu", {"X": X}, {"alpha": 2.0}, np.maximum(X, 2 * X)),
    "c_split of one": ("c_split", {"X": X}, {"nranks": 1}, X),
    "c_sync_calc_stream": ("c_sync_calc_stream", {"X": X}, {}, X),
    "multiplex": ("multiplex", {"X": [X, X + 10], "Ids": J.astype("int32")}, {}, [X[0] + 10, X[1]]),
}  # fmt: skip

W, B, S, P = drawn(3, 4), drawn(4), drawn(4, seed=1), drawn(2, 4)
Q, R = drawn(2, 5, 8), drawn(8, 3, 8)


def attention() -> np.ndarray:
    q, k, v = (np.einsum("btc,cd->btd", Q, R[:, i]) + drawn(3, 8)[i] for i in range(3))
    parts = [softmax(q[..., c] @ k[..., c].swapaxes(1, 2) * 0.5 + 0.25) @ v[..., c] for c in (slice(4), slice(4, 8))]
    return np.concatenate(parts, -1)


FUSED: dict[str, Case] = {
    "fc": ("fc", {"Input": X, "W": W, "Bias": B}, {"activation_type": "relu"}, relu(X @ W + B)),
    "fc, more rows": (
        "fc", {"Input": drawn(2, 5, 3), "W": W}, {"in_num_col_dims": 2}, drawn(2, 5, 3) @ W,
    ),
    "fused_elementwise_add": (
        "fused_elementwise_add", {"X": X, "Y": X}, {"fuse_activation": "sigmoid", "axis": -1}, 1 / (1 + np.exp(-2 * X)),
    ),
    "skip_layernorm": (
        "skip_layernorm", {"X": P, "Y": P * 2, "Scale": S, "Bias": B}, {"begin_norm_axis": 1, "epsilon": 1e-5},
        norm(P * 3, S, B),
    ),
    "fused_embedding_eltwise_layernorm": (
        "fused_embedding_eltwise_layernorm",
        {"Ids": [np.array([[[1], [0]]]), np.array([[2, 2]])], "Embs": [P, drawn(3, 4)], "Scale": S, "Bias": B}, {},
        norm(P[[1, 0]] + drawn(3, 4)[[2, 2]], S, B)[None],
    ),
    "fused_fc_elementwise_layernorm": (
        "fused_fc_elementwise_layernorm", {"X": X, "W": W, "Y": P, "Bias0": B, "Scale": S, "Bias1": B},
        {"activation_type": "relu"}, norm(relu(X @ W + B) + P, S, B),
    ),
    "multihead_matmul": (
        "multihead_matmul", {"Input": Q, "W": R, "Bias": drawn(3, 8), "BiasQK": np.full((2, 2, 5, 5), 0.25, "float32")},
        {"head_number": 2, "alpha": 0.5}, attention(),
    ),
    "fusion_squared_mat_sub": (
        "fusion_squared_mat_sub", {"X": X, "Y": W}, {"scalar": 0.5}, ((X @ W) ** 2 - X**2 @ W**2) * 0.5,
    ),
    "fusion_repeated_fc_relu": (
        "fusion_repeated_fc_relu", {"X": X, "W": [W, drawn(4, 2)], "Bias": [B, drawn(2)]}, {},
        relu(relu(X @ W + B) @ drawn(4, 2) + drawn(2)),
    ),
    "fusion_transpose_flatten_concat": (
        "fusion_transpose_flatten_concat", {"X": [Q, Q * 2]},
        {"trans_axis": [0, 2, 1], "flatten_axis": 1, "concat_axis": 1},
        np.concatenate([x.swapaxes(1, 2).reshape(2, 40) for x in (Q, Q * 2)], 1),
    ),
    "fused_matmul": (
        "fused_matmul", {"X": X, "Y": X, "ResidualData": np.ones((3, 3), "float32")},
        {"trans_x": True, "matmul_alpha": 2.0, "fuse_activation": "relu"}, relu(X.T @ X * 2 + 1),
    ),
    "fused_elemwise_activation": (
        "fused_elemwise_activation", {"X": X, "Y": X}, {"functor_list": ["elementwise_add", "relu"]}, X + relu(X),
    ),
    "fused_elemwise_activation, the other way": (
        "fused_elemwise_activation", {"X": X, "Y": X}, {"functor_list": ["scale", "elementwise_mul"], "scale": 3.0},
        X * X * 3,
    ),
    "conv2d with a bias and a residual": (
        "conv2d", {"Input": X.reshape(1, 3, 2, 1), "Filter": drawn(4, 3, 1, 1), "Bias": B,
                   "ResidualData": np.ones((1, 4, 2, 1), "float32")}, {"fuse_activation": "relu"},
        relu(np.einsum("nchw,oc->nohw", X.reshape(1, 3, 2, 1), drawn(4, 3, 1, 1)[:, :, 0, 0]) + B.reshape(4, 1, 1) + 1),
    ),
    "conv2d_fusion": (
        "conv2d_fusion", {"Input": X.reshape(1, 3, 2, 1), "Filter": drawn(4, 3, 1, 1), "Bias": B}, {},
        relu(np.einsum("nchw,oc->nohw", X.reshape(1, 3, 2, 1), drawn(4, 3, 1, 1)[:, :, 0, 0]) + B.reshape(4, 1, 1)),
    ),
}  # fmt: skip

FUSED["quantize"] = (
    "quantize",
    {"Input": X},
    {"Scale": 20.0, "is_negative_input": True},
    np.round(X * 20).astype("int8"),
)
FUSED["quantize, unsigned"] = "quantize", {"Input": X}, {"Scale": 20.0, "Shift": 50.0}, np.round(X * 20 + 50)
FUSED["dequantize"] = "dequantize", {"Input": N.astype("uint8")}, {"Scale": 4.0, "Shift": 1.0}, (N - 1.0) / 4


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | float = 0.0) -> np.ndarray:
    """Attention over [batch, heads, steps, size]."""
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + mask) @ v


HEADS = drawn(2, 3, 4, 5)
CACHE = drawn(2, 2, 3, 6, 4)  # keys and values of 2 samples, 3 heads, 6 steps
NEW = drawn(2, 3, 3, 4)  # query, key and value of one step
STEPS = np.concatenate([CACHE[:, :, :, :2], NEW[:, 1:].swapaxes(0, 1)[:, :, :, None]], 3)  # behind 2 steps of the past

SERVED: dict[str, Case] = {
    "rms_norm": (
        "rms_norm", {"x": P, "residual": P, "norm_weight": S}, {"epsilon": 1e-5, "begin_norm_axis": 1},
        2 * P / np.sqrt(((2 * P) ** 2).mean(1, keepdims=True) + 1e-5) * S,
    ),
    "memory_efficient_attention": (
        "memory_efficient_attention", {"query": HEADS, "key": HEADS, "value": HEADS}, {"scale": -1.0, "is_test": True},
        attended(*[HEADS.swapaxes(1, 2)] * 3).swapaxes(1, 2),
    ),
    "variable_length_memory_efficient_attention": (
        "variable_length_memory_efficient_attention",
        {"query": HEADS, "key": HEADS, "value": HEADS, "seq_lens": np.array([[4], [4]], "int32"),
         "kv_seq_lens": np.array([[2], [4]], "int32")}, {"scale": float(5**-0.5), "causal": False},
        attended(HEADS, HEADS, HEADS, np.where(np.arange(4) < np.array([2, 4]).reshape(2, 1, 1, 1), 0, -1e9)),
    ),
    "masked_multihead_attention": (
        "masked_multihead_attention",
        {"x": NEW.reshape(2, 36), "cache_kv": CACHE, "src_mask": np.zeros((2, 1, 1, 3), "float32")}, {},
        attended(NEW[:, 0, :, None], *STEPS).reshape(2, 12),
    ),
    "view_shape": ("view_shape", {"input": X}, {"dims": [3, 2]}, X.reshape(3, 2)),
}  # fmt: skip


def transformer(x: np.ndarray, weights: dict[str, list[np.ndarray]]) -> np.ndarray:
    """A layer of a decoder: norms before attention and before a product of two, and what went in beside each."""
    w = {k: v[0] for k, v in weights.items()}
    y = norm(x, w["LnScale"], w["LnBias"])
    q, k, v = np.einsum("btc,nhdc->nbhtd", y, w["QKVW"]) + w["QKVBias"][:, None, :, None]
    x = x + attended(q, k, v).swapaxes(1, 2).reshape(x.shape) @ w["OutLinearW"] + w["OutLinearBias"]
    y = relu(norm(x, w["FFNLnScale"], w["FFNLnBias"]) @ w["FFN1Weight"] + w["FFN1Bias"])
    return x + y @ w["FFN2Weight"] + w["FFN2Bias"]


LAYER = {
    "LnScale": [drawn(8)], "LnBias": [drawn(8, seed=1)], "QKVW": [drawn(3, 2, 4, 8)], "QKVBias": [drawn(3, 2, 4)],
    "OutLinearW": [drawn(8, 8)], "OutLinearBias": [drawn(8, seed=2)], "FFNLnScale": [drawn(8, seed=3)],
    "FFNLnBias": [drawn(8, seed=4)], "FFN1Weight": [drawn(8, 6)], "FFN1Bias": [drawn(6)],
    "FFN2Weight": [drawn(6, 8)], "FFN2Bias": [drawn(8, seed=5)],
}  # fmt: skip
SERVED["fused_multi_transformer"] = (
    "fused_multi_transformer", {"X": Q, **LAYER},
    {"pre_layer_norm": True, "act_method": "relu", "is_test": True, "dropout_rate": 0.0}, transformer(Q, LAYER),
)  # fmt: skip

OUTPUTS = {
    **dict.fromkeys([kind for kind, *_ in SERVED.values()], "out"),
    "memory_efficient_attention": "output",
    "fused_multi_transformer": "Out",
    "quantize": "Output",
    "dequantize": "Output",
    "conv2d": "Output",
    "conv2d_fusion": "Output",
    "top_k": "Out Indices",
}
CASES = {**OLDER, **FIRST, **FUSED, **SERVED}


@pytest.mark.parametrize("name", CASES)
def test_an_operator(name: str) -> None:
    kind, inputs, attributes, expected = CASES[name]
    found = result(kind, inputs, OUTPUTS.get(kind, "Out"), **attributes)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_file_has_nothing_of_an_operator_that_is_not_said() -> None:
    """Defaults are of the table, not of the file that the tests write."""
    o = program.Operator("softplus", {"X": ["x"]}, {"Out": ["y"]})
    (block,) = program.read(program.write(program.LegacyProgram([program.LegacyBlock(-1, {}, [o])]))).blocks
    assert block.operators[0].attributes == {}


def test_operators_of_no_use_in_inference_are_named_with_reasons() -> None:
    kinds = "adam", "c_allreduce_sum", "read_file", "py_func", "relu_grad", "of_nobody"
    block = program.LegacyBlock(-1, {}, [program.Operator(k, {}, {}) for k in kinds])
    with pytest.raises(FormatError) as error:
        read_pdmodel(program.write(program.LegacyProgram([block])))
    text = str(error.value)
    assert "adam (of training), c_allreduce_sum (of several processes), of_nobody, py_func (calls Python" in text
    assert "read_file (of files and readers), relu_grad (of training)" in text


def test_parts_of_several_processes_are_refused() -> None:
    with pytest.raises(FormatError, match="a program of one process is required, got one of 2"):
        result("c_concat", {"X": X}, nranks=2)


def test_a_branch_that_is_needed_twice_has_all_of_its_conditions() -> None:
    """One of its variables had a value before, the other one is picked; both come from a condition inside of it."""

    def variables(*names: str) -> dict[str, program.Variable]:
        return {
            n: program.Variable(n, program.DENSE, TensorType("bool" if n in "cdef" else "float32", (1,))) for n in names
        }

    def block(number: int, condition: str) -> program.Operator:
        made = operator("conditional_block", {"Cond": [condition]}, "Scope", is_scalar_condition=True, sub_block=number)
        made.kinds["sub_block"] = program.BLOCK
        return made

    def put(kind: str, x: str, y: str, **attributes: Any) -> program.Operator:
        made = operator(kind, {"X": [x]}, **attributes)
        made.outputs = {"Out": [y]}
        return made

    def pick(first: str, second: str, out: str) -> program.Operator:
        made = operator("select_input", {"X": [first, second], "Mask": ["m"]})
        made.outputs = {"Out": [out]}
        return made

    more = {"scale": 1.0, "bias_after_scale": True}
    outer = [
        put("feed", "feed", "c", col=0), put("feed", "feed", "d", col=1), put("feed", "feed", "x", col=2),
        put("assign", "x", "old"), block(1, "c"), put("logical_not", "c", "e"), block(2, "e"),
        put("cast", "c", "m", out_dtype=2), pick("new2", "new", "picked"),
        put("fetch", "old", "fetch", col=0), put("fetch", "picked", "fetch", col=1),
    ]  # fmt: skip
    inner = [
        block(3, "d"), put("logical_not", "d", "f"), block(4, "f"), put("cast", "d", "m", out_dtype=2),
        pick("b", "a", "p"), pick("b", "a", "q"), put("assign", "p", "old"), put("assign", "q", "new"),
    ]  # fmt: skip
    blocks = [
        program.LegacyBlock(-1, variables("c", "d", "e", "x", "m", "old", "new", "new2", "picked"), outer),
        program.LegacyBlock(0, variables("f", "a", "b", "p", "q"), inner),
        program.LegacyBlock(0, {}, [put("scale", "x", "new2", bias=100.0, **more)]),
        program.LegacyBlock(1, {}, [put("scale", "x", "a", bias=1.0, **more)]),
        program.LegacyBlock(1, {}, [put("scale", "x", "b", bias=2.0, **more)]),
    ]
    module = read_pdmodel(program.write(program.LegacyProgram(blocks)))
    for c, d, expected in ((True, True, (6, 6)), (True, False, (7, 7)), (False, True, (5, 105))):
        fed = {"c": np.array([c]), "d": np.array([d]), "x": np.array([5], "float32")}
        found = record.Values(module, {}, {k: paddle.to_tensor(v) for k, v in fed.items()}).run()
        assert tuple(float(y) for y in found) == expected
