"""Jacobians and Hessians of functions, products with them, against the peer."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import paddle
from paddle.incubate.autograd import Hessian, Jacobian, jvp, vjp

M = np.array([[1.0, 2.0], [3.0, 4.0]])


def fixed(value):
    return paddle.to_tensor(np.asarray(value, "float64"))


def leaf(value):
    return paddle.to_tensor(np.asarray(value, "float64"), stop_gradient=False)


def check(got, expected):
    np.testing.assert_allclose(got.numpy(), np.asarray(expected), rtol=1e-9, atol=1e-12)


def cubes(x):
    return (x * x * x).sum()


def pair(x, y):
    return x * x * y, (x * y).sum()


# --- Jacobian ------------------------------------------------------------------------------------------------------


def test_jacobian():
    x, y = fixed([1.0, 2.0]), fixed([3.0, 4.0])
    j = Jacobian(lambda x: x * x, x)
    assert j.shape == (2, 2)
    whole = np.diag([2.0, 4.0])
    for index in (slice(None), 0, -1, (0, 1), (0, slice(None)), (slice(None), 0), (slice(1), slice(1, None))):
        check(j[index], whole[index])
    j = Jacobian(lambda x, y: (x * y, x.sum()), [x, y])
    assert j.shape == (3, 4)
    check(j[:], [[3, 0, 1, 0], [0, 4, 0, 2], [1, 1, 0, 0]])
    check(j[2], [1, 1, 0, 0])
    assert x.stop_gradient


def test_jacobian_of_any_rank():
    check(Jacobian(lambda a: a * a, fixed(M))[:], np.diag([2.0, 4.0, 6.0, 8.0]))
    check(Jacobian(lambda a: (a * a).sum(), fixed([1.0, 2.0]))[:], [[2.0, 4.0]])
    scalar = Jacobian(lambda a: a * a, fixed(3.0))
    assert scalar.shape == (1, 1)
    check(scalar[:], [[6.0]])
    check(Jacobian(lambda a: fixed([1.0, 2.0]), fixed(M))[:], np.zeros((2, 4)))


def test_jacobian_of_a_batch():
    j = Jacobian(lambda a: a * a, fixed(M), is_batched=True)
    whole = np.stack([np.diag(2 * row) for row in M])
    assert j.shape == (2, 2, 2)
    for index in (slice(None), (slice(None), 0), (0, 0, slice(None)), 1):
        check(j[index], whole[index])
    j = Jacobian(lambda a: a.sum(-1), fixed(M), is_batched=True)
    assert j.shape == (2, 1, 2)
    check(j[:], np.ones((2, 1, 2)))
    j = Jacobian(lambda a, b: a * b, [fixed(M), fixed(M)], is_batched=True)
    check(j[:], np.concatenate([np.stack([np.diag(row) for row in M])] * 2, 2))


# --- Hessian -------------------------------------------------------------------------------------------------------


def test_hessian(rng):
    x, y = rng.standard_normal(3), rng.standard_normal((2, 2))

    def ours(x, y):
        return paddle.sin(x).sum() * (y @ y).sum() + x[0] * y[1, 0]

    def theirs(x, y):
        return torch.sin(x).sum() * (y @ y).sum() + x[0] * y[1, 0]

    h = Hessian(ours, [fixed(x), fixed(y)])
    assert h.shape == (7, 7)
    blocks = torch.autograd.functional.hessian(theirs, (torch.from_numpy(x), torch.from_numpy(y)))
    sizes = (3, 4)
    expected = np.block([[blocks[i][j].numpy().reshape(sizes[i], sizes[j]) for j in (0, 1)] for i in (0, 1)])
    check(h[:], expected)
    check(h[2], expected[2])
    check(Hessian(cubes, fixed(2.0))[:], [[12.0]])


def test_hessian_of_linear_functions():
    check(Hessian(lambda a: a.sum(), fixed([1.0, 2.0]))[:], np.zeros((2, 2)))
    check(Hessian(lambda a: fixed(1.0), fixed([1.0, 2.0]))[:], np.zeros((2, 2)))
    check(Hessian(lambda a, b: (a * b).sum(), [fixed([1.0]), fixed([2.0])])[:], [[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize("keep", [False, True])
def test_hessian_of_a_batch(keep):
    h = Hessian(lambda a: (a * a * a).sum(-1, keepdim=keep), fixed(M), is_batched=True)
    assert h.shape == (2, 2, 2)
    check(h[:], np.stack([np.diag(6 * row) for row in M]))
    check(h[:, 1], [[0.0, 12.0], [0.0, 24.0]])


# --- products ------------------------------------------------------------------------------------------------------


def test_vjp(rng):
    a, b, v, w = rng.standard_normal(3), rng.standard_normal(3), rng.standard_normal(3), rng.standard_normal()
    ys, grads = vjp(pair, [fixed(a), fixed(b)], [fixed(v), fixed(w)])
    expected = torch.autograd.functional.vjp(
        pair, (torch.from_numpy(a), torch.from_numpy(b)), (torch.from_numpy(v), torch.tensor(w, dtype=torch.float64))
    )
    for got, want in zip((*ys, *grads), (*expected[0], *expected[1])):
        check(got, want.numpy())


def test_jvp(rng):
    a, b, v, w = (rng.standard_normal(3) for _ in range(4))
    ys, moved = jvp(pair, (fixed(a), fixed(b)), (fixed(v), fixed(w)))
    expected = torch.autograd.functional.jvp(
        pair, (torch.from_numpy(a), torch.from_numpy(b)), (torch.from_numpy(v), torch.from_numpy(w))
    )
    for got, want in zip((*ys, *moved), (*expected[0], *expected[1])):
        check(got, want.numpy())


def test_forms_and_defaults():
    x, y = fixed([1.0, 2.0]), fixed([3.0, 4.0])
    result, g = vjp(lambda x: x * x, x)
    check(result, [1.0, 4.0])
    check(g, [2.0, 4.0])
    result, g = vjp(lambda x: x * x, [x], x.astype("float32"))
    assert type(g) is tuple
    check(g[0], [2.0, 8.0])
    _, (g, h) = vjp(lambda x, y: x * 2, [x, y])
    check(h, [0.0, 0.0])
    _, t = jvp(lambda x: x * 3, x)
    check(t, [3.0, 3.0])
    _, t = jvp(lambda x: (x * 3, fixed(1.0)), x)
    check(t[1], 0.0)
    _, t = jvp(lambda x: fixed(1.0), x)
    check(t, 0.0)
    _, g = vjp(lambda x: fixed(1.0), x)
    check(g, [0.0, 0.0])
    assert x.stop_gradient
    assert x.grad is None


def test_products_are_nested():
    x, ones = fixed([1.0, 2.0]), fixed([1.0, 1.0])
    for product in (
        lambda x: jvp(lambda a: vjp(cubes, a)[1], x, ones)[1],
        lambda x: vjp(lambda a: vjp(cubes, a)[1], x, ones)[1],
        lambda x: vjp(lambda a: jvp(cubes, a, ones)[1], x)[1],
    ):
        check(product(x), [6.0, 12.0])
        check(product(leaf([1.0, 2.0])), [6.0, 12.0])
    check(jvp(lambda a: jvp(cubes, a)[1], x)[1], 18.0)
    check(Jacobian(lambda a: vjp(cubes, a)[1], x)[:], np.diag([6.0, 12.0]))


def test_products_have_a_history():
    x, v, w = leaf([1.0, 2.0]), leaf([3.0, 4.0]), leaf([5.0, 6.0])
    result, g = vjp(cubes, x)
    check(paddle.grad(g.sum(), x, retain_graph=True)[0], [6.0, 12.0])
    check(paddle.grad(result, x)[0], [3.0, 12.0])
    check(paddle.grad(vjp(lambda a: a * a, x, v)[1].sum(), v)[0], [2.0, 4.0])
    check(paddle.grad(jvp(lambda a: a * a * w, x, v)[1].sum(), [x, v, w])[0], [30.0, 48.0])
    with paddle.no_grad():
        _, g = vjp(cubes, x)
        _, t = jvp(cubes, x)
    check(g, [3.0, 12.0])
    check(t, 15.0)
    assert g.stop_gradient
    assert t.stop_gradient


# --- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: vjp(5, x), TypeError, r"\[vjp\] requires a function, got int"),
        (lambda x: jvp(cubes, 5), TypeError, r"\[jvp\] requires a Tensor or a list of them for xs, got int"),
        (lambda x: vjp(cubes, []), TypeError, "for xs"),
        (lambda x: vjp(lambda a: 5, x), TypeError, "a function whose results are Tensors, got int"),
        (lambda x: vjp(lambda a: a, x, fixed([1.0])), ValueError, r"\[vjp\] requires v of shape \[2\], got \[1\]"),
        (lambda x: jvp(cubes, x, [x, x]), ValueError, r"\[jvp\] requires 1 tensors in v, got 2"),
        (lambda x: jvp(cubes, x, 1.0), TypeError, "for v, got float"),
        (lambda x: Jacobian(5, x), TypeError, r"\[Jacobian\] requires a function"),
        (lambda x: Hessian(lambda a: a * a, x), RuntimeError, r"\[Hessian\].*one element, got \[2\]"),
        (lambda x: Hessian(lambda a: a.sum(), fixed(M), True), RuntimeError, "one element for each batch entry"),
        (
            lambda x: Jacobian(lambda a: a.sum(), fixed(M), True),
            ValueError,
            r"\[Jacobian\] requires a batch of one size",
        ),
    ],
)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call(fixed([1.0, 2.0]))
