"""What the builder of nests takes for one and the same."""

import math

import numpy as np

from umiak.compiler.loop import monoid as m
from umiak.compiler.loop import node as n
from umiak.compiler.loop.evaluate import evaluate
from umiak.compiler.loop.types import F32, F64
from umiak.compiler.loop.walk import walk
from umiak.compiler.lower.builder import Builder
from umiak.ir.expr import symbol


def test_reductions_that_end_elsewhere_are_not_one():
    b = Builder("k", {})
    (i,) = b.open((8,), reduced=True)
    value, before = n.cast(i, F32), n.lt(i, 5)
    ends = (None, n.i64(5), n.i64(4))
    results = [b.reduce(m.SUM, (value,), before, end) for end in ends]
    assert len(set(results)) == len(b.stages) == 3
    assert [s.end for s in b.stages] == [*ends]
    assert b.reduce(m.SUM, (value,), before, ends[1]) == results[1]
    assert len(b.stages) == 3


def c_power(x, y):
    """C's pow, which is not a number where Python raises."""
    try:
        return math.pow(x, y)
    except ValueError:
        return math.nan


def test_a_half_power_of_a_number_is_a_root():
    x = symbol("x", lo=None, kind="float")
    root = Builder("k", {x: (-1, 0)}).number(x**0.5, F64)
    assert not any(y.op == "pow" for y in walk([root]))
    numbers = np.array([0.0, -0.0, 1e-320, 0.3, 2.0, math.inf, -math.inf, -1.0, math.nan])
    (got,), expected = evaluate([root], {n.word(0): numbers}), np.array([c_power(x, 0.5) for x in numbers])
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got[expected == 0]), np.signbit(expected[expected == 0]))
