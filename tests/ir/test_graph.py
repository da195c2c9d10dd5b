"""Gradients built over programs agree with the tape, and split into a forward and a backward program."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from interpret import environment, run

from umiak import ops as F
from umiak.autodiff import graph
from umiak.core import context, inplace, tape
from umiak.core.array import from_numpy, to_numpy
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor
from umiak.ir import passes
from umiak.ir.meta import Meta
from umiak.ir.parser import parse
from umiak.ir.program import Program
from umiak.ir.tracer import Tracer, current
from umiak.ir.verifier import verify

F64 = convert("float64")


def tensor(*shape: int, seed: int = 0) -> Tensor:
    return from_numpy(np.asarray(np.random.default_rng(seed).standard_normal(shape) + 0.1))


def traced(function: Callable[..., Any], *examples: Tensor) -> Program:
    with Tracer() as tracer:
        found = function(*(tracer.example(x) for x in examples))
        return tracer.finish(found if isinstance(found, tuple) else (found,))


def by_tape(function: Callable[..., Any], examples: tuple[Tensor, ...], seeds: list[Any]) -> list[Any]:
    inputs = [from_numpy(to_numpy(x)) for x in examples]
    for x in inputs:
        x.stop_gradient = False
    found = function(*inputs)
    found = list(found) if isinstance(found, tuple) else [found]
    pairs = [(y, g) for y, g in zip(found, seeds) if not y.stop_gradient]
    return tape.grad([y for y, _ in pairs], inputs, [g for _, g in pairs], allow_unused=True)


def mlp(x: Any, w: Any, b: Any) -> Any:
    return F.mean(F.square(F.tanh(F.add(F.matmul(x, w, False, False), b))), axes=(0, 1), keepdim=False)


def views(x: Any) -> Any:
    y = F.mul(x, 1.5)
    top = F.slice(y, axes=(0,), starts=(0,), sizes=(1,), steps=(1,))
    inplace.assign(top, F.mul(top, 3.0))
    return F.mul(F.permute(y, perm=(1, 0)), F.permute(x, perm=(1, 0)))


def two_outputs(x: Any, y: Any) -> Any:
    z = F.mul(x, F.exp(y))
    return z, F.sum(z, axes=(0,), keepdim=False)


def pooled(x: Any) -> Any:
    p = {"strides": (2,), "pads_lo": (0,), "pads_hi": (0,), "dilations": (1,)}
    return F.mul(F.window_reduce(F.mul(x, 2.0), n=1, kind="max", kernel=(2,), **p), 3.0)


def detached(x: Any) -> Any:
    return F.mul(x, F.mul(x, x).detach())


def without_grad(x: Any) -> Any:
    with context.no_grad_guard():
        y = F.mul(x, x)
    return F.mul(x, y)


CASES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "mlp": (mlp, [(5, 3), (3, 4), (4,)]),
    "views and writes": (views, [(3, 4)]),
    "two outputs": (two_outputs, [(3, 4), (4,)]),
    "a training form": (pooled, [(3, 6)]),
    "detached": (detached, [(3,)]),
    "no_grad": (without_grad, [(3,)]),
    "softmax": (lambda x: F.softmax(x, axis=1), [(3, 4)]),
}


@pytest.mark.parametrize("name", CASES)
def test_backward_agrees_with_the_tape(name: str) -> None:
    function, shapes = CASES[name]
    examples = tuple(tensor(*s, seed=i) for i, s in enumerate(shapes))
    program = traced(function, *examples)
    values = run(program, examples)
    seeds = [tensor(*y.shape, seed=9) for y in values]
    expected = by_tape(function, examples, seeds)

    joint = program.copy()
    with Tracer(program=joint) as tracer:
        grads = [tracer.input(y.meta).value for y in joint.outputs]
        tracer.finish(joint.outputs)
    inputs = joint.inputs[: len(examples)]
    found = graph.backward(joint, inputs, grads)
    joint.outputs = [*joint.outputs, *found]
    verify(joint)
    assert parse(repr(joint)).same_as(joint)
    made = run(joint, [*examples, *seeds])[len(values) :]
    for a, b in zip(made, expected):
        np.testing.assert_allclose(to_numpy(a), to_numpy(b), rtol=1e-10)

    pair = graph.derivative(program, range(len(examples)))
    verify(pair.forward)
    verify(pair.backward)
    env = environment(program, examples)
    outputs = run(pair.forward, examples, env)
    saved = [examples[i] if where == "input" else outputs[i] for where, i in pair.saved]
    made = run(pair.backward, [*saved, *(seeds[i] for i in pair.present)], env)
    for a, b in zip(made, expected):
        np.testing.assert_allclose(to_numpy(a), to_numpy(b), rtol=1e-10)
    for a, b in zip(outputs, values):
        np.testing.assert_array_equal(to_numpy(a), to_numpy(b))


def test_a_training_form_runs_once() -> None:
    pair = graph.derivative(traced(pooled, tensor(3, 6)), [0])
    assert [o.name for o in pair.forward.ops].count("max_pool") == 1
    assert not {"max_pool", "window_reduce"} & {o.name for o in pair.backward.ops}


def test_results_keep_their_identity() -> None:
    program = traced(pooled, tensor(3, 6))
    y = program.outputs[0]
    graph.backward(program, program.inputs[:1])
    assert program.outputs[0] is y
    verify(program)


def test_only_what_is_needed_is_saved() -> None:
    pair = graph.derivative(traced(lambda x, y: F.mul(F.tanh(x), y), tensor(3), tensor(3)), [1])
    assert pair.saved == (("output", 1),)
    assert [o.name for o in pair.forward.ops] == ["tanh", "mul"]
    assert [o.name for o in pair.backward.ops] == ["mul", "sum_to"]
    pair = graph.derivative(traced(F.add, tensor(3), tensor(3)), [0, 1])
    assert pair.saved == ()


def test_what_is_saved_is_returned_once() -> None:
    """Results that gradients need are outputs already; one that is an input is saved as that input."""
    pair = graph.derivative(traced(F.exp, tensor(3)), [0])
    assert (pair.saved, len(pair.forward.outputs)) == ((("output", 0),), 1)
    pair = graph.derivative(traced(lambda x: (x, F.tanh(x), F.square(x)), tensor(3)), [0])
    assert sorted(pair.saved) == [("input", 0), ("output", 1)]
    assert len(pair.forward.outputs) == 3


@pytest.mark.parametrize("count", [1, 2, 3])
def test_regions_are_recomputed(count: int) -> None:
    """Each of them, from the first on: of a region only what it reads is saved."""

    def function(x: Any, region: Callable[[], Any]) -> Any:
        for _ in range(count):
            with region():
                x = F.exp(F.sin(F.tanh(x)))
        return F.sum(x, axes=(0,), keepdim=False)

    pair = graph.derivative(traced(lambda x: function(x, lambda: current().recompute()), tensor(3)), [0])
    assert len(pair.saved) == count
    for part in (pair.forward, pair.backward):
        assert [o.name for o in part.ops].count("tanh") == count
    outputs = run(pair.forward, [tensor(3)])
    saved = [tensor(3) if where == "input" else outputs[i] for where, i in pair.saved]
    (found,) = run(pair.backward, [*saved, tensor()])
    (wanted,) = by_tape(lambda x: function(x, contextlib.nullcontext), (tensor(3),), [tensor()])
    np.testing.assert_allclose(to_numpy(found), to_numpy(wanted), rtol=1e-12)


def test_a_gradient_inside_of_a_region_finds_its_values_there() -> None:
    with Tracer() as tracer:
        x = tracer.input(Meta((3,), F64))
        with tracer.recompute():
            y = F.tanh(F.exp(x))
            tracer.builder.program.outputs = [y.value]
            (g,) = graph.backward(tracer.builder.program, [x.value])
        program = tracer.finish([g])
    assert [o.name for o in program.ops].count("exp") == 1


def test_what_a_run_overwrites_is_kept_as_a_copy() -> None:
    def function(x: Any, state: Any) -> Any:
        y = F.mul(x, state)
        inplace.assign(state, F.add(state, 1.0))
        return y

    with Tracer() as tracer:
        x, state = tracer.input(Meta((3,), F64)), tracer.input(Meta((3,), F64), stop_gradient=True)
        program = tracer.finish([function(x, state)])
    pair = graph.derivative(program, [0])
    assert pair.saved == (("output", 1),)
    a, s, g = tensor(3), tensor(3, seed=1), tensor(3, seed=2)
    before = to_numpy(s).copy()
    outputs = run(pair.forward, [a, s])
    (dx,) = run(pair.backward, [outputs[1], g])
    np.testing.assert_allclose(to_numpy(dx), to_numpy(g) * before)
    np.testing.assert_allclose(to_numpy(s), before + 1)


def test_gradients_can_be_differentiated() -> None:
    program = traced(lambda x: F.sum(F.mul(F.mul(x, x), x), axes=(0,), keepdim=False), tensor(3))
    (x,) = program.inputs
    (first,) = graph.backward(program, [x])
    program.outputs = [first]
    (second,) = graph.backward(program, [x])
    program.outputs = [first, second]
    verify(passes.tidy(program))
    value = tensor(3)
    a, b = run(program, [value])
    np.testing.assert_allclose(to_numpy(a), 3 * to_numpy(value) ** 2)
    np.testing.assert_allclose(to_numpy(b), 6 * to_numpy(value))


def test_what_does_not_depend_has_no_gradient() -> None:
    program = traced(lambda x, y: F.mul(x, 2.0), tensor(3), tensor(3))
    gx, gy = graph.backward(program, program.inputs)
    assert gx is not None and gy is None
    with pytest.raises(TypeError, match="floating or complex output"):
        program = traced(lambda x: F.argmax(x, axis=0, keepdim=False, dtype=convert("int64")), tensor(3))
        graph.backward(program, program.inputs, [1.0])


def test_a_program_under_construction_is_continued() -> None:
    with Tracer() as tracer:
        x = tracer.input(Meta((3,), F64))
        y = F.mul(x, x)
        tracer.builder.program.outputs = [y.value]
        (g,) = graph.backward(tracer.builder.program, [x.value])
        z = F.neg(y)
        program = tracer.finish([z, g])
    verify(program)
    value = tensor(3)
    np.testing.assert_allclose(to_numpy(run(program, [value])[1]), 2 * to_numpy(value))
