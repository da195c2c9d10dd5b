"""A function that is one graph ends it where it changes Python state of the library's, and goes on in another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import paddle
from paddle.jit import to_static
from umiak.runtime.capture import CaptureError


def scaler_of() -> tuple[Any, ...]:
    layer = paddle.nn.Linear(2, 2)
    optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    return layer, optimizer, paddle.amp.GradScaler(init_loss_scaling=8.0, incr_every_n_steps=2)


def steps_and_updates() -> Callable[..., Any]:
    layer, optimizer, scaler = scaler_of()

    def step(x):
        loss = layer(x).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
        return loss * 2, layer.weight, 0

    return step


def minimizes() -> Callable[..., Any]:
    layer, optimizer, scaler = scaler_of()

    def step(x):
        loss = layer(x).sum()
        product = scaler.scale(loss)
        product.backward()
        scaler.minimize(optimizer, product)
        optimizer.clear_grad()
        return loss * 2, layer.weight, 0

    return step


def scheduled() -> Callable[..., Any]:
    layer = paddle.nn.Linear(2, 2)
    schedule = paddle.optimizer.lr.ExponentialDecay(0.1, 0.5)
    optimizer = paddle.optimizer.SGD(schedule, parameters=layer.parameters())

    def ends_a_step(loss):
        schedule.step()
        return loss + 1

    def step(x):
        loss = layer(x).sum()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return ends_a_step(loss), layer.weight, schedule.last_lr

    return step


def with_a_layer_of_its_own() -> Callable[..., Any]:
    def f(x):
        layer = paddle.nn.Linear(2, 2)
        return layer(x * 2).sum(), layer.weight, list(layer.state_dict())

    return f


def wants_a_gradient() -> Callable[..., Any]:
    def f(x):
        x.stop_gradient = False
        y = (x * x).sum()
        y.backward()
        return y.detach(), x.grad, x.stop_gradient

    return f


def behind_numbers() -> Callable[..., Any]:
    """Statements whose conditions are known run between graphs as a whole."""
    layer, optimizer, scaler = scaler_of()
    schedule = paddle.optimizer.lr.ExponentialDecay(0.1, 0.5)
    calls = [0]

    def step(x):
        calls[0] += 1
        loss = layer(x).sum()
        k = 0
        if calls[0] != 2:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            k = k + 1
            if calls[0] > 2:
                schedule.step()
                loss = loss * 2
        else:
            loss.backward()
            optimizer.step()
        optimizer.clear_grad()
        return loss * 2 + k, layer.weight, k

    return step


@pytest.mark.parametrize(
    "make",
    [steps_and_updates, minimizes, behind_numbers, scheduled, with_a_layer_of_its_own, wants_a_gradient],
    ids=lambda f: f.__name__,
)
def test_it_does_what_it_does_eagerly(make):
    told = []
    for full_graph in (None, True):
        paddle.seed(4)
        f = make()
        if full_graph:
            f = to_static(f, full_graph=True)
        told.append([])
        for _ in range(3):
            loss, tensor, rest = f(paddle.to_tensor([[1.0, 2.0]]))
            told[-1].append(
                (loss.tolist(), tensor.tolist(), rest.tolist() if isinstance(rest, paddle.Tensor) else rest)
            )
    assert told[0] == told[1]
    assert f.graph_breaks
    assert not f.fallbacks


def test_gradients_of_what_stops_and_goes_on():
    def f(x, y):
        a = x * 3
        x.stop_gradient = True
        return a + x * y

    for g in (f, to_static(f, full_graph=True)):
        x, y = (paddle.to_tensor([v], stop_gradient=False) for v in (2.0, 5.0))
        g(x, y).sum().backward()
        assert x.stop_gradient
        assert y.grad.tolist() == [2.0]


def by_data(x, schedule):
    if x.sum() > 0:
        schedule.step()
    return x


def with_a_return(x, schedule, n=2):
    if n > 1:
        schedule.step()
        return x * schedule.last_lr
    return x


def in_a_loop(x, schedule):
    for _ in range(2):
        schedule.step()
    return x


def in_a_branch(x, _):
    if x.sum() > 0:
        x = paddle.nn.Linear(2, 2)(x)
    return x


@pytest.mark.parametrize("f", [by_data, with_a_return, in_a_loop, in_a_branch])
def test_inside_of_a_statement_it_says_what_to_do(f):
    schedule = paddle.optimizer.lr.ExponentialDecay(0.1, 0.5)
    with pytest.raises(CaptureError, match=r"(changes the state|is made) .*Do that in the function itself, outside of"):
        to_static(f, full_graph=True)(paddle.ones([1, 2]), schedule)
    assert schedule.last_lr == 0.1


def test_a_program_of_it_is_refused():
    g = to_static(with_a_layer_of_its_own(), full_graph=True, input_spec=[paddle.static.InputSpec([1, 2])])
    with pytest.raises(CaptureError, match="to be one graph"):
        g.get_concrete_program(paddle.ones([1, 2]))
