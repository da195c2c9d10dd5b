"""Modes of a thread in branches and loops on data: each way begins with those from before, and leaves them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import paddle
from umiak.runtime.capture import CaptureError


def with_on_one_way(x):
    if x.sum() > 0:
        with paddle.no_grad():
            y = x * 3
    else:
        y = x - 1
    return x * 2, y.detach(), paddle.is_grad_enabled()


def branch_in_a_with(x):
    y = x
    with paddle.no_grad():
        y = x * 3 if x.sum() > 0 else x - 1
    return y * 2, x * y, paddle.is_grad_enabled()


def left_by_return(x):
    with paddle.no_grad():
        if x.sum() > 0:
            return x * 2, x, True
    return x.detach() * 3, x, paddle.is_grad_enabled()


def within_a_loop(x):
    while x.sum().abs() < 10:
        with paddle.no_grad():
            scale = x.abs().max()
        x = x * (scale + 1)
    return x * 2, x, paddle.is_grad_enabled()


def precision_on_one_way(x):
    if x.sum() > 0:
        with paddle.amp.auto_cast(dtype="bfloat16"):
            y = paddle.matmul(x, x).astype("float32")
    else:
        y = paddle.matmul(x, x)
    return y * x, y, paddle.is_grad_enabled()


def caught_error(x):
    def quiet(t):
        paddle.set_grad_enabled(False)
        raise KeyError("k")

    try:
        quiet(x)
    except KeyError:
        y = x * 3
    z = x * 2 if x.sum() > 0 else x * 4
    enabled = paddle.is_grad_enabled()
    paddle.set_grad_enabled(True)
    return y * x, z, enabled


def told(function: Callable[..., Any], sign: float) -> list[Any]:
    x = paddle.to_tensor([sign, 2 * sign], stop_gradient=False)
    y, z, enabled = function(x)
    left = paddle.is_grad_enabled()
    y.sum().backward() if not y.stop_gradient else None
    return [y.tolist(), z.tolist(), enabled, left, None if x.grad is None else x.grad.tolist()]


WITHIN = [with_on_one_way, branch_in_a_with, left_by_return, within_a_loop, precision_on_one_way, caught_error]


@pytest.mark.parametrize("function", WITHIN, ids=[f.__name__ for f in WITHIN])
def test_modes_within(function: Callable[..., Any]) -> None:
    captured = paddle.jit.to_static(function, full_graph=True)
    for sign in (1.0, -1.0, 1.0):
        assert told(captured, sign) == told(function, sign)


def left_on_one_way(x):
    if x.sum() > 0:
        paddle.set_grad_enabled(False)
    return x * 2


def left_on_the_other(x):
    if x.sum() > 0:
        x = x + 1
    else:
        paddle.set_grad_enabled(False)
    return x * 2


def left_by_a_loop(x):
    while x.sum() < 10:
        x = x * 2
        paddle.set_grad_enabled(False)
    return x * 2


def left_by_a_raise(x):
    if x.sum() > 0:
        paddle.set_grad_enabled(False)
        raise ValueError("positive")
    return x * 2


def dtype_on_one_way(x):
    if x.sum() > 0:
        paddle.set_default_dtype("float64")
    return x * 2


LEFT = [left_on_one_way, left_on_the_other, left_by_a_loop, left_by_a_raise, dtype_on_one_way]


@pytest.mark.parametrize("function", LEFT, ids=[f.__name__ for f in LEFT])
def test_modes_that_data_would_decide_are_refused(function: Callable[..., Any]) -> None:
    captured = paddle.jit.to_static(function, full_graph=True)
    with pytest.raises(CaptureError, match=r"changed behind it"):
        captured(paddle.to_tensor([1.0, 2.0], stop_gradient=False))
    assert paddle.is_grad_enabled()
    assert paddle.get_default_dtype() == "float32"


def test_functions_of_cond_are_told_too() -> None:
    def quiet(x):
        paddle.set_grad_enabled(False)
        return x

    def branching(x):
        return paddle.static.nn.cond(x.sum() > 0, lambda: quiet(x), lambda: x * 2)

    captured = paddle.jit.to_static(branching, full_graph=True)
    with pytest.raises(CaptureError, match="whether gradients are enabled"):
        captured(paddle.ones([2]))
    assert paddle.is_grad_enabled()


# --- errors of captured code leave the modes of eager calls


def disabled(x):
    paddle.set_grad_enabled(False)
    raise ValueError("after")


@paddle.no_grad()
def decorated(x):
    raise ValueError("inside")


@paddle.no_grad()
def decorated_and_enabled(x):
    paddle.set_grad_enabled(True)
    raise ValueError("inside")


def below(x):
    with paddle.no_grad():
        disabled(x)


def behind_a_break(x):
    float(x.sum())
    disabled(x)


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("function", [disabled, decorated, decorated_and_enabled, below, behind_a_break])
def test_modes_after_an_error(function: Callable[..., Any], full_graph: bool) -> None:
    if function is behind_a_break and full_graph:
        function = below
    x = paddle.ones([2])
    left = []
    for f in (function, paddle.jit.to_static(function, full_graph=full_graph)):
        for enabled in (True, False, True):
            with paddle.set_grad_enabled(enabled):
                with pytest.raises(ValueError, match=r"after|inside"):
                    f(x)
                left.append(paddle.is_grad_enabled())
    assert left[:3] == left[3:]
