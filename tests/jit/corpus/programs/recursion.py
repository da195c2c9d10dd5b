"""Recursion whose depth is a number, or depends on data."""

from __future__ import annotations

import paddle
from tests.jit.corpus.registry import factory, given, program


def _power(x, n):
    if n == 0:
        return x
    return _power(x * 1.01, n - 1)


@program(lambda t: given(t(2), 100), lambda t: given(t(2), 300))
def deep_by_a_number(x, n):
    return _power(x, n)


def _halved(x):
    if x.abs().sum() < 1:
        return x
    return _halved(x / 2)


@program(lambda t: t.of([3.0, 4.0]), lambda t: t.of([300.0, 1e25]))
def deep_by_data(x):
    return _halved(x)


def _even(x, n):
    return x if n == 0 else _odd(x + 1, n - 1)


def _odd(x, n):
    return -x if n == 0 else _even(x * 1.5, n - 1)


@program(lambda t: given(t(2), 80), lambda t: given(t(2), 81))
def mutual(x, n):
    return _even(x, n)


class Tree(paddle.nn.Layer):
    def __init__(self, depth):
        super().__init__()
        self.w = self.create_parameter([2])
        self.below = Tree(depth - 1) if depth else None

    def forward(self, x):
        y = x * self.w
        if y.sum() > 0:
            y = y + 1
        return y if self.below is None else self.below(y)


@factory(lambda t: t(2), lambda t: t(2))
def deep_layers():
    return Tree(70)
