"""Cost of a call: our ops on small tensors against PyTorch's.

On the `null` device our kernels do nothing, and what is left is dispatch; PyTorch's kernels, on so few elements, hardly
count, but are in its figures. On `cpu` both sides compute.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import numpy as np
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


# --- the same by name, defaults left out -----------------------------------------------------------------------------


def named(ours_code: str, other_code: str, count: int) -> Pair:
    names = "xyz"[:count]
    mine = dict(zip(names, ours(count, device="cpu"), strict=True), paddle=paddle, F=paddle.nn.functional)
    peers = dict(zip(names, theirs(count), strict=True), torch=torch, F=torch.nn.functional)
    return Side(ours_code, mine, within=partial(on, "cpu")), Side(other_code, peers)


for _name, _ours, _other, _count in (
    ("add", "paddle.add(x, y)", "torch.add(x, y)", 2),
    ("matmul", "paddle.matmul(x, y)", "torch.matmul(x, y)", 2),
    ("softmax", "F.softmax(x)", "F.softmax(x, dim=-1)", 1),
):
    faster(f"named-{_name}", f"`{_ours}`", 10, section=SMALL)(
        lambda settings, a=_ours, b=_other, n=_count: named(a, b, n)
    )


# --- shapes never seen before ----------------------------------------------------------------------------------------

FRESH = 100  # shapes per round


def fresh(settings: Settings) -> list[tuple[int, int]]:
    """Iterate over as many different shapes as the rounds take, of at most 1024 elements."""
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


def mlp(nn: Any, width: int = 8, out: int | None = None) -> Any:
    return nn.Sequential(
        nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, out or width)
    )


def step(device: str) -> Pair:
    with on(device):
        net = mlp(paddle.nn)
        sgd = paddle.optimizer.SGD(0.01, parameters=net.parameters())
    names = {"net": net, "sgd": sgd, "x": ours(1, device=device)[0], "clear": sgd.clear_grad}
    peer = mlp(torch.nn)
    descent = torch.optim.SGD(peer.parameters(), lr=0.01)
    others = {"net": peer, "sgd": descent, "x": theirs(1)[0], "clear": descent.zero_grad}
    return Side(STEP, names, within=partial(on, device)), Side(STEP, others)


def gradients(device: str, prefix: str, section: str) -> None:
    faster(f"{prefix}backward", "`(z * y + x).sum().backward()`", 20, section=section)(
        lambda settings: call(BACKWARD, 3, True, device)
    )
    text = "training step of a 3-layer MLP of width 8: forward, backward, SGD"
    faster(f"{prefix}mlp", text, 20, section=section)(lambda settings: step(device))


gradients("null", "", DISPATCH)
gradients("cpu", "cpu-", SMALL)


# --- as tutorials write it: defaults everywhere ----------------------------------------------------------------------

CLEARED = """
(z * y + x).sum().backward()
{}
"""


@faster("cleared", "`(z * y + x).sum().backward(); z.clear_grad()` (`z.grad = None`)", 18, section=SMALL)
def _(settings: Settings) -> Pair:
    mine, peers = ours(3, device="cpu"), theirs(3)
    mine[2].stop_gradient = False
    peers[2].requires_grad_()
    a = Side(CLEARED.format("z.clear_grad()"), dict(zip("xyz", mine, strict=True)), within=partial(on, "cpu"))
    return a, Side(CLEARED.format("z.grad = None"), dict(zip("xyz", peers, strict=True)))


TUTORIAL = """
loss = loss_fn(net(x), y)
loss.backward()
opt.step()
opt.{}()
"""


def tutorial(loss: str, optimizer: str) -> Pair:
    """A step of a 3-layer perceptron, 64 wide, 32 samples, ten outputs."""
    generator = np.random.default_rng(0)
    x = generator.standard_normal((32, 64)).astype("float32")
    classes = loss == "CrossEntropyLoss"
    y = generator.integers(0, 10, 32) if classes else generator.standard_normal((32, 10)).astype("float32")
    with on("cpu"):
        net = mlp(paddle.nn, 64, 10)
        opt = getattr(paddle.optimizer, optimizer)(learning_rate=0.01, parameters=net.parameters())
        mine = {"x": paddle.to_tensor(x), "y": paddle.to_tensor(y), "loss_fn": getattr(paddle.nn, loss)()}
    peer = mlp(torch.nn, 64, 10)
    descent = getattr(torch.optim, optimizer)(peer.parameters(), lr=0.01)
    others = {"x": torch.tensor(x), "y": torch.tensor(y), "loss_fn": getattr(torch.nn, loss)()}
    return (
        Side(TUTORIAL.format("clear_grad"), {**mine, "net": net, "opt": opt}, within=partial(on, "cpu")),
        Side(TUTORIAL.format("zero_grad"), {**others, "net": peer, "opt": descent}),
    )


for _loss, _short in (("MSELoss", "mse"), ("CrossEntropyLoss", "ce")):
    for _optimizer in ("SGD", "Adam"):
        faster(
            f"tutorial-{_short}-{_optimizer.lower()}",
            f"training step of a 3-layer MLP of width 64, 32 samples: `{_loss}`, `{_optimizer}`",
            8,
            section=SMALL,
        )(lambda settings, a=_loss, b=_optimizer: tutorial(a, b))


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
