"""Python's complex numbers as operands: one plan serves all of a class, whatever their value, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness import tensor, values
from samples import ARRAYS, Case, all_cases, assert_close

from umiak.autodiff import rules
from umiak.core import tape
from umiak.core.tensor import Tensor

NUMBERS = (2 - 1j, 0.5 + 3j, 1j, 2 - 1j)


def cases() -> dict[str, list[tuple[Case, int]]]:
    """Calls by op in which an operand of complex elements may be a number: its place."""
    found: dict[str, list[tuple[Case, int]]] = {}
    for case in all_cases():
        inputs = case.sample.inputs
        if sum(isinstance(x, ARRAYS) and np.iscomplexobj(x) for x in inputs) < 2:
            continue
        for i, x in enumerate(inputs):
            if isinstance(x, ARRAYS) and np.iscomplexobj(x) and accepts(case, i):
                found.setdefault(case.name, []).append((case, i))
    return found


def accepts(case: Case, i: int) -> bool:
    if case.name == "masked_scatter" or getattr(case.op, "mode", "set") not in ("set", "add"):
        return False  # it takes no numbers; its derivative puts the factors at places, which takes none
    metas: list[Any] = case.metas()
    metas[i] = type(metas[i])((), None, "complex")
    try:
        case.op.infer(*metas, *case.params)
    except (TypeError, ValueError, IndexError, AttributeError):
        return False
    return True


def results(case: Case, i: int, operand: Any) -> list[np.ndarray | None]:
    """What the call gives with this operand, and the gradients of the others."""
    operands = [tensor(x) if isinstance(x, ARRAYS) else x for x in case.sample.inputs]
    operands[i] = operand
    others = [x for k, x in enumerate(operands) if k in case.differentiable and k != i]
    for x in others:
        x.stop_gradient = False
    made = case.call(*operands)
    wanted = [y for y in made if not y.stop_gradient]
    if wanted and rules.differentiable(case.op):
        tape.backward(wanted, [tensor(np.ones(tuple(y.shape), y.dtype.numpy)) for y in wanted])
    grads = [x.grad if isinstance(x, Tensor) else None for x in others]
    return [None if x is None else values(x) for x in (*made, *grads)]


CASES = cases()


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_number_counts(name):
    for case, i in CASES[name][:4]:
        given = np.asarray(case.sample.inputs[i])
        for number in NUMBERS:
            whole = np.full(() if case.op.elementwise else given.shape, number, given.dtype)
            expected = results(case, i, tensor(whole))
            for k, (a, b) in enumerate(zip(results(case, i, number), expected, strict=True)):
                assert (a is None) == (b is None)
                if a is not None:
                    assert_close(a, b, f"{case}, operand {i} is {number}: {k}", factor=16)


def test_ops_that_take_complex_numbers_are_among_them():
    assert {"add", "sub", "mul", "div", "pow", "where"} <= set(CASES)
