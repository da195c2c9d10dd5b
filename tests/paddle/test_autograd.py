"""Backward runs, gradients of given tensors, operations of one's own, Jacobians, modes."""

import copy
import threading

import numpy as np
import pytest

import paddle
from paddle.autograd import PyLayer


def leaf(*values):
    return paddle.to_tensor(list(values) if len(values) > 1 else values[0], stop_gradient=False)


def test_backward_accumulates():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    (x * x).sum().backward()
    assert x.grad.tolist() == [4, 8]
    assert isinstance(x.gradient(), np.ndarray)
    x.clear_grad()
    assert x.grad.tolist() == [0, 0]
    x.clear_gradient(set_to_zero=False)
    assert x.grad is None


def test_backward_of_several():
    x = leaf(1.0, 2.0)
    paddle.autograd.backward([x * 2, x * 3], [None, paddle.to_tensor([10.0, 0.0])])
    assert x.grad.tolist() == [32, 2]
    with pytest.raises(ValueError, match="different tensors"):
        y = x * 2
        paddle.autograd.backward([y, y])
    with pytest.raises(ValueError, match="grad_tensor of shape"):
        (x * 2).backward(paddle.ones([3]))
    with pytest.raises(TypeError, match="Tensor"):
        (x * 2).backward(1.0)


def test_grad():
    x, y = leaf(2.0), leaf(3.0)
    z = x * x * y
    dx, dy = paddle.grad(z, [x, y], retain_graph=True)
    assert (dx.item(), dy.item()) == (12, 4)
    assert x.grad is None
    assert paddle.grad(z, [x, leaf(1.0)], allow_unused=True, retain_graph=True)[1] is None
    with pytest.raises(ValueError, match=r"unused|depend"):
        paddle.grad(z, [leaf(1.0)])
    with pytest.raises(ValueError, match="only_inputs"):
        paddle.grad(z, x, only_inputs=False)
    (g,) = paddle.grad([x * 2], [x], [paddle.to_tensor(5.0)])
    assert g.item() == 10


# A function of two vectors of 3, and of the weights of its result: gradients that the engine hands on as they are.
HANDED_ON = {
    "a sum": lambda a, b, w: paddle.grad(a + b, [a, b], w),
    "a difference": lambda a, b, w: paddle.grad(a - b, [a, b], w),
    "a copy": lambda a, b, w: paddle.grad([a.clone(), b], [a, b], [w, w]),
    "a reshape": lambda a, b, w: paddle.grad(a.reshape([3, 1]) + b.reshape([3, 1]), [a, b], w.reshape([3, 1])),
    "an input twice": lambda a, b, w: paddle.grad(a + b, [a, a], w),
    "one number": lambda a, b, w: paddle.grad((a + b).sum() * 2, [a, b]),
    "one number for each row": lambda a, b, w: paddle.grad(
        a.expand([4, 3]).sum(0) + b, [a, b], w.detach()[:1].expand([3])
    ),
    "what a layer of Python saved": lambda a, b, w: paddle.grad(Handing.apply(a, w) + b, [a, b]),
}


class Handing(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(w)
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return ctx.saved_tensor()[0], None


@pytest.mark.parametrize("mode", ["eager", "captured", "one graph"])
@pytest.mark.parametrize("case", HANDED_ON)
def test_who_writes_to_a_gradient_changes_nothing_else(case, mode):
    """Neither another gradient nor what was given, as a whole and by one element."""

    def step(a, b, w, whole):
        gradients = HANDED_ON[case](a, b, w)
        if whole:
            gradients[0].scale_(10.0)
        else:
            gradients[0][1] = 7.0
        return *gradients, w

    run = step if mode == "eager" else paddle.jit.to_static(step, full_graph=mode == "one graph")
    for whole in (True, False):
        a, b, w = paddle.ones([3]), paddle.ones([3]), paddle.full([3], 2.0)
        a.stop_gradient = b.stop_gradient = False
        first, second = (g.numpy() for g in HANDED_ON[case](a, b, w))
        expected = first * 10 if whole else np.where(np.arange(3) == 1, 7, first)
        got = run(a, b, w, whole)
        for x, y in zip(got, (expected, second, np.full(3, 2.0)), strict=True):
            np.testing.assert_array_equal(x.numpy(), y.astype("float32"))


def halved(g):
    g.scale_(0.5)


def first_set(g):
    g[0] = 5.0


class Writing(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x, write):
        ctx.write = write
        return x * 1

    @staticmethod
    def backward(ctx, g):
        ctx.write(g)
        return g


def _quietly(write):
    def hook(g):
        with paddle.no_grad():
            write(g)

    return hook


def _hooked(x, write):
    x.register_hook(_quietly(write))
    return x


WRITTEN = {
    "hook of a leaf": _hooked,
    "hook of a result": lambda x, write: _hooked(x * 1, write),
    "layer of Python": lambda x, write: Writing.apply(x, write),
}
LOSSES = {
    "one number": lambda x, y: (x.sum() + y.sum()).backward(),
    "one gradient for two": lambda x, y: (x + y).exp().sum().backward(),
    "a weight": lambda x, y: (x + y).backward(WEIGHT),
    "of its own": lambda x, y: (x.exp() + y).sum().backward(),
}
WEIGHT = paddle.full([3], 2.0)


class Noting(paddle.autograd.PyLayer):
    """Notes where its gradient lies, which nobody else has."""

    @staticmethod
    def forward(ctx, x, places):
        ctx.places = places
        return x * 1

    @staticmethod
    def backward(ctx, g):
        g = g * 2
        ctx.places.append(g.data_ptr())
        return g


@pytest.mark.parametrize("where", ["leaf", "result"])
def test_a_gradient_that_nobody_shares_is_not_copied_for_a_hook(where):
    places = []
    x = leaf(1.0, 2.0)
    y = x if where == "leaf" else x * 1
    y.register_hook(lambda g: places.append(g.data_ptr()))
    Noting.apply(y, places).sum().backward()
    if where == "leaf":
        places.append(x.grad.data_ptr())
    assert len(set(places)) == 1


class GivingAView(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return WEIGHT.reshape([3, 1]).squeeze(1)


def test_a_gradient_that_is_a_view_is_set_apart():
    x = leaf(1.0, 2.0, 3.0)
    (g,) = paddle.grad(GivingAView.apply(x).sum(), x)
    g.zero_()
    assert WEIGHT.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("write", [halved, first_set])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("where", WRITTEN)
def test_functions_may_write_to_the_gradients_that_they_get(where, loss, write):
    """Other gradients, other elements and the weight that was given are what they are without it."""
    plain = [leaf(1.0, 2.0, 3.0), leaf(1.0, 0.5, 2.0)]
    LOSSES[loss](*plain)
    x, y = (leaf(*t.tolist()) for t in plain)
    LOSSES[loss](WRITTEN[where](x, write), y)
    expected = plain[0].grad.numpy().copy()
    if write is halved:
        expected *= 0.5
    else:
        expected[0] = 5.0
    np.testing.assert_array_equal(x.grad.numpy(), expected)
    np.testing.assert_array_equal(y.grad.numpy(), plain[1].grad.numpy())
    assert WEIGHT.tolist() == [2.0, 2.0, 2.0]


def test_higher_order():
    x = leaf(2.0)
    y = x**4
    for expected in (32, 48, 48, 24):
        (y,) = paddle.grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(expected)


def test_modes():
    x = leaf(1.0)
    with paddle.no_grad():
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


@pytest.mark.parametrize("mark", [paddle.no_grad, paddle.no_grad()], ids=["bare", "called"])
def test_modes_as_decorators(mark):
    @mark
    def f(x):
        """Doc."""
        return (x * 2).stop_gradient

    assert f(leaf(1.0))
    assert f.__doc__ == "Doc."
    assert paddle.is_grad_enabled()

    @mark
    def gen():
        got = []
        try:
            while True:
                got.append((yield paddle.is_grad_enabled()))
        except KeyError:
            got.append("thrown")
        return got

    g = gen()
    assert next(g) is False
    assert paddle.is_grad_enabled()
    assert g.send(1) is False
    with pytest.raises(StopIteration) as end:
        g.throw(KeyError())
    assert end.value.value == [1, "thrown"]
    assert paddle.is_grad_enabled()


def test_modes_belong_to_threads():
    seen = []
    with paddle.no_grad():
        thread = threading.Thread(target=lambda: seen.append(paddle.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_modes_end_with_errors():
    with pytest.raises(KeyError), paddle.no_grad():
        raise KeyError
    assert paddle.is_grad_enabled()


# --- PyLayer -------------------------------------------------------------------------------------------------------


class Product(PyLayer):
    @staticmethod
    def forward(ctx, x, y, k=2):
        assert not paddle.is_grad_enabled()
        ctx.save_for_backward(x, y)
        ctx.k = k
        return x * y * k, x + 1

    @staticmethod
    def backward(ctx, g, g2):
        x, y = ctx.saved_tensor()
        return g * y * ctx.k + g2, g * x * ctx.k


def test_py_layer():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    a, b = Product.apply(x, y, k=3)
    assert not a.stop_gradient
    assert "Product" in a.grad_fn.name
    (a.sum() + 2 * b.sum()).backward()
    assert x.grad.tolist() == [11, 14]
    assert y.grad.tolist() == [3, 6]


def test_py_layer_materialises_zeros():
    x, y = leaf(1.0), leaf(3.0)
    Product.apply(x, y)[0].backward()
    assert (x.grad.item(), y.grad.item()) == (6, 2)


def test_py_layer_with_inputs_that_need_no_gradient():
    x, y = leaf(1.0), paddle.to_tensor(3.0)
    Product.apply(x, y)[0].backward()
    assert x.grad.item() == 6
    assert y.grad is None
    out = Product.apply(paddle.ones([1]), y)
    assert out[0].stop_gradient
    with paddle.no_grad():
        assert Product.apply(x, y)[0].stop_gradient


def test_py_layer_twice_differentiable():
    class Cube(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensor()
            return g * 3 * x * x

    x = leaf(2.0)
    (g,) = paddle.grad(Cube.apply(x), x, create_graph=True)
    (h,) = paddle.grad(g, x)
    assert (g.item(), h.item()) == (12, 12)


def test_py_layer_options():
    seen = []

    class Two(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            a, b = x * 1, x * 2
            ctx.mark_non_differentiable(b)
            return a, b, 7

        @staticmethod
        def backward(ctx, g, g2):
            seen.append(g2)
            return g

    x = leaf(1.0)
    a, b, n = Two.apply(x)
    assert b.stop_gradient
    assert n == 7
    a.backward()
    assert seen == [None]
    assert x.grad.item() == 1


def test_py_layer_that_returns_its_input():
    class Same(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_not_inplace(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 5

    x = leaf(1.0)
    y = Same.apply(x)
    assert y is not x
    y.backward()
    assert x.grad.item() == 5

    class InPlace(Same):
        @staticmethod
        def forward(ctx, x):
            return x

    with pytest.raises(RuntimeError, match="mark_not_inplace"):
        InPlace.apply(x)


def test_py_layer_errors():
    class Wrong(PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g, g

    with pytest.raises(ValueError, match="1 gradients"):
        Wrong.apply(leaf(1.0)).backward()
    with pytest.raises(NotImplementedError, match="forward"):
        PyLayer.apply(leaf(1.0))


def test_py_layer_leaves_no_cycle():
    import gc
    import weakref

    x = leaf(1.0)
    y = Product.apply(x, x)[0]
    ref = weakref.ref(y)
    gc.disable()
    try:
        del y
        assert ref() is None
    finally:
        gc.enable()


# --- Jacobians -----------------------------------------------------------------------------------------------------


def test_jacobian():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    z = paddle.stack([x[0] * y[1], x[1] * x[1], y[0]])
    j = paddle.autograd.jacobian(z, x)
    assert j.shape == [3, 2]
    assert j[0].tolist() == [4, 0]
    assert j[:].tolist() == [[4, 0], [0, 4], [0, 0]]
    both = paddle.autograd.jacobian((z, x * 2), (x, y))
    assert both[0][1][:].tolist() == [[0, 1], [0, 0], [1, 0]]
    assert both[1][1][:].tolist() == [[0, 0], [0, 0]]


def test_jacobian_with_a_batch():
    x = leaf([1.0, 2.0], [3.0, 4.0])
    j = paddle.autograd.jacobian(x * x, x, batch_axis=0)
    assert j.shape == [2, 2, 2]
    assert j[:].tolist() == [[[2, 0], [0, 4]], [[6, 0], [0, 8]]]


def test_hessian():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    z = (x * x * y).sum()
    assert paddle.autograd.hessian(z, x)[:].tolist() == [[6, 0], [0, 8]]
    h = paddle.autograd.hessian(z, (x, y))
    assert h[0][1][:].tolist() == [[2, 0], [0, 4]]
    with pytest.raises(ValueError, match="one element"):
        paddle.autograd.hessian(x * x, x)


def test_products_with_jacobians():
    a = paddle.to_tensor([1.0, 2.0])
    f = lambda x, y: paddle.stack([x.sum() * y[0], (y * y).sum()])  # noqa: E731
    ys, (gx, gy) = paddle.autograd.vjp(f, [a, a], paddle.to_tensor([1.0, 10.0]))
    assert ys.tolist() == [3, 5]
    assert (gx.tolist(), gy.tolist()) == ([1, 1], [23, 40])
    _, t = paddle.autograd.jvp(f, [a, a], [paddle.to_tensor([1.0, 0.0]), paddle.to_tensor([0.0, 1.0])])
    assert t.tolist() == [1, 4]


# --- what else tensors know of gradients ---------------------------------------------------------------------------


def test_hooks_and_retained_gradients():
    x = leaf(1.0)
    y = x * 3
    y.retain_grads()
    handle = y.register_hook(lambda g: g * 10)
    (y * 2).backward()
    assert x.grad.item() == 60
    assert y.grad.item() == 20
    assert handle.remove()


def test_detach_clone_and_copies():
    x = leaf(1.0, 2.0)
    d = x.detach()
    assert d.stop_gradient
    d[0] = 9.0
    assert x.tolist() == [9, 2]
    c = x.clone()
    c.sum().backward()
    assert x.grad.tolist() == [1, 1]
    e = copy.deepcopy(x)
    assert not e.stop_gradient
    assert e.grad is None
    e.detach()[0] = 0.0
    assert x.tolist() == [9, 2]
    with pytest.raises(RuntimeError, match="without history"):
        copy.deepcopy(x * 2)
    assert x.requires_grad
    x.requires_grad = False
    assert x.stop_gradient
    assert not x.requires_grad_().stop_gradient


def test_jacobians_in_no_grad_are_zeros_of_what_has_no_history():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x * x
    with paddle.no_grad():
        assert paddle.autograd.jacobian(x * x, x)[:].tolist() == [[0.0, 0.0]] * 2
        assert paddle.autograd.jacobian(y, x)[:].tolist() == [[2.0, 0.0], [0.0, 4.0]]
        assert paddle.autograd.hessian((x * x).sum(), x)[:].tolist() == [[0.0, 0.0]] * 2
        assert paddle.incubate.autograd.Jacobian(lambda t: t * t, x)[:].tolist() == [[2.0, 0.0], [0.0, 4.0]]
        assert paddle.incubate.autograd.Hessian(lambda t: (t * t).sum(), x)[:].tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert paddle.autograd.jacobian(x * 2, paddle.ones([2]))[:].tolist() == [[0.0, 0.0]] * 2
