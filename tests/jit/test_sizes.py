"""Captured functions for batches of every size, 0 and 1 among them, in any order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import paddle
from paddle.jit import to_static

SIZES = (0, 1, 2, 3, 5)
ORDERS = [(5, 1, 3, 1, 5), (1, 5, 3, 0, 2), (0, 1, 2, 3, 5), (1, 0, 5, 1, 3), (2, 0, 0, 3, 1), (3, 5, 1, 0, 2)]


def tensor(rng, *shape, grad=True):
    return paddle.to_tensor(rng.standard_normal(shape).astype("float32"), stop_gradient=not grad)


def close(found, expected):
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-5)


ONE = {
    "element by element": lambda x: paddle.tanh(x) * 2 + 1,
    "broadcast": lambda x: x + paddle.ones([1, 4]) * x.sum(0, keepdim=True),
    "against a column": lambda x: x - x[:, :1],
    "sum": lambda x: x.sum(),
    "sum of rows": lambda x: (x * x).sum(0),
    "sum of columns": lambda x: (x * x).sum(1),
    "softmax": lambda x: paddle.nn.functional.softmax(x, axis=1),
    "matmul": lambda x: paddle.matmul(x, x, transpose_y=True),
    "concat": lambda x: paddle.concat([x, x * 2, x[:1]], axis=0),
    "stack": lambda x: paddle.stack([x, x], axis=1),
    "transposed": lambda x: paddle.tanh(x).t() + 1,
    "flattened": lambda x: paddle.tanh(x).reshape([-1]),
    "in pairs": lambda x: paddle.tanh(x).reshape([-1, 2]),
    "reversed": lambda x: (x * 2)[::-1] + x,
    "cumsum": lambda x: x.cumsum(0),
    "where": lambda x: paddle.where(x > 0, x, paddle.zeros([1])),
    "layer_norm": lambda x: paddle.nn.functional.layer_norm(x, [4]),
}


# Bounds of slices are Python scalars, so that every size has a program.
BY_NUMBER = ("concat", "reversed")


@pytest.mark.parametrize("name", ONE)
def test_one_size(name, rng):
    f = ONE[name]
    for order in ORDERS:
        captured = to_static(f)
        for n in order:
            a = tensor(rng, n, 4)
            b = a.detach()
            b.stop_gradient = False
            found, expected = captured(a), f(b)
            close(found, expected)
            found.sum().backward()
            expected.sum().backward()
            close(a.grad, b.grad)
        # The first sizes, a symbol for the others, 0 and 1.
        assert captured.get_traced_count() <= 4 or name in BY_NUMBER


def test_every_order(rng):
    for order in itertools.permutations(SIZES, 3):
        captured = to_static(lambda x: (x * 2 - x.sum(0)).sum(1))
        for n in order:
            x = tensor(rng, n, 4)
            close(captured(x), (x * 2 - x.sum(0)).sum(1))


def test_two_sizes(rng):
    def f(x, y):
        return x.unsqueeze(1) * y.unsqueeze(0) + x.sum(), (x * x).sum() - y

    captured = to_static(f)
    pairs = [*itertools.product(SIZES, SIZES)]
    for i in rng.permutation(len(pairs)):
        m, n = pairs[i]
        x, y = tensor(rng, m, grad=False), tensor(rng, n, grad=False)
        for found, expected in zip(captured(x, y), f(x, y), strict=True):
            close(found, expected)
    # Each of the two is the first one, a symbol, 0 or 1.
    assert captured.get_traced_count() <= 16


def test_sizes_that_broadcast_against_each_other(rng):
    def f(x, y):
        return paddle.tanh(x + y) * x

    captured = to_static(f)
    for m, n in [(5, 5), (1, 5), (5, 1), (1, 1), (3, 3), (3, 1), (1, 3), (2, 2), (0, 0), (0, 1), (1, 0), (7, 7)]:
        x, y = tensor(rng, m, 4), tensor(rng, n, 4)
        found = captured(x, y)
        close(found, f(x, y))
        found.sum().backward()
        grads = x.grad, y.grad
        x.clear_gradient(False)
        y.clear_gradient(False)
        f(x, y).sum().backward()
        close(grads[0], x.grad)
        close(grads[1], y.grad)
    assert captured.get_traced_count() <= 12


@pytest.mark.parametrize("order", ORDERS)
def test_training_steps(order, rng):
    """Forward, backward and update in one program, the last batch of an epoch being smaller."""
    start = [tensor(rng, *s).numpy() for s in ((4, 3), (3,))]

    def training():
        layer = paddle.nn.Linear(4, 3)
        layer.weight.set_value(start[0])
        layer.bias.set_value(start[1])
        optimizer = paddle.optimizer.AdamW(0.1, parameters=layer.parameters())

        def step(x, y):
            loss = ((paddle.tanh(layer(x)) - y) ** 2).sum()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        return layer, step

    (eager, by_hand), (layer, step) = training(), training()
    captured = to_static(step)
    for n in order:
        x, y = tensor(rng, n, 4, grad=False), tensor(rng, n, 3, grad=False)
        close(captured(x, y), by_hand(x, y))
        for a, b in zip(layer.parameters(), eager.parameters(), strict=True):
            close(a, b)
    assert captured.get_traced_count() <= 4


def test_input_spec_of_any_size(rng):
    captured = to_static(lambda x: x * 2 + x.sum(0), input_spec=[paddle.static.InputSpec([None, 4], "float32")])
    for n in (1, 5, 0, 3, 1, 7):
        x = tensor(rng, n, 4, grad=False)
        close(captured(x), x * 2 + x.sum(0))
    assert captured.get_traced_count() == 3
