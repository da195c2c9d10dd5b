"""Arguments of captured functions that call ``backward``: gradients of leaves stay there, those of others go on."""

from __future__ import annotations

import pytest

import paddle


def step(v):
    (v * v).sum().backward()
    return v * 2


def leaf(rows):
    x = paddle.arange(1.0, 2 * rows + 1).reshape([rows, 2])
    x.stop_gradient = False
    return x


@pytest.mark.parametrize("order", ["leaf first", "view first"])
def test_a_capture_serves_leaves_or_others(order):
    captured = paddle.jit.to_static(step)
    for kind in ("leaf", "view", "leaf", "view", "view") if order == "leaf first" else ("view", "leaf", "view", "leaf"):
        x, y = leaf(1 if kind == "leaf" else 3), leaf(1 if kind == "leaf" else 3)
        for f, t in ((captured, x), (step, y)):
            argument = t if kind == "leaf" else t[1:2]
            f(argument)
            assert kind == "leaf" or argument.grad is None
        assert x.grad.tolist() == y.grad.tolist(), kind


def test_one_graph_ends_where_gradients_go_on_outside():
    captured = paddle.jit.to_static(step, full_graph=True)
    x = leaf(1)
    captured(x)
    assert x.grad.tolist() == [[2.0, 4.0]]
    assert not captured.graph_breaks
    of_eager_calls, x = leaf(3), leaf(3)
    step(of_eager_calls[1:2])
    captured(x[1:2])
    assert x.grad.tolist() == of_eager_calls.grad.tolist()
    assert captured.graph_breaks


def test_a_stopped_argument_gets_nothing():
    captured = paddle.jit.to_static(step)
    for _ in range(3):
        x = leaf(1)
        stopped = x * 1
        stopped.stop_gradient = True
        captured(stopped)
        assert stopped.grad is None and x.grad is None
        captured(x)
        assert x.grad.tolist() == [[2.0, 4.0]]


def test_a_gradient_with_respect_to_what_is_made_inside_passes_nothing_by():
    def slope(y):
        v = paddle.tanh(y)
        (g,) = paddle.grad((v * v).sum(), v, create_graph=True)
        return g * y

    captured = paddle.jit.to_static(slope)
    for make in (lambda x: x[1], lambda x: x * 2, lambda x: x):
        results = []
        for f in (slope, captured):
            x = leaf(3)
            y = f(make(x))
            y.sum().backward()
            results.append((y.tolist(), x.grad.tolist()))
        assert results[0] == results[1]
    assert not captured.graph_breaks


def test_a_gradient_through_an_argument_is_that_of_its_history():
    def slope(x, y):
        return paddle.grad((x * y).sum(), x)[0]

    for f in (slope, paddle.jit.to_static(slope)):
        x = leaf(1)
        assert f(x, x * 3).tolist() == [[6.0, 12.0]]
