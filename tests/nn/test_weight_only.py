"""Weights in 8 and 4 bits: the stored numbers, what is restored of them, and linear maps by them."""

import numpy as np
import pytest

import paddle
from paddle.nn import quant
from umiak.backends.cpu import low_bit_kernels
from umiak.backends.cpu.attention_kernels import host

T = paddle.to_tensor
ALGOS = {"weight_only_int8": 127, "weight_only_int4": 7, "llm.int8": 127}


def weight(inputs=64, outputs=32, dtype="float32", seed=0):
    return np.random.RandomState(seed).uniform(-1, 1, (inputs, outputs)).astype(dtype)


def numbers(w, limit, group=None):
    """Numbers [inputs, outputs] and scales by NumPy."""
    groups = w.astype("float32").reshape(-1, group or w.shape[0], w.shape[1])
    scale = np.abs(groups).max(1, keepdims=True) / np.float32(limit)
    return np.rint(groups / scale).reshape(w.shape), scale[:, 0]


@pytest.mark.parametrize("algo", ALGOS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_shapes_and_dtypes(algo, dtype):
    q, scale = quant.weight_quantize(T(weight()).astype(dtype), algo, arch=80)
    assert q.dtype is paddle.int8 and q.shape == ([16, 64] if algo == "weight_only_int4" else [32, 64])
    assert scale.shape == [32] and scale.dtype.name == ("float32" if algo == "llm.int8" else dtype)
    assert q.stop_gradient and scale.stop_gradient
    restored = quant.weight_dequantize(q, scale, algo)
    assert restored.shape == [64, 32] and restored.dtype is scale.dtype


@pytest.mark.parametrize("group", [-1, 64])
@pytest.mark.parametrize("algo", ["weight_only_int8", "weight_only_int4"])
def test_numbers_are_those_of_numpy(algo, group):
    w = weight(128)
    q, scale = quant.weight_quantize(T(w), algo, group_size=group)
    expected, scales = numbers(w, ALGOS[algo], None if group == -1 else group)
    stored = q.numpy().astype("int32")
    if algo == "weight_only_int4":
        low, high = ((stored & 15) ^ 8) - 8, stored >> 4
        stored = np.stack([low, high], 1).reshape(32, 128)
    assert np.array_equal(stored.T, expected)
    assert np.allclose(scale.numpy(), scales if group != -1 else scales[0], rtol=1e-6)
    restored = quant.weight_dequantize(q, scale, algo, group_size=group).numpy()
    per_input = np.repeat(scales, 128 // len(scales), 0)
    assert np.allclose(restored, expected * per_input, rtol=1e-5)
    assert np.all(np.abs(restored - w) <= per_input * 0.5001)


def test_what_is_restored_is_stored_the_same_again():
    for algo in ALGOS:
        q, scale = quant.weight_quantize(T(weight(seed=1)), algo)
        again, scale_again = quant.weight_quantize(quant.weight_dequantize(q, scale, algo), algo)
        assert np.array_equal(again.numpy(), q.numpy())
        assert np.allclose(scale_again.numpy(), scale.numpy(), rtol=1e-6)


def test_channels_of_zeros_and_of_one_sign():
    w = weight()
    w[:, 3], w[:, 4] = 0, -np.abs(w[:, 4])
    q, scale = quant.weight_quantize(T(w), "weight_only_int4")
    restored = quant.weight_dequantize(q, scale, "weight_only_int4").numpy()
    assert np.all(restored[:, 3] == 0) and np.all(restored[:, 4] <= 0) and np.isfinite(restored).all()


@pytest.mark.parametrize("group", [-1, 64, 128])
@pytest.mark.parametrize("bits", [8, 4])
def test_linear_is_that_of_the_restored_weight(bits, group):
    algo = f"weight_only_int{bits}"
    q, scale = quant.weight_quantize(T(weight(128)), algo, group_size=group)
    restored = quant.weight_dequantize(q, scale, algo, group_size=group).numpy()
    x = T(weight(6, 128, seed=2).reshape(2, 3, 128), stop_gradient=False)
    bias = T(weight(1, 32, seed=3)[0], stop_gradient=False)
    y = quant.weight_only_linear(x, q, bias, scale, f"int{bits}", group_size=group)
    assert y.shape == [2, 3, 32] and np.allclose(y.numpy(), x.numpy() @ restored + bias.numpy(), atol=1e-4)
    y.sum().backward()
    assert np.allclose(x.grad.numpy(), np.broadcast_to(restored.sum(1), (2, 3, 128)), atol=1e-4)
    assert np.allclose(bias.grad.numpy(), 6)
    captured = paddle.jit.to_static(lambda x: quant.weight_only_linear(x, q, bias, scale, f"int{bits}", None, group))
    assert np.allclose(captured(x).numpy(), y.numpy(), atol=1e-5)


KERNELS = low_bit_kernels.supported(host())  # else plain operations, whose sums are those of a library
ROUNDING = {"float32": 2.0**-22 if KERNELS else 2.0**-21, "bfloat16": 2.0**-8, "float16": 2.0**-10}


def as_double(x):
    return x.astype("float32").numpy().astype(np.float64)


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("group", [-1, 64, 128])
@pytest.mark.parametrize("bits", [8, 4])
def test_linear_is_exact_but_for_rounding(bits, group, dtype):
    """Few rows and many, every rest of a vector, x that lies in another way, scales of another dtype."""
    rng = np.random.default_rng([bits, group + 1])
    algo = f"weight_only_int{bits}"
    for rows, inputs, outputs in ((1, 384, 48), (2, 128, 16), (5, 256, 176), (17, 128, 320), (3, 1280, 16)):
        inputs -= 16 if group == -1 else 0
        w = T(rng.standard_normal((inputs, outputs)).astype("float32"))
        q, scale = quant.weight_quantize(w.astype(dtype), algo, group_size=group)
        restored = as_double(quant.weight_dequantize(q, scale, algo, group_size=group))
        x = T(rng.standard_normal((rows, inputs)).astype("float32")).astype(dtype)
        wanted, room = as_double(x) @ restored, np.abs(as_double(x)) @ np.abs(restored)
        for given in (x, x.T.contiguous().T):
            y = quant.weight_only_linear(given, q, None, scale, f"int{bits}", None, group)
            assert y.dtype is x.dtype and np.all(np.abs(as_double(y) - wanted) <= room * ROUNDING[dtype])
        y = quant.weight_only_linear(x.astype("float32"), q, None, scale, f"int{bits}", None, group)
        restored = as_double(quant.weight_dequantize(q, scale.astype("float32"), algo, group_size=group))
        assert np.all(np.abs(as_double(y) - as_double(x) @ restored) <= room * ROUNDING["float32"])


@pytest.mark.skipif(not KERNELS, reason="no dot products of bytes")
def test_a_row_is_the_same_in_any_company_and_on_any_number_of_threads():
    q, scale = quant.weight_quantize(T(weight(1024, 1024)), "weight_only_int4", group_size=64)
    x = T(weight(7, 1024, seed=5))
    before = paddle.get_flags("FLAGS_paddle_num_threads")
    try:
        results = []
        for threads in (1, 2, 3):
            paddle.set_flags({"FLAGS_paddle_num_threads": threads})
            for step in (7, 1, 3):
                parts = [x[i : i + step] for i in range(0, 7, step)]
                results.append(
                    paddle.concat([quant.weight_only_linear(p, q, None, scale, "int4", None, 64) for p in parts])
                )
    finally:
        paddle.set_flags(before)
    assert all(y.equal_all(results[0]) for y in results)


@pytest.mark.parametrize("rows", [2, 20])
def test_rows_of_zeros_tiny_and_huge_numbers_and_what_is_not_finite(rows):
    q, scale = quant.weight_quantize(T(weight()))
    restored = as_double(quant.weight_dequantize(q, scale))
    for factor in (0.0, 1e-45, 1e-38, 1e-30, 1e30):
        x = T((weight(rows, 64, seed=6) * np.float32(factor)).astype("float32"))
        y = as_double(quant.weight_only_linear(x, q, None, scale))
        room = np.abs(as_double(x)) @ np.abs(restored) * 1e-6
        assert np.all(np.abs(y - as_double(x) @ restored) <= room + 1e-36)
    for odd in (np.inf, -np.inf, np.nan):
        x = weight(rows, 64, seed=6)
        x[1, 3] = odd
        y = quant.weight_only_linear(T(x), q, None, scale).numpy()
        assert not np.isfinite(y[1]).any() and np.isfinite(np.delete(y, 1, 0)).all()


def test_scales_that_are_trained_get_gradients():
    q, scale = quant.weight_quantize(T(weight(128)), "weight_only_int4", group_size=64)
    scale.stop_gradient = False
    x = T(weight(3, 128, seed=2))
    quant.weight_only_linear(x, q, None, scale, "int4", None, 64).sum().backward()
    numbers = as_double(quant.weight_dequantize(q, T(np.ones((2, 32), "float32")), "weight_only_int4", None, 64))
    wanted = (as_double(x).sum(0)[:, None] * numbers).reshape(2, 64, 32).sum(1)
    assert np.allclose(scale.grad.numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_linear_keeps_the_dtype():
    q, scale = quant.weight_quantize(T(weight(dtype="float16")), arch=70)
    y = quant.weight_only_linear(paddle.ones([2, 64], "float16"), q, weight_scale=scale)
    assert y.dtype is paddle.float16 and y.shape == [2, 32]


def test_linear_of_integers_keeps_outliers():
    w = weight(64, 32)
    q, scale = quant.weight_quantize(T(w), "llm.int8")
    x = weight(5, 64, seed=4)
    x[2, 7] = 40.0  # would leave no bits to the other inputs of its row
    bias = weight(1, 32, seed=3)[0]
    y = quant.llm_int8_linear(T(x), q, T(bias), scale).numpy()
    outlying = np.abs(x).max(0) >= 6.0
    usual = np.where(outlying, 0, x)
    step = np.abs(usual).max(1, keepdims=True) / np.float32(127)
    stored = q.numpy().astype("int32")
    by_hand = np.rint(usual / step).astype("int32") @ stored.T * step * scale.numpy()
    by_hand += np.where(outlying, x, 0) @ (stored.T * scale.numpy()) + bias
    assert np.allclose(y, by_hand, atol=1e-4)
    exact = x @ w + bias
    assert np.abs(y - exact).max() < 0.2
    without = quant.llm_int8_linear(T(x), q, T(bias), scale, threshold=100.0).numpy()
    assert np.abs(without - exact)[2].max() > np.abs(y - exact)[2].max()
    assert quant.llm_int8_linear(T(x).reshape([5, 1, 64]).astype("float16"), q, None, scale).shape == [5, 1, 32]
    assert quant.llm_int8_linear(T(x[:0]), q, T(bias), scale).shape == [0, 32]


def test_scales_of_channels():
    x = T(weight(4, 3), stop_gradient=False)
    scales = T([1.0, 2.0, -3.0])
    y = quant.apply_per_channel_scale(x, scales)
    y.sum().backward()
    assert np.allclose(y.numpy(), x.numpy() * scales.numpy()) and x.grad[0].tolist() == [1.0, 2.0, -3.0]


Q, SCALE = np.ones((32, 64), "int8"), np.ones(32, "float32")
REFUSED = [
    (TypeError, lambda: quant.weight_quantize([1.0])),
    (TypeError, lambda: quant.weight_quantize(paddle.ones([16, 16], "float64"))),
    (ValueError, lambda: quant.weight_quantize(paddle.ones([64, 31]))),
    (ValueError, lambda: quant.weight_quantize(paddle.ones([64]))),
    (ValueError, lambda: quant.weight_quantize(paddle.ones([0, 16]))),
    (ValueError, lambda: quant.weight_quantize(paddle.ones([64, 32]), "int2")),
    (ValueError, lambda: quant.weight_quantize(paddle.ones([64, 32]), arch=60)),
    (ValueError, lambda: quant.weight_quantize(paddle.ones([64, 32]), group_size=128)),
    (AssertionError, lambda: quant.weight_quantize(paddle.ones([64, 32]), group_size=32)),
    (ValueError, lambda: quant.weight_dequantize(T(Q), paddle.ones([31]))),
    (ValueError, lambda: quant.weight_dequantize(paddle.ones([32, 64]), T(SCALE))),
    (ValueError, lambda: quant.weight_only_linear(paddle.ones([2, 64]), T(Q))),
    (ValueError, lambda: quant.weight_only_linear(paddle.ones([2, 63]), T(Q), None, T(SCALE))),
    (ValueError, lambda: quant.weight_only_linear(paddle.ones([2, 64]), T(Q), None, T(SCALE), "int16")),
    (ValueError, lambda: quant.llm_int8_linear(paddle.ones([2, 64]), T(Q))),
    (ValueError, lambda: quant.apply_per_channel_scale(paddle.ones([2, 3]), paddle.ones([2]))),
]


@pytest.mark.parametrize(("error", "call"), REFUSED)
def test_refusals(error, call):
    with pytest.raises(error, match=r"^\["):
        call()


def test_stub_passes_its_input_on():
    x = T([1.0])
    stub = quant.Stub()
    assert stub(x) is x and stub.state_dict() == {}
