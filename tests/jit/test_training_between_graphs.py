"""Training in which a graph break lies: what one part makes, another one differentiates, writes to or updates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import paddle
from paddle import nn

X = np.arange(6.0).reshape(3, 2)


def leaf() -> Any:
    return paddle.to_tensor(X, stop_gradient=False)


@pytest.mark.parametrize("hooked", ["nothing", "inside", "leaf", "argument"])
def test_a_second_derivative_goes_through_each_part_once(hooked):
    def function(x):
        y = x * 0.5
        if hooked == "inside":
            y.register_hook(double)
        float(x.sum())
        return (x * y * y).sum()

    def double(g):
        calls.append(1)
        return g * 2

    found = []
    for call in (function, paddle.jit.to_static(function)):
        calls: list[int] = []
        x = leaf()
        z = x * 1.0 if hooked == "argument" else x
        if hooked in ("leaf", "argument"):
            z.register_hook(double)
        (first,) = paddle.grad(call(z), x, create_graph=True)
        (second,) = paddle.grad(first.sum(), x)
        found.append((first.tolist(), second.tolist(), len(calls)))
    assert found[0] == found[1]
    assert (found[0][2] > 0) == (hooked != "nothing")


FUNCTIONS = {
    "an equal value": lambda x: (x * 2, ((x * 2) ** 2).sum()),
    "a part of an equal value": lambda x: ((x * 2)[0], ((x * 2) ** 2).sum()),
    "zeros of a gradient": lambda x: (paddle.zeros_like(x), x[0].sum() * 2),
    "indices": lambda x: (paddle.arange(3), (x[paddle.arange(3)] ** 2).sum()),
}


@pytest.mark.parametrize("one_graph", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_result_that_is_written_to_is_nothing_that_the_gradient_needs(name, one_graph):
    found = []
    for call in (FUNCTIONS[name], paddle.jit.to_static(FUNCTIONS[name], full_graph=one_graph)):
        x = leaf()
        given, loss = call(x)
        given.add_(paddle.ones_like(given))
        loss.backward()
        found.append((x.grad.tolist(), given.tolist()))
    assert found[0] == found[1]


def test_a_result_that_the_gradient_needs_may_not_be_written_to():
    @paddle.jit.to_static
    def function(x):
        y = paddle.exp(x)
        return y, (y * 2.0).sum()

    given, loss = function(leaf())
    with paddle.no_grad():
        given.add_(paddle.ones_like(given))
    with pytest.raises(RuntimeError, match="written to"):
        loss.backward()


class Broken(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x):
        return self.last(self.first(x) * float(x.sum()))


@pytest.mark.parametrize("clip", [None, nn.ClipGradByGlobalNorm(0.5)])
def test_a_parameter_is_updated_again_that_was_frozen_when_the_step_was_captured(clip):
    found = []
    for captured in (False, True):
        paddle.seed(3)
        net = Broken()
        optimizer = paddle.optimizer.Momentum(0.01, parameters=net.parameters(), grad_clip=clip)

        def step(x, net=net, optimizer=optimizer):
            loss = net(x).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        call = paddle.jit.to_static(step) if captured else step
        values = []
        for frozen in (False, True, False, False, True, False):
            for p in net.first.parameters():
                p.stop_gradient = frozen
            call(paddle.to_tensor(X.astype("float32")))
            values.append(net.first.weight.numpy().copy())
        found.append(values)
    moved = [bool((a != b).any()) for a, b in zip(found[0], found[0][1:])]
    assert moved == [False, True, True, False, True]
    np.testing.assert_allclose(found[1], found[0], 1e-5, 1e-6)
