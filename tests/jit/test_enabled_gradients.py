"""Captured functions that are called without gradients, and enable them inside, give the history of eager calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import paddle


def around(x):
    with paddle.enable_grad():
        return x * 2


def beside(x):
    a = x * 2
    with paddle.enable_grad():
        b = x * 2
    return a, b, a + b


@paddle.enable_grad()
def decorated(x):
    return x * x


def switched(x):
    with paddle.set_grad_enabled(True):
        y = x * x
    return y, y * 3


def left_enabled(x):
    paddle.set_grad_enabled(True)
    return x * x


def differentiated_twice(x):
    with paddle.enable_grad():
        y = x * x * x
        return paddle.grad(y.sum(), x, create_graph=True)[0]


def differentiated(x):
    with paddle.enable_grad():
        y = x * x * x
        (g,) = paddle.grad(y.sum(), x, retain_graph=True)
    return y, g


def gathered(x):
    with paddle.enable_grad():
        (x * x).sum().backward()
    return x.grad


def product(x):
    with paddle.enable_grad():
        return paddle.incubate.autograd.vjp(lambda v: v * v * v, x)


def written(x):
    with paddle.enable_grad():
        y = x * 2
        y[0] = 5.0
    return y


def branching(x):
    with paddle.enable_grad():
        y = x * 3 if x.sum() > 0 else x * 4
    return y


FUNCTIONS = [
    around, beside, decorated, switched, left_enabled, differentiated_twice, differentiated, gathered, product, written,
    branching,
]  # fmt: skip


def told(function: Callable[..., Any], enabled: bool) -> tuple[Any, ...]:
    """What a call and a gradient through its results come to."""
    x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    try:
        with paddle.set_grad_enabled(enabled):
            given = function(x)
            left = paddle.is_grad_enabled()
    finally:
        paddle.set_grad_enabled(True)
    results = list(given) if isinstance(given, (list, tuple)) else [given]
    flags = [(y.stop_gradient, y.is_leaf) for y in results]
    values = [y.tolist() for y in results]
    ends = [y.sum() for y in results if not y.stop_gradient]
    through = [g.tolist() for g in paddle.grad(ends, [x])] if ends else None
    return flags, values, left, through


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS, ids=[f.__name__ for f in FUNCTIONS])
def test_history_is_that_of_eager_calls(function: Callable[..., Any], full_graph: bool) -> None:
    captured = paddle.jit.to_static(function, full_graph=full_graph)
    for enabled in (False, True, False):
        assert told(captured, enabled) == told(function, enabled)
    assert not captured.fallbacks


def test_calls_like_one_before_are_captured_once() -> None:
    captured = paddle.jit.to_static(around)
    x = paddle.ones([2])
    x.stop_gradient = False
    with paddle.no_grad():
        for _ in range(3):
            captured(x)
    assert len(captured._captures()) == 1


def test_a_graph_break_is_reported_once() -> None:
    def broken(x):
        with paddle.enable_grad():
            y = x * 2
            n = y.numpy()
            return y * 3, n

    captured = paddle.jit.to_static(broken)
    x = paddle.ones([2])
    x.stop_gradient = False
    with paddle.no_grad():
        y, _ = captured(x)
    assert len(captured.graph_breaks) == 1
    assert paddle.grad(y.sum(), x)[0].tolist() == [6.0, 6.0]


def test_the_mode_after_an_error_is_that_of_the_caller() -> None:
    def checked(x, i):
        with paddle.enable_grad():
            return paddle.index_select(x, i)

    captured = paddle.jit.to_static(checked)
    x = paddle.ones([2])
    x.stop_gradient = False
    with paddle.no_grad():
        assert not captured(x, paddle.to_tensor([1])).stop_gradient
        with pytest.raises((ValueError, IndexError)):
            captured(x, paddle.to_tensor([5]))
        assert not paddle.is_grad_enabled()


def test_the_program_of_a_call_without_gradients_can_be_asked_for() -> None:
    captured = paddle.jit.to_static(around)
    x = paddle.ones([2])
    x.stop_gradient = False
    with paddle.no_grad():
        program = captured._captured_for((x,), {})
        assert not paddle.is_grad_enabled()
    assert [spec.stop_gradient for spec in program.outputs] == [False]
