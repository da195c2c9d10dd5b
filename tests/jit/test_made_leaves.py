"""Leaves that a captured function makes: they are those of eager calls, with the gradients that arrive in each way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import paddle
from paddle.jit import to_static
from umiak.runtime.capture import CaptureError


def zeros(x):
    w = paddle.zeros([2])
    w.stop_gradient = False
    return w


def detached(x):
    w = x.detach()
    w.stop_gradient = False
    return w


def of_numbers(x):
    return paddle.to_tensor([0.5, -1.0], stop_gradient=False)


def of_an_array(x):
    return paddle.to_tensor(np.array([0.5, -1.0], "float32"), stop_gradient=False)


def parameter(x):
    return paddle.create_parameter([2], "float32", default_initializer=paddle.nn.initializer.Constant(2.0))


def without_gradients(x):
    with paddle.no_grad():
        w = paddle.ones([2])
        w.stop_gradient = False
    return w


MAKERS = [zeros, detached, of_numbers, of_an_array, parameter, without_gradients]


def alone(make, x):
    return make(x)


def history(make, x):
    return make(x) * 3


def both(make, x):
    w = make(x)
    return w, w * x, (w * 2).sum()


def two(make, x):
    a, b = make(x), make(x)
    return a * x * 2 + b * 3, a, b, a is b


def views(make, x):
    w = make(x)
    return w[0] * x, w[1:], {"w": w, "rows": [w.reshape([2, 1])]}


def gathered(make, x):
    """Gradients that come inside add up, and go on with those that come outside."""
    w = make(x)
    (w * x.detach()).sum().backward()
    (w * w).sum().backward()
    return w, w.grad


def replaced(make, x):
    w = make(x)
    w.grad = paddle.ones([2]) * 7
    return w, w * x


def cleared(make, x):
    w = make(x)
    (w * 2).sum().backward()
    w.clear_gradient()
    return w


def dropped(make, x):
    w = make(x)
    (w * 2).sum().backward()
    w.clear_gradient(False)
    return w


def branching(make, x):
    w = make(x)
    if x.sum() > 0:
        return w * x, w
    return w + x, w


def made_on_both_ways(make, x):
    if x.sum() > 0:
        w = make(x)
    else:
        w = (x * 2).detach()
        w.stop_gradient = False
    return w * x, w


def made_in_a_loop(make, x):
    w = make(x)
    for _ in range(3):
        if (w * x).sum() > 100:
            break
        w = (w * 1.5).detach()
        w.stop_gradient = False
    return w * x, w


def asked_for_in_a_loop(make, x):
    v = make(x)
    while (v * v).sum() < 40:
        (g,) = paddle.grad((v * v).sum() + v.sum(), v)
        v = (v + g + 1).detach()
        v.stop_gradient = False
        if g.max() > 50:
            break
    return v, x * v.detach()


def read_by_a_loop(make, x):
    w, y, i = make(x), x, paddle.to_tensor(0)
    while i < 3:
        y = y * w
        i += 1
    return y, w


def differentiated_twice(make, x):
    w = make(x)
    (g,) = paddle.grad((w * w * x).sum(), w, create_graph=True)
    return (g * g * w).sum(), w


USES = [
    alone, history, both, two, views, gathered, replaced, cleared, dropped, branching, made_on_both_ways,
    made_in_a_loop, asked_for_in_a_loop, read_by_a_loop, differentiated_twice,
]  # fmt: skip


JOINED = [made_on_both_ways, asked_for_in_a_loop, made_in_a_loop]


def tensors(result: Any) -> list[Any]:
    """The leaves of a result."""
    if isinstance(result, dict):
        result = list(result.values())
    return [y for x in result for y in tensors(x)] if isinstance(result, (list, tuple)) else [result]


def told(function: Callable[..., Any], use: Any, make: Any) -> list[Any]:
    """What a call gives, and what gradients of its results, one after the other, come to."""
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    out: list[Any] = []
    results = tensors(function(make, x))
    for y in results:
        if not isinstance(y, paddle.Tensor):
            out.append(y)
            continue
        gradient = None if y.grad is None else y.grad.tolist()
        out.append((y.tolist(), y.stop_gradient, y.is_leaf, gradient))
    total = sum((y * (i + 1)).sum() for i, y in enumerate(results) if not isinstance(y, bool) and not y.stop_gradient)
    if isinstance(total, paddle.Tensor):
        total.backward()
    out += [y.grad.tolist() for y in results if isinstance(y, paddle.Tensor) and y.is_leaf and y.grad is not None]
    return [*out, None if x.grad is None else x.grad.tolist()]


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("use", USES, ids=[f.__name__ for f in USES])
def test_leaves_are_those_of_eager_calls(use: Callable[..., Any], full_graph: bool) -> None:
    for make in MAKERS if use is both else MAKERS[USES.index(use) % 2 :: 2]:
        if make is parameter and use in JOINED:
            continue  # which is a tensor from outside to one graph, and no leaf of both ways
        captured = to_static(use, full_graph=full_graph)
        wanted = told(use, use, make)
        for _ in range(2):
            assert told(captured, use, make) == wanted, make.__name__


def test_results_are_other_leaves_at_every_call() -> None:
    """Also those of which the library keeps what the first call has made: a parameter."""
    for full_graph in (False, True):
        captured = to_static(lambda x: (parameter(x), x + 1), full_graph=full_graph)
        x = paddle.ones([2])
        first, second = captured(x)[0], captured(x)[0]
        (first * 3).sum().backward()
        assert first is not second and second.grad is None


def test_a_random_parameter_is_drawn_at_every_call() -> None:
    def made(x):
        return paddle.create_parameter([3], "float32") * x

    wanted = []
    for function in (made, to_static(made), to_static(made, full_graph=True)):
        paddle.seed(3)
        wanted.append([function(paddle.ones([3])).tolist() for _ in range(3)])
    assert wanted[0] == wanted[1] == wanted[2]
    assert wanted[0][0] != wanted[0][1]


# --- what one graph cannot tell


def decided_by_data(x):
    if x.sum() > 0:
        w = paddle.ones([2])
        w.stop_gradient = False
    else:
        w = x * 2
    return w * x, w


def flagged_by_data(x):
    w = paddle.ones([2])
    if x.sum() > 0:
        w.stop_gradient = False
    return w * x


def with_a_hook(x):
    w = paddle.ones([2])
    w.stop_gradient = False
    w.register_hook(lambda g: g * 2)
    return w, w * x


def written_elsewhere(x):
    y = x * 2
    w = y.detach()
    w.stop_gradient = False
    z = w * 3
    with paddle.no_grad():
        y.add_(paddle.ones([2]))
    return z, w


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (flagged_by_data, "stop_gradient of a tensor from outside"),
        (with_a_hook, "given a hook"),
        (written_elsewhere, "written to through"),
    ],
)
def test_one_graph_refuses_what_it_cannot_tell(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(CaptureError, match=message):
        to_static(function, full_graph=True)(paddle.to_tensor([1.0, 2.0], stop_gradient=False))


def test_a_leaf_that_data_decide_is_made_by_a_run_as_it_was_written() -> None:
    captured = to_static(decided_by_data, full_graph=True)
    for sign in (1.0, -1.0):
        told = []
        for f in (decided_by_data, captured):
            x = paddle.to_tensor([1.0 * sign, 2.0 * sign], stop_gradient=False)
            y, w = f(x)
            (y.sum() + w.sum()).backward()
            told.append((y.tolist(), w.tolist(), w.is_leaf, x.grad.tolist(), w.is_leaf and w.grad.tolist()))
        assert told[0] == told[1]
    assert "as data decide" in captured.fallbacks[0]


def test_second_derivatives_through_a_leaf_stay_inside() -> None:
    def made(x):
        w = paddle.ones([2])
        w.stop_gradient = False
        return (w * w * x).sum(), w

    y, w = to_static(made, full_graph=True)(paddle.ones([2]))
    with pytest.raises(RuntimeError, match="that the captured function makes"):
        paddle.grad(y, w, create_graph=True)


# --- gradients that are set


def set_to_numbers(w):
    w.grad = paddle.ones([2]) * 7
    return w * 2


def scaled(w):
    w.grad = w.grad * 0.5
    return w * 2, w


def written(w):
    w.grad.scale_(3.0)
    return (w * 2).sum()


def read_and_set(w):
    g = w.grad
    w.grad = g * g
    return w * 3, g


def set_to_none(w):
    w.grad = None
    return w * 2


def set_between(w):
    (w * w).sum().backward()
    w.grad = w.grad + 1
    (w * 2).sum().backward()
    return w.detach()


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("is_argument", [False, True])
@pytest.mark.parametrize("f", [set_to_numbers, scaled, written, read_and_set, set_to_none, set_between])
def test_gradients_that_a_function_sets(f: Callable[..., Any], is_argument: bool, full_graph: bool) -> None:
    def run(capture: bool) -> list[Any]:
        leaf = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        inner = f if is_argument else lambda: f(leaf)
        function = to_static(inner, full_graph=full_graph) if capture else inner
        out = []
        for i in range(3):
            (leaf * leaf * (i + 1)).sum().backward()
            results = tensors(function(*[leaf] * is_argument))
            out += [y.tolist() for y in results]
            out.append(None if leaf.grad is None else leaf.grad.tolist())
            if not all(y.stop_gradient for y in results):
                sum(y.sum() for y in results if not y.stop_gradient).backward()
                out.append(leaf.grad.tolist())
        return out

    assert run(True) == run(False)


def test_a_leaf_with_a_new_hook_is_returned_as_itself() -> None:
    def hooked(w):
        w.register_hook(lambda g: g * 10)
        return w, w * 2

    w = paddle.ones([2])
    w.stop_gradient = False
    same, y = to_static(hooked)(w)
    assert same is w
    (y.sum() + same.sum()).backward()
    assert w.grad.tolist() == [30.0, 30.0]
