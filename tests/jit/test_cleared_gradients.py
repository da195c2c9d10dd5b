"""Gradients that a captured function clears, with or without anything else of the tensor."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import paddle


def clear(x, w):
    w.clear_grad()
    return x * 2


def clear_and_read(x, w):
    w.clear_grad()
    return w.grad


def clear_an_argument(x, w):
    x.clear_grad()
    return x.grad


def after_backward(x, w):
    (x * w).sum().backward()
    w.clear_grad()
    return w.grad


def before_backward(x, w):
    w.clear_grad()
    (x * w).sum().backward()
    return x.detach()


def clear_and_use(x, w):
    w.clear_grad()
    return w * 2


def remove(x, w):
    w.clear_gradient(False)
    return x * 2


def replace_by_none(x, w):
    w.grad = None
    return x * 2


def states(function: Callable, captured: bool) -> list:
    x, w = (paddle.to_tensor(v, stop_gradient=False) for v in ([4.0, 5.0], [1.0, 2.0]))
    call = paddle.jit.to_static(lambda x: function(x, w)) if captured else lambda x: function(x, w)
    found = []
    for i in range(4):
        (w * float(i + 1)).sum().backward()
        (x * 3.0).sum().backward()
        y = call(x)
        found.append([None if v is None else v.tolist() for v in (y, w.grad, x.grad)])
    return found


@pytest.mark.parametrize(
    "function",
    [
        clear, clear_and_read, clear_an_argument, after_backward, before_backward, clear_and_use, remove,
        replace_by_none,
    ],
)  # fmt: skip
def test_captured_as_eager(function):
    assert states(function, True) == states(function, False)
