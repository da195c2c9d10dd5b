"""Results of one graph of which some depend on others: gradients between them, hooks, gradients that they keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import paddle
from paddle.jit import to_static

DATA = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], "float32")


def network() -> Callable[..., Any]:
    layer = paddle.nn.Linear(3, 3)

    def f(x):
        h = paddle.nn.functional.dropout(layer(x), 0.5)
        return h, (h.tanh() * h).sum()

    return f


def chain() -> Callable[..., Any]:
    def f(x):
        h = x * x
        k = h.exp()
        return h, (k * h).sum(), k

    return f


def branch() -> Callable[..., Any]:
    def f(x):
        h = x * 1.0
        if h.sum() > 0:
            h = h * 3.0
        return h, (h * h).sum()

    return f


def gradient(h, y, x):
    return paddle.grad(y, [h, x])


def gradient_of_a_function_of_both(h, y, x):
    return paddle.grad((y * h).sum(), [h, x])


def gradient_past_it(h, y, x):
    return paddle.grad([y, h.sum() * 2], x, no_grad_vars=[h], allow_unused=True)


def gradient_of_the_gradient(h, y, x):
    (g,) = paddle.grad(y, h, create_graph=True)
    return [g, *paddle.grad((g * g).sum(), x)]


def hook(h, y, x):
    seen = []
    h.register_hook(lambda g: seen.append(g) or g * 10)
    y.backward()
    return [*seen, x.grad]


def hook_after_other_uses(h, y, x):
    z = h[0] * y
    h.register_hook(lambda g: g * 2).remove()
    h.register_hook(lambda g: g * 3)
    z.sum().backward()
    return [x.grad]


def kept(h, y, x):
    with paddle.no_grad():
        h.retain_grads()
    y.backward(retain_graph=True)
    h.sum().backward()
    return [h.grad, x.grad]


def kept_and_written_over(h, y, x):
    h.retain_grads()
    h.multiply_(paddle.full_like(h, 2.0))
    h.sum().backward()
    return [h.grad, x.grad]


ASKED = [
    gradient, gradient_of_a_function_of_both, gradient_past_it, gradient_of_the_gradient, hook, hook_after_other_uses,
    kept, kept_and_written_over,
]  # fmt: skip


def asked(make: Callable[..., Any], ask: Callable[..., Any], mode: str) -> list[list[Any]]:
    paddle.seed(5)
    f = make()
    if mode != "eager":
        f = to_static(f, full_graph=mode == "source")
    out: list[Any] = []
    for _ in range(2):
        x = paddle.to_tensor(DATA, stop_gradient=False)
        h, y, *_ = f(x)
        out += [None if g is None else g.numpy() for g in ask(h, y, x)]
    return [*out, paddle.rand([2]).numpy()]


ALWAYS = {(network, hook), (branch, gradient), *((chain, ask) for ask in ASKED)}


def cases() -> Iterator[Any]:
    for make, mode in ((network, "bytecode"), (chain, "bytecode"), (branch, "source")):
        for ask in ASKED:
            marks = [] if (make, ask) in ALWAYS else [pytest.mark.slow]
            yield pytest.param(make, mode, ask, id=f"{make.__name__}-{ask.__name__}", marks=marks)


@pytest.mark.parametrize(("make", "mode", "ask"), list(cases()))
def test_a_result_depends_on_another(make, mode, ask):
    """Also after gradients were asked for: the second call is served by the same graph."""
    for got, wanted in zip(asked(make, ask, mode), asked(make, ask, "eager"), strict=True):
        assert (got is None) == (wanted is None)
        if wanted is not None:
            np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)


def test_behind_a_graph_break():
    def f(x):
        h = x * 2
        y = (h * h).sum()
        h.register_hook(lambda g: g * 3) if float(y) > 0 else None
        return y * 1

    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    to_static(f)(x).backward()
    assert x.grad.tolist() == [24.0, 48.0]


def test_a_hook_inside_on_what_has_a_history_outside():
    """More of its gradient is outside: the hook gets all of it once."""

    def f(h, y):
        h.register_hook(lambda g: g * 10)
        return (h * y).sum()

    for mode in (lambda f: f, to_static):
        x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        h = x * 2
        mode(f)(h, h * h).backward()
        assert x.grad.tolist() == [240.0, 960.0]


class Tripled(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, g):
        return g * 3


def through_python(x):
    h = Tripled.apply(x)
    return h, (h * h).sum()


def through_a_view(x):
    h = (x * 2)[0]
    return h, (h * h).sum()


def through_rows(x):
    table = through_rows.table
    h = table(paddle.to_tensor([1, 0]))
    return h, (h * h).sum() + x.sum()


def of_memory_written_over(x):
    x.multiply_(paddle.full_like(x, 2.0))
    return x, (x * x).sum()


@pytest.mark.parametrize("f", [through_python, through_a_view, through_rows, of_memory_written_over])
def test_what_cannot_be_said_outside_is_refused(f):
    through_rows.table = paddle.nn.Embedding(2, 3, sparse=True)
    for ask in (lambda h, y: h.register_hook(lambda g: g * 2), lambda h, y: h.retain_grads(), paddle.grad):
        x = paddle.to_tensor(DATA, stop_gradient=False) * 1
        h, y = to_static(f)(x)
        with pytest.raises(RuntimeError, match=r"requires .*inside"):
            ask(y, h) if ask is paddle.grad else ask(h, y)
        y.backward()  # without it, it works


def test_what_was_read_must_not_have_changed():
    x, z = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, 4.0], stop_gradient=False)

    def f(x, z):
        h = x * z
        return h, (h * z).sum() + h.sum(), x + 1

    h, y, _ = to_static(f)(x, z)
    x[0] = 5.0
    with pytest.raises(RuntimeError, match="what it read not to change"):
        h.retain_grads()


def test_not_from_a_hook_that_runs():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    h, y, _ = to_static(chain())(x)
    y.register_hook(lambda g: h.retain_grads())
    with pytest.raises(RuntimeError, match="Register it before"):
        y.backward()


def test_gradients_of_gradients_through_two_graphs():
    """The second one is computed while the first graph's results wait for theirs."""

    def squares(x):
        h = x * x
        return h, h * h

    second = to_static(lambda h, y: (h * y).sum())
    first = to_static(squares)
    told = []
    for one, other in ((squares, lambda h, y: (h * y).sum()), (first, second)):
        x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        (g,) = paddle.grad(other(*one(x)), x, create_graph=True)
        told.append([g.tolist(), paddle.grad((g * g).sum(), x)[0].tolist()])
    assert told[0] == told[1]


def test_a_history_that_is_used_up():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    h, y, _ = to_static(chain())(x)
    y.backward()
    with pytest.raises(RuntimeError, match="graph that is still there"):
        paddle.grad(y, h, allow_unused=True)
    h.register_hook(lambda g: g)  # nothing will come, as in eager mode


def test_a_result_that_a_gradient_needs_is_written_to():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    h, y = to_static(lambda x: (x.exp(), (x.exp() * 2).sum()))(x)
    h.detach()[0] = 5.0
    with pytest.raises(RuntimeError, match="what it read not to change"):
        (y + h.sum()).backward()


def test_what_a_run_has_printed_is_not_printed_again(capsys):
    def f(x):
        h = x * 2
        if h.sum() > 0:
            print("positive", h.sum())
        return h, (h * h).sum()

    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    h, y = to_static(f, full_graph=True)(x)
    h.retain_grads()
    y.backward()
    assert h.grad.tolist() == [4.0, 8.0]
    assert capsys.readouterr().out.count("positive") == 1
