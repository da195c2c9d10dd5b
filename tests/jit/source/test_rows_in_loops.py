"""Gradients of rows that a loop on data takes out of a tensor: those of eager calls, without a tensor of the whole size
in each iteration."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import paddle
from umiak.ir.program import Program, Value
from umiak.ops.control import Scan

X = np.random.RandomState(0).randn(6, 6).astype("float32") * 0.5


def rows(x, n):
    h, i = x[0] * 0, paddle.zeros([], "int64")
    while i < n:
        h, i = paddle.tanh(h * 0.9 + x[i]), i + 1
    return h


def pairs(x, n):
    """A row that is taken twice."""
    h, i = x[0] * 0, paddle.zeros([], "int64")
    while i < n - 1:
        h, i = paddle.tanh(h * 0.9 + x[i] * x[i + 1]), i + 1
    return h


def columns(x, n):
    h, i = x[:, 0] * 0, paddle.zeros([], "int64")
    while i < n:
        h, i = paddle.tanh(h * 0.9 + x[:, i] * x[:, -1 - i]), i + 1
    return h


def repeated(x, n):
    h, i = x[0] * 0, paddle.zeros([], "int64")
    while i < n * 2:
        h, i = paddle.tanh(h * 0.9 + x[i % 3]), i + 1
    return h


def several(x, n):
    h, i = x[0] * 0, paddle.zeros([], "int64")
    while i < n:
        h, i = paddle.tanh(h * 0.9 + paddle.gather(x, paddle.stack([i, (i + 2) % n])).sum(0)), i + 1
    return h


def looked_up(x, n):
    h = x[0] * 0
    for _ in range(n):
        token = paddle.argmax(h) % x.shape[0]
        h = paddle.tanh(h * 0.9 + paddle.nn.functional.embedding(token, x))
    return h


def iterated(x, n):
    h = x[0] * 0
    for row in x[:n]:
        h = paddle.tanh(h * 0.9 + row)
    return h


def with_all(x, n):
    """All of it is read in each iteration, too."""
    h, i = x[0] * 0, paddle.zeros([], "int64")
    while i < n:
        h, i = paddle.tanh(h * 0.9 + x[i]) + x.mean(0), i + 1
    return h


def part(x, n):
    h, i = x[:1] * 0, paddle.zeros([], "int64")
    while i < n:
        h, i = paddle.tanh(h * 0.9 + x[i : i + 1]) * x[i, 1], i + 1
    return h


FUNCTIONS = [rows, pairs, columns, repeated, several, looked_up, iterated, with_all, part]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients_are_those_of_eager_calls(function):
    captured = paddle.jit.to_static(function, full_graph=True)
    for n in (5, 0):
        given = [paddle.to_tensor(X, stop_gradient=False) for _ in range(2)]
        for f, x in zip((function, captured), given, strict=True):
            y = f(x, paddle.to_tensor(n))
            (paddle.cos(y) * y).sum().backward()
        np.testing.assert_allclose(given[1].grad.numpy(), given[0].grad.numpy(), rtol=1e-4, atol=1e-5)
    assert not captured.fallbacks


@pytest.mark.parametrize("function", [rows, columns])
def test_gradients_of_gradients(function):
    captured = paddle.jit.to_static(function, full_graph=True)
    found = []
    for f in (function, captured):
        x = paddle.to_tensor(X, stop_gradient=False)
        (g,) = paddle.grad(f(x, paddle.to_tensor(5)).sum(), x, create_graph=True)
        (g * g).sum().backward()
        found.append(x.grad.numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("function", [rows, pairs, columns, repeated, several, looked_up])
def test_no_iteration_has_a_tensor_of_the_whole_size(function):
    captured = paddle.jit.to_static(function, full_graph=True)
    x = paddle.randn([7, 7])
    x.stop_gradient = False
    captured(x, paddle.to_tensor(5)).sum().backward()
    scans = [
        o for p in gc.get_objects() if type(p) is Program and p.name == function.__name__ for o in p.ops
        if type(o.op) is Scan
    ]  # fmt: skip
    assert scans
    for scan in scans:
        carried = [v for v in scan.operands[: scan.op.carried] if type(v) is Value]
        assert all(v.meta.shape != (7, 7) for v in carried)
