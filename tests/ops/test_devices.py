"""Every op on a device whose memory the host cannot read and whose kernels run later: the results of the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fake import FAKE
from harness import CPU, tensor
from samples import ARRAYS, Case, ShowsNothing, assert_close, over_samples

from umiak.autodiff import rules
from umiak.core import array, context, tape
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.ir.tracer import Tracer
from umiak.runtime.executor import Executor

pytestmark = pytest.mark.usefixtures("fake")


def operands_on(case: Case, place: Place, wanted: tuple[int, ...] = ()) -> tuple:
    made = tuple(tensor(x, place=place) if isinstance(x, ARRAYS) else x for x in case.sample.inputs)
    for i in wanted:
        made[i].stop_gradient = False
    return made


def compare(found: Any, expected: Any, what: str, factor: float = 4) -> None:
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        if a is not None:
            assert_close(array.host_values(a), array.host_values(b), f"{what} {i}", factor=factor)


@over_samples(quick=1, where=lambda case: bool(case.arrays))
def test_results(case: Case) -> None:
    expected = case.call(*operands_on(case, CPU))
    case = case.on(FAKE)
    found = case.call(*operands_on(case, FAKE))
    assert all(y.place is FAKE for y in found)
    compare(found, expected, "result")


@over_samples(
    quick=1,
    share=3,
    turn=1,  # the ops of derivatives are called in ``test_results``
    where=lambda case: bool(case.differentiable) and rules.differentiable(case.op),
)
def test_gradients(case: Case) -> None:
    def run(case: Case, place: Place) -> list:
        operands = operands_on(case, place, case.differentiable)
        results = [y for y in case.call(*operands) if not y.stop_gradient]
        if not results:
            raise ShowsNothing("no result has a gradient")
        rng = case.rng
        seeds = [tensor(np.asarray(rng.standard_normal(tuple(y.shape))), y.dtype.numpy, place) for y in results]
        tape.backward(results, seeds)
        return [operands[i].grad for i in case.differentiable]

    case = case.widened()
    expected = run(case, CPU)
    found = run(case.on(FAKE), FAKE)
    assert [g is None for g in found] == [g is None for g in expected]
    assert all(g.place is FAKE for g in found if g is not None)
    compare(found, expected, "gradient of", factor=16)


@over_samples(quick=1, where=lambda case: bool(case.arrays))
def test_captured(case: Case) -> None:
    """The call as a program, on a host that has another default place."""
    case = case.on(FAKE)
    operands = operands_on(case, FAKE)
    expected = case.call(*operands)
    with Tracer() as tracer:
        given = [tracer.example(x, ()) if isinstance(x, Tensor) else x for x in operands]
        program = tracer.finish(case.call(*given))
    found = Executor(program)(*(x for x in operands if isinstance(x, Tensor)))
    assert all(y.place is FAKE for y in found)
    compare(found, expected, "result")


@over_samples(quick=1, where=lambda case: not case.arrays)
def test_creation(case: Case) -> None:
    """What is made of no tensor is made where that is wanted."""
    expected = case.call(*case.operands())
    with context.place_guard(FAKE):
        found = case.call(*case.operands())
    assert all(y.place is FAKE for y in found)
    compare(found, expected, "result")
