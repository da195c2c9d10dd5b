"""What a call costs beside its kernel: our ops on the `null` device, whose kernels do nothing, against PyTorch's.

The tensors are so small that PyTorch's kernels hardly count, but they are in its figures.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from measure import Settings, Side
from rows import Pair, faster, within

import paddle


@contextmanager
def null() -> Iterator[None]:
    """New tensors go to the `null` device."""
    before = paddle.get_device()
    paddle.set_device("null")
    try:
        yield
    finally:
        paddle.set_device(before)


def ours(count: int, grad: bool = False, shape: tuple[int, ...] = (8, 8)) -> list[Any]:
    with null():
        made = [paddle.empty(list(shape), "float32") for _ in range(count)]
    for t in made:
        t.stop_gradient = not grad
    return made


def theirs(count: int, grad: bool = False, shape: tuple[int, ...] = (8, 8)) -> list[Any]:
    return [torch.ones(shape).requires_grad_(grad) for _ in range(count)]


# --- one call --------------------------------------------------------------------------------------------------------


def call(code: str, count: int, grad: bool) -> Pair:
    names = "xyz"[:count]
    return (
        Side(code, dict(zip(names, ours(count, grad), strict=True), softmax=paddle.nn.functional.softmax), within=null),
        Side(code, dict(zip(names, theirs(count, grad), strict=True), softmax=torch.nn.functional.softmax)),
    )


@faster("add", "`x + y`", 8)
def _(settings: Settings) -> Pair:
    return call("x + y", 2, grad=False)


@faster("add-grad", "`x + y`, recorded", 8)
def _(settings: Settings) -> Pair:
    return call("x + y", 2, grad=True)


@faster("softmax", "`softmax(x, -1)`", 8)
def _(settings: Settings) -> Pair:
    return call("softmax(x, -1)", 1, grad=False)


@faster("softmax-grad", "`softmax(x, -1)`, recorded", 8)
def _(settings: Settings) -> Pair:
    return call("softmax(x, -1)", 1, grad=True)


@faster("add-number", "`x + 0.37`", 8)
def _(settings: Settings) -> Pair:
    return call("x + 0.37", 1, grad=False)


# --- shapes never seen before ----------------------------------------------------------------------------------------

FRESH = 100  # shapes per round


def fresh(settings: Settings) -> list[tuple[int, int]]:
    """As many different shapes as the rounds take, of at most 1024 elements."""
    shapes = [(a, b) for a in range(1, 1025) for b in range(1, 1024 // a + 1)]
    random.Random(0).shuffle(shapes)
    wanted = settings.rounds * FRESH
    if wanted > len(shapes):
        raise ValueError(f"[fresh] requires at most {len(shapes) // FRESH} rounds, got {settings.rounds}")
    return shapes[:wanted]


def on_fresh(settings: Settings, code: str, count: int) -> Pair:
    names = ", ".join("xy"[:count]) + ","
    shapes = fresh(settings)
    mine, peers = iter([ours(count, shape=s) for s in shapes]), iter([theirs(count, shape=s) for s in shapes])
    a = Side(code, {"softmax": paddle.nn.functional.softmax}, names, mine, within=null)
    b = Side(code, {"softmax": torch.nn.functional.softmax}, names, peers)
    warm_up = call(code, count, grad=False)
    for side in warm_up:
        side.run(3)
    return a, b


@faster("fresh-add", "`x + y`, another shape at every call", 4, passes=FRESH)
def _(settings: Settings) -> Pair:
    return on_fresh(settings, "x + y", 2)


@faster("fresh-softmax", "`softmax(x, -1)`, another shape at every call", 4, passes=FRESH)
def _(settings: Settings) -> Pair:
    return on_fresh(settings, "softmax(x, -1)", 1)


# --- gradients -------------------------------------------------------------------------------------------------------

BACKWARD = """
(z * y + x).sum().backward()
x.grad = y.grad = z.grad = None
"""


@faster("backward", "`(z * y + x).sum().backward()`", 20)
def _(settings: Settings) -> Pair:
    return call(BACKWARD, 3, grad=True)


STEP = """
y = net(x)
(y * y).mean().backward()
sgd.step()
clear()
"""


def mlp(nn: Any, width: int = 8) -> Any:
    return nn.Sequential(
        nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)
    )


@faster("mlp", "training step of a 3-layer MLP of width 8: forward, backward, SGD", 20)
def _(settings: Settings) -> Pair:
    with null():
        net = mlp(paddle.nn)
        sgd = paddle.optimizer.SGD(0.01, parameters=net.parameters())
    # Both drop their gradients; neither fills them with zeros.
    clear = lambda: sgd.clear_grad(set_to_zero=False)  # noqa: E731
    a = Side(STEP, {"net": net, "sgd": sgd, "x": ours(1)[0], "clear": clear}, within=null)
    peer = mlp(torch.nn)
    descent = torch.optim.SGD(peer.parameters(), lr=0.01)
    clear_peer = lambda: descent.zero_grad(set_to_none=True)  # noqa: E731
    return a, Side(STEP, {"net": peer, "sgd": descent, "x": theirs(1)[0], "clear": clear_peer})


# --- against our plain path ------------------------------------------------------------------------------------------


@within("hook", "a `Linear` with one forward hook", 1.5)
def _(settings: Settings) -> Pair:
    with null():
        plain, hooked = paddle.nn.Linear(8, 8), paddle.nn.Linear(8, 8)
    hooked.register_forward_post_hook(lambda layer, inputs, output: None)
    x = ours(1)[0]
    a, b = (Side("layer(x)", {"layer": layer, "x": x}, within=null) for layer in (hooked, plain))
    return a, b


@within("create-graph", "gradient of `(z * y + x).sum()` with `create_graph=True`", 2)
def _(settings: Settings) -> Pair:
    x, y, z = ours(3, grad=True)
    total = (z * y + x).sum()
    code = "grad(total, inputs, retain_graph=True, create_graph={})"
    names = {"grad": paddle.grad, "total": [total], "inputs": [x, y, z]}
    return Side(code.format(True), names, within=null), Side(code.format(False), names, within=null)


@contextmanager
def low() -> Iterator[None]:
    with null(), paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
        yield


@within("amp", "`x @ y`, `softmax(x, -1)` and `x + y` under `auto_cast` (O1, bfloat16)", 1.3)
def _(settings: Settings) -> Pair:
    x, y = ours(2)
    code = "x @ y\nsoftmax(x, -1)\nx + y"
    names = {"x": x, "y": y, "softmax": paddle.nn.functional.softmax}

    def side(mode: Any) -> Side:
        context: type[AbstractContextManager[Any]] = mode
        return Side(code, names, within=context)

    return side(low), side(null)
