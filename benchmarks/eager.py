"""What a call costs: our ops on small tensors against PyTorch's.

On the `null` device our kernels do nothing, and what is left is dispatch; PyTorch's kernels, on so few elements, hardly
count, but are in its figures. On `cpu` both sides compute.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import torch
from measure import Settings, Side
from rows import DISPATCH, Pair, add_section, faster, within

import paddle

SMALL = add_section("small", "Calls, on the `cpu` device")


@contextmanager
def on(device: str) -> Iterator[None]:
    """New tensors go to the device."""
    before = paddle.get_device()
    paddle.set_device(device)
    try:
        yield
    finally:
        paddle.set_device(before)


null = partial(on, "null")


def ours(count: int, grad: bool = False, shape: tuple[int, ...] = (8, 8), device: str = "null") -> list[Any]:
    with on(device):
        made = [paddle.empty(list(shape), "float32") for _ in range(count)]
    for t in made:
        if device != "null":
            t[:] = 1.0
        t.stop_gradient = not grad
    return made


def theirs(count: int, grad: bool = False, shape: tuple[int, ...] = (8, 8)) -> list[Any]:
    return [torch.ones(shape).requires_grad_(grad) for _ in range(count)]


# --- one call --------------------------------------------------------------------------------------------------------


def call(code: str, count: int, grad: bool, device: str = "null") -> Pair:
    names = "xyz"[:count]
    mine, peers = ours(count, grad, device=device), theirs(count, grad)
    return (
        Side(
            code,
            dict(zip(names, mine, strict=True), softmax=paddle.nn.functional.softmax),
            within=partial(on, device),
        ),
        Side(code, dict(zip(names, peers, strict=True), softmax=torch.nn.functional.softmax)),
    )


def calls(device: str, prefix: str, section: str) -> None:
    for name, code, count in (
        ("add", "x + y", 2),
        ("matmul", "x @ y", 2),
        ("softmax", "softmax(x, -1)", 1),
    ):
        for suffix, grad, words in (("", False, ""), ("-grad", True, ", recorded")):
            faster(f"{prefix}{name}{suffix}", f"`{code}`{words}", 8, section=section)(
                lambda settings, code=code, count=count, grad=grad: call(code, count, grad, device)
            )
    faster(f"{prefix}add-number", "`x + 0.37`", 8, section=section)(lambda settings: call("x + 0.37", 1, False, device))


calls("null", "", DISPATCH)
calls("cpu", "cpu-", SMALL)


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


def step(device: str) -> Pair:
    with on(device):
        net = mlp(paddle.nn)
        sgd = paddle.optimizer.SGD(0.01, parameters=net.parameters())
    # Both drop their gradients; neither fills them with zeros.
    clear = lambda: sgd.clear_grad(set_to_zero=False)  # noqa: E731
    names = {"net": net, "sgd": sgd, "x": ours(1, device=device)[0], "clear": clear}
    peer = mlp(torch.nn)
    descent = torch.optim.SGD(peer.parameters(), lr=0.01)
    clear_peer = lambda: descent.zero_grad(set_to_none=True)  # noqa: E731
    others = {"net": peer, "sgd": descent, "x": theirs(1)[0], "clear": clear_peer}
    return Side(STEP, names, within=partial(on, device)), Side(STEP, others)


def gradients(device: str, prefix: str, section: str) -> None:
    faster(f"{prefix}backward", "`(z * y + x).sum().backward()`", 20, section=section)(
        lambda settings: call(BACKWARD, 3, True, device)
    )
    text = "training step of a 3-layer MLP of width 8: forward, backward, SGD"
    faster(f"{prefix}mlp", text, 20, section=section)(lambda settings: step(device))


gradients("null", "", DISPATCH)
gradients("cpu", "cpu-", SMALL)


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
