"""Values that are None on one way of a branch on data: who reads them asks whether they are."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.static import InputSpec

XS = [np.array(v, "float32") for v in ([1, 2], [-1, -2], [10, 20], [0.1, 0.2], [-3, 3.5])]


def picked(v):
    return v * 2 if v.sum() > 0 else None


def found(v):
    if v.sum() > 0:
        return v * 2


def an_expression(x):
    y = x * 2 if x.sum() > 0 else None
    return x - 1 if y is None else paddle.tanh(y)


def an_expression_in_another(x):
    y = (x * 2 if x.max() > 1 else x * 3) if x.sum() > 0 else None
    if y is None or y.sum() > 4:
        y = x - 5
    return y


def a_result(x):
    y = picked(x)
    if y is not None:
        x = paddle.add(x, y)
    return x if found(x) is None else x + 7


def an_item(x):
    cache = {"k": None, "other": x}
    if x.sum() > 1:
        cache["k"] = x * 2
    if cache["k"] is None:
        cache["k"] = x + 1
    return paddle.tanh(cache["k"]) + cache["other"]


def an_item_of_a_loop(x):
    cache = {"k": None}
    i = paddle.zeros([], "int64")
    while i < 3:
        if cache["k"] is None:
            cache["k"] = x * 2
        else:
            cache["k"] += 1
        x = x + cache["k"]
        i = i + 1
    return x


def items_of_a_list(x):
    slots = [None, None]
    for row in range(3):
        if x.sum() > row:
            slots[0] = x * row
        else:
            slots[1] = x - row
    first = x if slots[0] is None else slots[0]
    return first if slots[1] is None else first + paddle.tanh(slots[1])


def an_item_that_becomes_none(x):
    cache = {"k": x}
    i = paddle.zeros([], "int64")
    while i < 4:
        cache["k"] = x * 3 if cache["k"] is None else None
        i = i + 1 if cache["k"] is None else i + 2
    return x if cache["k"] is None else cache["k"]


def asked_the_other_way_round(x):
    y = None
    if x.sum() > 0:
        y = x * 2
    if None is not y and y.max() > 3:
        x = x - 1
    return x if None is y else y + x


def a_loop_that_does_not_run(x):
    c = None
    i = paddle.zeros([], "int64")
    while i < 3 and c is not None and c.sum() < 10:
        c = c + x
        i += 1
    return x if c is None else c


def a_loop_that_ends_by_it(x):
    c = x if x.sum() > 0 else None
    i = paddle.zeros([], "int64")
    while i < 5 and c is not None:
        c = c + x if c.sum() < 10 else None
        i += 1
    return x - 7 if c is None else c


def an_attribute_of_its_own(x):
    class Held:
        pass

    held = Held()
    held.k = None
    i = paddle.zeros([], "int64")
    while i < 3:
        if held.k is None:
            held.k = x * 2
        x = x + held.k
        i += 1
    return x


FUNCTIONS = (
    an_expression, an_expression_in_another, a_result, an_item, an_item_of_a_loop, items_of_a_list,
    an_item_that_becomes_none, asked_the_other_way_round, a_loop_that_does_not_run, a_loop_that_ends_by_it,
    an_attribute_of_its_own,
)  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_graphs_and_files_do_what_was_written(function, tmp_path):
    graph = paddle.jit.to_static(function, full_graph=True)
    paddle.jit.save(function, str(tmp_path / "model"), [InputSpec([2], "float32")])
    loaded = paddle.jit.load(str(tmp_path / "model"))
    for x in map(paddle.to_tensor, XS):
        wanted = function(x).numpy()
        np.testing.assert_allclose(graph(x).numpy(), wanted, rtol=1e-6)
        np.testing.assert_allclose(loaded(x).numpy(), wanted, rtol=1e-6)
    assert not graph.fallbacks


@pytest.mark.parametrize("function", [picked, found], ids=["expression", "without return"])
def test_a_graph_returns_none_and_a_file_refuses(function, tmp_path):
    graph = paddle.jit.to_static(function, full_graph=True)
    up, down = map(paddle.to_tensor, XS[:2])
    assert graph(up).tolist() == [2.0, 4.0] and graph(down) is None and not graph.fallbacks
    paddle.jit.save(function, str(tmp_path / "model"), [InputSpec([2], "float32")])
    loaded = paddle.jit.load(str(tmp_path / "model"))
    assert loaded(up).tolist() == [2.0, 4.0]
    with pytest.raises(ValueError, match="is None: the statement at"):
        loaded(down)


def test_the_gradient_of_what_may_be_none():
    def function(x):
        y = picked(x)
        return (x * x).sum() if y is None else (y * x).sum()

    graph = paddle.jit.to_static(function, full_graph=True)
    for values in XS:
        x, like = paddle.to_tensor(values, stop_gradient=False), paddle.to_tensor(values, stop_gradient=False)
        graph(x).backward()
        function(like).backward()
        np.testing.assert_allclose(x.grad.numpy(), like.grad.numpy(), rtol=1e-6)


def test_items_of_a_layer_are_set():
    class Cached(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.cache, self.last = {"k": None}, None

        def forward(self, x):
            self.last = picked(x)
            if x.sum() > 5:
                self.cache["k"] = x * 2
            return x + 1

    layer, captured = Cached(), Cached()
    paddle.jit.to_static(captured, full_graph=True)
    for x in map(paddle.to_tensor, XS):
        layer(x), captured(x)
        for mine, wanted in ((captured.cache["k"], layer.cache["k"]), (captured.last, layer.last)):
            assert mine is wanted is None or mine.tolist() == wanted.tolist()


def test_what_is_used_unasked_is_an_error_of_the_way_that_is_taken():
    def function(x):
        y = picked(x)
        return paddle.tanh(y)

    graph = paddle.jit.to_static(function, full_graph=True)
    assert graph(paddle.to_tensor(XS[0])).tolist() == function(paddle.to_tensor(XS[0])).tolist()
    with pytest.raises(TypeError, match="NoneType"):
        graph(paddle.to_tensor(XS[1]))


def test_whether_it_is_none_is_no_result_of_the_branch():
    """Executors of the reference write over results, which have the memory of the constants."""
    graph = paddle.jit.to_static(an_expression, full_graph=True)
    graph(paddle.to_tensor(XS[0]))
    branches = [line for line in str(graph.main_program).splitlines() if "= cond(" in line]
    assert len(branches) == 2 and not any("b1" in line.rpartition(" : ")[2] for line in branches)
