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


def test_one_graph_serves_leaves_alone():
    captured = paddle.jit.to_static(step, full_graph=True)
    x = leaf(1)
    captured(x)
    assert x.grad.tolist() == [[2.0, 4.0]]
    with pytest.raises(RuntimeError, match="history began outside of the graph"):
        captured(leaf(3)[1:2])


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
