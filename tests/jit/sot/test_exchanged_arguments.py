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


@pytest.mark.parametrize("full_graph", [False, True])
def test_arrays_that_were_one_may_be_two(full_graph):
    f = paddle.jit.to_static(lambda a, b: paddle.to_tensor(a) + paddle.to_tensor(b) * 10, full_graph=full_graph)
    a, b = np.ones(2, "float32"), np.full(2, 5, "float32")
    for one, other in ((a, a), (a, b), (b, a), (b, b)):
        np.testing.assert_array_equal(f(one, other).numpy(), one + other * 10)


def between(d, x):
    return d.log_prob(x) * float(x.sum() * 0 + 2)


def made_inside(scale, x):
    d = paddle.distribution.Normal(x * 2, scale)
    factor = float(x.sum() * 0 + 2)
    return d.log_prob(x) * factor


y = paddle.to_tensor([0.5, 2.0])
ANEW = {
    "normal": (lambda d, x: d.log_prob(x), lambda i: normal(y + i)),
    "of a base": (
        lambda d, x: d.log_prob(x),
        lambda i: paddle.distribution.Independent(normal(y + i), 1),
    ),
    "transformed": (
        lambda d, x: d.log_prob(x * x + 1),
        lambda i: paddle.distribution.TransformedDistribution(
            normal(y + i), [paddle.distribution.ExpTransform(), paddle.distribution.AffineTransform(y, y + i)]
        ),
    ),
    "in a list": (lambda d, x: d[0].log_prob(x), lambda i: [normal(y + i)]),
    "divergence": (lambda d, x: paddle.distribution.kl_divergence(d, normal(y)) + x, lambda i: normal(y + i)),
    "behind a break": (between, lambda i: normal(y + i)),
    "made before a break": (made_inside, lambda i: y + i),
}


@pytest.mark.parametrize(
    ("name", "full_graph"), [(n, whole) for n in ANEW for whole in (False, True) if not (whole and "break" in n)]
)
def test_distributions_made_anew_share_a_graph(name, full_graph):
    f, make = ANEW[name]
    captured = paddle.jit.to_static(f, full_graph=full_graph)
    for i in range(4):
        np.testing.assert_allclose(captured(make(i), x).numpy(), f(make(i), x).numpy(), rtol=1e-4)
    assert all(len(frame.entries) == 1 for frame in captured.family.frames)


@pytest.mark.parametrize("full_graph", [False, True])
def test_distributions_stay_the_objects_that_they_are(full_graph):
    def f(p, q, x):
        p.note = 3
        return [p, q][1], p is q, q.log_prob(x) * p.note, paddle.distribution.kl_divergence(p, q)

    captured = paddle.jit.to_static(f, full_graph=full_graph)
    for i in range(3):
        p, q = normal(y + i), normal(y + 1)
        q.scale.stop_gradient = False
        for one, other in ((p, p), (p, q), (q, p)):
            got, wanted = captured(one, other, x), f(one, other, x)
            assert got[0] is other and got[1] == wanted[1] and one.note == 3
            for a, b in zip(got[2:], wanted[2:], strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-6)
                gradients = [[] if v.stop_gradient else paddle.grad(v.sum(), [q.scale]) for v in (a, b)]
                for g, h in zip(*gradients, strict=True):
                    np.testing.assert_allclose(g.numpy(), h.numpy(), rtol=1e-4, atol=1e-6)


NUMBERS = {
    "a root": np.sqrt,
    "what is computed of one": lambda n: 1 / np.sqrt(n) + 1,
    "float64": np.float64,
    "int32": np.int32,
    "int64": np.int64,
    "rounded": lambda n: np.ceil(n / 2),
    "one of Python's": lambda n: n**0.5 + 1,
    "in a list": lambda n: [np.sqrt(n), 1.0],
}


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("name", NUMBERS)
def test_tensors_of_numbers_of_numpy_have_their_dtype(name, full_graph):
    of = NUMBERS[name]

    def f(x):
        return paddle.to_tensor(of(x.shape[0])), paddle.to_tensor(of(x.shape[0]), dtype="float32") * x

    captured = paddle.jit.to_static(f, full_graph=full_graph)
    for n in (2, 3, 4, 5):
        z = paddle.ones([n, 2])
        for got, wanted in zip(captured(z), f(z), strict=True):
            assert got.dtype == wanted.dtype
            np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: getattr(x.numpy(), "tobytes", None) is None,
        lambda x: hasattr(x.numpy() + 1, "ctypes"),
        lambda x: getattr(int(x.sum()), "bit_length", None) is None,
        lambda x: hasattr(float(x.sum()) * 2, "hex"),
        lambda x: hasattr(x.sum().item(), "as_integer_ratio"),
        lambda x: x.numpy().tobytes(),
    ],
)
def test_one_graph_refuses_attributes_of_what_is_a_tensor_there(f):
    with pytest.raises(
        RuntimeError, match=r"cannot capture .*: (ndarray|int|float)\.\w+, of a value that a tensor gave"
    ):
        paddle.jit.to_static(f, full_graph=True)(x)
    assert paddle.jit.to_static(f)(x) == f(x)


def test_attributes_that_tensors_have_not_are_no_attributes_in_one_graph():
    f = paddle.jit.to_static(lambda x: x * (2 if hasattr(x, "tobytes") else 3) + float(x.sum()), full_graph=True)
    assert f(x).tolist() == [2.0, -7.0]


@pytest.mark.parametrize("full_graph", [False, True])
def test_whether_two_arrays_are_one_is_asked_at_every_call(full_graph):
    f = paddle.jit.to_static(lambda a, b: (paddle.to_tensor(a) + paddle.to_tensor(b), a is b), full_graph=full_graph)
    a, b = np.ones(2, "float32"), np.full(2, 5, "float32")
    for one, other in ((a, a), (a, b), (b, b), (b, a)):
        got, same = f(one, other)
        np.testing.assert_array_equal(got.numpy(), one + other)
        assert same == (one is other)


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("operate", [operator.floordiv, operator.mod, divmod])
@pytest.mark.parametrize("values", [(0.1, 2.75, -1.5, -0.0), (5, -7, 8, 9)])
def test_whole_quotients_and_remainders_of_numbers_that_vary(operate, values, full_graph):
    f = paddle.jit.to_static(lambda x, v: (x * v, operate(v, 0.5), operate(v + 1, 2.0)), full_graph=full_graph)
    for v in values:
        got = f(x, v)
        assert repr(got[1:]) == repr((operate(v, 0.5), operate(v + 1, 2.0)))
        np.testing.assert_allclose(got[0].numpy(), (x * v).numpy())
    assert not f.fallbacks
