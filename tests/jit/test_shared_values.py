"""A tensor that a captured function reads in several places: gradients are those of eager calls, to second order."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.jit import to_static

MATRIX = (3, 3)

CALLS = {
    "dot": (lambda x: paddle.dot(x, x), (3,)),
    "stack": (lambda x: paddle.stack([x, x, x]), (3,)),
    "concat": (lambda x: paddle.concat([x, x * 2, x]), (3,)),
    "outer": (lambda x: paddle.outer(x, x), (3,)),
    "einsum": (lambda x: paddle.einsum("i,i,j->j", x, x, x), (3,)),
    "bmm": (lambda x: paddle.bmm(x, x), (2, 3, 3)),
    "matmul": (lambda x: paddle.matmul(x, x, transpose_y=True), MATRIX),
    "addmm": (lambda x: paddle.addmm(x, x, x), MATRIX),
    "lerp": (lambda x: paddle.lerp(x, x, x), MATRIX),
    "lerp of a square": (lambda x: paddle.lerp(x, x * x, x), MATRIX),
    "kron": (lambda x: paddle.kron(x, x), MATRIX),
    "cross": (lambda x: paddle.cross(x, x[::-1] * x), MATRIX),
    "kl_div": (lambda x: F.kl_div(x, x, reduction="none"), MATRIX),
    "where": (lambda x: paddle.where(x > 0.5, x, x * x), MATRIX),
    "maximum": (lambda x: paddle.maximum(x, x), MATRIX),
    "linear": (lambda x: F.linear(x, x, x[0]), MATRIX),
    "layer_norm": (lambda x: F.layer_norm(x, [3], weight=x[0], bias=x[0]), MATRIX),
    "prelu": (lambda x: F.prelu(x - 0.5, x[0, :1]), MATRIX),
    "merged": (lambda x: paddle.dot(paddle.tanh(x), paddle.tanh(x)), (3,)),
}


def values(f, x, w):
    """Result, gradient and gradient of the gradient of ``sum(w f(x))``."""
    x = paddle.to_tensor(x, stop_gradient=False)
    y = f(x)
    (g,) = paddle.grad((y * w).sum(), [x], create_graph=True)
    second = paddle.grad((g * g).sum(), [x], allow_unused=True)[0] if not g.stop_gradient else None
    return [y.numpy(), g.numpy(), 0 if second is None else second.numpy()]


@pytest.mark.parametrize("name", CALLS)
def test_gradients(name, rng):
    f, shape = CALLS[name]
    x = rng.random(shape) + 0.25
    w = paddle.to_tensor(rng.standard_normal(f(paddle.to_tensor(x)).shape))

    def inside(x):
        y = f(x)
        (g,) = paddle.grad((y * w).sum(), [x], create_graph=True)
        if g.stop_gradient:
            return y, g, paddle.zeros([])
        second = paddle.grad((g * g).sum(), [x], allow_unused=True)[0]
        return y, g, paddle.zeros([]) if second is None else second

    expected = values(f, x, w)
    for a, b in zip(values(to_static(f), x, w), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    for a, b in zip(to_static(inside)(paddle.to_tensor(x, stop_gradient=False)), expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-9, atol=1e-9)
