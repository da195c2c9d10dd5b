"""Functions that are marked by ``capture_control_flow``, given to ``to_static`` themselves or called inside."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.jit.marker import capture_control_flow
from paddle.jit.sot.frame import HANDLERS


def over_rows(x):
    total = paddle.zeros([4])
    for i in range(x.shape[0]):
        total = total * 0.5 + x[i]
    return total


def on_data(x):
    if x.sum() > 0:
        return x * 2
    return x - 1


def both(x):
    for i in range(x.shape[0]):
        x = x + i * x[i]
    if x.sum() > 0:
        x = x * 2
    return x


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    @capture_control_flow
    def forward(self, x):
        return self.written(x)

    def written(self, x):
        for i in range(x.shape[0]):
            x = x + self.linear(x[i]) * 0.125
        return x


def compare(captured, f, n):
    rng = np.random.default_rng(n)
    results = []
    for run in (captured, f):
        x = paddle.to_tensor(rng.standard_normal((n, 4)).astype("float32") if run is captured else results[0][0])
        x.stop_gradient = False
        y = run(x)
        y.sum().backward()
        results.append((x.numpy(), y.numpy(), None if x.grad is None else x.grad.numpy()))
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-5, atol=1e-5)
    if results[1][2] is not None:
        np.testing.assert_allclose(results[0][2], results[1][2], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("called", [False, True], ids=["itself", "inside"])
@pytest.mark.parametrize("f", [over_rows, on_data, both])
def test_no_break_and_no_capture_after_the_second_size(f, called):
    """But for 0 and 1, which have programs of their own."""
    marked = capture_control_flow(f)
    captured = paddle.jit.to_static((lambda x: marked(x) * 1) if called else marked)
    for n in (4, 6):
        compare(captured, f, n)
    count = captured.get_traced_count()
    for n in (3, 9, 5, 12, 2):
        compare(captured, f, n)
    assert captured.get_traced_count() == count
    for n in (1, 0):
        compare(captured, f, n)
    assert captured.graph_breaks == [] and captured.fallbacks == []


def test_a_marked_method():
    paddle.seed(4)
    net = Net()
    captured = paddle.jit.to_static(net)
    for n in (4, 6, 3, 9, 1, 2):
        compare(captured, net.written, n)
    assert captured.forward.graph_breaks == []
    assert captured.forward.get_traced_count() == 3


def test_an_unmarked_one_is_unrolled():
    """The way that bytecode goes by itself: a program for each number of rows."""

    def f(x):
        for i in range(x.shape[0]):
            x = x + x[i]
        return x

    captured = paddle.jit.to_static(f)
    for n in (4, 6, 3):
        compare(captured, f, n)
    assert captured.get_traced_count() == 3


@pytest.mark.parametrize("mark", [paddle.jit.not_to_static, paddle.jit.marker.force_dynamic])
def test_layers_outside_of_graphs(mark):
    """A mark leaves a layer, and a class of layers, what they are: their parameters are found."""

    class Scale(nn.Linear):
        def forward(self, x):
            return super().forward(x) * float(x.sum())

    marked = mark(Scale)
    assert marked is Scale
    other = paddle.jit.not_to_static(nn.Linear(2, 2))
    model = nn.Sequential(Scale(2, 2), other)
    captured = paddle.jit.to_static(model)
    assert len(model.parameters()) == 4
    x = paddle.ones([1, 2])
    expected = other(model[0](x))
    np.testing.assert_allclose(captured(x).numpy(), expected.numpy(), rtol=1e-6)
    assert [b.partition(" (")[0] for b in captured.forward.graph_breaks] == [
        "Scale is marked by not_to_static",
        "Linear is marked by not_to_static",
    ]


@pytest.mark.parametrize("full_graph", [False, True])
def test_a_marked_function_that_is_captured_itself_runs_as_it_was_written(full_graph):
    @paddle.jit.to_static(full_graph=full_graph)
    @paddle.jit.not_to_static
    def halved(x):
        return x / 2 if float(x.sum()) > 0 else x

    assert halved(paddle.ones([1])).item() == 0.5 and halved.get_traced_count() == 0


@pytest.mark.parametrize("outer", [classmethod, staticmethod])
def test_methods_of_classes(outer):
    class Base:
        @outer
        @paddle.jit.to_static
        def one(*args):
            return args[-1] * 2

        @paddle.jit.to_static
        @outer
        def two(*args):
            return args[-1] * 3

        @paddle.jit.to_static
        def three(self, x):
            return x * 4

    class Slots(Base):
        __slots__ = ()

    x = paddle.ones([1])
    for owner in (Base, Slots, Base(), Slots()):
        assert (owner.one(x).item(), owner.two(x).item()) == (2.0, 3.0)
    assert Base().three(x).item() == 4.0


def test_an_instruction_that_is_not_known_is_warned_of(monkeypatch):
    monkeypatch.delitem(HANDLERS, "UNARY_NEGATIVE")
    f = paddle.jit.to_static(lambda x: -x)
    with pytest.warns(RuntimeWarning, match="runs without a graph: the instruction UNARY_NEGATIVE is not known"):
        assert f(paddle.ones([1])).item() == -1.0
    assert f(paddle.ones([1])).item() == -1.0 and len(f.fallbacks) == 1
