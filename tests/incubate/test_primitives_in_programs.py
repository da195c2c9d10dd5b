"""Derivatives as operations of static programs, forward and backward, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.incubate import autograd


@pytest.fixture
def program():
    main = paddle.static.Program()
    paddle.enable_static()
    try:
        with paddle.static.program_guard(main, paddle.static.Program()):
            yield main
    finally:
        paddle.disable_static()


@pytest.fixture
def x():
    return np.random.default_rng(4).uniform(0.5, 2, (2, 3)).astype(np.float32)


def test_forward_and_backward(program, x):
    autograd.enable_prim()
    try:
        given = paddle.static.data("x", [2, 3])
        given.stop_gradient = False
        y = (given * given).sin()
        moved = autograd.forward_grad(y, given)
        back = autograd.grad(y, given)
        again = autograd.grad(back, given)
    finally:
        autograd.disable_prim()
    found = paddle.static.Executor().run(program, {"x": x}, [moved, back, again])
    first = 2 * x * np.cos(x**2)
    np.testing.assert_allclose(found[0], first, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[1], first, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[2], 2 * np.cos(x**2) - 4 * x**2 * np.sin(x**2), rtol=1e-4, atol=1e-5)


def test_matrices(program, x):
    given = paddle.static.data("x", [3])
    jacobian = autograd.Jacobian(lambda v: v * v.sum(), given)
    hessian = autograd.Hessian(lambda v: (v * v * v).sum(), given)
    v = x[0]
    found = paddle.static.Executor().run(program, {"x": v}, [jacobian[:], hessian[:]])
    np.testing.assert_allclose(found[0], np.eye(3) * v.sum() + v[:, None], rtol=1e-5)
    np.testing.assert_allclose(found[1], np.diag(6 * v), rtol=1e-5)


def test_products(program, x):
    given = paddle.static.data("x", [3])
    _, pushed = autograd.jvp(lambda v: v * v.sum(), given)
    _, pulled = autograd.vjp(lambda v: v * v.sum(), given)
    v = x[0]
    matrix = np.eye(3) * v.sum() + v[:, None]
    found = paddle.static.Executor().run(program, {"x": v}, [pushed, pulled])
    np.testing.assert_allclose(found[0], matrix.sum(1), rtol=1e-5)
    np.testing.assert_allclose(found[1], matrix.sum(0), rtol=1e-5)
