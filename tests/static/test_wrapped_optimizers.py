"""Optimizers that keep more than states for each parameter do in static programs what they do in dynamic mode."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.incubate import LookAhead, ModelAverage

RUNS = 7
BATCHES = np.random.RandomState(0).standard_normal((RUNS, 5, 3)).astype("float32")
FIRST = np.random.RandomState(1).standard_normal((3, 1)).astype("float32")
OPTIMIZERS = {
    "SGD": lambda **given: paddle.optimizer.SGD(0.1, **given),
    "ASGD of one batch": lambda **given: paddle.optimizer.ASGD(0.1, 1, **given),
    "ASGD": lambda **given: paddle.optimizer.ASGD(0.1, 3, weight_decay=0.1, **given),
    "LookAhead": lambda **given: LookAhead(paddle.optimizer.Momentum(0.1, **given), alpha=0.4, k=3),
    "LookAhead at each step": lambda **given: LookAhead(paddle.optimizer.SGD(0.1, **given), alpha=0.4, k=1),
}


def weight():
    return paddle.create_parameter([3, 1], "float32", default_initializer=paddle.nn.initializer.Assign(FIRST))


def loss_of(x, w):
    return (paddle.matmul(x, w) ** 2).mean()


def eager(make, averages=False):
    w = weight()
    optimizer = make(parameters=[w])
    average = ModelAverage(0.5, [w], 2, 3) if averages else None
    values, means = [], []
    for batch in BATCHES:
        loss_of(paddle.to_tensor(batch), w).backward()
        optimizer.step()
        optimizer.clear_grad()
        values.append(w.numpy().copy())
        if average is not None:
            average.step()
            with average.apply():
                means.append(w.numpy().copy())
    return means or values


@pytest.fixture
def expected(name):
    """Values of the parameter in dynamic mode; a test asks for it before it enters static mode."""
    return eager(OPTIMIZERS[name])


@pytest.fixture
def means():
    return eager(OPTIMIZERS["SGD"], averages=True)


@pytest.fixture
def recorded(programs):
    """A function that records the step of an optimizer, and gives the parameter and what runs it."""

    def record(make):
        main, startup = programs
        x, w = paddle.static.data("x", [None, 3]), weight()
        make().minimize(loss_of(x, w))
        exe = paddle.static.Executor()

        def run(batch):
            return exe.run(main, {"x": batch}, [w])[0]

        return w, exe, startup, run

    return record


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_those_of_dynamic_mode(name, expected, recorded):
    _, exe, startup, run = recorded(OPTIMIZERS[name])
    for _ in range(2):  # the startup program begins anew
        exe.run(startup)
        for batch, value in zip(BATCHES, expected, strict=True):
            np.testing.assert_allclose(run(batch), value, rtol=1e-5, atol=1e-6)


def test_means_are_those_of_dynamic_mode(means, recorded):
    w, exe, startup, run = recorded(OPTIMIZERS["SGD"])
    average = ModelAverage(0.5, None, 2, 3)
    exe.run(startup)

    def held():
        return np.array(paddle.static.global_scope().find_var(w.name).get_tensor())

    with average.apply(exe):  # there is no mean yet
        np.testing.assert_array_equal(held(), FIRST)
    for batch, mean in zip(BATCHES, means, strict=True):
        run(batch)
        value = held()
        with average.apply(exe):
            np.testing.assert_allclose(held(), mean, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(held(), value)
    with average.apply(exe, need_restore=False):
        pass
    np.testing.assert_allclose(held(), means[-1], rtol=1e-5, atol=1e-6)
    average.restore(exe)
    np.testing.assert_array_equal(held(), value)
