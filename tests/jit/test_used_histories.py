"""Histories that gradients have gone through without ``retain_graph``: captured functions refuse to go through them
again where eager calls do, at the same line of the user's."""

import traceback

import pytest

import paddle
from paddle.autograd import PyLayer
from paddle.distributed.fleet.utils import recompute

F = paddle.nn.functional
MODES = pytest.mark.parametrize("full_graph", [False, True], ids=["bytecode", "source"])


class Cube(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        return 3 * x * x * g


def twice(x):
    y = (x * x).sum()
    y.backward()
    y.backward()
    return x.grad


def after_a_retained_one(x):
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    y.backward()
    return x.grad


def of_a_part(x):
    h = x * x
    (h * 2).sum().backward()
    (h * 3).sum().backward()
    return x.grad


def nothing_saved(x):
    y = (x + 1).sum()
    y.backward()
    y.backward()
    return x.grad


def grad_twice(x):
    y = (x * x).sum()
    return paddle.grad(y, x)[0] + paddle.grad(y, x)[0]


def grad_then_backward(x):
    y = (x * x).sum()
    (g,) = paddle.grad(y, x)
    y.backward()
    return g


def create_graph_alone_kept(x):
    y = (x * x * x).sum()
    (g,) = paddle.grad(y, x, create_graph=True, retain_graph=False)
    g.sum().backward()
    return x.grad


def of_a_gradient(x):
    (g,) = paddle.grad((x * x * x).sum(), x, create_graph=True)
    s = g.sum()
    s.backward()
    s.backward()
    return x.grad


def python_gradient(x):
    h = Cube.apply(x)
    h.sum().backward()
    (h * 2).sum().backward()
    return x.grad


def recomputed(x):
    y = recompute(lambda v: (v * v).sin(), x).sum()
    y.backward()
    y.backward()
    return x.grad


def hooked(x):
    h = x * x
    h.register_hook(lambda g: g * 2)
    y = h.sum()
    y.backward()
    y.backward()
    return x.grad


def in_a_loop(x):
    y = (x * x).sum()
    for _ in range(3):
        y.backward()
    return x.grad


def around_a_break(x):
    y = (x * x).sum()
    y.backward()
    x.stop_gradient = False
    y.backward()
    return x.grad


def through_a_branch(x):
    h = paddle.static.nn.cond(x.sum() > 0, lambda: x * x, lambda: x * 3)
    h.sum().backward()
    h.sum().backward()
    return x.grad


def in_a_branch(x):
    def way():
        y = (x * x).sum()
        return paddle.grad(y, x)[0] + paddle.grad(y, x)[0]

    return paddle.static.nn.cond(x.sum() > 0, way, lambda: x * 1)


def with_casts(x):
    with paddle.amp.auto_cast(dtype="bfloat16"):
        y = paddle.matmul(x, x).sum()
    y.backward()
    y.backward()
    return x.grad


def called(function):
    """The gradients of a leaf after three calls, or the line where the error is."""
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    seen = []
    for _ in range(3):
        try:
            result = function(x)
        except RuntimeError as error:
            lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == __file__]
            seen.append((str(error).split("got")[0], lines[-1]))
        else:
            seen.append(result.tolist())
        seen.append(x.grad if x.grad is None else x.grad.tolist())
    return seen


REFUSED = [
    twice, after_a_retained_one, of_a_part, nothing_saved, grad_twice, grad_then_backward, create_graph_alone_kept,
    of_a_gradient, python_gradient, recomputed, hooked, in_a_loop, around_a_break, through_a_branch, in_a_branch,
    with_casts,
]  # fmt: skip


@MODES
@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_is_gone_through_again_is_refused(function, full_graph):
    wanted = called(function)
    assert "graph that is still there" in wanted[0][0]
    assert called(paddle.jit.to_static(function, full_graph=full_graph)) == wanted


def retained(x):
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


def nothing_in_common(x):
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    return x.grad


def another_part(x):
    h = x * x
    (g,) = paddle.grad(h.sum(), h)
    (h * 2).sum().backward()
    return g + x.grad


def casts_in_common(x):
    w = paddle.ones([2, 2])
    w.stop_gradient = False
    with paddle.amp.auto_cast(dtype="bfloat16"):
        y, z = paddle.matmul(x * 1, w).sum(), paddle.matmul(x * 2, w).sum()
    y.backward()
    z.backward()
    return w.grad


def other_results_of_a_branch(x):
    y, z = paddle.static.nn.cond(x.sum() > 0, lambda: (x * x, x * 2), lambda: (x * 3, x * 4))
    y.sum().backward()
    z.sum().backward()
    return x.grad


@MODES
@pytest.mark.parametrize(
    "function",
    [retained, nothing_in_common, another_part, casts_in_common, other_results_of_a_branch],
    ids=lambda f: f.__name__,
)
def test_what_is_kept_or_another_history_is_gone_through(function, full_graph):
    captured = paddle.jit.to_static(function, full_graph=full_graph)
    assert called(captured) == called(function)
    assert len(captured.program_cache.concrete_programs()) or captured.graph_breaks


def caught(x):
    y = (x * x).sum()
    y.backward()
    try:
        y.backward()
    except RuntimeError:
        return x.grad * 10
    return x.grad


def test_the_error_is_caught_inside():
    assert called(paddle.jit.to_static(caught)) == called(caught)


def whole(x):
    y = (x * x).sum()
    (_,) = paddle.grad(y, x)
    return y


def part(x):
    h = x * x
    h.sum().backward()
    return h * 2


def kept(x):
    y = (x * x).sum()
    y.backward(retain_graph=True)
    return y


def beside(x):
    h = x * x
    h.sum().backward()
    return x * 5


def two(x):
    a, b, c = x * 2, x * 3, x * 4
    return (a + b).sum(), (b + c).sum(), (c * 2).sum()


@MODES
@pytest.mark.parametrize("function", [whole, part, kept, beside], ids=lambda f: f.__name__)
def test_results_have_the_histories_that_the_function_leaves_them(function, full_graph):
    def outside(f):
        x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        seen = []
        for _ in range(2):
            y = f(x)
            for differentiate in (lambda z: paddle.grad(z, x), paddle.autograd.backward):
                try:
                    differentiate(y.sum())
                except RuntimeError as error:
                    seen.append(str(error).split("got")[0])
                seen.append(x.grad if x.grad is None else x.grad.tolist())
        return seen

    assert outside(paddle.jit.to_static(function, full_graph=full_graph)) == outside(function)


@MODES
def test_results_of_one_call_free_what_they_have_in_common(full_graph):
    def outside(f, order):
        x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        ys = f(x)
        seen = []
        for i in order:
            try:
                ys[i].backward()
            except RuntimeError as error:
                seen.append(str(error).split("got")[0])
            seen.append(None if x.grad is None else x.grad.tolist())
        return seen

    captured = paddle.jit.to_static(two, full_graph=full_graph)
    for order in ([0, 2, 1], [0, 1], [1, 0], [2, 0, 0], [1, 2]):
        assert outside(captured, order) == outside(two, order)


def test_what_a_branch_uses_up_is_refused_where_data_decide():
    def function(x):
        y = (x * x).sum()
        g = paddle.static.nn.cond(y > 0, lambda: paddle.grad(y, x)[0], lambda: x * 1)
        y.backward()
        return g

    assert called(paddle.jit.to_static(function)) == called(function)
    with pytest.raises(RuntimeError, match="without retain_graph=True"):
        paddle.jit.to_static(function, full_graph=True)(leaf())


def test_a_loop_uses_up_nothing_from_before_it():
    def function(x):
        y = (x * x).sum()
        i, g = paddle.zeros([]), paddle.zeros([2])
        while i < 2:
            g += paddle.grad(y, x)[0]
            i += 1
        return g

    with pytest.raises(RuntimeError, match="which the second iteration could not do"):
        paddle.jit.to_static(function, full_graph=True)(leaf())


def leaf():
    return paddle.to_tensor([1.0, 2.0], stop_gradient=False)
