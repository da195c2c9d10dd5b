"""One tensor as several operands of a call: its gradient is the sum of those of the operands."""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import leaf, tensor, values
from samples import Case, all_cases, assert_close, cases_of, over_samples, usable

from umiak import ops as F
from umiak.autodiff import graph, rules
from umiak.core import tape
from umiak.core.tensor import Tensor
from umiak.ir.tracer import Tracer
from umiak.runtime.executor import Executor


def shared(case: Case) -> list[int]:
    """The most operands that want gradients and could be one tensor."""
    groups: dict[Any, list[int]] = {}
    for i in case.differentiable:
        x = np.asarray(case.sample.inputs[i])
        groups.setdefault((x.shape, x.dtype), []).append(i)
    found = max(groups.values(), key=len, default=[])
    return found if len(found) > 1 else []


def wanted(case: Case) -> bool:
    return bool(shared(case)) and rules.differentiable(case.op) and not case.cls.effect


def weighted(case: Case) -> dict[int, np.ndarray]:
    """Weights of the results that have a gradient, by place."""
    rng = case.rng
    found = {}
    for k, y in enumerate(case.call(*case.operands())):
        if y.dtype.is_floating or y.dtype.is_complex:
            w = rng.standard_normal(tuple(y.shape))
            w = w + 1j * rng.standard_normal(w.shape) if y.dtype.is_complex else w
            found[k] = np.asarray(w, y.dtype.numpy)
    return found


def by_tape(case: Case, weights: dict[int, np.ndarray], operands: tuple, wrt: list[Tensor]) -> Any:
    """The sum of the gradients."""
    results = case.call(*operands)
    pairs = [(results[k], tensor(w)) for k, w in weights.items() if not results[k].stop_gradient]
    if not pairs:
        return np.zeros(wrt[0].shape)
    made = tape.grad([y for y, _ in pairs], wrt, [w for _, w in pairs], allow_unused=True)
    return sum((values(g) for g in made if g is not None), start=np.zeros(wrt[0].shape))


@over_samples(quick=1, share=2, where=wanted)
def test_gradients_of_one_tensor_as_several_operands(case: Case) -> None:
    case = case.widened()
    places = shared(case)
    one = np.asarray(case.sample.inputs[places[0]])
    case = case.with_inputs(tuple(one if i in places else x for i, x in enumerate(case.sample.inputs)))
    operands, weights = case.operands(), weighted(case)

    leaves = [leaf(one, one.dtype) for _ in places]
    apart = iter(leaves)
    operands = case.operands()
    expected = by_tape(case, weights, tuple(next(apart) if i in places else y for i, y in enumerate(operands)), leaves)

    x = leaf(one, one.dtype)
    found = by_tape(case, weights, tuple(x if i in places else y for i, y in enumerate(operands)), [x])
    assert_close(found, expected, "recorded")

    x = tensor(one)
    with Tracer() as tracer:
        stand_in = tracer.example(x)
        results = case.call(*(stand_in if i in places else y for i, y in enumerate(operands)))
        program = tracer.finish(results)
        seeds = [tracer.operand(tensor(weights[k])) if k in weights else None for k in range(len(results))]
        (g,) = graph.backward(program, [program.inputs[0]], seeds)
    program.outputs = [g]
    (made,) = Executor(program)(x)
    assert_close(np.zeros(one.shape) if made is None else values(made), expected, "in a program")


def test_some_samples_share() -> None:
    assert sum(wanted(c) and usable(c) for c in all_cases()) > 100
    assert any(wanted(c) and not rules.has_vjp(c.op) for name in F.REGISTRY for c in cases_of(name))
