"""Random numbers: of the framework, of Python, of NumPy."""

from __future__ import annotations

import random

import numpy as np

import paddle
import paddle.nn.functional as F
from tests.jit.corpus.reasons import BREAKS, COPIES, COUNT, SEED
from tests.jit.corpus.registry import driver, factory, given, program


@program(lambda t: t(4), lambda t: t(4), lambda t: t(7), lambda t: t(0))
def dropout(x):
    return F.dropout(x * 2, 0.5) + 1


@program(lambda t: t(3), lambda t: t(3), lambda t: t(2))
def draws_of_several_kinds(x):
    noise = paddle.randn(x.shape) + paddle.rand([1])
    ids = paddle.randint(0, 10, [3])
    order = paddle.randperm(x.shape[0])
    return x * noise, ids, x[order], paddle.normal(0.0, 1.0, [2]), paddle.uniform([2], min=-2.0, max=2.0)


@program(lambda t: given(t(3), 7), lambda t: given(t(3), 8), lambda t: given(t(3), 7), refused=SEED)
def seed_set_inside(x, seed):
    paddle.seed(seed)
    a = paddle.rand([3])
    return x * a, paddle.randn([2])


@program(lambda t: t.of([1.0, 2.0]), lambda t: t.of([-1.0, 2.0]), lambda t: t.of([-3.0, 2.0]), refused=COUNT)
def draws_in_branches(x):
    if x.sum() > 2:
        x = x * paddle.rand([2])
    elif x.sum() > 0:
        x = F.dropout(x, 0.3) + paddle.randn([2])
    return x + paddle.rand([1])


@program(lambda t: given(t(2), 3), lambda t: given(t(2), 0), lambda t: given(t(2), 1), allowed=COPIES)
def draws_in_a_loop(x, n):
    for _ in range(n):
        x = x + paddle.randn([2])
    return x


@program(lambda t: t(3), lambda t: t(3), lambda t: t(3), refused=BREAKS)
def python_draws(x):
    for _ in range(3):
        if random.random() < 0.5:
            x = x * 2
    k = random.randint(1, 3)
    order = list(range(4))
    random.shuffle(order)
    return x * k, order, random.choice("abc"), x + random.gauss(0, 1)


@program(lambda t: t(3), lambda t: t(3), lambda t: t(2), refused=BREAKS)
def numpy_draws(x):
    noise = np.random.randn(x.shape[0]).astype("float32")
    k = np.random.randint(1, 4)
    return x * paddle.to_tensor(noise), int(k), np.random.permutation(3)


@factory(lambda t: t(3), lambda t: t(3), refused=BREAKS)
def generator_of_ones_own():
    rng, numpys = random.Random(3), np.random.default_rng(4)

    def f(x):
        return x * rng.random(), numpys.integers(10), x + float(numpys.standard_normal())

    return f


@driver(lambda t: given(t(4), True), lambda t: given(t(4), False), lambda t: given(t(4), True))
def state_of_the_generator_is_restored(capture):
    @capture
    def f(x, training):
        return F.dropout(x, 0.5, training=training)

    def call(x, training):
        state = paddle.get_rng_state()
        first = f(x, training)
        paddle.set_rng_state(state)
        again = f(x, training)
        return first, again, f(x, training)

    return call


@program(lambda t: t(4), lambda t: t(4))
def draws_before_and_after_a_break(x):
    a = paddle.rand([4])
    s = float((x * a).sum())
    b = paddle.rand([4])
    print("between")
    return x * b * s, paddle.bernoulli(paddle.full([3], 0.5)), paddle.multinomial(paddle.ones([4]), 2)


@program(lambda t: t(2, 8), lambda t: t(3, 8))
def gumbel_softmax_and_rrelu(x):
    return F.gumbel_softmax(x, hard=True), F.rrelu(x, training=True), F.alpha_dropout(x, 0.5)
