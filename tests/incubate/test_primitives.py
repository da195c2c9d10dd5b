"""Derivatives of results that are there already, against products with Jacobians."""

import numpy as np
import pytest

import paddle
from paddle.incubate import autograd


def values():
    rng = np.random.default_rng(3)
    return [paddle.to_tensor(rng.standard_normal((2, 3)), stop_gradient=False) for _ in range(2)]


def f(x, y):
    return (x * y).sin(), (x.exp() * 2).sum(0)


def test_forward():
    x, y = values()
    moves = [paddle.to_tensor(np.random.default_rng(5).standard_normal((2, 3))) for _ in range(2)]
    found = autograd.forward_grad(f(x, y), [x, y], moves)
    _, expected = autograd.jvp(f, [x, y], moves)
    assert isinstance(found, list)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


def test_backward():
    x, y = values()
    outputs = f(x, y)
    weights = [paddle.ones([2, 3], "float64") * 3, paddle.ones([3], "float64")]
    found = autograd.grad(outputs, [x, y], weights)
    _, expected = autograd.vjp(f, [x, y], weights)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


def test_again():
    x, _ = values()
    slope = autograd.forward_grad(x**3, x)
    np.testing.assert_allclose(slope.numpy(), 3 * x.numpy() ** 2, rtol=1e-12)
    np.testing.assert_allclose(autograd.grad(slope, x).numpy(), 6 * x.numpy(), rtol=1e-12)
    np.testing.assert_allclose(autograd.forward_grad(autograd.grad(x**3, x), x).numpy(), 6 * x.numpy(), rtol=1e-12)


def test_constants():
    x, y = values()
    assert not autograd.grad(x * 2, [x, y])[1].numpy().any()
    assert not autograd.forward_grad([x * 2, y.detach()], x)[1].numpy().any()


def test_captured():
    x, _ = values()
    captured = paddle.jit.to_static(lambda v: (autograd.forward_grad(v**3, v), autograd.grad(v**2, v)))
    tangent, gradient = captured(x)
    np.testing.assert_allclose(tangent.numpy(), 3 * x.numpy() ** 2, rtol=1e-12)
    np.testing.assert_allclose(gradient.numpy(), 2 * x.numpy(), rtol=1e-12)


def test_refusals():
    x, _ = values()
    with pytest.raises(TypeError, match=r"\[forward_grad\] requires a tensor or a list of them as inputs, got int"):
        autograd.forward_grad(x * 2, 3)
    with pytest.raises(ValueError, match=r"\[grad\] requires 1 tensors in grad_outputs, got 2"):
        autograd.grad(x * 2, x, [x, x])


def test_the_switch():
    autograd.enable_prim()
    assert autograd.prim_enabled()
    autograd.disable_prim()
    assert not autograd.prim_enabled()
