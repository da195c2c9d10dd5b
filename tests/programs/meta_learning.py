"""A network is trained so that a step or two of descent fit it to a new sine: derivatives go through the steps."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
from common import fill

import paddle
import paddle.nn.functional as F
from paddle import nn

CASES = ("second order", "first order", "learned rates")
TOLERANCE = 1e-3


def tasks(seed: int, count: int, points: int = 10) -> list[tuple[Any, Any, Any, Any]]:
    """Sines of different heights and phases: points to fit, and points to judge the fit by."""
    rng = np.random.RandomState(seed)
    found = []
    for _ in range(count):
        height, phase = rng.uniform(0.5, 2), rng.uniform(0, np.pi)
        x = rng.uniform(-3, 3, (2, points, 1))
        y = height * np.sin(x + phase)
        parts = [paddle.to_tensor(part.astype("float32")) for part in (x[0], y[0], x[1], y[1])]
        found.append(tuple(parts))
    return found


class Sine(nn.Layer):
    """A network that can be called with other parameters than its own."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(1, width), nn.Linear(width, width)
        self.scale = nn.ParameterList([paddle.create_parameter([width], "float32")])
        self.last = nn.Linear(width, 1)

    def functional(self, x: Any, given: Any) -> Any:
        hidden = paddle.tanh(F.linear(x, given["first.weight"], given["first.bias"]))
        hidden = F.silu(F.linear(hidden, given["second.weight"], given["second.bias"]) * given["scale.0"])
        return F.linear(hidden, given["last.weight"], given["last.bias"])

    def forward(self, x: Any) -> Any:
        return self.functional(x, OrderedDict(self.named_parameters()))


def rate(trained: bool) -> Any:
    """How far descent goes along a parameter's gradient."""
    attributes = paddle.ParamAttr(initializer=nn.initializer.Constant(0.05), trainable=trained)
    return paddle.create_parameter([1], "float32", attr=attributes)


class Learner:
    """Descent on a task from the network's parameters."""

    def __init__(self, network: Sine, case: str) -> None:
        self.network, self.case = network, case
        self.rates = {name: rate(case == "learned rates") for name, _ in network.named_parameters()}

    def learned(self) -> list[Any]:
        """What is trained across tasks."""
        rates = [rate for rate in self.rates.values() if not rate.stop_gradient]
        return [*self.network.parameters(), *rates]

    def adapt(self, x: Any, y: Any, steps: int, train: bool = True) -> Any:
        given = OrderedDict(self.network.named_parameters())
        for _ in range(steps):
            loss = F.mse_loss(self.network.functional(x, given), y)
            slopes = paddle.grad(loss, list(given.values()), create_graph=train and self.case != "first order")
            given = OrderedDict(
                (name, value - self.rates[name] * slope)
                for (name, value), slope in zip(given.items(), slopes, strict=True)
            )
        return given


def run(case: str) -> dict[str, Any]:
    network = fill(Sine())
    learner = Learner(network, case)
    rates = [rate for rate in learner.rates.values() if not rate.stop_gradient]
    groups = [{"params": network.parameters()}]
    if rates:
        groups.append({"params": rates, "learning_rate": 0.1})
    optimizer = paddle.optimizer.Adam(0.01, parameters=groups)
    losses, norms = [], []
    for step in range(8):
        total = paddle.zeros([])
        for x, y, more, truth in tasks(step, 2):
            total = total + F.mse_loss(network.functional(more, learner.adapt(x, y, 2)), truth)
        total.backward()
        norms.append(sum(float((p.grad**2).sum()) for p in learner.learned()) ** 0.5)
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(total))
    x, y, more, truth = tasks(100, 1)[0]
    fits = []
    for steps in range(4):
        guess = network.functional(more, learner.adapt(x, y, steps, train=False))
        fits.append(float(F.mse_loss(guess, truth)))
    curvature = paddle.grad(
        paddle.grad(F.mse_loss(network(x), y), [network.first.weight], create_graph=True)[0].square().sum(),
        [network.second.weight, network.scale[0]],
    )
    return {
        "losses": losses,
        "norms": norms,
        "fits": fits,
        "rates": [rate.item() for rate in learner.rates.values()],
        "curvature": [paddle.linalg.norm(part) for part in curvature],
    }
