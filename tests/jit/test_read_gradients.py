"""Gradients from before that captured functions read and write: they are those of the call, where there are some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import paddle
from paddle import nn
from paddle.jit import to_static

ZEROS, NONE, BACKWARD = "zeros", "none", "backward"
STEPS = (BACKWARD, ZEROS, BACKWARD, NONE, BACKWARD, BACKWARD, NONE)


def read(net, x):
    return net.weight.grad


def asked(net, x):
    return x * (2.0 if net.weight.grad is None else net.weight.grad.sum())


def gathered(net, x):
    return [p.grad.abs().max() for p in net.parameters() if p.grad is not None]


def written(net, x):
    for p in net.parameters():
        if p.grad is not None:
            p.grad.clip_(-0.5, 0.5)


def clipped(net, x):
    """By a function of the library, which reads the gradients itself."""
    return nn.utils.clip_grad_norm_(net.parameters(), 0.5)


def scaled(net, x):
    for p in net.parameters():
        p.grad = None if p.grad is None else p.grad * 0.5


def helped(net, x):
    return getattr(net.bias, "grad", None) is None, hasattr(net.bias, "grad")


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("f", [read, asked, gathered, written, clipped, scaled, helped])
def test_gradients_come_and_go(f: Callable[..., Any], full_graph: bool) -> None:
    def run(capture: bool) -> list[Any]:
        paddle.seed(1)
        net, x, out = nn.Linear(2, 2), paddle.ones([1, 2]), []

        def call(x: Any) -> Any:
            return f(net, x)

        function = to_static(call, full_graph=full_graph) if capture else call
        for step in ("", *STEPS):
            if step == BACKWARD:
                (net(x) ** 2 * 4).sum().backward()
            elif step:
                net.clear_gradients(set_to_zero=step == ZEROS)
            result = function(x)
            results = result if isinstance(result, (list, tuple)) else [result]
            out.append([y.tolist() if isinstance(y, paddle.Tensor) else y for y in results])
            out.append([None if p.grad is None else p.grad.tolist() for p in net.parameters()])
        return out

    assert run(True) == run(False)


@pytest.mark.parametrize("full_graph", [False, True])
def test_gradients_of_arguments_come_and_go(full_graph: bool) -> None:
    def doubled(w):
        return (w.grad * 2, w.grad is None) if w.grad is not None else (w * 1.0, True)

    captured = to_static(doubled, full_graph=full_graph)
    w = paddle.ones([2])
    w.stop_gradient = False
    for step in range(4):
        w.clear_gradient(False)
        if step % 2:
            (w * step).sum().backward()
        (y, absent), (z, wanted) = captured(w), doubled(w)
        assert (y.tolist(), absent) == (z.tolist(), wanted)


# --- gradients that stop at some tensors


def at_a_value(a, x):
    h = a * x
    return paddle.grad((h * a).sum(), a, no_grad_vars=[h])[0]


def at_two_values(a, x):
    h, k = a * x, paddle.tanh(a)
    return paddle.grad((h * k * a).sum(), a, no_grad_vars=[h, k])[0]


def at_a_leaf(a, x):
    return paddle.grad((a * x * x).sum(), [a, x], no_grad_vars=[x], allow_unused=True)[0]


def at_a_view(a, x):
    h = a * x
    v = h[:1]
    return paddle.grad((v * a).sum() + h.sum(), a, no_grad_vars=[v])[0]


def through_it_again(a, x):
    h = a * x
    y = (h * a).sum()
    first = paddle.grad(y, a, no_grad_vars=[h], retain_graph=True)[0]
    return first + paddle.grad(y, a)[0]


def beside_a_history(a, x):
    v = a.detach()
    v.stop_gradient = False
    h = paddle.tanh(v)
    return paddle.grad(h.sum() + (v * (x * 2)).sum(), v, no_grad_vars=[h])[0]


def twice(a, x):
    h = a * a
    (g,) = paddle.grad((h * a * x).sum(), a, no_grad_vars=[h], create_graph=True)
    return paddle.grad(g.sum(), a)[0]


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize(
    "f", [at_a_value, at_two_values, at_a_leaf, at_a_view, through_it_again, twice, beside_a_history]
)
def test_gradients_stop_at_values(f: Callable[..., Any], full_graph: bool) -> None:
    a, x = paddle.to_tensor([3.0, 4.0], stop_gradient=False), paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    captured = to_static(f, full_graph=full_graph)
    for _ in range(2):
        assert captured(a, x).tolist() == f(a, x).tolist()
    if not full_graph and f is not beside_a_history:
        assert not captured.graph_breaks
