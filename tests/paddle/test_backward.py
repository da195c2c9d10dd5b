"""Backward runs, gradients of given tensors, recording modes, Jacobians, hooks around saved tensors."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
import torch

import paddle
from paddle.autograd import backward, hessian, jacobian, jvp, saved_tensors_hooks, vjp


def leaf(value, dtype="float64"):
    return paddle.to_tensor(np.asarray(value, dtype), stop_gradient=False)


def fixed(value, dtype="float64"):
    return paddle.to_tensor(np.asarray(value, dtype))


# --- backward ------------------------------------------------------------------------------------------------------


def test_backward_of_several_tensors():
    x = leaf([1.0, 2.0])
    backward([x * 2, x * x], [None, fixed([10.0, 100.0])])
    assert x.grad.tolist() == [22.0, 402.0]
    backward((x * 1,), (fixed([1.0, 1.0]),))
    assert x.grad.tolist() == [23.0, 403.0]
    backward(x * 1, fixed([1.0, 0.0]))
    assert x.grad.tolist() == [24.0, 403.0]


def test_backward_twice():
    x = leaf(3.0)
    y = x * x
    backward(y, retain_graph=True)
    backward(y)
    assert float(x.grad) == 12.0
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        backward(y)


def test_backward_of_a_leaf():
    x = leaf([1.0, 2.0])
    backward(x)
    assert x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: backward(5), TypeError, r"\[backward\] requires a Tensor or a list of them for tensors, got int"),
        (lambda x: backward([x, 1]), TypeError, "for tensors"),
        (lambda x: backward([x, x]), ValueError, "different tensors"),
        (lambda x: backward([x], [x, x]), ValueError, r"1 grad_tensors, one for each tensor, got 2"),
        (lambda x: backward([x], [1.0]), TypeError, "a Tensor or None in grad_tensors, got float"),
        (lambda x: backward([x], [fixed([1.0])]), ValueError, r"grad_tensors of shape \[2\], got \[1\]"),
        (lambda x: backward([x], [fixed([1, 1], "int64")]), TypeError, "float64, got int64"),
    ],
)
def test_errors_of_backward(call, kind, message):
    with pytest.raises(kind, match=message):
        call(leaf([1.0, 2.0]))


# --- grad ----------------------------------------------------------------------------------------------------------


def test_grad_leaves_gradients_alone():
    x, y = leaf(2.0), leaf(3.0)
    z = x * x * y
    gx, gy = paddle.grad(z, [x, y])
    assert (float(gx), float(gy)) == (12.0, 4.0)
    assert x.grad is None
    assert gx.stop_gradient


def test_grad_of_what_lies_between():
    x = leaf(2.0)
    y = x * x
    z = y * 3 + x
    gx, gy = paddle.grad(z, [x, y], retain_graph=True)
    assert (float(gx), float(gy)) == (13.0, 3.0)
    (gz,) = paddle.grad(z, z, retain_graph=True)
    assert float(gz) == 1.0
    z.backward()
    assert float(x.grad) == 13.0


def test_grad_with_weights():
    x = leaf(2.0)
    (g,) = paddle.grad([x * x, x * 3], x, [fixed(2.0), None])
    assert float(g) == 11.0


def test_tensors_that_gradients_do_not_pass():
    x = leaf(2.0)
    y = x * x
    assert float(paddle.grad(y * x, x, no_grad_vars=[y])[0]) == 4.0
    y = x * x
    assert paddle.grad(y * 3, x, no_grad_vars=y, allow_unused=True) == [None]


def test_third_derivatives(rng):
    a = rng.uniform(0.5, 1.5, 3)
    x, peer = leaf(a), torch.from_numpy(a).requires_grad_()
    for _ in range(2):
        y, z = (paddle.exp(x) * paddle.sin(x) / x).sum(), (torch.exp(peer) * torch.sin(peer) / peer).sum()
        for _ in range(3):
            (y,) = paddle.grad(y, x, create_graph=True)
            (z,) = torch.autograd.grad(z, peer, torch.ones_like(z), create_graph=True)
            np.testing.assert_allclose(y.numpy(), z.detach().numpy(), rtol=1e-9)


def test_gradient_penalty():
    """A gradient inside a loss, then backward into ``.grad``."""
    x, w = leaf([[1.0, 2.0]]), leaf([[0.5], [-1.0]])
    (g,) = paddle.grad(paddle.tanh(x @ w), x, create_graph=True)
    ((g * g).sum() - 1).backward()
    t = np.tanh(-1.5)
    slope, bend = 1 - t * t, -2 * t * (1 - t * t)
    weights = np.array([[0.5], [-1.0]])
    size = (weights**2).sum()
    expected = 2 * slope**2 * weights + 2 * slope * size * bend * np.array([[1.0], [2.0]])
    np.testing.assert_allclose(w.grad.numpy(), expected)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: paddle.grad(x * 2, x, only_inputs=False), ValueError, "only_inputs=True"),
        (lambda x: paddle.grad([x * 2], x, [None, None]), ValueError, "1 grad_outputs, one for each tensor, got 2"),
        (lambda x: paddle.grad(x * 2, [x, 1]), TypeError, r"\[grad\] requires a Tensor or a list of them for inputs"),
        (lambda x: paddle.grad(1, x), TypeError, "for outputs, got int"),
        (lambda x: paddle.grad(x * 2, x, no_grad_vars=1), TypeError, "for no_grad_vars"),
    ],
)
def test_errors_of_grad(call, kind, message):
    with pytest.raises(kind, match=message):
        call(leaf(1.0))


@pytest.mark.usefixtures("no_garbage")
def test_nothing_is_left_for_the_collector():
    x = leaf(np.ones(100))
    for _ in range(3):
        (g,) = paddle.grad((paddle.exp(x) * x).sum(), x, create_graph=True)
        (g * g).sum().backward()
        x.clear_grad()
    del g
    before = len(gc.get_objects())
    for _ in range(10):
        (g,) = paddle.grad((paddle.exp(x) * x).sum(), x, create_graph=True)
        (g * g).sum().backward()
        x.clear_grad()
    del g
    assert len(gc.get_objects()) - before < 10


# --- recording -----------------------------------------------------------------------------------------------------


def test_modes():
    x = leaf(1.0)
    assert paddle.is_grad_enabled()
    with paddle.no_grad():
        assert not paddle.is_grad_enabled()
        assert (x * 2).stop_gradient
        with paddle.enable_grad():
            assert not (x * 2).stop_gradient
        assert not paddle.is_grad_enabled()
    with paddle.set_grad_enabled(False):
        assert not paddle.is_grad_enabled()
    assert paddle.is_grad_enabled()
    paddle.set_grad_enabled(False)
    assert not paddle.is_grad_enabled()
    paddle.set_grad_enabled(True)
    assert paddle.is_grad_enabled()


def test_modes_as_decorators():
    @paddle.no_grad()
    def called(x):
        return x * 2

    @paddle.no_grad
    def bare(x):
        return x * 2

    @paddle.set_grad_enabled(False)
    def switched(x):
        return x * 2

    assert paddle.is_grad_enabled()
    assert called(leaf(1.0)).stop_gradient
    assert bare(leaf(1.0)).stop_gradient
    assert switched(leaf(1.0)).stop_gradient
    assert called.__name__ == "called"

    @paddle.no_grad()
    def generator(x):
        yield x * 2
        yield paddle.is_grad_enabled()

    items = generator(leaf(1.0))
    assert next(items).stop_gradient
    assert paddle.is_grad_enabled()
    assert next(items) is False


def test_modes_end_with_errors():
    with pytest.raises(KeyError), paddle.no_grad():
        raise KeyError
    assert paddle.is_grad_enabled()


def test_modes_belong_to_a_thread():
    seen = []
    with paddle.no_grad():
        thread = threading.Thread(target=lambda: seen.append(paddle.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


# --- Jacobians -----------------------------------------------------------------------------------------------------

MATRIX = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def test_several_results_and_variables():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    found = jacobian([x * y, x + y], [x, y])
    assert [[j[:].tolist() for j in row] for row in found] == [
        [[[3.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 2.0]]],
        [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]],
    ]


def test_jacobian_is_indexed_like_a_tensor():
    x = leaf([1.0, 2.0, 3.0])
    found = jacobian(x * x, x)
    whole = np.diag([2.0, 4.0, 6.0])
    for index in (0, -1, (1, 1), slice(0, 2), (slice(None), 1), (slice(0, 2), slice(1, None)), Ellipsis, (1, slice(2))):
        np.testing.assert_array_equal(found[index].numpy(), whole[index])
    with pytest.raises(IndexError, match=r"\[jacobian\] requires a row from -3 to 2, got 3"):
        found[3]


def test_rows_are_computed_once_and_when_asked_for():
    x = leaf([1.0, 2.0, 3.0])
    runs = []
    y = x * x
    y.register_hook(lambda g: runs.append(1))
    found = jacobian(y, x)
    assert runs == []
    for _ in range(2):
        found[1]
    assert len(runs) == 1
    found[:]
    assert len(runs) == 3


def test_batches():
    x = leaf(MATRIX)
    scale = fixed([[1.0, 1.0], [2.0, 3.0], [1.0, 0.0]])
    found = jacobian(x * scale, x, batch_axis=0)
    assert found.shape == [3, 2, 2]
    whole = np.stack([np.diag(row) for row in scale.numpy()])
    for index in (slice(None), 1, (slice(None), 1), (0, 1), (slice(1), slice(None), 0)):
        np.testing.assert_array_equal(found[index].numpy(), whole[index])
    v = leaf([1.0, 2.0, 3.0])
    assert jacobian(v * v, v, batch_axis=0)[:].tolist() == [2.0, 4.0, 6.0]
    np.testing.assert_array_equal(jacobian(v.unsqueeze(-1) * scale, v, batch_axis=0)[:].numpy(), scale.numpy())


def test_derivatives_go_on_after_a_hessian():
    x = leaf([1.0, 2.0])
    (g,) = paddle.grad(hessian((x**4).sum(), x)[:].sum(), x)
    assert g.tolist() == [24.0, 48.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: jacobian(m * m, m), "tensors of rank 0 or 1"),
        (lambda m: jacobian(m * m, m, batch_axis=1), r"\[jacobian\] requires a batch_axis of None or 0, got 1"),
        (lambda m: hessian(m * m, m), r"\[hessian\] requires one element"),
        (lambda m: hessian(m.sum(), m, batch_axis="a"), r"\[hessian\] requires a batch_axis"),
        (lambda m: jacobian(m.sum(0), m, batch_axis=0), "one batch size"),
    ],
)
def test_errors_of_jacobians(call, message):
    with pytest.raises(ValueError, match=message):
        call(leaf(MATRIX))


# --- products with Jacobians ---------------------------------------------------------------------------------------


def function(x, y):
    return x * x * y, (x * y).sum()


def peer_function(x, y):
    return x * x * y, (x * y).sum()


def test_vjp(rng):
    a, b, v, w = rng.standard_normal(3), rng.standard_normal(3), rng.standard_normal(3), rng.standard_normal()
    ys, grads = vjp(function, [fixed(a), fixed(b)], [fixed(v), fixed(w)])
    peer, expected = torch.autograd.functional.vjp(
        peer_function,
        (torch.from_numpy(a), torch.from_numpy(b)),
        (torch.from_numpy(v), torch.tensor(w, dtype=torch.float64)),
    )
    for got, want in zip((*ys, *grads), (*peer, *expected)):
        np.testing.assert_allclose(got.numpy(), want.numpy())
    _, g = vjp(lambda x: x * x, fixed([1.0, 2.0]))
    assert g.tolist() == [2.0, 4.0]
    _, (g, h) = vjp(lambda x, y: x * 3, [fixed([1.0]), fixed([1.0, 1.0])])
    assert g.tolist() == [3.0]
    assert h.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("product", [paddle.autograd.vjp, paddle.autograd.jvp])
def test_errors_of_products(product):
    x, name = paddle.ones([2]), product.__name__
    for call, kind, text in (
        (lambda: product(lambda x: x * x, x, [x, x]), ValueError, "1 tensors in v, got 2"),
        (lambda: product(lambda x: x * x, x, paddle.ones([3])), ValueError, "v of shape"),
        (lambda: product(lambda x: x * x, x, 3), TypeError, "a Tensor or a list of them for v, got int"),
        (lambda: product(lambda x: x * x, 3), TypeError, "for xs, got int"),
        (lambda: product(lambda x: x * x, paddle.ones([2], "int64")), TypeError, "for xs, got int64"),
        (lambda: product(3, x), TypeError, "a function, got int"),
    ):
        with pytest.raises(kind, match=rf"^\[{name}\] requires .*{text}"):
            call()


def test_jvp(rng):
    a, b, v, w = (rng.standard_normal(3) for _ in range(4))
    ys, tangents = jvp(function, [fixed(a), fixed(b)], [fixed(v), fixed(w)])
    peer, expected = torch.autograd.functional.jvp(
        peer_function, (torch.from_numpy(a), torch.from_numpy(b)), (torch.from_numpy(v), torch.from_numpy(w))
    )
    for got, want in zip((*ys, *tangents), (*peer, *expected)):
        np.testing.assert_allclose(got.numpy(), want.numpy())
    y, t = jvp(lambda x: x * x, fixed([1.0, 2.0]))
    assert t.tolist() == [2.0, 4.0]
    _, t = jvp(lambda x: x * 3, fixed([1.0]))  # linear: the first derivative does not depend on x
    assert t.tolist() == [3.0]


# --- hooks around saved tensors ------------------------------------------------------------------------------------


def test_packing():
    packed, unpacked = [], []

    def pack(t):
        packed.append(t.shape)
        return t.numpy().copy()

    def unpack(a):
        unpacked.append(a.shape)
        return paddle.to_tensor(a)

    x = leaf([1.0, 2.0])
    with saved_tensors_hooks(pack, unpack):
        y = paddle.exp(x * x)
    assert packed
    z = y * 3
    count = len(packed)
    assert unpacked == []
    z.sum().backward()
    assert len(packed) == count == len(unpacked)
    np.testing.assert_allclose(x.grad.numpy(), 3 * 2 * np.array([1.0, 2.0]) * np.exp([1.0, 4.0]))


def test_packing_and_higher_derivatives():
    x = leaf([0.5, 2.0])
    with saved_tensors_hooks(lambda t: t.numpy().copy(), paddle.to_tensor):
        y = paddle.exp(x) * x
        (g,) = paddle.grad(y, x, create_graph=True)
        (gg,) = paddle.grad(g, x, create_graph=True)
    (ggg,) = paddle.grad(gg, x)
    np.testing.assert_allclose(ggg.numpy(), np.exp([0.5, 2.0]) * (np.array([0.5, 2.0]) + 3))


def test_the_inner_hooks_count():
    outer, inner = [], []
    x = leaf([1.0])
    with saved_tensors_hooks(lambda t: outer.append(1) or t, lambda t: t):
        with saved_tensors_hooks(lambda t: inner.append(1) or t, lambda t: t):
            x * x
        assert outer == []
        count = len(inner)
        assert count
        x * x
        assert len(inner) == count
        assert outer
    count = len(outer)
    x * x
    assert len(outer) == count


def test_hooks_end_with_errors():
    seen = []
    with pytest.raises(KeyError), saved_tensors_hooks(lambda t: seen.append(1) or t, lambda t: t):
        raise KeyError
    x = leaf([1.0])
    x * x
    assert seen == []


def test_hooks_that_cannot_be_called():
    with pytest.raises(TypeError, match=r"\[saved_tensors_hooks\] requires a function for pack_hook, got int"):
        saved_tensors_hooks(1, lambda t: t)
    with pytest.raises(TypeError, match="for unpack_hook, got NoneType"):
        saved_tensors_hooks(lambda t: t, None)
    x = leaf([1.0])
    with saved_tensors_hooks(lambda t: t, lambda t: 5):
        y = x * x
    with pytest.raises(TypeError, match=r"\[saved_tensors_hooks\] requires a Tensor"):
        y.backward()
