"""Every op's samples on the device, by kernels as a driver gets them: the results and the gradients of the host.

``make test`` takes some ops, drawn from their names; the others are marked slow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from harness import CPU, tensor
from samples import ARRAYS, Case, assert_close, cases_of, own_ops, seed_of, usable

from umiak.autodiff import rules
from umiak.core import array, tape

QUICK = 2


def ops(property: str, where: Any) -> list[Any]:
    """An item per op that has a case, the first ``QUICK`` of a drawn order among the quick tests."""
    names = [n for n in own_ops() if any(usable(c) and where(c) for c in cases_of(n))]
    names.sort(key=lambda name: seed_of(property, name))
    return [pytest.param(n, marks=[] if i < QUICK else pytest.mark.slow) for i, n in enumerate(names)]


def on_tensors(case: Case) -> bool:
    return bool(case.arrays)


def differentiable(case: Case) -> bool:
    return bool(case.differentiable) and rules.differentiable(case.op)


def operands_on(case: Case, place: Any, wanted: tuple[int, ...] = ()) -> tuple:
    operands = tuple(tensor(x, place=place) if isinstance(x, ARRAYS) else x for x in case.sample.inputs)
    for i in wanted:
        operands[i].stop_gradient = False
    return operands


def compare(got: Any, expected: Any, what: str, factor: float) -> None:
    assert [x is None for x in got] == [x is None for x in expected]
    for i, (a, b) in enumerate(zip(got, expected, strict=True)):
        if a is not None:
            assert_close(np.asarray(a), np.asarray(b), f"{what} {i}", factor=factor)


# Vectors of decompositions have any sign, and eigenvalues any order: what of the results is one and the same.
DEFINITE: dict[str, Callable[..., tuple]] = {
    "eigh": lambda w, v: (w, (v * w[..., None, :]) @ np.swapaxes(v.conj(), -1, -2)),
    "svd": lambda u, s, v: (s, (u[..., : s.shape[-1]] * s[..., None, :]) @ v[..., : s.shape[-1], :]),
    "eig": lambda w, v: (np.sort_complex(w), np.sort(np.linalg.norm(v, axis=-2))),
    "eigvals": lambda w: (np.sort_complex(np.round(w, 9)),),
}
VALUES = {"eigh": 0, "svd": 1}  # which result has no sign


def definite(name: str, results: Any) -> tuple:
    values = [None if x is None else array.host_values(x) for x in results]
    return DEFINITE[name](*values) if name in DEFINITE else tuple(values)


@pytest.mark.parametrize("name", ops("cuda results", on_tensors))
def test_results(device, name):
    for case in [c for c in cases_of(name) if usable(c) and on_tensors(c)][:2]:
        expected = case.call(*operands_on(case, CPU))
        case = case.on(device)
        got = case.call(*operands_on(case, device))
        assert all(y.place is device for y in got), case
        compare(definite(name, got), definite(name, expected), f"{case}: result", 8)


@pytest.mark.parametrize("name", ops("gradients on cuda", differentiable))
def test_gradients(device, name):
    case = next(c for c in cases_of(name) if usable(c) and differentiable(c)).widened()

    def gradients(case: Case, place: Any) -> list:
        operands = operands_on(case, place, case.differentiable)
        results = case.call(*operands)
        results = [results[VALUES[name]]] if name in VALUES else [y for y in results if not y.stop_gradient]
        seeds = [tensor(np.asarray(case.rng.standard_normal(tuple(y.shape))), y.dtype.numpy, place) for y in results]
        if results:
            tape.backward(results, seeds)
        return [None if (g := operands[i].grad) is None else array.host_values(g) for i in case.differentiable]

    compare(gradients(case.on(device), device), gradients(case, CPU), f"{case}: gradient of", 32)
