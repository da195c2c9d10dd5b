"""What captured functions show of their programs."""

from __future__ import annotations

import inspect

import pytest

import paddle
from paddle.static import InputSpec
from umiak.runtime.capture import CaptureError


def shapes(specs):
    return [tuple(s.shape) for s in specs]


@pytest.mark.parametrize("full_graph", [False, True])
def test_of_a_layer_with_specs(full_graph):
    """The program is captured for the specs, and serves calls of other sizes."""
    layer = paddle.nn.Linear(3, 4)
    captured = paddle.jit.to_static(layer, input_spec=[InputSpec([None, 3], name="x")], full_graph=full_graph).forward
    program = captured.concrete_program
    assert shapes(program.inputs) == shapes(captured.inputs) == [(-1, 3)]
    assert shapes(program.outputs) == shapes(captured.outputs) == [(-1, 4)]
    assert {id(p) for p in program.parameters} == {id(p) for p in layer.parameters()}
    assert program.main_program is captured.main_program and len(program.main_program.ops) > 0
    x = paddle.randn([5, 3])
    with paddle.no_grad():
        captured(x)
        count = captured.get_traced_count()
        assert paddle.equal_all(captured(paddle.randn([7, 3]) * 0), layer.bias.expand([7, 4]))
    assert captured.get_traced_count() == count
    assert captured.function_spec.args_name == list(inspect.signature(paddle.nn.Linear.forward).parameters)[1:]


@pytest.mark.parametrize("full_graph", [False, True])
def test_of_a_kind_of_calls(full_graph):
    @paddle.jit.to_static(full_graph=full_graph)
    def f(x, scale=2.0):
        return {"y": x * scale, "n": x.shape[0]}

    with pytest.raises(RuntimeError, match="a call of the function before, or input_spec"):
        _ = f.concrete_program
    program, same = f.get_concrete_program(paddle.ones([2, 3]), scale=3.0)
    assert same is f and shapes(program.inputs) == shapes(program.outputs) == [(2, 3)]
    assert f(paddle.ones([2, 3]), scale=3.0)["y"].tolist() == [[3.0] * 3] * 2
    assert f.get_traced_count() == 1
    with pytest.raises(TypeError, match=r"requires arguments"):
        f.get_concrete_program()


def test_what_cannot_be_captured_has_no_program():
    @paddle.jit.to_static(full_graph=True)
    def f(x):
        return float(x.sum().item())

    with pytest.raises(CaptureError):
        f.get_concrete_program(paddle.ones([2]))


def test_modes_of_the_layer():
    layer = paddle.jit.to_static(paddle.nn.Sequential(paddle.nn.Dropout(0.5), paddle.nn.ReLU()))
    layer.forward.eval()
    assert not layer[0].training
    layer.forward.train()
    assert layer[0].training
    with pytest.raises(RuntimeError, match="a captured method of a Layer"):
        paddle.jit.to_static(lambda x: x).eval()
