"""Rewritten functions give what the functions as they were written give: values, and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import paddle
from paddle.jit.source.convert import convert
from tests.jit.source.programs import CASES
from umiak.util import pytree


def arguments(given: tuple) -> list[Any]:
    out: list[Any] = []
    for x in given:
        if isinstance(x, list) and x and all(isinstance(v, (float, list)) for v in x):
            x = paddle.to_tensor(x, "float32", stop_gradient=False)
        elif isinstance(x, np.ndarray):
            x = paddle.to_tensor(x)
        out.append(x)
    return out


def measured(function: Any, given: tuple) -> tuple[Any, list[Any]]:
    """What a call returns, and the gradients of its sum."""
    args = arguments(given)
    result = function(*args)
    leaves, structure = pytree.flatten(result)
    ends = [y.sum() for y in leaves if isinstance(y, paddle.Tensor) and not y.stop_gradient]
    if ends:
        sum(ends).backward()
    gradients = [x.grad for x in args if isinstance(x, paddle.Tensor)]
    return (leaves, structure), [None if g is None else g.numpy() for g in gradients]


def value(x: Any) -> Any:
    return x.numpy() if isinstance(x, paddle.Tensor) else x


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_eager_calls(name):
    function, inputs = CASES[name]
    static = paddle.jit.to_static(function, full_graph=True)
    for given in (*inputs, *inputs):  # the second time as calls that are known
        (wanted, form), gradients = measured(function, given)
        (got, its_form), its_gradients = measured(static, given)
        assert its_form == form, given
        for a, b in zip(got, wanted, strict=True):
            if isinstance(b, (paddle.Tensor, int, float)):
                np.testing.assert_allclose(value(a), value(b), rtol=2e-5, atol=1e-6, err_msg=str(given))
                assert np.shape(value(a)) == np.shape(value(b))
            else:
                assert a == b
        for a, b in zip(its_gradients, gradients, strict=True):
            if b is None:
                assert a is None or not a.any()
            else:
                assert a is not None or not b.any(), given
                np.testing.assert_allclose(0 * b if a is None else a, b, rtol=2e-5, atol=1e-6, err_msg=str(given))


@pytest.mark.parametrize("name", CASES)
def test_a_rewritten_function_runs_eagerly_as_before(name):
    function, inputs = CASES[name]
    made = convert(function)
    for given in inputs:
        (wanted, form), gradients = measured(function, given)
        (got, its_form), its_gradients = measured(made, given)
        assert its_form == form
        for a, b in zip((*got, *its_gradients), (*wanted, *gradients), strict=True):
            assert type(a) is type(b)
            np.testing.assert_array_equal(value(a), value(b))


def test_there_are_as_many_programs_as_was_asked():
    assert len(CASES) >= 90
