"""Optimizers, averages and minimisers of what lies on a device that is not the default place make the steps that they
make on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optimizers
import pytest

import paddle
from paddle.incubate.optimizer import ExponentialMovingAverage, LookAhead, ModelAverage
from paddle.incubate.optimizer.functional import minimize_bfgs, minimize_lbfgs

pytestmark = pytest.mark.usefixtures("fake")

PLACES = ("cpu", "fake:1")
PLAIN = [
    pytest.param(name, {"args": args}, id=f"{name} {i}")
    for name, every in optimizers.OPTIMIZERS.items()
    for i, args in enumerate(every)
]


def layer(place: str) -> Any:
    """One with two parameters on a place."""
    made = paddle.nn.Linear(3, 2)
    made.weight.set_value(np.arange(6, dtype="float32").reshape(3, 2) / 7)
    return made.to(place)


def loss_of(params: list[Any]) -> Any:
    return sum(((p - 0.5) ** 2).sum() for p in params)


def same_on_both(run: Callable[[str], list[Any]]) -> None:
    """``run(place)`` gives tensors of that place, and the same on both places."""
    expected, found = (run(place) for place in PLACES)
    for a, b in zip(found, expected, strict=True):
        assert a.place.name == "fake:1"
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "case"), PLAIN)
def test_steps(name, case):
    def run(place: str) -> list[Any]:
        params = layer(place).parameters()
        opt = optimizers.optimizer(name, case, params)
        for _ in range(3):
            loss_of(params).backward()
            opt.step()
            opt.clear_grad()
        opt.set_state_dict(opt.state_dict())
        loss_of(params).backward()
        opt.step()
        return params

    same_on_both(run)


@pytest.mark.parametrize("clip", [paddle.nn.ClipGradByGlobalNorm, paddle.nn.ClipGradByNorm, paddle.nn.ClipGradByValue])
def test_clipping(clip):
    def run(place: str) -> list[Any]:
        params = layer(place).parameters()
        opt = paddle.optimizer.SGD(0.1, parameters=params, grad_clip=clip(0.1), weight_decay=0.1)
        loss_of(params).backward()
        opt.step()
        return params

    same_on_both(run)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs(search):
    def run(place: str) -> list[Any]:
        made = layer(place)
        params = made.parameters()
        opt = paddle.optimizer.LBFGS(0.5, max_iter=4, line_search_fn=search, parameters=params)

        def closure() -> Any:
            opt.clear_grad()
            loss = ((made.weight - 0.5) ** 2).sum()  # one parameter has no gradient
            loss.backward()
            return loss

        opt.step(closure)
        return params

    same_on_both(run)


@pytest.mark.parametrize("make", [
    lambda params: ModelAverage(0.5, params, 1, 2),
    lambda params: ExponentialMovingAverage(0.9, parameters=params),
    lambda params: LookAhead(paddle.optimizer.SGD(0.1, parameters=params), k=2),
], ids=["ModelAverage", "ExponentialMovingAverage", "LookAhead"])  # fmt: skip
def test_averages(make):
    def run(place: str) -> list[Any]:
        params = layer(place).parameters()
        opt, average = paddle.optimizer.SGD(0.1, parameters=params), make(params)
        for _ in range(4):
            loss_of(params).backward()
            if not isinstance(average, LookAhead):
                opt.step()
            (average.update if hasattr(average, "update") else average.step)()
            opt.clear_grad()
        if hasattr(average, "apply"):
            with average.apply():
                return [p.clone() for p in params]
        return params

    same_on_both(run)


@pytest.mark.parametrize("minimize", [minimize_bfgs, minimize_lbfgs])
def test_minimisers(minimize):
    def run(place: str) -> list[Any]:
        start = paddle.to_tensor([3.0, -1.0]).to(place)
        return [*minimize(lambda x: ((x - 1.0) ** 4).sum(), start, max_iters=3)]

    same_on_both(run)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, float("inf")])
def test_norms_of_gradients(p):
    def run(place: str) -> list[Any]:
        params = layer(place).parameters()
        loss_of(params).backward()
        return [paddle.nn.utils.clip_grad_norm_(params, 0.5, p), *(q.grad for q in params)]

    same_on_both(run)
