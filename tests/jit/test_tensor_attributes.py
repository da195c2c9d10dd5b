"""Attributes that captured functions give to tensors."""

from __future__ import annotations

from typing import Any

import pytest

import paddle
from paddle.jit import to_static


def of_a_result(x):
    y = x * 2
    y.tag = "doubled"
    y.parts = [x + 1, (y, 3)]
    y.parts.append("end")
    return y, y.tag


def of_a_view(x):
    y = x.reshape([2, 1])
    y.row_count = 2
    return y, y.row_count


def of_a_leaf(x):
    w = paddle.ones([2])
    w.stop_gradient = False
    w.decay = 0.5
    return w, w.decay


def named(x):
    y = x * 2
    y.name = "doubled"
    return y, y.name


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("f", [of_a_result, of_a_view, of_a_leaf, named])
def test_attributes_go_with_results(f: Any, full_graph: bool) -> None:
    captured = to_static(f, full_graph=full_graph)
    for _ in range(2):
        (y, told), (z, wanted) = captured(paddle.ones([2])), f(paddle.ones([2]))
        assert told == wanted
        assert sorted(vars(y)) == sorted(vars(z))
        assert y.name == z.name or f is not named
        if f is of_a_result:
            assert y.parts[1][0] is y
            assert y.parts[2] == "end"
            assert y.parts[0].tolist() == [2.0, 2.0]
    if not full_graph:
        assert not captured.graph_breaks or f is of_a_leaf


def of_an_argument(x):
    x.tag = 5
    return x * 2


@pytest.mark.parametrize("full_graph", [False, True])
def test_attributes_of_arguments_are_set_outside_of_graphs(full_graph: bool) -> None:
    x = paddle.ones([2])
    assert to_static(of_an_argument, full_graph=full_graph)(x).tolist() == [2.0, 2.0]
    assert x.tag == 5


def stopped_for_a_while(x):
    y = x * 2
    y.stop_gradient = True
    constant = y * 3
    y.stop_gradient = False
    return constant, y * 5, y


@pytest.mark.parametrize("full_graph", [False, True])
def test_a_history_that_is_stopped_goes_on(full_graph: bool) -> None:
    captured = to_static(stopped_for_a_while, full_graph=full_graph)
    for f in (stopped_for_a_while, captured):
        x = paddle.ones([2])
        x.stop_gradient = False
        constant, z, y = f(x)
        assert [t.stop_gradient for t in (constant, z, y)] == [True, False, False]
        assert not y.is_leaf
        (z + y).sum().backward()
        assert x.grad.tolist() == [12.0, 12.0]
    assert not captured.graph_breaks


def test_a_history_that_stops_with_the_call_is_gone() -> None:
    def f(x):
        y = x * 2
        y.stop_gradient = True
        return y

    x = paddle.ones([2])
    x.stop_gradient = False
    y = to_static(f)(x)
    y.stop_gradient = False
    (y * 3).sum().backward()
    assert x.grad is None
    assert y.grad.tolist() == [3.0, 3.0]
