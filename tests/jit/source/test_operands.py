"""Operands behind a tensor (``and``, ``or``, chains of comparisons) are computed where Python would, if that shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import paddle
import paddle.nn.functional as F
from umiak.runtime.capture import CaptureError

UP, DOWN, LONG = [1.0, 2.0, 3.0], [-1.0, -2.0, 1.0], [1.0, 2.0, 3.0, 40.0]


def first_not_positive(x):
    i = paddle.zeros([], "int64")
    while i < x.shape[0] and x[i] > 0:  # x[i] fails where i has come to the end
        i += 1
    return i


def drawn_if_positive(x):
    if x.sum() > 0 and F.dropout(x).sum() > 2:
        x = x + 1
    return x


def drawn_if_negative(x):
    if x.sum() > 0 or F.dropout(x).sum() < 2:
        x = x + 1
    return x


def drawn_in_a_chain(x):
    if 0 < x.sum() < F.dropout(x).sum() < 100:
        x = x + 1
    return x


def refuses(x):
    if x.max() > 30:
        raise ValueError("too large")
    return x.sum() > 0


def raises(x):
    return x * 2 if x.max() < 35 and refuses(x) else x


def cheap(x):
    return x * 2 if x.sum() > 0 and (x * 2).max() < 5 and x.min() > -3 else x


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    paddle.seed(3)
    try:
        result = f(*args).tolist()
    except ValueError as error:
        result = str(error)
    return result, paddle.rand([2]).tolist()


@pytest.mark.parametrize(
    "f",
    [first_not_positive, drawn_if_positive, drawn_if_negative, drawn_in_a_chain, raises, cheap],
    ids=lambda f: f.__name__,
)
def test_results_and_random_numbers_are_those_of_eager_calls(f):
    g = paddle.jit.to_static(f, full_graph=True)
    for data in (UP, DOWN, LONG):
        x = paddle.to_tensor(data)
        assert outcome(g, x) == outcome(f, x)


def test_what_nobody_can_tell_is_no_branch():
    g = paddle.jit.to_static(cheap, full_graph=True)
    g(paddle.to_tensor(UP))
    text = str(g.main_program)
    assert text.count("logical_and(") == 2
    assert text.count("cond(") == 1  # the expression's own


def test_a_change_is_made_where_the_operand_is_asked_for():
    def f(x, items):
        return x * 2 if x.sum() > 0 and items.pop() > 0 else x

    with pytest.raises(Exception, match="to be made in the function itself, got 'items' from outside"):
        paddle.jit.to_static(f, full_graph=True)(paddle.to_tensor(UP), [1.0, 2.0])


def test_a_number_of_draws_that_each_iteration_decides_is_refused():
    def f(x, n):
        while n > 0 and F.dropout(x).sum() != 0:
            n -= 1
        return n

    with pytest.raises(CaptureError, match="as many random numbers in every run"):
        paddle.jit.to_static(f, full_graph=True)(paddle.to_tensor(UP), 3)


def test_a_call_that_raises_has_drawn_what_eager_calls_draw():
    def f(x, seen):
        y = x * paddle.rand([3])
        seen.append(1)
        for row in x:
            assert row < 30, "too large"
        return y + paddle.rand([3])

    for mode in (f, paddle.jit.to_static(f, full_graph=True)):
        seen: list[int] = []
        paddle.seed(3)
        mode(paddle.to_tensor(UP), seen)
        with pytest.raises(AssertionError, match=r"^too large"):
            mode(paddle.to_tensor([1.0, 2.0, 40.0]), seen)
        assert len(seen) == 2
        drawn = paddle.rand([2]).tolist()
        paddle.seed(3)
        paddle.rand([3])
        paddle.rand([3])
        paddle.rand([3])
        assert drawn == paddle.rand([2]).tolist()
