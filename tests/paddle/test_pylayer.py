"""Operations whose forward and backward are Python functions."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import paddle
from paddle.autograd import PyLayer
from paddle.autograd.py_layer import once_differentiable


def leaf(*values, dtype="float64"):
    return paddle.to_tensor(list(values), dtype=dtype, stop_gradient=False)


def fixed(*values, dtype="float64"):
    return paddle.to_tensor(list(values), dtype=dtype)


def layer(forward, backward):
    return type("Layer", (PyLayer,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


class Cube(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensor()
        return grad * 3 * x * x


class Exp(PyLayer):
    @staticmethod
    def forward(ctx, x):
        y = paddle.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensor()
        return grad * y


class Scaled(PyLayer):
    """Two outputs, numbers among the arguments, state on the context."""

    @staticmethod
    def forward(ctx, x, factor, y, *, power=2, label=None):
        assert not paddle.is_grad_enabled()
        ctx.factor, ctx.power = factor, power
        ctx.save_for_backward(x, y)
        return x * y * factor, y**power

    @staticmethod
    def backward(ctx, g1, g2):
        x, y = ctx.saved_tensor()
        return g1 * y * ctx.factor, g1 * x * ctx.factor + g2 * ctx.power * y ** (ctx.power - 1)


# --- values --------------------------------------------------------------------------------------------------------


def test_one_input_and_one_output():
    x = leaf(1.0, 2.0)
    y = Cube.apply(x)
    assert not y.stop_gradient
    assert not y.is_leaf
    assert y.grad_fn.name == "Cube"
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]


def test_several_inputs_and_outputs():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    a, b = Scaled.apply(x, 5, y, power=3, label="no tensor")
    (a + b).sum().backward()
    assert x.grad.tolist() == [15.0, 20.0]
    assert y.grad.tolist() == [5.0 + 27.0, 10.0 + 48.0]


def test_keyword_tensors_come_after_positional_ones():
    made = layer(lambda ctx, x, y: x * 2 + y * 3, lambda ctx, g: (g * 2, g * 3))
    x, y = leaf(1.0), leaf(1.0)
    made.apply(x, y=y).backward()
    assert (float(x.grad), float(y.grad)) == (2.0, 3.0)


def test_results_keep_their_form():
    made = layer(lambda ctx, x: [x * 1, 5, None], lambda ctx, g: g * 7)
    x = leaf(1.0)
    out = made.apply(x)
    assert type(out) is list
    assert out[1:] == [5, None]
    out[0].backward()
    assert float(x.grad) == 7.0
    single = layer(lambda ctx, x: (x * 1,), lambda ctx, g: (g,)).apply(x)
    assert type(single) is tuple


def test_nothing_is_recorded_without_need():
    y = Cube.apply(fixed(2.0))
    assert y.stop_gradient
    with paddle.no_grad():
        assert Cube.apply(leaf(2.0)).stop_gradient
    assert Cube.apply(leaf(2.0)).stop_gradient is False


def test_the_last_saving_counts_and_takes_anything():
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_backward(1, "a", None, x)
        return x * 1

    made = layer(forward, lambda ctx, g: seen.append(ctx.saved_tensor()) or g)
    x = leaf(1.0)
    made.apply(x).backward()
    assert seen[0][:3] == (1, "a", None)
    assert seen[0][3] is x


# --- gradients -----------------------------------------------------------------------------------------------------


def test_absent_gradients_are_zeros():
    seen = []
    made = layer(lambda ctx, x: (x * 1, x * 2), lambda ctx, a, b: seen.append((a, b)) or a)
    made.apply(leaf(1.0, 2.0))[0].sum().backward()
    assert seen[0][1].tolist() == [0.0, 0.0]
    assert seen[0][1].dtype == paddle.float64


def test_absent_gradients_may_be_none():
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    x = leaf(1.0)
    layer(forward, lambda ctx, a, b: seen.append(a) or b).apply(x)[1].backward()
    assert seen == [None]
    assert float(x.grad) == 1.0


def test_gradients_may_be_none():
    made = layer(lambda ctx, x, y: x + y, lambda ctx, g: (g * 4, None))
    x, y = leaf(1.0), leaf(1.0)
    made.apply(x, y).backward()
    assert float(x.grad) == 4.0
    assert y.grad is None
    x = leaf(1.0)
    layer(lambda ctx, x: x * 2, lambda ctx, g: None).apply(x).backward()
    assert x.grad is None


@pytest.mark.parametrize("grads", [lambda g: g * 2, lambda g: (g * 2, None), lambda g: (g * 2, g)])
def test_inputs_that_need_no_gradient_may_be_left_out(grads):
    x, y = leaf(1.0), fixed(1.0)
    layer(lambda ctx, x, y: x + y, lambda ctx, g: grads(g)).apply(x, y).backward()
    assert float(x.grad) == 2.0
    assert y.grad is None


class Product(PyLayer):
    """Computes the gradients that are wanted alone."""

    @staticmethod
    def forward(ctx, x, factor, w):
        ctx.save_for_backward(x if ctx.needs_input_grad[2] else None, w if ctx.needs_input_grad[0] else None)
        ctx.factor = factor
        return x @ w * factor

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        g = g * ctx.factor
        by_x = g @ w.T if ctx.needs_input_grad[0] else None
        return by_x, None, x.T @ g if ctx.needs_input_grad[2] else None


@pytest.mark.parametrize("full_graph", [None, False, True])
@pytest.mark.parametrize("wanted", [(True, True), (True, False), (False, True)])
def test_which_gradients_are_wanted_is_told(wanted, full_graph):
    x, w = paddle.rand([2, 3]), paddle.rand([3, 4])
    x.stop_gradient, w.stop_gradient = (not flag for flag in wanted)

    def f(x, w):
        return Product.apply(x, 2.0, w)

    f = f if full_graph is None else paddle.jit.to_static(f, full_graph=full_graph)
    for _ in range(2):
        x.clear_grad(), w.clear_grad()
        f(x, w).sum().backward()
        for t, flag, right in zip((x, w), wanted, (w.sum(1).expand([2, 3]), x.sum(0).unsqueeze(1).expand([3, 4]))):
            assert (t.grad is not None) == flag
            if flag:
                np.testing.assert_allclose(t.grad.numpy(), 2 * right.numpy(), rtol=1e-6)


def test_recording_inside_forward_does_not_leak():
    def forward(ctx, x):
        with paddle.enable_grad():
            return x * 2

    x = leaf(1.0)
    layer(forward, lambda ctx, g: g * 5).apply(x).backward()
    assert float(x.grad) == 5.0


def test_views_as_results():
    x = leaf(1.0, 2.0)
    y = layer(lambda ctx, x: x.reshape([2, 1]), lambda ctx, g: g.reshape([2]) * 3).apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


# --- in place ------------------------------------------------------------------------------------------------------


def test_a_returned_input_is_changed_in_place():
    def forward(ctx, x):
        x.add_(paddle.to_tensor(5.0, dtype="float64"))
        return x

    x = leaf(1.0)
    y = x * 1
    out = layer(forward, lambda ctx, g: g * 2).apply(y)
    assert out is y
    assert y.tolist() == [6.0]
    out.backward()
    assert float(x.grad) == 2.0


# --- higher derivatives --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("made", "third"), [(Cube, 6.0), (Exp, np.exp(2.0))])
def test_derivatives_of_derivatives(made, third):
    x = leaf(2.0)
    y = made.apply(x) * 1
    (g,) = paddle.grad(y, x, create_graph=True)
    (gg,) = paddle.grad(g, x, create_graph=True)
    (ggg,) = paddle.grad(gg, x)
    assert float(ggg) == pytest.approx(third)


def test_the_result_may_be_gone():
    """A saved output has its history also when nobody holds the output."""
    x = leaf(1.0)
    loss = Exp.apply(x) ** 2
    gc.collect()
    (g,) = paddle.grad(loss, x, create_graph=True)
    (gg,) = paddle.grad(g, x)
    assert float(gg) == pytest.approx(4 * np.exp(2.0))


def test_backward_inside_backward():
    """Recomputation: the backward of the layer runs a graph of its own."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return paddle.tanh(x) * x

    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        again = x.detach()
        again.stop_gradient = False
        with paddle.enable_grad():
            y = paddle.tanh(again) * again
        paddle.autograd.backward([y], [g])
        return again.grad

    made = layer(forward, backward)
    x, peer = leaf(0.3, -0.7), leaf(0.3, -0.7)
    made.apply(made.apply(x)).sum().backward()
    once = paddle.tanh(peer) * peer
    (paddle.tanh(once) * once).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), peer.grad.numpy())


def test_layers_in_layers():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return Cube.apply(x) * 2

    x = leaf(2.0)
    layer(forward, lambda ctx, g: g * 6 * ctx.saved_tensor()[0] ** 2).apply(x).backward()
    assert float(x.grad) == 24.0


# --- hooks around saved tensors ------------------------------------------------------------------------------------


# --- memory --------------------------------------------------------------------------------------------------------


# --- threads -------------------------------------------------------------------------------------------------------


def test_threads():
    x = leaf(2.0)
    y = Cube.apply(x)
    runs = [threading.Thread(target=lambda: (y * 1).backward(retain_graph=True)) for _ in range(4)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert float(x.grad) == 48.0


# --- errors --------------------------------------------------------------------------------------------------------


def test_missing_functions():
    class Empty(PyLayer):
        pass

    class OneWay(PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 1

    with pytest.raises(NotImplementedError, match="static method forward"):
        Empty.apply(leaf(1.0))
    with pytest.raises(NotImplementedError, match="static method backward"):
        OneWay.apply(leaf(1.0)).backward()


def test_errors_in_backward_arrive():
    def backward(ctx, g):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        layer(lambda ctx, x: x * 1, backward).apply(leaf(1.0)).backward()
    assert paddle.is_grad_enabled()


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("rows", [2, 1, 0])
@pytest.mark.parametrize(
    "reshaped", ["unsqueeze_(0)", "reshape_([3 * rows])", "transpose_([1, 0])", "unsqueeze_(0).squeeze_(0)"]
)
def test_a_saved_tensor_may_get_another_shape_in_place(reshaped, rows, captured):
    """What was saved is the tensor with the shape that it had; values that were written to are refused."""

    class Square(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensor()
            return g * 2.0 * x

    def run(a):
        x = a * 1.0
        y = Square.apply(x)
        eval(f"x.{reshaped}", {"x": x, "rows": rows})
        return y, x

    a = paddle.arange(rows * 3, dtype="float32").reshape([rows, 3])
    a.stop_gradient = False
    y, x = (paddle.jit.to_static(run) if captured else run)(a)
    (y.sum() + x.sum()).backward()
    np.testing.assert_array_equal(a.grad.numpy(), 2 * a.numpy() + 1)


def test_a_saved_tensor_that_is_written_to_after_a_change_of_shape_is_refused():
    class Square(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensor()
            return g * 2.0 * x

    a = paddle.ones([2, 3])
    a.stop_gradient = False
    x = a * 1.0
    y = Square.apply(x)
    x.unsqueeze_(0)
    x.add_(1.0)
    with pytest.raises(RuntimeError, match="modified in place"):
        y.sum().backward()


@pytest.mark.parametrize("graph", [None, False, True])
def test_a_gradient_for_each_argument_as_in_pytorch(graph):
    class Scaled(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x, factor, y, name=None):
            ctx.factor = factor
            return x * factor + y

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None, grad, None

    class Wrong(Scaled):
        @staticmethod
        def backward(ctx, grad):
            return grad, grad, grad, None

    def f(layer, x, y):
        return (layer.apply(x, 3.0, y, "name") ** 2).sum()

    call = f if graph is None else paddle.jit.to_static(f, full_graph=graph)
    x, y = (paddle.to_tensor([a, 2.0], stop_gradient=False) for a in (1.0, 3.0))
    for _ in range(2):
        gx, gy = paddle.grad(call(Scaled, x, y), [x, y])
        assert gy.tolist() == [12.0, 16.0]
        assert gx.tolist() == [36.0, 48.0]
    with pytest.raises(ValueError, match=r"requires 2 gradients from backward, one for each tensor input, got 4"):
        paddle.grad(call(Wrong, x, y), [x, y])


@pytest.mark.parametrize("given", ["float16", "float64", "int64", "complex128"])
@pytest.mark.parametrize("leaf_itself", [True, False])
@pytest.mark.parametrize("captured", [False, True])
def test_gradients_of_other_dtypes_are_cast_to_those_of_the_inputs(given, leaf_itself, captured):
    """As a matmul in half precision within a layer of float32 gives them."""
    own = layer(lambda ctx, x: x * 2, lambda ctx, g: (g * 3).astype(given))

    def f(x):
        y = x if leaf_itself else x * 1
        return (own.apply(y) + y * 2 + own.apply(y)).sum()

    x = leaf(1.0, 2.0, dtype="float32")
    (paddle.jit.to_static(f) if captured else f)(x).backward()
    assert x.grad.dtype == paddle.float32
    assert x.grad.tolist() == [8.0, 8.0]


@pytest.mark.parametrize("result", [None, 1, [1, "a"], {"y": 1.0}])
def test_a_forward_without_a_tensor_is_refused(result):
    with pytest.raises(ValueError, match=r"\[Layer\] requires a Tensor.* from forward, got"):
        layer(lambda ctx, x: result, lambda ctx, g: g).apply(leaf(1.0))


def test_integers_as_results_have_no_gradient():
    x = leaf(1.5, 2.5)
    codes, rest = layer(lambda ctx, x: (x.astype("int32"), x * 2), lambda ctx, g, h: h).apply(x)
    assert codes.stop_gradient
    assert not rest.stop_gradient
    (codes.astype("float64") + rest).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("flag", [None, True, False])
def test_backward_gets_the_dtypes_of_the_outputs(flag):
    seen = []

    def forward(ctx, x):
        if flag is not None:
            ctx.set_grad_in_dtype_consistent(flag)
        return x * 2

    own = layer(forward, lambda ctx, g: seen.append(g.dtype) or g * 2)
    x = leaf(1.0, dtype="float32")
    layer(lambda ctx, x: x * 1, lambda ctx, g: g.astype("float16")).apply(own.apply(x)).sum().backward()
    assert seen == [paddle.float32]
    assert x.grad.tolist() == [2.0]


def test_an_input_that_is_returned_may_have_been_read_before():
    x = leaf(1.0, 2.0)
    y = x * 1
    read = y**2
    layer(lambda ctx, x: x, lambda ctx, g: g).apply(y)
    read.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_once_differentiable():
    class Square(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            (x,) = ctx.saved_tensor()
            return 2 * x * grad

    x = leaf(3.0)
    (slope,) = paddle.grad(Square.apply(x) + x**3, x, create_graph=True)
    assert slope.tolist() == [33.0]
    assert paddle.grad(slope, x)[0].tolist() == [18.0]  # that of the cube alone
