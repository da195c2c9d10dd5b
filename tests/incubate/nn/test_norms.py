"""Norms with a bias, a residual and 8-bit levels, against PyTorch."""

import numpy as np
import pytest
import torch

import paddle
from paddle.incubate.nn import functional as I

SHAPE = (2, 3, 4)


def tensors(rng, axis, dtype="float64"):
    """x, residual, bias, weight and shift."""
    own = SHAPE[axis:]
    return [rng.standard_normal(shape).astype(dtype) for shape in (SHAPE, SHAPE, own, own, own)]


def rms(z, weight, shift, own):
    return torch.nn.functional.rms_norm(z, own, weight, 1e-3) + shift


def layer(z, weight, shift, own):
    return torch.nn.functional.layer_norm(z, own, weight, shift, 1e-3)


@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize(("function", "judge", "alpha"), [("rms", rms, 1.0), ("layer", layer, 0.5)])
def test_sum_norm_and_gradients(rng, axis, function, judge, alpha):
    arrays = tensors(rng, axis)
    ours = [paddle.to_tensor(a, stop_gradient=False) for a in arrays]
    theirs = [torch.from_numpy(a).requires_grad_() for a in arrays]

    def norm(x, residual, bias, weight, shift):
        if function == "rms":
            return I.fused_rms_norm(x, weight, shift, 1e-3, axis, bias, residual)[:2]
        return I.fused_layer_norm(x, weight, shift, 1e-3, alpha, axis, bias, residual)[:2]

    x, residual, bias, weight, shift = theirs
    total = x + bias + alpha * residual
    expected = judge(total, weight, shift, SHAPE[axis:])
    gradients = torch.autograd.grad((expected**2).sum() + (total**3).sum(), theirs)
    for call in (norm, paddle.jit.to_static(norm)):
        y, z = call(*ours)
        np.testing.assert_allclose(y.numpy(), expected.detach(), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(z.numpy(), total.detach(), rtol=1e-12)
        for found, wanted in zip(paddle.grad((y**2).sum() + (z**3).sum(), ours), gradients, strict=True):
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9, atol=1e-10)


def test_a_bias_without_a_residual_is_added(rng):
    x, _, bias, weight, shift = (paddle.to_tensor(a) for a in tensors(rng, 2))
    y, empty = I.fused_rms_norm(x, weight, shift, 1e-3, 2, bias)
    np.testing.assert_array_equal(y.numpy(), I.fused_rms_norm(x + bias, weight, shift, 1e-3, 2)[0].numpy())
    assert empty.shape == [0]
    y, empty, mean, factor = I.fused_layer_norm(x, weight, shift, 1e-3, 1.0, 2, bias)
    np.testing.assert_allclose(mean.numpy(), (x + bias).mean(-1).flatten().numpy(), atol=1e-14)
    deviation = (x + bias).var(-1, unbiased=False).flatten().numpy()
    np.testing.assert_allclose(factor.numpy(), 1 / np.sqrt(deviation + 1e-3), rtol=1e-12)
    assert empty.shape == [0]


def test_flat_weights_are_those_of_the_shape(rng):
    x, residual, bias, weight, shift = (paddle.to_tensor(a) for a in tensors(rng, 1))
    one = I.fused_layer_norm(x, weight, shift, 1e-3, 1.0, 1, bias, residual)
    flat = [v.flatten() for v in (weight, shift, bias)]
    two = I.fused_layer_norm(x, flat[0], flat[1], 1e-3, 1.0, 1, flat[2], residual)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_a_layer_norm_without_weights_is_the_sum(rng):
    x, residual, bias, *_ = (paddle.to_tensor(a) for a in tensors(rng, 2))
    y, total, *_ = I.fused_layer_norm(x, None, None, 1e-3, 0.5, 2, bias, residual, quant_scale=1, quant_max_bound=127)
    np.testing.assert_array_equal(y.numpy(), total.numpy())
    np.testing.assert_allclose(y.numpy(), (x + bias + 0.5 * residual).numpy(), rtol=1e-15)


@pytest.mark.parametrize("name", ["fused_rms_norm_ext", "fast_rms_norm"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_factors_of_rms_norms(rng, name, dtype):
    x = paddle.to_tensor(rng.standard_normal(SHAPE).astype("float32")).astype(dtype)
    y, factors = getattr(I, name)(x, paddle.full([4], 2.0), 1e-5)
    wide = x.astype("float64").numpy()
    expected = 1 / np.sqrt((wide**2).mean(-1) + 1e-5)
    assert (factors.dtype.name, factors.shape, y.dtype.name) == ("float32", [6], dtype)
    np.testing.assert_allclose(factors.numpy(), expected.ravel(), rtol=1e-6)
    tolerance = 2.0**-7 if dtype == "bfloat16" else 1e-6
    np.testing.assert_allclose(y.astype("float64").numpy(), wide * expected[..., None] * 2, rtol=tolerance)


def test_moments_of_fast_ln(rng):
    x, _, _, weight, shift = tensors(rng, 2)
    y, mean, factor = I.fast_ln(*(paddle.to_tensor(a) for a in (x, weight, shift)), 1e-3)
    expected = layer(*(torch.from_numpy(a) for a in (x, weight, shift)), (4,))
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(mean.numpy(), x.mean(-1).ravel(), atol=1e-14)
    np.testing.assert_allclose(factor.numpy(), 1 / np.sqrt(x.var(-1) + 1e-3).ravel(), rtol=1e-12)


@pytest.mark.parametrize("away", [0, 1])
def test_levels_of_int8(away):
    """Of the normalised ±1, scaled so that levels are ties or beyond the bounds."""
    x = paddle.to_tensor([[1.0, -1.0]])
    for weight, even, far in ((2.5 / 127, 2, 3), (3.5 / 127, 4, 4), (2.0, 127, 127)):
        want = far if away else even
        w = paddle.full([2], weight)
        for y in (
            I.fused_rms_norm(x, w, None, 0.0, 1, None, None, 1.0, away, 127, -127)[0],
            I.fused_layer_norm(x, w, None, 0.0, 1.0, 1, None, None, 1.0, away, 127, -127)[0],
        ):
            assert y.dtype is paddle.int8
            assert y.tolist() == [[want, -want]]


def test_levels_of_float8():
    x = paddle.to_tensor([[1.0, -1.0]])
    y = I.fused_rms_norm(x, paddle.to_tensor([0.3, 9.0]), None, 0.0, 1, None, None, 0.1, 0, 448, -448)[0]
    assert y.dtype is paddle.float8_e4m3fn
    assert y.astype("float32").tolist() == [[13.0, -416.0]]  # 13.44 and -403.2 among numbers of 3 bits


@pytest.mark.parametrize("most", [126, 100.5, np.float32(15)])
def test_other_bounds_of_int8(most):
    """What fits into int8 is of int8; numbers may be arrays of one element."""
    x, w, scale = paddle.to_tensor([[1.0, -1.0]]), paddle.to_tensor([0.25, 9.0]), np.array([0.5])
    y = I.fused_rms_norm(x, w, None, 0.0, 1, None, None, scale, 0, most, -7)[0]
    assert y.dtype is paddle.int8
    assert y.tolist() == [[round(float(most) * 0.125), -7]]


@pytest.mark.parametrize("alpha", [np.array([0.5]), np.float64(0.5), paddle.to_tensor([0.5])], ids=["array", "np", "t"])
def test_factor_of_a_residual(alpha):
    x, r = paddle.to_tensor([[1.0, 3.0]]), paddle.to_tensor([[2.0, -2.0]])
    assert I.fused_layer_norm(x, None, None, 1e-5, alpha, 1, None, r)[0].tolist() == [[2.0, 2.0]]


def test_refusals(rng):
    x, w = paddle.ones([2, 4]), paddle.ones([4])
    with pytest.raises(ValueError, match=r"\[fused_rms_norm\] requires an axis from -2 to 1, got 2"):
        I.fused_rms_norm(x, w, None, 1e-5, 2)
    with pytest.raises(
        ValueError, match=r"\[fused_rms_norm\] requires norm_weight of shape \(4,\) or \[4\], got \[3\]"
    ):
        I.fused_rms_norm(x, w[:3], None, 1e-5)
    with pytest.raises(ValueError, match=r"\[fused_layer_norm\] requires a residual of x's shape, got \[1, 4\]"):
        I.fused_layer_norm(x, w, w, 1e-5, residual=x[:1])
    with pytest.raises(ValueError, match=r"\[fused_layer_norm\] requires quant_max_bound up to 127.* got \(200"):
        I.fused_layer_norm(x, w, w, 1e-5, quant_scale=1.0, quant_max_bound=200)
    with pytest.raises(ValueError, match=r"\[fused_layer_norm\] requires .* or 448 and less .*, got \(448.0, 500.0"):
        I.fused_layer_norm(x, w, w, 1e-5, quant_scale=1.0, quant_max_bound=448, quant_min_bound=500)
    with pytest.raises(ValueError, match=r"requires quant_round_type 0 .* got 2"):
        I.fused_rms_norm(x, w, None, 1e-5, quant_scale=1.0, quant_round_type=2, quant_max_bound=127)
    with pytest.raises(TypeError, match=r"\[fast_ln\] requires a floating x, got int64"):
        I.fast_ln(paddle.ones([2, 4], "int64"), w, w)
