"""First and second derivatives of every op against finite differences, for every set of operands that want one.

A call's results y are weighted with random w: L = Re sum(conj(w) y). For a complex operand the gradient g is that of
the conjugate convention, so L(x + h d) = L(x) + h Re sum(conj(g) d) for every direction d.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from harness import leaf, tensor, values
from samples import (
    ARRAYS,
    CLOSE,
    Case,
    ShowsNothing,
    all_cases,
    cases_of,
    is_continuous,
    over_samples,
    usable,
    widen,
)

from umiak import ops as F
from umiak.autodiff import rules
from umiak.core import tape
from umiak.core.tensor import Tensor

MASKS = 7  # as many sets of wanted gradients as are tried of one sample

# Results that are known only up to a phase are made into what is known of them before they are differentiated.
KNOWN_PART: dict[str, Callable[[tuple], tuple]] = {
    "eig": lambda y: (y[0], F.mul(y[1], F.conj(y[1]))),
    "eigh": lambda y: (y[0], F.mul(y[1], F.conj(y[1]))),
    "svd": lambda y: (F.mul(y[0], F.conj(y[0])), y[1], F.mul(y[2], F.conj(y[2]))),
}

# Operands of which only a Hermitian part is read: directions keep it Hermitian, and gradients are compared on it.
HERMITIAN = {"cholesky": 0, "eigh": 0, "eigvalsh": 0, "pinv": 0}

# Ops whose finite differences are only roughly right: (relative, absolute) tolerance.
ROUGH: dict[str, tuple[float, float]] = {
    # `out` and `lse` of a low-precision sample are not those of its widened operands.
    "attention_grad": (1e-3, 1e-3),
}


def freed(case: Case) -> Case:
    """Samples whose phases are free are differentiated through what is known of their results."""
    if case.name in KNOWN_PART and case.sample.note == "phases are free":
        return replace(case, sample=replace(case.sample, differentiable=(0,)))
    return case


def wanted(case: Case) -> bool:
    """Whether some operand has a gradient, and elements of which it could be the gradient."""
    case = freed(case)
    if not case.differentiable or not rules.differentiable(case.op) or case.cls.effect:
        return False
    return any(np.asarray(case.sample.inputs[i]).size for i in case.differentiable)


def inner(a: np.ndarray, b: np.ndarray) -> float:
    """Re sum(conj(a) b)"""
    return float(np.real(np.sum(np.conj(a) * b)))


class Problem:
    """One call in float64 with fixed weights of its results."""

    def __init__(self, case: Case) -> None:
        self.case = case.widened()
        self.rng = case.rng
        self.inputs = self.case.sample.inputs
        results = self.results(self.case.operands())
        self.weights = [self.draw(y.shape, y.dtype.is_complex) if usable_result(y) else None for y in results]

    def need_elements(self) -> None:
        if not any(w.size for w in self.weights if w is not None):
            raise ShowsNothing("the results have no elements")

    def draw(self, shape: Any, is_complex: bool) -> np.ndarray:
        made = self.rng.standard_normal(tuple(shape))
        return made + 1j * self.rng.standard_normal(tuple(shape)) if is_complex else made

    def direction(self, i: int) -> np.ndarray:
        x = np.asarray(self.inputs[i])
        d = np.asarray(self.draw(x.shape, x.dtype.kind == "c"))
        if HERMITIAN.get(self.case.name) == i and getattr(self.case.op, "hermitian", True):
            d = d + np.conj(np.swapaxes(d, -1, -2))
        return d

    def results(self, operands: tuple) -> tuple:
        y = self.case.call(*operands)
        return KNOWN_PART[self.case.name](y) if self.case.name in KNOWN_PART else y

    def leaves(self, mask: tuple[int, ...], moved: dict[int, np.ndarray] | None = None) -> tuple:
        """Operands, of which those in ``mask`` want gradients; ``moved`` replaces some inputs."""
        inputs = [(moved or {}).get(i, x) for i, x in enumerate(self.inputs)]
        return tuple(
            leaf(x, np.asarray(x).dtype) if i in mask else tensor(x) if isinstance(x, ARRAYS) else x
            for i, x in enumerate(inputs)
        )

    def value(self, moved: dict[int, np.ndarray]) -> float:
        """L"""
        results = self.results(self.leaves((), moved))
        return sum(inner(w, values(y)) for w, y in zip(self.weights, results, strict=True) if w is not None)

    def gradients(
        self, mask: tuple[int, ...], moved: dict[int, np.ndarray] | None = None, create: bool = False
    ) -> tuple:
        """(leaves, weights as tensors, gradients of L as tensors or None)"""
        operands = self.leaves(mask, moved)
        results = self.results(operands)
        pairs = [(y, w) for y, w in zip(results, self.weights, strict=True) if w is not None and not y.stop_gradient]
        weights = [leaf(w, w.dtype) if create else tensor(w) for _, w in pairs]
        inputs = [operands[i] for i in mask]
        if not pairs:
            return inputs, weights, [None] * len(inputs)
        made = tape.grad([y for y, _ in pairs], inputs, weights, create_graph=create, allow_unused=True)
        return inputs, weights, made


def usable_result(y: Tensor) -> bool:
    """Whether finite differences can follow the result: it is continuous, and in double precision."""
    return (y.dtype.is_floating or y.dtype.is_complex) and y.dtype.real.itemsize == 8


def several(case: Case) -> bool:
    return isinstance(case.op.infer(*case.metas(), *case.params), tuple)


def few_masks(case: Case) -> list[tuple[int, ...]]:
    """The sets that `make test` tries.

    An op without a derivative of its own has that of its decomposition: a program for each set, which takes a second or
    more to make of a large one, and in which the derivatives of others are chosen that have tests of all of their sets.
    All operands and one alone show that; ``test_first_derivatives_of_every_set`` is slow.
    """
    found = masks(case)
    if rules.has_vjp(case.op) or len(found) < 2:
        return found
    d = case.differentiable
    return [found[0], (d[case.rng.integers(len(d))],)]


def masks(case: Case) -> list[tuple[int, ...]]:
    """Every set of operands that want a gradient; of many, all, each alone, and some others."""
    d = case.differentiable
    found = [tuple(s) for n in range(len(d), 0, -1) for s in itertools.combinations(d, n)]
    if len(found) > MASKS:
        singles = [s for s in found if len(s) == 1]
        rest = [s for s in found[1:] if len(s) > 1]
        found = [found[0], *singles[: MASKS - 2], *rest[: max(0, MASKS - 1 - len(singles))]]
    return found


def tolerance(case: Case, scale: float, default: tuple[float, float]) -> float:
    rtol, atol = ROUGH.get(case.name, default)
    return atol + rtol * scale


@over_samples(quick=1, where=wanted)
def test_first_derivatives(case: Case) -> None:
    check_first_derivatives(freed(case), few_masks(freed(case)))


@over_samples(quick=0, where=lambda case: wanted(case) and few_masks(freed(case)) != masks(freed(case)))
def test_first_derivatives_of_every_set(case: Case) -> None:
    check_first_derivatives(freed(case), masks(freed(case)))


def check_first_derivatives(case: Case, sets: list[tuple[int, ...]]) -> None:
    problem = Problem(case)
    expected = {}
    for i in case.differentiable:
        x, d = np.asarray(problem.inputs[i]), problem.direction(i)
        h = 1e-6 * max(1.0, np.abs(x).max(initial=0))
        slope = (problem.value({i: x + h * d}) - problem.value({i: x - h * d})) / (2 * h)
        expected[i] = (d, slope)
    for mask in sets:
        inputs, _, made = problem.gradients(mask)
        for i, x, g in zip(mask, inputs, made, strict=True):
            d, slope = expected[i]
            found = 0.0
            if g is not None:
                assert g.shape == x.shape and g.dtype is x.dtype, (
                    f"needs {mask}: gradient {i} is {g.dtype.name}{g.shape}"
                )
                found = inner(values(g), d)
            scale = abs(slope) + (np.abs(values(g)).sum() if g is not None else 0)
            assert abs(found - slope) <= tolerance(case, scale, (2e-6, 2e-7)), (
                f"needs {mask}, operand {i}: {found} along a direction, finite differences give {slope}"
            )
    problem.need_elements()


@over_samples(quick=1, where=wanted)
def test_second_derivatives(case: Case) -> None:
    """S = sum of the first gradients weighted with v; its gradients for operands and for the weights of the results."""
    case = freed(case)
    problem = Problem(case)
    mask = case.differentiable
    v = {i: problem.direction(i) for i in mask}

    def first(moved: dict[int, np.ndarray]) -> float:
        _, _, made = problem.gradients(mask, moved)
        return sum(inner(v[i], values(g)) for i, g in zip(mask, made, strict=True) if g is not None)

    inputs, weights, made = problem.gradients(mask, create=True)
    pairs = [(g, v[i]) for i, g in zip(mask, made, strict=True) if g is not None]
    total = sum(inner(w, values(g)) for g, w in pairs)
    live = [(g, w) for g, w in pairs if not g.stop_gradient]
    if live:
        second = tape.grad([g for g, _ in live], [*inputs, *weights], [tensor(w) for _, w in live], allow_unused=True)
    else:
        second = [None] * (len(inputs) + len(weights))
    # S is linear in the weights.
    by_weight = sum(
        inner(values(w), values(s)) for w, s in zip(weights, second[len(inputs) :], strict=True) if s is not None
    )
    scale = abs(total) + abs(by_weight)
    assert abs(by_weight - total) <= tolerance(case, scale, (1e-7, 1e-9)), f"weights: {by_weight}, expected {total}"
    for i, x, s in zip(mask, inputs, second[: len(inputs)], strict=True):
        d = problem.direction(i)
        a = np.asarray(problem.inputs[i])
        h = 1e-5 * max(1.0, np.abs(a).max(initial=0))
        slope = (first({i: a + h * d}) - first({i: a - h * d})) / (2 * h)
        found = 0.0
        if s is not None:
            assert s.shape == x.shape and s.dtype is x.dtype
            found = inner(values(s), d)
        scale = abs(slope) + (np.abs(values(s)).sum() if s is not None else 0) + abs(total)
        assert abs(found - slope) <= tolerance(case, scale, (1e-5, 1e-6)), (
            f"operand {i}: second derivative {found} along a direction, finite differences give {slope}"
        )
    problem.need_elements()


@over_samples(quick=1, share=2, turn=1, where=lambda case: wanted(case) and bool(case.differentiable))
def test_gradients_in_the_samples_own_dtype(case: Case) -> None:
    """Low precision included: shape and dtype of the operand, and near the gradient in float64."""
    mask = case.differentiable
    operands = tuple(
        leaf(x, np.asarray(x).dtype) if i in mask else tensor(x) if isinstance(x, ARRAYS) else x
        for i, x in enumerate(case.sample.inputs)
    )
    results = [y for y in case.call(*operands) if not y.stop_gradient]
    if not results:
        raise ShowsNothing("no result has a gradient")
    tape.backward(results)
    wide = case.widened()
    others = tuple(
        leaf(x, np.asarray(x).dtype) if i in mask else tensor(x) if isinstance(x, ARRAYS) else x
        for i, x in enumerate(wide.sample.inputs)
    )
    tape.backward([y for y in wide.call(*others) if not y.stop_gradient])
    if all(operands[i].grad is None for i in mask):
        raise ShowsNothing("no operand has a gradient")
    for i in mask:
        g = operands[i].grad
        if g is not None:
            assert g.dtype is operands[i].dtype and g.shape == operands[i].shape, (
                f"operand {i}: {g.dtype.name}{g.shape}"
            )
            assert g.place is operands[i].place
            expected = values(others[i].grad)
            rtol, atol = CLOSE[operands[i].dtype.name]
            scale = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
            np.testing.assert_allclose(
                widen(values(g)), expected, 8 * rtol, 8 * atol * scale, err_msg=f"gradient of operand {i}"
            )


@over_samples(quick=1, where=lambda case: wanted(case) and bool(case.differentiable) and several(case))
def test_absent_gradients_of_some_results(case: Case) -> None:
    """Each result alone: the others' gradients are absent, which must equal zeros."""
    problem = Problem(case)
    compared = 0
    mask = case.differentiable
    for k, w in enumerate(problem.weights):
        operands = problem.leaves(mask)
        results = problem.results(operands)
        if w is None or results[k].stop_gradient:
            continue
        inputs = [operands[i] for i in mask]
        alone = tape.grad([results[k]], inputs, [tensor(w)], retain_graph=True, allow_unused=True)
        others = [
            (y, tensor(w if j == k else 0 * u))
            for j, (y, u) in enumerate(zip(results, problem.weights))
            if u is not None and not y.stop_gradient
        ]
        full = tape.grad([y for y, _ in others], inputs, [u for _, u in others], allow_unused=True)
        compared += any(g is not None for g in full)
        for i, a, b in zip(mask, alone, full, strict=True):
            a, b = (np.zeros(1) if g is None else values(g) for g in (a, b))
            np.testing.assert_allclose(
                *np.broadcast_arrays(a, b), rtol=1e-9, atol=1e-11, err_msg=f"result {k}, operand {i}"
            )
    if not compared:
        raise ShowsNothing("no result has a gradient")


@over_samples(
    quick=1, where=lambda case: bool(case.differentiable) and not wanted(case) and rules.differentiable(case.op)
)
def test_gradients_of_nothing(case: Case) -> None:
    """Operands without elements get gradients without elements."""
    operands = tuple(
        leaf(x, np.asarray(x).dtype) if i in case.differentiable else y
        for i, (x, y) in enumerate(zip(case.sample.inputs, case.operands(), strict=True))
    )
    results = [y for y in case.call(*operands) if not y.stop_gradient]
    if results:
        tape.backward(results)
    for i in case.differentiable:
        assert operands[i].grad is None or operands[i].grad.shape == operands[i].shape


def test_differentiable_samples_are_continuous() -> None:
    for case in all_cases():
        for i in case.differentiable:
            assert is_continuous(case.sample.inputs[i]), str(case)


def test_every_differentiable_op_is_differentiated() -> None:
    """Each has a sample whose derivatives can be tested, unless its results are not continuous."""
    missing = [
        name
        for name in sorted(F.REGISTRY)
        if any(usable(c) and rules.differentiable(c.op) and continuous(c) for c in cases_of(name))
        and not any(wanted(c) for c in cases_of(name))
    ]
    assert missing == ["overwritten"], missing  # its derivative is another's, by its definition: tested below


def test_what_is_overwritten_has_the_gradient_of_what_was_there(rng) -> None:
    x, value = (leaf(rng.standard_normal((2, 3)), np.float64) for _ in range(2))
    weight = tensor(rng.standard_normal((2, 3)))
    y = F.overwritten(x, value)
    np.testing.assert_array_equal(values(y), values(value))
    dx, dvalue = tape.grad([y], [x, value], [weight], allow_unused=True)
    np.testing.assert_array_equal(values(dx), values(weight))
    assert dvalue is None


def continuous(case: Case) -> bool:
    """Whether the call has floating operands and floating results."""
    metas = case.op.infer(*case.metas(), *case.params)
    made = metas if isinstance(metas, tuple) else (metas,)
    return any(map(is_continuous, case.arrays)) and any(m.dtype.is_floating or m.dtype.is_complex for m in made)


@pytest.mark.parametrize(("dtype", "size"), [("f2", 300.0), ("f4", 1e30), ("f4", 1e-30), ("f8", 1e-200)])
def test_the_slope_of_an_angle_where_squares_do_not_fit(dtype: str, size: float) -> None:
    y, x = (leaf(np.array([k * size]), np.dtype(dtype)) for k in (3, 4))
    dy, dx = tape.grad([F.atan2(y, x)], [y, x])
    np.testing.assert_allclose([values(dy)[0], values(dx)[0]], [4 / 25 / size, -3 / 25 / size], rtol=2e-3)
