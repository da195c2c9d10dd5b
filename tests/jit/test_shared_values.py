"""A tensor that a captured function reads in several places: gradients are those of eager calls, to second order."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.jit import to_static
from umiak.runtime.capture import CaptureError

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


# --- one tensor as several arguments, or as an argument that the function knows by itself ---------------------------


def outcome(f, *xs):
    """What a call returns, and the arguments with their gradients afterwards."""
    y = f(*xs)
    return [y.numpy(), *(v.numpy() for x in xs for v in (x, x.grad) if v is not None)]


def agree(captured, f, make):
    for a, b in zip(outcome(captured, *make()), outcome(f, *make()), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def step(a, b):
    loss = (a * b * b).sum()
    loss.backward()
    return loss


def gradient(a, b):
    return paddle.grad((a * b * b).sum(), [a])[0]


def write(a, b):
    with paddle.no_grad():
        a.add_(paddle.ones([3]))
    return b * 2


@pytest.mark.parametrize("f", [step, gradient, write])
def test_one_tensor_as_two_arguments(f):
    def leaf(k):
        return paddle.to_tensor([1.0, 2.0, 3.0 + k], stop_gradient=f is write)

    captured = to_static(f)

    def same():
        x = leaf(0)
        return x, x

    for make in (same, lambda: (leaf(0), leaf(1)), same, lambda: (leaf(2), leaf(1))):
        agree(captured, f, make)
    assert captured.get_traced_count() == 2


def test_one_tensor_as_two_arguments_of_an_input_spec():
    spec = paddle.static.InputSpec
    captured = to_static(lambda a, b: (a * b).sum(), input_spec=[spec([None, 2]), spec([3, 2])])
    x, y = paddle.ones([3, 2]), paddle.full([3, 2], 2.0)
    assert [float(captured(*xs)) for xs in ((x, x), (x, y), (y, y))] == [6, 12, 24]
    with pytest.raises(ValueError, match="as input_spec says"):
        captured(*[paddle.ones([4, 2])] * 2)


def test_an_argument_that_the_function_knows():
    w = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)

    def known(a):
        loss = (a * w * w).sum()
        loss.backward()
        return loss

    captured = to_static(known)
    other = paddle.to_tensor([3.0, 1.0, 2.0], stop_gradient=False)
    for x in (other, w, other, w):
        grads = []
        for f in (captured, known):
            w.grad = other.grad = None
            f(x)
            grads.append([None if t.grad is None else t.grad.numpy() for t in (w, other)])
        for a, b in zip(*grads, strict=True):
            np.testing.assert_array_equal(a, b)
    assert captured.get_traced_count() == 2


def test_a_buffer_that_is_an_argument():
    buffer = paddle.zeros([3])

    def add(x):
        buffer.add_(paddle.ones([3]))
        return x * 2

    captured = to_static(add)
    assert captured(paddle.ones([3])).tolist() == [2.0] * 3
    assert captured(buffer).tolist() == [4.0] * 3
    assert captured(buffer).tolist() == [6.0] * 3
    assert captured(paddle.ones([3])).tolist() == [2.0] * 3
    assert buffer.tolist() == [4.0] * 3


def test_writes_to_shared_memory_are_refused():
    captured = to_static(write, full_graph=True)
    rows = paddle.ones([2, 3])
    assert captured(rows[0], rows[1]).tolist() == [2.0] * 3
    assert rows.tolist() == [[2.0] * 3, [1.0] * 3]
    with pytest.raises(CaptureError, match="tensors that share memory are written to"):
        captured(rows[0], rows[0])


# --- results that turn out to be one value ----------------------------------------------------------------------------


def test_results_are_tensors_of_their_own():
    """Writing to one does not show in another that was made apart, nor in gradients or arguments."""
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    captured = to_static(lambda x: (x * 2, x * 2, (x * 2) ** 1, (x * 2).astype("float32"), x**1))
    for gradients in (True, False):
        with paddle.set_grad_enabled(gradients):
            results = captured(x)
        for i, y in enumerate(results):
            with paddle.no_grad():
                y.add_(paddle.full([2], 10.0 * (i + 1)))
        for i, y in enumerate(results):
            scale = 1 if i == 4 else 2
            assert y.tolist() == [scale + 10.0 * (i + 1), 2 * scale + 10.0 * (i + 1)]
    assert x.tolist() == [1.0, 2.0]


def test_gradients_are_tensors_of_their_own():
    a, b = (paddle.to_tensor([1.0, 2.0], stop_gradient=False) for _ in range(2))

    def add(a, b, g):
        (a + b).backward(g)

    g = paddle.ones([2])
    for _ in range(2):
        to_static(add)(a, b, g)
    with paddle.no_grad():
        a.grad.zero_()
        g.zero_()
    assert b.grad.tolist() == [2.0, 2.0]


EQUAL = {
    "one call": lambda x: paddle.square(x),
    "several calls": lambda x: paddle.exp(paddle.square(x) + 1.0),
    "a sum": lambda x: paddle.square(x).sum(-1),
    "softmax": lambda x: F.softmax(x * 2.0, -1),
    "matmul": lambda x: paddle.matmul(x, x),
    "a view": lambda x: (x * 2.0).t(),
}


@pytest.mark.parametrize("stop", [False, True], ids=["both", "one under no_grad"])
@pytest.mark.parametrize("name", EQUAL)
def test_equal_results_are_tensors_of_their_own(name, stop, rng):
    f = EQUAL[name]

    def both(x):
        x = x + x.sum()
        with paddle.no_grad() if stop else paddle.enable_grad():
            a = f(x)
        return a, f(x), x

    data = rng.random(MATRIX)
    found = []
    for run in (both, to_static(both)):
        x = paddle.to_tensor(data, stop_gradient=False)
        a, b, c = run(x)
        flags = [y.stop_gradient for y in (a, b, c)]
        (b * b + (0 if stop else 2 * a)).sum().backward()
        with paddle.no_grad():
            a.zero_()
        found.append([flags, x.grad.numpy(), a.numpy(), b.numpy()])
    assert found[0][0] == found[1][0] == [stop, False, False]
    for have, want in zip(found[1][1:], found[0][1:], strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-6)
