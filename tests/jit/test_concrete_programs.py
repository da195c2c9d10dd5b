"""What captured functions show of their programs."""

from __future__ import annotations

import inspect

import numpy as np
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
    owner, *specs = program.inputs
    assert owner is layer
    assert shapes(specs) == shapes(captured.inputs) == [(-1, 3)] and captured.inputs[0].shape == [-1, 3]
    assert shapes(program.outputs) == shapes(captured.outputs) == [(-1, 4)]
    assert captured.class_instance is layer
    assert {id(p) for p in program.parameters} == {id(p) for p in layer.parameters()}
    assert program.main_program is captured.main_program and program.main_program.num_ops() > 0
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
    assert same is f and shapes(program.specs) == shapes(program.outputs) == [(2, 3)]
    assert f(paddle.ones([2, 3]), scale=3.0)["y"].tolist() == [[3.0] * 3] * 2
    assert f.get_traced_count() == 1
    with pytest.raises(TypeError, match=r"requires arguments"):
        f.get_concrete_program()


def test_what_cannot_be_captured_has_no_program():
    @paddle.jit.to_static(full_graph=True)
    def f(x):
        return x.tolist()

    with pytest.raises(CaptureError):
        f.get_concrete_program(paddle.ones([2]))


def test_modes_of_the_layer():
    layer = paddle.jit.to_static(paddle.nn.Sequential(paddle.nn.Dropout(0.5), paddle.nn.ReLU()))
    layer.forward.eval()
    assert not layer[0].training
    layer.forward.train()
    assert layer[0].training


@pytest.mark.parametrize("full_graph", [False, True])
def test_modes_of_a_function(full_graph):
    f = paddle.jit.to_static(lambda x: x * x, full_graph=full_graph)
    x = paddle.ones([2])
    x.stop_gradient = False
    for set_mode in (f.eval, f.train):
        set_mode()
        x.clear_grad()
        f(x).sum().backward()
        assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize("full_graph", [False, True])
def test_as_static_programs(full_graph, rng):
    """What was captured can be looked at, copied and run like a program of static mode."""
    layer = paddle.nn.Sequential(paddle.nn.Linear(3, 4), paddle.nn.BatchNorm1D(4), paddle.nn.Dropout(0.5))
    spec = InputSpec([None, 3], name="image")
    captured = paddle.jit.to_static(layer, input_spec=[spec], full_graph=full_graph).forward
    program = captured.main_program if captured.program_cache else captured.concrete_program.main_program
    assert isinstance(program, paddle.static.Program)
    ops = program.global_block().ops
    assert [o.name() for o in ops][:2] == ["linear", "batch_norm"] and len(ops) == program.num_ops()
    assert ops[1].operand_source(0).get_defining_op() == ops[0] and ops[0].result(0).all_used_ops() == [ops[1]]
    assert {id(p) for p in program.all_parameters()} >= {id(p) for p in layer.parameters()}
    assert program.parameters_num() == 6 and {"image", "fetch_name_0"} <= set(program.global_block().vars)
    assert str(program).startswith('program "forward"(%0: f32[s0, 3]')
    layer.eval()
    evaluated, same = captured.get_concrete_program(spec)
    assert same is captured and shapes(evaluated.specs) == [(-1, 3)]
    assert evaluated.startup_program.num_ops() == 0
    x = rng.standard_normal((5, 3)).astype("float32")
    for p in (evaluated.main_program, evaluated.main_program.clone()):
        (y,) = paddle.static.Executor().run(p, feed={evaluated.specs[0].name: x}, fetch_list=["fetch_name_0"])
        np.testing.assert_allclose(y, layer(paddle.to_tensor(x)).numpy(), rtol=1e-6, atol=1e-6)


def test_of_all_kinds_of_calls():
    f = paddle.jit.to_static(lambda x, n: x * n)
    with pytest.raises(IndexError, match="a call of the function before"):
        f.program_cache.last()
    f(paddle.ones([2]), 2)
    f(paddle.ones([2, 2]), 2)
    cache = f.program_cache
    assert len(cache) == 2 and cache[-1] is list(cache)[1] is f.main_program and cache[:1] == [cache[0]]
    assert [c.main_program for c in cache.concrete_programs()] == list(cache)
    assert cache.last() == (1, (f.concrete_program, f))


def test_updates_are_a_part():
    """An optimizer's step writes to parameters: a program that is run does so as well."""
    layer = paddle.nn.Linear(2, 1)
    optimizer = paddle.optimizer.SGD(0.5, parameters=layer.parameters())

    @paddle.jit.to_static
    def step(x):
        layer(x).sum().backward()
        optimizer.step()
        optimizer.clear_grad()

    step(paddle.ones([3, 2]))
    assert len(step.captures[-1].program.effects) == 2
    names = [o.name() for o in step.main_program.global_block().ops]
    assert names.count("sgd_update") == 2 and step.main_program.parameters_num() == 2
