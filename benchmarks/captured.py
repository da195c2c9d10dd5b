"""Cost of a captured call: small functions, and a whole training step, against the same code in eager mode; one of them
against ``torch.compile``'s call, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from measure import Settings, Side, Spread, compare
from rows import Outcome, Pair, add_row, add_section, times, with_spread, within

import paddle
import paddle.nn.functional as F
from paddle import nn

CAPTURED = add_section("captured", "Captured calls", figure="ours ÷ the other's")


def sides(function: Callable[..., Any], *args: Any, plain: Any = None, grad: bool = False) -> Pair:
    """The function captured, and as it is, or ``plain``, which does the same with a state of its own."""
    names = dict(zip("xyz", args))
    code = f"f({', '.join(names)})"

    def modes() -> Any:
        return paddle.set_grad_enabled(grad)

    with modes():
        static = paddle.jit.to_static(function)
        for _ in range(5):
            static(*args)
    return Side(code, {"f": static, **names}, within=modes), Side(code, {"f": plain or function, **names}, within=modes)


def at_most(name: str, what: str, seconds: float, make: Callable[[], Pair], peer: str = "") -> None:
    """``peer``: who the other side is, if it takes long to begin."""

    def measure(settings: Settings) -> Outcome:
        if settings.check and peer:
            return Outcome("–", "–", "–", False)
        c = compare(*make(), settings)
        passed = c.ours.median <= seconds
        inverse = Spread(1 / c.ratio.median, 1 / c.ratio.high, 1 / c.ratio.low)
        return Outcome(with_spread(c.ours), with_spread(c.other), times(inverse), passed, c.ratio.median)

    add_row(name, what, f"≤ {seconds * 1e6:g} µs", measure, CAPTURED)


def relu(x: Any, a: Any, b: Any) -> Any:
    return F.relu(x * a + b)


def softmax(x: Any) -> Any:
    e = paddle.exp(x - x.max(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def mlp(layers: int) -> Any:
    paddle.seed(0)
    return nn.Sequential(*[m for _ in range(layers) for m in (nn.Linear(8, 8), nn.ReLU())])


def randn(count: int) -> list[Any]:
    return [paddle.randn([8, 8]) for _ in range(count)]


def step(layers: int) -> Callable[[Any], Any]:
    model = mlp(layers)
    optimizer = paddle.optimizer.AdamW(parameters=model.parameters())

    def run(x: Any) -> Any:
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return run


def peers(x: Any, a: Any, b: Any) -> Any:
    return torch.relu(x * a + b)


def beside_compile() -> Pair:
    """The same function captured on both sides: guards, the call, three kernels (ours are one)."""
    ours, _ = sides(relu, *randn(3))
    tensors = [torch.randn(8, 8) for _ in "xyz"]
    compiled = torch.compile(peers)
    with torch.no_grad():
        for _ in range(5):
            compiled(*tensors)
    return ours, Side("f(x, y, z)", {"f": compiled, **dict(zip("xyz", tensors))}, within=torch.no_grad)


# 3 µs, and 0.3 µs for each kernel.
at_most("captured-relu", "`relu(x * a + b)`, no gradient", 3.3e-6, lambda: sides(relu, *randn(3)))
at_most("captured-softmax", "softmax as `max`, `exp`, `sum`, no gradient", 3.3e-6, lambda: sides(softmax, *randn(1)))
# The other is torch.compile's call.
at_most(
    "captured-call", "`relu(x * a + b)`; the other: `torch.compile`, no gradient", 4e-6, beside_compile, "torch.compile"
)


@within("captured-mlp", "a 3-layer MLP of width 8, no gradient", 1.0, section=CAPTURED)
def _(settings: Settings) -> Pair:
    return sides(mlp(3), *randn(1), plain=mlp(3))  # a captured layer is captured wherever it is called


@within("captured-step", "training step of a 100-layer MLP of width 8: forward, backward, AdamW", 0.1, section=CAPTURED)
def _(settings: Settings) -> Pair:
    return sides(step(100), *randn(1), plain=step(100), grad=True)
