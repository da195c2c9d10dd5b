"""Hooks around saved tensors: what passes through them, what they may not do, and what PyLayers keep."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import paddle
from paddle.autograd import PyLayer, saved_tensors_hooks
from tests.support.py_layers import Square


def leaf(*values):
    return paddle.to_tensor(list(values), dtype="float64", stop_gradient=False)


class Exp(PyLayer):
    """Keeps its result."""

    @staticmethod
    def forward(ctx, x):
        y = paddle.exp(x)
        ctx.save_for_backward(y, "text", None)
        return y

    @staticmethod
    def backward(ctx, g):
        y, text, none = ctx.saved_tensor()
        assert (text, none) == ("text", None)
        return g * y


def through(log):
    def pack(t):
        log.append(("pack", t.tolist(), t.stop_gradient))
        return t.numpy().copy()

    def unpack(a):
        log.append(("unpack", a.tolist()))
        return paddle.to_tensor(a)

    return saved_tensors_hooks(pack, unpack)


# --- PyLayer ---------------------------------------------------------------------------------------------------------


def test_py_layers_pass_through():
    log = []
    x = leaf(1.0, 2.0)
    with through(log):
        y = Square.apply(x * 1.0)
    assert ("pack", [1.0, 2.0], True) in log
    del log[:]
    y.sum().backward()
    assert log == [("unpack", [1.0, 2.0])]
    assert x.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("kind", [Square, Exp])
@pytest.mark.parametrize("hooks", [False, True])
def test_higher_derivatives_of_py_layers(kind, hooks):
    x = leaf(0.5, 1.5)
    if hooks:
        with through([]):
            y = kind.apply(x)
    else:
        y = kind.apply(x)
    (g,) = paddle.grad(y, x, create_graph=True)
    (gg,) = paddle.grad(g, x, create_graph=True)
    v = np.array([0.5, 1.5])
    np.testing.assert_allclose(g.numpy(), 2 * v if kind is Square else np.exp(v))
    np.testing.assert_allclose(gg.numpy(), [2, 2] if kind is Square else np.exp(v))


CALLS = {
    "mul": lambda x: x * x * x,
    "square": lambda x: x.square(),
    "sin": lambda x: x.sin(),
    "exp": lambda x: x.exp() * x,
    "divide": lambda x: 1 / x,
    "softmax": lambda x: paddle.nn.functional.softmax(x) * x,
    "layer_norm": lambda x: paddle.nn.functional.layer_norm(x, [3]) * x,
    "matmul": lambda x: paddle.matmul(x.reshape([3, 1]), x.reshape([1, 3])),
    "where": lambda x: paddle.where(x > 1.5, x * x, x.exp()),
    "PyLayer": lambda x: Square.apply(x) * Exp.apply(x),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_was_packed_counts(name):
    """The leaf is something else by the time of the backward run: derivatives of all orders are of what it was."""

    def derivatives(change, order):
        x = leaf(1.0, 2.0, 0.5)
        if change:
            with through([]):
                y = CALLS[name](x)
            with paddle.no_grad():
                x.set_value(paddle.to_tensor([7.0, -3.0, 11.0], dtype="float64"))
        else:
            y = CALLS[name](x)
        found = []
        for k in range(order):
            (y,) = paddle.grad(y.sum(), x, create_graph=k + 1 < order)
            found.append(y.numpy())
        return found

    for order in (1, 2):
        for a, b in zip(derivatives(True, order), derivatives(False, order), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_what_unpack_changes_counts():
    """A lossy pack: first and second derivatives are those at the point that unpack gives."""
    x = leaf(1.0, 2.0)
    with saved_tensors_hooks(lambda t: t.numpy().copy(), lambda a: paddle.to_tensor(a * 2)):
        y = x * x * x.detach()
    (first,) = paddle.grad(y.sum(), x, retain_graph=True)
    (g,) = paddle.grad(y.sum(), x, create_graph=True)
    np.testing.assert_array_equal(g.numpy(), first.numpy())
    (gg,) = paddle.grad(g.sum(), x)
    np.testing.assert_allclose(gg.numpy(), 2 * 2 * x.numpy())


def test_gradients_arrive_at_the_leaf():
    """With ``backward``, and with hooks of the leaf, which see one sum."""
    x, seen = leaf(1.0, 2.0), []
    x.register_hook(lambda g: seen.append(g.numpy()))
    with through([]):
        y = (x * x * x).sum()
    (g,) = paddle.grad(y, x, create_graph=True)
    seen.clear()
    (g * g).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 36 * x.numpy() ** 3)
    assert len(seen) == 1


@pytest.mark.parametrize("kind", [Square, Exp])
def test_py_layers_and_writes(kind):
    x = leaf(1.0, 2.0)
    h = x * 1.0
    y = kind.apply(h)
    (h if kind is Square else y).add_(paddle.ones([2], dtype="float64"))
    with pytest.raises(RuntimeError, match=rf"\[{kind.__name__}\] requires a saved tensor \(shape \[2\]\) as it was"):
        y.sum().backward()


def test_a_kept_result_makes_no_cycle():
    gc.collect()
    gc.disable()
    try:
        y = Exp.apply(leaf(1.0))
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_writes_within_forward_are_fine():
    class Twice(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            x.add_(x)
            return x

        @staticmethod
        def backward(ctx, g):
            ctx.saved_tensor()
            return 2 * g

    x = leaf(1.0)
    y = Twice.apply(x * 1.0)
    y.sum().backward()
    assert x.grad.tolist() == [2.0]


# --- what hooks may not do -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [lambda x: x * x, Square.apply], ids=["op", "PyLayer"])
def test_results_of_unpack(call):
    like = r"requires a tensor like the one that was saved from unpack, float64\[2\], got "
    for wrong, kind, message in (
        (lambda t: 5, TypeError, "requires a Tensor from unpack, got int"),
        (lambda t: paddle.ones([3], dtype="float64"), ValueError, like + r"float64\[3\]"),
        (lambda t: paddle.ones([2], dtype="float32"), ValueError, like + r"float32\[2\]"),
    ):
        x = leaf(1.0, 2.0)
        with saved_tensors_hooks(lambda t: t, wrong):
            y = call(x * 1.0)
        with pytest.raises(kind, match=rf"\[saved_tensors_hooks\] {message}"):
            y.sum().backward()


@pytest.mark.parametrize("call", [lambda x: x * x, Square.apply], ids=["op", "PyLayer"])
def test_what_pack_returned_is_checked_for_writes(call):
    x = leaf(1.0, 2.0)
    h = x * 1.0
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        y = call(h)
    h.add_(paddle.ones([2], dtype="float64"))
    with pytest.raises(RuntimeError, match="modified in place"):
        y.sum().backward()
    h = x * 1.0
    with saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = call(h)
    h.add_(paddle.ones([2], dtype="float64"))
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("call", [lambda x: x * x, Square.apply], ids=["op", "PyLayer"])
def test_errors_in_hooks(call):
    def broken(t):
        raise KeyError("broken")

    x = leaf(1.0, 2.0)
    with pytest.raises(KeyError, match="broken"), saved_tensors_hooks(broken, lambda t: t):
        call(x * 1.0)
    log = []
    with through(log):  # nothing of the failed block is left
        call(x * 1.0)
    assert log
    with saved_tensors_hooks(lambda t: t, broken):
        y = call(x * 1.0)
    with pytest.raises(KeyError, match="broken"):
        y.sum().backward()
    assert paddle.is_grad_enabled()


@pytest.mark.parametrize("call", [lambda x: x * x, Square.apply], ids=["op", "PyLayer"])
def test_what_pack_computes_is_neither_packed_nor_recorded(call):
    seen = []

    def pack(t):
        made = t * 2.0
        seen.append(made.stop_gradient)
        return made

    x = leaf(1.0, 2.0)
    with saved_tensors_hooks(pack, lambda t: t / 2.0):
        y = call(x * 1.0)
    y.sum().backward()
    assert seen
    assert all(seen)
    assert x.grad.tolist() == [2.0, 4.0]


def test_pack_is_told_of_leaves():
    seen = []
    x = leaf(1.0)
    constant = paddle.to_tensor([2.0], dtype="float64")
    with saved_tensors_hooks(lambda t: seen.append(t.stop_gradient) or t, lambda t: t):
        y = (x * x) * constant
    assert seen == [False, False, True]
    y.backward()
    assert x.grad.tolist() == [4.0]


def test_nothing_is_saved_without_a_gradient():
    log = []
    with through(log), paddle.no_grad():
        leaf(1.0) * leaf(2.0)
        Square.apply(leaf(1.0))
    with through(log):
        paddle.ones([1]) * paddle.ones([1])
        Square.apply(paddle.ones([1]))
    assert log == []
