"""What a captured function writes to tensors of the caller has the history outside that eager calls give it."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.jit import to_static


def whole(buffer, x):
    buffer.add_(x * 2)


def part(buffer, x):
    buffer[1:] = paddle.sin(x)[1:]


def twice(buffer, x):
    buffer[0] = x[0] * x[1]
    buffer.multiply_(x)


def view(buffer, x):
    buffer.reshape([2, 2])[1] = x[:2] * x[2:]


def itself(buffer, x):
    buffer[:] = x


def returned(buffer, x):
    buffer[2] = x[2] * 3
    return buffer * x, buffer


def under_no_grad(buffer, x):
    with paddle.no_grad():
        buffer[1:] = x[1:]
    return (x * x).sum()


def partly_under_no_grad(buffer, x):
    buffer.add_(x * x)
    with paddle.no_grad():
        buffer[0] = 1.0


WRITES = [whole, part, twice, view, itself, returned, under_no_grad, partly_under_no_grad]


def after(write, own, how):
    """Data, gradients and flags behind two calls with the same tensors, as a training loop makes them."""
    found = []
    x = paddle.to_tensor([0.5, -1.0, 2.0, 0.25], stop_gradient=False)
    base = paddle.to_tensor([1.0, 2.0, 3.0, 4.0], stop_gradient=not own)
    buffer = base * 1.5 if own else base
    if how == "of a base":
        kept = paddle.zeros([2, 4])
        buffer, held = kept[1], buffer
        buffer.set_value(held.detach())
    for _ in range(2):
        made = write(buffer, x)
        outputs = [y for y in (made if isinstance(made, tuple) else [made]) if y is not None]
        read = kept if how == "of a base" else buffer
        terms = [(y * y).sum() for y in (*outputs, read) if not y.stop_gradient]
        found += [read.numpy(), np.array([y.stop_gradient for y in (*outputs, read)])]
        if terms:
            sum(terms).backward(retain_graph=True)
    return [*found, x.grad.numpy(), 0.0 if base.grad is None else base.grad.numpy()]


@pytest.mark.parametrize("how", ["plain", "of a base"])
@pytest.mark.parametrize("own", [False, True], ids=["constant", "with a history"])
@pytest.mark.parametrize("write", WRITES)
def test_argument(write, own, how):
    for have, want in zip(after(to_static(write), own, how), after(write, own, how), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-6)


@pytest.mark.parametrize("write", WRITES)
def test_captured_tensor(write):
    def called(how):
        buffer, x = paddle.ones([4]), paddle.to_tensor([0.5, -1.0, 2.0, 0.25], stop_gradient=False)
        function = how(lambda x: write(buffer, x))
        made = function(x)
        outputs = [y for y in (made if isinstance(made, tuple) else [made]) if y is not None]
        sum((y * y).sum() for y in (*outputs, buffer) if not y.stop_gradient).backward()
        return buffer.numpy(), buffer.stop_gradient, x.grad.numpy()

    for have, want in zip(called(to_static), called(lambda f: f), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-6)


def test_without_gradients():
    buffer, x = paddle.ones([4]), paddle.to_tensor([0.5, -1.0, 2.0, 0.25], stop_gradient=False)
    with paddle.no_grad():
        to_static(whole)(buffer, x)
    assert buffer.stop_gradient
    np.testing.assert_array_equal(buffer.numpy(), [2.0, -1.0, 5.0, 1.5])


def test_refuses_a_leaf_as_eager_calls_do():
    leaf, x = paddle.ones([4]), paddle.ones([4])
    leaf.stop_gradient = x.stop_gradient = False
    with pytest.raises(RuntimeError):
        whole(leaf, x)
    with pytest.raises(RuntimeError):
        to_static(whole)(leaf, x)


def outer_gradients(how, closure, backwards):
    """Of what was computed before a captured step with a backward run inside."""
    w = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    found = []

    def step(h, x):
        for _ in range(backwards):
            (h * h * x).sum().backward(retain_graph=True)

    static = None
    for _ in range(2):
        h = w * 2
        h.retain_grads()
        h.register_hook(lambda g: g * 10)
        x = paddle.ones([3])
        if closure:
            how(lambda x, h=h: step(h, x))(x)
        else:
            static = static or how(step)
            static(h, x)
        found += [w.grad.numpy(), h.grad.numpy()]
    return found


@pytest.mark.parametrize("backwards", [1, 2])
@pytest.mark.parametrize("closure", [False, True], ids=["argument", "captured"])
def test_backward_inside_goes_on_outside(closure, backwards):
    have, want = outer_gradients(to_static, closure, backwards), outer_gradients(lambda f: f, closure, backwards)
    for a, b in zip(have, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("tracked", [False, True], ids=["constant", "with a history"])
@pytest.mark.parametrize("how", ["recorded", "not recorded", "called under no_grad"])
def test_views_taken_under_no_grad(how, tracked):
    """They are constants until something with a history is written to the memory."""

    def f(b, w):
        with paddle.no_grad():
            v = b[0]
            whole = v.reshape([2, 1])
        if how == "recorded":
            b.add_(w)
        else:
            with paddle.no_grad():
                b.add_(w)
        y = v * w
        return v, whole, y, y + whole.sum()

    found = []
    for run in (f, to_static(f)):
        w = paddle.to_tensor([2.0, 3.0], stop_gradient=False)
        b = paddle.ones([2, 2]) * w if tracked else paddle.ones([2, 2])
        with paddle.no_grad() if how == "called under no_grad" else paddle.enable_grad():
            made = run(b, w)
        flags = [y.stop_gradient for y in made]
        terms = [(y * y).sum() for y in made if not y.stop_gradient]
        if terms:
            sum(terms).backward()
        found.append((flags, [y.numpy() for y in made], None if w.grad is None else w.grad.tolist()))
    assert found[1][0] == found[0][0]
    assert found[1][2] == found[0][2]
    for have, want in zip(found[1][1], found[0][1], strict=True):
        np.testing.assert_array_equal(have, want)
