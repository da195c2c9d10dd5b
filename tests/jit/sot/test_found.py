"""Programs that were captured wrongly, or more often than they had to be."""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.jit.sot import guards
from umiak.core.entries import Places


def test_closures_that_the_library_calls_read_arguments():
    """An argument that the frame has not read itself is in the cell as it came."""

    def f(x):
        def more(i, total):
            return i < x.shape[0]

        def body(i, total):
            return [i + 1, total + x.sum(0)]

        return paddle.static.nn.while_loop(more, body, [paddle.zeros([], "int64"), paddle.zeros([2])])[1]

    captured = paddle.jit.to_static(f)
    x = paddle.ones([3, 2])
    assert captured(x).tolist() == f(x).tolist() == [9.0, 9.0]
    assert not captured.graph_breaks and not captured.fallbacks


@pytest.mark.parametrize(
    ("f", "given"),
    [
        (lambda x, n: x[n], lambda n: (paddle.arange(24).reshape([12, 2]), n)),
        (lambda x, n: x[-n, 1], lambda n: (paddle.arange(24).reshape([12, 2]), n)),
        (lambda x, n: F.pad(x, [0, -x.shape[0] % 4, n, 1]), lambda n: (paddle.ones([n, 2]), n)),
    ],
    ids=["index", "negative-index", "pad"],
)
def test_numbers_that_vary_are_indices_and_pads(f, given):
    captured = paddle.jit.to_static(f)
    counts = []
    for n in (3, 5, 6, 9, 11):
        np.testing.assert_array_equal(captured(*given(n)).numpy(), f(*given(n)).numpy())
        counts.append(len(captured.entries))
    assert counts == [1, 2, 2, 2, 2] and not captured.fallbacks


def test_an_index_that_varies_is_checked():
    captured = paddle.jit.to_static(lambda x, n: x[n])
    x = paddle.ones([4])
    for n in (1, 2, 3):
        captured(x, n)
    with pytest.raises(IndexError, match=r"requires an index from -4 to 3 on axis 0, got 4"):
        captured(x, 4)


def test_layers_inside_of_others_cost_nothing_at_a_call(monkeypatch):
    """Places of layers are compared after an attribute was set, and the flat function is about arguments alone."""
    compared = []

    def places(plain, *rest):
        compared.append(len(plain))
        return Places(plain, *rest)

    monkeypatch.setattr(guards, "Places", places)
    model = paddle.nn.Sequential(*[m for _ in range(5) for m in (paddle.nn.Linear(2, 2), paddle.nn.ReLU())])
    captured = paddle.jit.to_static(lambda x: model(x))
    x = paddle.ones([1, 2])
    captured(x)
    (entry,) = captured.entries
    own = {f"K{id(k):x}" for k in (captured.function, captured.function.__code__)}
    assert compared[0] < 8 and set(re.findall(r"\bK[0-9a-f]{6,}", entry.guard.text)) == own
    model[8].bias = paddle.create_parameter([2], "float32", default_initializer=paddle.nn.initializer.Constant(3.0))
    np.testing.assert_array_equal(captured(x).numpy(), model(x).numpy())
    assert len(captured.entries) == 2


def test_a_list_that_grows_is_read_at_its_end_alone():
    """What was appended is known, whatever the list held; what was there before is guarded with its length."""
    kept, other = [1.0], [2.0]

    def at_the_end(x, values):
        values.append(x.ndim / 2)
        values.append(x * 2)
        return values[-1] + values[-2]

    captured = paddle.jit.to_static(at_the_end)
    for values in (kept, other) * 4:
        assert captured(paddle.ones([2]), values).tolist() == [2.5, 2.5]
        assert values[-2] == 0.5 and values[-1].tolist() == [2.0, 2.0]
    assert len(captured.entries) == 1 and len(kept) == len(other) == 9

    def before(x, values, more):
        values.append(3.0)
        return x * more[-2]

    captured = paddle.jit.to_static(before)
    shared = [2.0]
    assert [captured(paddle.ones([1]), shared, shared).item() for _ in range(2)] == [2.0, 3.0]

    def of_two(x, values, more):
        values.append(3.0)
        return x * more[-1]

    captured = paddle.jit.to_static(of_two)
    assert captured(paddle.ones([1]), other, other).item() == 3.0
    assert captured(paddle.ones([1]), other, [5.0]).item() == 5.0
    assert captured(paddle.ones([1]), other, other).item() == 3.0


def everything(**named):
    return named


@paddle.jit.not_to_static
def everything_outside(**named):
    return named


@pytest.mark.parametrize(
    ("f", "full_graph"),
    [
        (lambda x: everything(**{"__debug__": x * 2, "if": x, "a b": x, "c": x}), True),
        (lambda x: everything(**{"__debug__": x * 2, "if": x, "a b": x, "c": x}), False),
        (lambda x: everything_outside(**{"__debug__": x * 2, "if": x, "a b": x, "c": x}), False),
        (lambda x: functools.partial(everything, **{"__debug__": x * 2, "None": x})(), False),
    ],
    ids=["rewritten", "simulated", "between-graphs", "partial"],
)
def test_arguments_may_have_names_that_no_text_gives(f, full_graph):
    x = paddle.to_tensor([1.0, -2.0])
    got, wanted = paddle.jit.to_static(f, full_graph=full_graph)(x), f(x)
    assert [(k, v.tolist()) for k, v in got.items()] == [(k, v.tolist()) for k, v in wanted.items()]
