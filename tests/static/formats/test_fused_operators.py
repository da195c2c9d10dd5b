"""Operators that the reference has no kernel for on a CPU: by what they are made of."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.nn import functional as F
from paddle.static.formats.graph import Attribute, Block, Module, Operation, Result, TensorType
from paddle.static.formats.operators.table import TABLE
from paddle.static.formats.record import Values


def normal(*shape, seed=0):
    return paddle.to_tensor(np.random.RandomState(seed).standard_normal(shape).astype("float32"))


def attribute(x):
    if isinstance(x, (list, tuple)):
        return Attribute("array", tuple(map(attribute, x)))
    return Attribute({bool: "bool", int: "i64", float: "f64", str: "str"}[type(x)], x)


def call(name, *operands, **attributes):
    o = Operation(f"pd_op.{name}", attributes={k: attribute(v) for k, v in attributes.items()})
    return TABLE[o.name].call(o, list(operands))


def first(found):
    return found[0] if isinstance(found, tuple) else found


def same(a, b, tolerance=1e-5):
    np.testing.assert_allclose(first(a).numpy(), b.numpy(), rtol=tolerance, atol=tolerance)


X, Y, W, B = normal(2, 3, 4), normal(2, 3, 4, seed=1), normal(4, 5, seed=2), normal(5, seed=3)
S, T = normal(4, seed=4), normal(4, seed=5)


def test_norms_behind_sums():
    norm = F.layer_norm(X + Y, [4], S, T)
    same(call("skip_layernorm", X, Y, S, T, epsilon=1e-5, begin_norm_axis=2), norm)
    same(call("fast_ln", X, S, T, epsilon=1e-5), F.layer_norm(X, [4], S, T))
    same(call("fast_rms_norm", X, S, epsilon=1e-6), F.rms_norm(X, 4, S, 1e-6)[0])
    found = call(
        "fused_bias_residual_layernorm", X, S, Y, S, T, epsilon=1e-5, residual_alpha=0.5, begin_norm_axis=2,
        quant_scale=-1.0,
    )  # fmt: skip
    same(found, F.layer_norm(X + S + 0.5 * Y, [4], S, T))
    same(found[1], X + S + 0.5 * Y)
    rows = (X + S + 0.5 * Y).reshape([6, 4])
    same(found[2], rows.mean(1))
    same(found[3], paddle.rsqrt(rows.var(1, unbiased=False) + 1e-5))
    sums = call("fused_bias_residual_layernorm", X, S, Y, epsilon=1e-5, residual_alpha=0.5, begin_norm_axis=2)
    same(sums, X + S + 0.5 * Y)  # without weights nothing is normalised
    found = call("fused_rms_norm_quant", X, S, Y, S, T, epsilon=1e-5, begin_norm_axis=2, quant_scale=-1.0)
    norm, scales = F.rms_norm(X + S + Y, 4, S, 1e-5)
    same(found, norm + T)
    same(found[1], X + S + Y)
    same(found[2], scales.flatten())
    found = call(
        "fused_bias_dropout_residual_layer_norm", X, Y, S, S, T, dropout_rate=0.5, is_test=True,
        dropout_implementation="downgrade_in_infer", ln_epsilon=1e-5,
    )  # fmt: skip
    same(found, F.layer_norm(Y + (X + S) * 0.5, [4], S, T))
    y = normal(6, 5, seed=6)
    flat = F.layer_norm(F.relu(X.reshape([6, 4]) @ W + B) + y, [5], B, B)
    same(
        call("fused_fc_elementwise_layernorm", X.reshape([6, 4]), W, y, B, B, B, activation_type="relu", epsilon=1e-5),
        flat,
    )
    ids = paddle.to_tensor([[[0], [2]]])
    tables = [normal(3, 4, seed=7), normal(3, 4, seed=8)]
    total = tables[0][ids[..., 0]] + tables[1][ids[..., 0]]
    found = call("fused_embedding_eltwise_layernorm", [ids, ids], tables, T, S, epsilon=1e-5)
    same(found, F.layer_norm(total, [4], S, T))
    image, other = normal(1, 4, 2, 2), normal(1, 4, 2, 2, seed=9)
    found = call("add_group_norm_silu", image, other, S, T, epsilon=1e-5, groups=2, activation="silu")
    same(found, F.silu(F.group_norm(image + other, 2, 1e-5, S, T)))


@pytest.mark.parametrize("act", ["gelu", "relu", "geglu", "swiglu"])
def test_activations_around_integers(act):
    """What a matmul of int8 leaves and the next one takes."""
    x = paddle.to_tensor(np.random.RandomState(0).randint(-9, 9, (3, 4)).astype("int32"))
    wide = x.astype("float32") * S + T
    gate, value = wide[:, :2], wide[:, 2:]
    plain = {
        "gelu": lambda: F.gelu(wide), "relu": lambda: F.relu(wide),
        "geglu": lambda: F.gelu(gate) * value, "swiglu": lambda: F.silu(gate) * value,
    }[act]()  # fmt: skip
    u, v = normal(plain.shape[1], seed=6), normal(plain.shape[1], seed=7)
    same(call("fused_bias_act", x, T, S, act_method=act, compute_dtype="fp32"), plain)
    found = call(
        "fused_bias_act", x, T, S, u, v, act_method=act, compute_dtype="fp32", quant_scale=0.1, quant_round_type=1,
        quant_max_bound=127.0, quant_min_bound=-127.0,
    )  # fmt: skip
    assert found.dtype is paddle.int8
    level = np.clip(12.7 * ((plain + u) * v).numpy(), -127, 127)
    assert np.abs(found.numpy() - level).max() < 0.501


def test_norms_that_end_in_levels():
    levels = {"quant_scale": 0.1, "quant_round_type": 0, "quant_max_bound": 127.0, "quant_min_bound": -127.0}
    for name in ("fused_bias_residual_layernorm", "fused_rms_norm_quant"):
        plain, *sums = call(name, X, S, Y, S, T, epsilon=1e-5, begin_norm_axis=2)
        found, *others = call(name, X, S, Y, S, T, epsilon=1e-5, begin_norm_axis=2, **levels)
        assert found.dtype is paddle.int8
        assert np.abs(found.numpy() - np.clip(12.7 * plain.numpy(), -127, 127)).max() < 0.501
        for a, b in zip(sums, others, strict=True):
            same(a, b)


def test_products_with_activations():
    same(call("fc", X, W, B, in_num_col_dims=2, activation_type="relu"), F.relu(X @ W + B))
    same(call("gemm_epilogue", X, W, B, in_num_col_dims=2, activation_type="gelu"), F.gelu(X @ W + B))
    same(call("fused_gemm_epilogue", X, W, B, activation="none"), X @ W + B)
    same(call("fused_bias_act", X, S, act_method="swish"), F.swish(X + S))
    padded = F.pad(W, [0, 4, 0, 4])
    same(call("fc", X, padded, B, in_num_col_dims=2, padding_weights=True), X @ W + B)
    image, kernel = normal(1, 2, 5, 5), normal(3, 2, 3, 3, seed=1)
    y = F.conv2d(image, kernel, padding=1)
    found = call(
        "fused_conv2d_add_act", image, kernel, None, y, strides=[1, 1], paddings=[1, 1], dilations=[1, 1], groups=1,
        activation="relu", split_channels=[1, 2],
    )  # fmt: skip
    same(found, F.relu(2.0 * y))
    same(found[1][1], F.relu(2.0 * y)[:, 1:])
    same(call("batch_fc", normal(2, 3, 4), normal(2, 4, 5, seed=1), normal(2, 5, seed=2)),
         paddle.bmm(normal(2, 3, 4), normal(2, 4, 5, seed=1)) + normal(2, 1, 5, seed=2))  # fmt: skip
    squares = (X[0] @ W) ** 2 - (X[0] ** 2) @ (W**2)
    same(call("fusion_squared_mat_sub", X[0], W, scalar=0.5)[3], 0.5 * squares)
    same(call("fusion_transpose_flatten_concat", [X, Y], trans_axis=[0, 2, 1], flatten_axis=1, concat_axis=1),
         paddle.concat([v.transpose([0, 2, 1]).flatten(1) for v in (X, Y)], 1))  # fmt: skip


@pytest.mark.parametrize(
    ("end", "function"), [("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("div", "divide")]
)
def test_elementwise_with_activations(end, function):
    same(call(f"fused_elementwise_{end}", X, Y, fuse_activation="relu"), F.relu(getattr(paddle, function)(X, Y)))
    with pytest.raises(ValueError, match="not quantised"):
        call(f"fused_elementwise_{end}", X, Y, scale_x=2.0)


def test_elementwise_of_two_functions():
    same(call("fused_elemwise_activation", X, Y, functor_list=["relu", "elementwise_add"]), F.relu(X + Y))
    same(call("fused_elemwise_activation", X, Y, functor_list=["elementwise_mul", "tanh"]), X * paddle.tanh(Y))
    same(call("fused_elemwise_add_activation", X, Y, functor_list=["scale", "elementwise_add"], scale=2.0), (X + Y) * 2)


def attention(q, k, v, mask=None, scale=None):
    """Over ``[batch, length, heads, size]``."""
    q, k, v = (x.transpose([0, 2, 1, 3]) for x in (q, k, v))
    scores = q @ k.transpose([0, 1, 3, 2]) * (q.shape[-1] ** -0.5 if scale is None else scale)
    return (F.softmax(scores if mask is None else scores + mask) @ v).transpose([0, 2, 1, 3])


def test_attention():
    q, k, v = (normal(2, 3, 2, 4, seed=s) for s in range(3))
    mask = normal(2, 1, 3, 3, seed=9)
    same(call("flash_attn", q, k, v, is_test=True), attention(q, k, v))
    same(call("memory_efficient_attention", q, k, v, causal=False, dropout_p=0.0, scale=0.3, is_test=True),
         attention(q, k, v, scale=0.3))  # fmt: skip
    same(call("flash_attn_qkvpacked", paddle.stack([q, k, v], 2).reshape([2, 3, 3, 2, 4]), is_test=True),
         attention(*(paddle.stack([q, k, v], 2)[:, :, i] for i in range(3))))  # fmt: skip
    same(call("qkv_unpack_mha", q, k, v, mask), attention(q, k, v, mask))
    packed = paddle.stack([q, k, v], 2)
    same(call("self_dp_attention", packed, alpha=0.5, head_number=2), attention(q, k, v, scale=0.5))
    x, w, b = normal(2, 3, 8), normal(8, 3, 8, seed=1), normal(3, 8, seed=2)
    made = (x @ w.reshape([8, 24]) + b.reshape([-1])).reshape([2, 3, 3, 2, 4])
    expected = attention(*(made[:, :, i] for i in range(3)), mask, 0.5).reshape([2, 3, 8])
    same(call("multihead_matmul", x, w, b, mask, alpha=0.5, head_number=2), expected)


@pytest.mark.parametrize("before", [True, False])
def test_layers_of_transformers(before):
    x, mask = normal(2, 3, 8), normal(2, 1, 3, 3, seed=1)
    s, b = normal(8, seed=2), normal(8, seed=3)
    weight, bias = normal(3, 2, 4, 8, seed=4), normal(3, 2, 4, seed=5)
    out = normal(8, 8, seed=6)
    h = F.layer_norm(x, [8], s, b) if before else x
    made = paddle.einsum("bld,chkd->blchk", h, weight) + bias
    y = x + attention(*(made[:, :, i] for i in range(3)), mask).reshape([2, 3, 8]) @ out + b
    expected = y if before else F.layer_norm(y, [8], s, b)
    found = call(
        "fused_attention", x, s, b, weight, bias, None, mask, out, b, s, b, num_heads=2, transpose_qkv_wb=False,
        pre_layer_norm=before, epsilon=1e-5, attn_dropout_rate=0.5, is_test=True, dropout_rate=0.5, ln_epsilon=1e-5,
        add_residual=True,
    )  # fmt: skip
    same(found[-1], expected, 1e-4)
    up, down = normal(8, 16, seed=7), normal(16, 8, seed=8)
    h = F.layer_norm(x, [8], s, b) if before else x
    y = x + F.gelu(h @ up) @ down + b
    found = call(
        "fused_feedforward", x, None, None, up, None, down, b, s, b, s, b, pre_layer_norm=before, ln1_epsilon=1e-5,
        ln2_epsilon=1e-5, act_method="gelu", dropout1_prob=0.5, dropout2_prob=0.5,
        dropout1_implementation="upscale_in_train", dropout2_implementation="upscale_in_train", is_test=True,
        add_residual=True,
    )  # fmt: skip
    same(found, y if before else F.layer_norm(y, [8], s, b), 1e-4)


@pytest.mark.parametrize("neighbours", [True, False])
def test_rotated_positions(neighbours):
    """Pairs of elements turn by an angle: neighbours, or an element of each half."""
    q = normal(1, 5, 2, 4)
    angles = np.arange(5)[:, None] * 10000.0 ** (-np.arange(0, 4, 2) / 4)
    z = q.numpy().astype("float64")
    a, b = (z[..., ::2], z[..., 1::2]) if neighbours else (z[..., :2], z[..., 2:])
    rotated = (a + 1j * b) * np.exp(1j * angles)[None, :, None]
    expected = np.empty_like(z)
    if neighbours:
        expected[..., ::2], expected[..., 1::2] = rotated.real, rotated.imag
    else:
        expected[..., :2], expected[..., 2:] = rotated.real, rotated.imag
    found, k, v = call("fused_rotary_position_embedding", q, use_neox_rotary_style=neighbours)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-5)
    assert k is None
    assert v is None
    long = normal(1, 9, 2, 4)
    with_ids = call("fused_rotary_position_embedding", q, use_neox_rotary_style=neighbours, time_major=False)[0]
    at = paddle.to_tensor([[0, 1, 2, 3, 4]])
    tables = np.repeat(np.arange(9)[:, None] * 10000.0 ** (-np.arange(0, 4, 2) / 4), 2, -1)
    if not neighbours:
        tables = tables[:, [0, 2, 1, 3]]
    sin, cos = (paddle.to_tensor(f(tables).astype("float32").reshape(1, 9, 1, 4)) for f in (np.sin, np.cos))
    same(
        call("fused_rotary_position_embedding", q, None, None, sin, cos, at, use_neox_rotary_style=neighbours), with_ids
    )
    assert call("fused_rotary_position_embedding", long, None, None, sin, cos)[0].shape == [1, 9, 2, 4]


def test_numbers_that_were_quantised():
    x = paddle.to_tensor([[-128, 3], [5, 127]], "int8")
    zero = paddle.zeros([1])
    found = call("dequantize_linear", x, paddle.to_tensor([1.5]), zero, quant_axis=-1, bit_length=8)
    np.testing.assert_allclose(found[0].numpy(), x.numpy() * 1.5 / 127, rtol=1e-6)
    found = call("dequantize_linear", x, paddle.to_tensor([1.5, 0.5]), zero, quant_axis=0, bit_length=8)
    np.testing.assert_allclose(found[0].numpy(), x.numpy() * [[1.5], [0.5]] / 127, rtol=1e-6)
    with pytest.raises(ValueError, match="a number of bits from 1 to 64, got 2147483647"):
        call("fake_quantize_abs_max", X, bit_length=2**31 - 1)


def levels(x, scale, round_type):
    """In float64: levels of 8 bits, of which 127 stands for the scale."""
    y = x.astype("float64") / np.where(scale <= 1e-30, scale + 1e-6, scale) * 127
    if round_type == 0:
        return np.clip(np.round(y), -128, 127)
    y = np.clip(y, -127, 127)
    return np.sign(y) * np.floor(np.abs(y) + 0.5)


@pytest.mark.parametrize("round_type", [0, 1])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_levels_of_scales(axis, round_type):
    x = np.float32([[0.3, -2.0, 5.0, 0.0], [0.0, 0.0, 0.0, 0.0], [1.0, -1.0, 0.1, 0.0]])  # a row and a column of zeros
    largest = np.abs(x).max() if axis == -1 else np.abs(x).max(1 - axis, keepdims=True)
    known = {"bit_length": 8, "round_type": round_type}
    if axis == -1:
        scale, names = paddle.to_tensor([float(largest)]), ["fake_quantize_abs_max", "fake_quantize_dequantize_abs_max"]
    else:
        scale = paddle.to_tensor(largest.reshape([-1]))
        names = ["fake_channel_wise_quantize_abs_max", "fake_channel_wise_quantize_dequantize_abs_max"]
    found = [
        call("quantize_linear", paddle.to_tensor(x), scale, paddle.zeros([1]), quant_axis=axis, **known),
        *(call(name, paddle.to_tensor(x), **known, **({} if axis == -1 else {"quant_axis": axis})) for name in names),
    ]
    wanted = levels(x, largest, round_type)
    np.testing.assert_array_equal(found[0][0].numpy(), wanted)
    np.testing.assert_array_equal(found[1][0].numpy(), wanted)
    np.testing.assert_allclose(found[2][0].numpy(), wanted * largest / 127, rtol=1e-6)


@pytest.mark.parametrize("is_test", [True, False])
def test_nothing_but_zeros_has_levels(is_test):
    one, none = paddle.ones([1]), paddle.zeros([1])
    for name in ("fake_quantize_moving_average_abs_max", "fake_quantize_dequantize_moving_average_abs_max"):
        for round_type in (0, 1):
            found = call(name, X * 0, none, none, one, is_test=is_test, round_type=round_type)
            assert not found[0].numpy().any(), (name, round_type)


def test_training_goes_through_levels():
    scale = paddle.to_tensor([1.5], stop_gradient=False)
    for name, operands, known in (
        ("fake_quantize_dequantize_abs_max", [], {}),
        ("fake_channel_wise_quantize_dequantize_abs_max", [], {"quant_axis": 1}),
        ("fake_quantize_dequantize_moving_average_abs_max", [scale], {"is_test": True}),
        ("fake_quantize_dequantize_moving_average_abs_max", [scale, scale, scale], {"is_test": False}),
    ):
        x = X.detach()
        plain = first(call(name, x, *operands, **known))
        x.stop_gradient = False
        y = first(call(name, x, *operands, **known))
        (y * Y).sum().backward()
        assert x.grad.tolist() == Y.tolist(), name
        assert scale.grad is None
        assert y.tolist() == plain.tolist()


@pytest.mark.parametrize("round_type", [0, 1])
def test_infinite_values_have_the_last_levels_in_training_too(round_type):
    name, scale = "fake_quantize_dequantize_moving_average_abs_max", paddle.to_tensor([2.0])
    x = paddle.to_tensor([1.0, np.inf, -np.inf])
    plain = first(call(name, x, scale, is_test=True, round_type=round_type))
    x.stop_gradient = False
    y = first(call(name, x, scale, is_test=True, round_type=round_type))
    assert y.tolist() == plain.tolist() and np.isfinite(y.numpy()).all()


def test_scales_of_groups_of_rows():
    weight = paddle.to_tensor(np.arange(-8, 8, dtype="float32").reshape(4, 4))
    scales = paddle.to_tensor([[1.0, 2.0, 3.0, 4.0], [0.5, 0.25, 1.0, 2.0]])
    found = call("dequantize_linear", weight, scales, paddle.zeros([2, 4]), quant_axis=-1, bit_length=4)
    np.testing.assert_allclose(found[0].numpy(), weight.numpy() * scales.numpy().repeat(2, 0) / 7, rtol=1e-6)
    with pytest.raises(ValueError, match=r"a row of scales for each group of rows .* got \[3, 4\] beside \[4, 4\]"):
        call("dequantize_linear", weight, paddle.ones([3, 4]), paddle.zeros([3, 4]), quant_axis=-1, bit_length=4)


def test_dropout_in_evaluation():
    assert call("dropout", X, None, 0.25, is_test=True, mode="upscale_in_train")[0].tolist() == X.tolist()
    same(call("dropout", X, None, 0.25, is_test=True, mode="downgrade_in_infer"), X * 0.75)


def test_weights_of_one_flat_tensor():
    x, h, c = normal(3, 2, 3), normal(2, 2, 2), normal(2, 2, 2, seed=1)
    shapes = [(8, 3), (8, 2), (8, 2), (8, 2), (8,), (8,), (8,), (8,)]
    weights = [normal(*s, seed=10 + i) for i, s in enumerate(shapes)]
    flat = paddle.concat([w.flatten() for w in weights])
    known = {"hidden_size": 2, "num_layers": 2, "is_test": True}
    apart, whole = call("cudnn_lstm", x, h, c, None, weights, **known), call("cudnn_lstm", x, h, c, flat, **known)
    for a, b in zip(apart, whole, strict=True):
        same(a, b)
    y, _, states = call("rnn", x, [h, c], weights, None, None, mode="LSTM", **known)
    same(y, apart[0])
    same(states[0], apart[1])


def test_a_choice_of_inputs():
    flag = paddle.to_tensor([1], "int32")
    assert call("select_input", flag, X, Y) is Y
    tracer = paddle.static.Program()._tracer
    with tracer:
        mask = paddle.static.data("m", [1], "int32")
        chosen = tracer.tensor(call("select_input", mask, X, Y))
    assert [o.op.name for o in tracer.program([chosen.value]).ops] == ["reshape", "eq", "where"]


def test_a_check_of_the_program():
    assert call("assert", paddle.to_tensor([True]), None) == ()
    with pytest.raises(ValueError, match=r"requires that a condition of the model holds$"):
        call("assert", paddle.to_tensor([False]), None)
    with pytest.raises(ValueError, match=r"a condition of the model holds; got 3, 0\.5$"):
        call("assert", paddle.to_tensor([False]), [paddle.to_tensor(3), paddle.to_tensor([0.5])])


def test_numbers_of_matrices():
    x = normal(3, 3)
    sign, logarithm = call("slogdet_v2", x)
    same((sign,), paddle.linalg.slogdet(x)[0])
    same((logarithm,), paddle.linalg.slogdet(x)[1])
    flat = paddle.to_tensor(np.diag([1.0, 0.2, 0.0]).astype("float32"))
    for atol, rtol, rank in ((0.1, 0.0, 2), (0.5, 0.0, 1), (0.1, 0.5, 1)):
        found = call("matrix_rank_atol_rtol", flat, paddle.to_tensor(atol), paddle.to_tensor(rtol), hermitian=False)
        assert found.item() == rank
    same(call("fill_diagonal_tensor", x, normal(1, 3), offset=0, dim1=0, dim2=1).diagonal(), normal(3))


def test_weights_of_classes_are_of_elements():
    x, weight = normal(2, 3), paddle.to_tensor([1.0, 2.0, 3.0])
    label = paddle.to_tensor([[0.0, 1.0, 1.0], [1.0, 0.0, 0.3]])
    found = call("sigmoid_cross_entropy_with_logits", x, label, (weight - 1) * label + 1)
    same(found, F.binary_cross_entropy_with_logits(x, label, reduction="none", pos_weight=weight))


def test_loops_that_write_to_values_around_them():
    kind = TensorType("float32", (2,))
    place, flag = TensorType("int64", (1,)), TensorType("bool", (1,))

    def operation(which, operands, number, result=kind, regions=(), **attributes):
        made = {k: attribute(v) if not isinstance(v, Attribute) else v for k, v in attributes.items()}
        results = [] if number is None else [Result(number, result)]
        return Operation(which, operands, made, results, list(regions))

    def count(value, number):
        given = {"shape": Attribute("intarray", (1,)), "dtype": Attribute("dtype", "int64")}
        return operation("pd_op.full", [], number, place, value=float(value), **given)

    body = Block([], [
        operation("pd_op.array_read", [4, 1], 6),
        operation("pd_op.add", [6, 5], 7),
        operation("pd_op.increment_", [1], 8, place, value=1.0),
        operation("pd_op.array_write_", [4, 7, 1], 9),
        operation("pd_op.less_than", [1, 2], 10, flag),
        operation("pd_op.assign_out_", [10, 3], 11, flag),
        operation("cf.yield", [3], None),
    ])  # fmt: skip
    main = Block([], [
        operation("pd_op.data", [], 5, name="x"),
        count(0, 1),
        count(3, 2),
        operation("pd_op.less_than", [1, 2], 3, flag),
        operation("pd_op.create_array", [], 4),
        operation("pd_op.array_write_", [4, 5, 1], 12),
        operation("pd_op.while", [3], None, regions=[body]),
        operation("pd_op.array_to_tensor", [4], 13, axis=0, use_stack=True),
        operation("pd_op.fetch", [13], 14, name="out", col=0),
    ])  # fmt: skip
    x = normal(2)
    (found,) = Values(Module(main), {}, {"x": x}).run()
    same(found, paddle.stack([x, 2 * x, 3 * x, 4 * x]))
