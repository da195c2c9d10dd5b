"""Every op's samples on the device: the results and the gradients of the host.

``make test`` takes some ops, drawn from their names; the others are marked slow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness import CPU, tensor
from samples import ARRAYS, Case, assert_close, cases_of, own_ops, seed_of, usable

from umiak import ops as F
from umiak.autodiff import rules
from umiak.core import array, tape

QUICK = 4
# Ops whose samples make kernels that take PoCL several seconds of the processor.
LONG = ("deformable", "index_put", "psroi", "repeat_interleave", "rnn", "roi")


def ops(property: str, where: Any) -> list[Any]:
    """An item per op that has a case, the first ``QUICK`` of a drawn order but ``LONG`` ones among the quick tests."""
    names = [n for n in own_ops() if any(usable(c) and where(c) for c in cases_of(n))]
    names.sort(key=lambda name: (name.startswith(LONG), seed_of(property, name)))
    return [pytest.param(n, marks=[] if i < QUICK else pytest.mark.slow) for i, n in enumerate(names)]


def on_tensors(case: Case) -> bool:
    return bool(case.arrays)


def differentiable(case: Case) -> bool:
    return bool(case.differentiable) and rules.differentiable(case.op)


def operands_on(case: Case, place: Any, wanted: tuple[int, ...] = ()) -> tuple:
    made = tuple(tensor(x, place=place) if isinstance(x, ARRAYS) else x for x in case.sample.inputs)
    for i in wanted:
        made[i].stop_gradient = False
    return made


def compare(found: Any, expected: Any, what: str, factor: float) -> None:
    assert [x is None for x in found] == [x is None for x in expected]
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        if a is not None:
            assert_close(a, b, f"{what} {i}", factor=factor)


def values(tensors: Any) -> list:
    return [None if x is None else array.host_values(x) for x in tensors]


def without_phases(name: str, results: tuple) -> tuple:
    """The results, with the sizes of vectors' elements in place of vectors, whose phases are any."""
    vectors = {"eigh": (1,), "svd": (0, 2)}.get(name, ())
    return tuple(F.mul(y, F.conj(y)) if i in vectors else y for i, y in enumerate(results))


@pytest.mark.parametrize("name", ops("results", on_tensors))
def test_results(device, name):
    results_agree(device, name)


@pytest.mark.parametrize("name", ops("optimised results", on_tensors))
def test_results_of_programs_that_the_driver_optimises(device, optimised, name):
    results_agree(device, name)


def results_agree(device: Any, name: str) -> None:
    from umiak_opencl.reuse import known

    for case in [c for c in cases_of(name) if usable(c) and on_tensors(c)][:2]:
        expected = case.call(*operands_on(case, CPU))
        case = case.on(device)
        found = case.call(*operands_on(case, device))
        assert all(y.place is device for y in found), case
        compare(known(name, values(found)), known(name, values(expected)), f"{case}: result", 8)


@pytest.mark.parametrize("name", ops("gradients", differentiable))
def test_gradients(device, name):
    case = next(c for c in cases_of(name) if usable(c) and differentiable(c)).widened()

    def gradients(case: Case, place: Any) -> list:
        operands = operands_on(case, place, case.differentiable)
        results = [y for y in without_phases(name, case.call(*operands)) if not y.stop_gradient]
        rng = case.rng
        # Eigenvalues come in no order, so they count alike.
        draw = np.ones if name == "eigvals" else rng.standard_normal
        seeds = [tensor(np.asarray(draw(tuple(y.shape))), y.dtype.numpy, place) for y in results]
        if results:
            tape.backward(results, seeds)
        return values(operands[i].grad for i in case.differentiable)

    compare(gradients(case.on(device), device), gradients(case, CPU), f"{case}: gradient of", 32)
