"""Arguments that are exchanged for others of their class: what a graph has computed of one is not used for another."""

from __future__ import annotations

import datetime
import decimal
import operator
import re

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F


def call(f, x):
    return f(x)


def fixed(k):
    return paddle.jit.to_static(lambda v: v + k)


def normal(scale):
    return paddle.distribution.Normal(0.0, scale)


x = paddle.to_tensor([1.0, -2.0])
CASES = {
    "functions": (call, [F.relu, F.gelu, paddle.tanh]),
    "unbound methods": (call, [paddle.Tensor.abs, paddle.Tensor.exp]),
    "bound methods": (call, [x.add, x.subtract, paddle.to_tensor([2.0, 3.0]).add]),
    "functions of NumPy": (lambda f, x: x + float(f([1.0, 2.0, 4.0])), [np.sum, np.mean]),
    "ufuncs": (lambda f, x: x + float(f(2.0, 3.0)), [np.add, np.subtract]),
    "dtypes of NumPy": (lambda d, x: x.astype(d), [np.float32, np.float64, np.int64, np.dtype("float16"), float]),
    "methods of texts": (lambda f, x: x * len(f("ab").strip("A")), [str.upper, str.lower]),
    "item getters": (lambda f, x: f([x, x * 2]), [operator.itemgetter(0), operator.itemgetter(1)]),
    "attribute getters": (lambda f, x: x * f(x), [operator.attrgetter("ndim"), operator.attrgetter("size")]),
    "method callers": (call, [operator.methodcaller("abs"), operator.methodcaller("exp")]),
    "captured functions": (call, [fixed(1), fixed(2)]),
    "patterns": (lambda r, x: x + (1 if r.match("ab") else 0), [re.compile("a"), re.compile("b")]),
    "decimals": (lambda n, x: x * float(n), [decimal.Decimal("1.5"), decimal.Decimal("2.5")]),
    "spans": (lambda d, x: x + d.seconds, [datetime.timedelta(seconds=1), datetime.timedelta(seconds=2)]),
    "distributions": (lambda d, x: d.log_prob(x), [normal(1.0), normal(2.0)]),
    "transforms": (
        lambda t, x: t.forward(x),
        [paddle.distribution.ExpTransform(), paddle.distribution.TanhTransform()],
    ),
}


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_each_has_its_own_result(name, full_graph):
    f, values = CASES[name]
    captured = paddle.jit.to_static(f, full_graph=full_graph)
    if name in ("patterns", "attribute getters") and full_graph:  # what is in C is no part of a graph
        with pytest.raises(RuntimeError, match=r"cannot capture .* as one graph: a call of"):
            captured(values[0], x)
        return
    for value in [*values, *values]:
        got, wanted = captured(value, x), f(value, x)
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-6)


@pytest.mark.parametrize("full_graph", [False, True])
def test_functions_in_lists_and_equal_values_made_anew(full_graph):
    f = paddle.jit.to_static(lambda fs, x: fs[0](x), full_graph=full_graph)
    assert [f([g], x).tolist() for g in (F.relu, paddle.abs, F.relu)] == [[1.0, 0.0], [1.0, 2.0], [1.0, 0.0]]
    assert f.get_traced_count() == 2
    g = paddle.jit.to_static(lambda n, x: x * float(n), full_graph=full_graph)
    for _ in range(3):
        g(decimal.Decimal("1.5"), x)
    assert g.get_traced_count() == 1
