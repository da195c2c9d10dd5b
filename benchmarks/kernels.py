"""The families of kernels, at 256K and 4M elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from cases import Arrays, Case, ints, normal
from measure import Settings, Side
from rows import Pair, add_section, faster

import paddle
from umiak import ops
from umiak.core import eager
from umiak.ops.base import Op

FAMILIES = add_section("families", "Families of kernels")
SMALL, LARGE = 1 << 18, 1 << 22
SIZES = {"256k": SMALL, "4m": LARGE}


class GeluOfLine(Op):
    """``gelu(x * a + b)`` as one op that is defined by its decomposition: what a traced function becomes."""

    inputs = ("x", "a", "b")

    def infer(self, x: Any, a: Any, b: Any) -> Any:
        return x

    def decompose(self, x: Any, a: Any, b: Any) -> Any:
        return ops.gelu(x * a + b, approximate=True)


LINE = GeluOfLine()


def gelu_of_line(x: Any, a: float, b: float) -> Any:
    return eager.apply(LINE, (x, a, b))


def flat(size: int) -> Any:
    return lambda: {"x": normal(size)}


def with_gradient(size: int) -> Any:
    return lambda: {"x": normal(size), "g": normal(size, seed=1)}


RECORDED = "x.stop_gradient = False; y = {}"
RECORDED_PEER = "x.requires_grad_(); y = {}"
CHAIN = "F.gelu(x * 1.7 + 0.3, approximate=True)"
CHAIN_PEER = "F.gelu(x * 1.7 + 0.3, approximate='tanh')"
GRAD = "paddle.grad(y, x, g, retain_graph=True)[0]"
GRAD_PEER = "torch.autograd.grad(y, x, g, retain_graph=True)[0]"


def pointwise(label: str, size: int, factors: dict[str, float]) -> None:
    """Families whose operands are flat arrays."""

    def case(name: str, ours: str, theirs: str = "", inputs: Any = None, **more: Any) -> None:
        Case(f"{name}-{label}", ours, inputs or flat(size), theirs, max(0.95, factors[name]), **more).add(FAMILIES)

    case("gelu-tanh", "F.gelu(x, approximate=True)", "F.gelu(x, approximate='tanh')")
    case("gelu-chain", CHAIN, CHAIN_PEER)
    case(
        "gelu-fused",
        "fused(x, 1.7, 0.3)",
        CHAIN_PEER,
        names={"fused": gelu_of_line},
        what="`gelu(x * a + b)` as one op",
    )
    case(
        "gelu-fused-grad",
        GRAD,
        GRAD_PEER,
        with_gradient(size),
        setup=RECORDED.format("fused(x, 1.7, 0.3)"),
        theirs_setup=RECORDED_PEER.format(CHAIN_PEER),
        names={"fused": gelu_of_line},
        what="its gradient",
    )
    case(
        "gelu-tanh-grad",
        GRAD,
        GRAD_PEER,
        with_gradient(size),
        setup=RECORDED.format("F.gelu(x, approximate=True)"),
        theirs_setup=RECORDED_PEER.format("F.gelu(x, approximate='tanh')"),
        what="gradient of `gelu(x, approximate=True)`",
    )
    case("exp", "paddle.exp(x)", "torch.exp(x)")
    case("gelu-erf", "F.gelu(x)")
    case("gelu-bf16", "F.gelu(x, approximate=True)", "F.gelu(x, approximate='tanh')", dtype="bfloat16",
         what="`F.gelu(x, approximate=True)` of bfloat16")  # fmt: skip
    case("sum", "x.sum()", tolerance=1e-3)


def matrix(rows: int, columns: int) -> Any:
    return lambda: {"x": normal(rows, columns)}


def rowwise() -> None:
    for rows, columns, factor in ((4096, 1024, 1.21), (64, 64, 1.55), (4096, 1000, 1.28), (256, 1024, 1.21)):
        name = f"softmax-{rows}x{columns}"
        Case(name, "F.softmax(x, -1)", matrix(rows, columns), factor=factor,
             what=f"`F.softmax(x, -1)`, {rows} × {columns}").add(FAMILIES)  # fmt: skip
    for rows in (4096, 256):

        def inputs(rows: int = rows) -> Arrays:
            return {"x": normal(rows, 1024), "w": normal(1024, seed=1), "b": normal(1024, seed=2)}

        Case(f"layer-norm-{rows}x1024", "F.layer_norm(x, [1024], w, b, 1e-5)", inputs, factor=1.04,
             what=f"`F.layer_norm`, {rows} × 1024, weight and bias").add(FAMILIES)  # fmt: skip


def matrices(label: str, size: int, factors: dict[str, float]) -> None:
    """Families whose operands are matrices of ``size`` elements."""
    side = 1 << (size.bit_length() // 2)  # of a square

    def case(name: str, ours: str, theirs: str, inputs: Any, **more: Any) -> None:
        Case(f"{name}-{label}", ours, inputs, theirs, max(0.95, factors[name]), **more).add(FAMILIES)

    square = matrix(side, side)
    case("column-sum", "x.sum(0)", "", square, tolerance=1e-4)
    case("transpose", "x.t().contiguous()", "", square)
    case(
        "broadcast-add", "x + y", "", lambda: {"x": normal(side, side), "y": normal(side, seed=1)},
        what="`x + y`, `y` one row",
    )  # fmt: skip
    rows = size // 512
    table = 32768

    def lookup() -> Arrays:
        return {"w": normal(table, 512), "i": ints(table, rows), "g": normal(rows, 512, seed=1)}

    case("gather", "F.embedding(i, w)", "", lookup, what=f"`F.embedding` of {rows} ids, table {table} × 512")
    small = 1024

    def gradient() -> Arrays:
        return {"w": normal(small, 512), "i": ints(small, rows), "g": normal(rows, 512, seed=1)}

    case(
        "embedding-grad", GRAD.replace("x", "w"), GRAD_PEER.replace("(y, x", "(y, w"), gradient,
        setup="w.stop_gradient = False; y = F.embedding(i, w)",
        theirs_setup="w.requires_grad_(); y = F.embedding(i, w)",
        tolerance=1e-4, what=f"gradient of `F.embedding` of {rows} ids, table {small} × 512",
    )  # fmt: skip


def adamw(label: str, size: int, factor: float) -> None:
    text = f"`AdamW.step()`, one parameter of {size >> 10}K (PyTorch's fused)"

    @faster(f"adamw-{label}", text, factor, section=FAMILIES)
    def _(settings: Settings) -> Pair:
        start, grad = normal(size), normal(size, seed=1)
        mine = paddle.create_parameter([size], "float32")
        mine.set_value(paddle.to_tensor(start))
        peer = torch.nn.Parameter(torch.from_numpy(start.copy()))
        mine.grad, peer.grad = paddle.to_tensor(grad), torch.from_numpy(grad.copy())
        a = paddle.optimizer.AdamW(1e-3, parameters=[mine], weight_decay=0.1)
        b = torch.optim.AdamW([peer], 1e-3, weight_decay=0.1, fused=True)
        for _ in range(3):
            a.step()
            b.step()
        off = float(np.abs(mine.detach().numpy() - peer.detach().numpy()).max())
        if not off < 1e-5:
            raise RuntimeError(f"[adamw] requires equal steps, got a difference of {off:g}")
        return Side("step()", {"step": a.step}), Side("step()", {"step": b.step})


def model(width: int) -> list[tuple[int, ...]]:
    """The shapes of 200 parameters: a GPT of 16 blocks, filled up with vectors."""
    block = [(width,), (width,), (width, 3 * width), (3 * width,), (width, width), (width,), (width,), (width,),
             (width, 4 * width), (4 * width,), (4 * width, width), (width,)]  # fmt: skip
    shapes = [(512, width), (64, width), *block * 16]
    return shapes + [(width,)] * (200 - len(shapes))


WIDTH = 128


def parameters() -> tuple[list[Any], list[Any]]:
    """The same parameters and gradients on both sides."""
    mine, peers = [], []
    for i, shape in enumerate(model(WIDTH)):
        p, q = paddle.create_parameter(list(shape), "float32"), torch.nn.Parameter(torch.from_numpy(normal(*shape)))
        p.set_value(paddle.to_tensor(normal(*shape)))
        p.grad, q.grad = paddle.to_tensor(normal(*shape, seed=i)), torch.from_numpy(normal(*shape, seed=i))
        mine.append(p)
        peers.append(q)
    return mine, peers


def check_equal(name: str, ours: list[Any], theirs: list[Any]) -> None:
    off = max(float(np.abs(a.numpy() - b.numpy()).max()) for a, b in zip(ours, theirs, strict=True))
    if not off < 1e-5:
        raise RuntimeError(f"[{name}] requires equal results, got a difference of {off:g}")


@faster("adamw-200", "`AdamW.step()`, 200 parameters, 3.2M in all (PyTorch's fused)", 1.5, section=FAMILIES)
def _(settings: Settings) -> Pair:
    mine, peers = parameters()
    a = paddle.optimizer.AdamW(1e-3, parameters=mine, weight_decay=0.1)
    b = torch.optim.AdamW(peers, 1e-3, weight_decay=0.1, fused=True)
    for _ in range(3):
        a.step()
        b.step()
    check_equal("adamw-200", [p.detach() for p in mine], [p.detach() for p in peers])
    return Side("step()", {"step": a.step}), Side("step()", {"step": b.step})


@faster("clip-200", "`clip_grad_norm_` of 200 gradients, 3.2M in all (PyTorch's foreach)", 1.5, section=FAMILIES)
def _(settings: Settings) -> Pair:
    mine, peers = parameters()
    ours, theirs = paddle.nn.utils.clip_grad_norm_, torch.nn.utils.clip_grad_norm_
    ours(mine, 1.0)
    theirs(peers, 1.0, foreach=True)
    check_equal("clip-200", [p.grad for p in mine], [p.grad for p in peers])
    return (
        Side("clip(params, 1.0)", {"clip": ours, "params": mine}),
        Side("clip(params, 1.0, foreach=True)", {"clip": theirs, "params": peers}),
    )


@faster("clip-200-new", "`ClipGradByGlobalNorm` of pairs (PyTorch's foreach)", 1.5, section=FAMILIES)
def _(settings: Settings) -> Pair:
    mine, peers = parameters()
    clip, theirs = paddle.nn.ClipGradByGlobalNorm(1.0), torch.nn.utils.clip_grad_norm_
    pairs = [(p, p.grad) for p in mine]
    clipped = [g for _, g in clip(pairs)]
    theirs(peers, 1.0, foreach=True)
    check_equal("clip-200-new", clipped, [p.grad for p in peers])
    return (
        Side("clip(pairs)", {"clip": clip, "pairs": pairs}),
        Side("clip(params, 1.0, foreach=True)", {"clip": theirs, "params": peers}),
    )


def sparse_table(ours: Any, theirs: Any) -> Pair:
    """A step of a table of which few rows were used: gradients of selected rows, and an update of these alone."""
    ids = np.random.default_rng(0).integers(0, 200_000, 4096)
    mine = paddle.nn.Embedding(200_000, 64, sparse=True)
    peer = torch.nn.Embedding(200_000, 64, sparse=True)
    mine.weight.set_value(paddle.to_tensor(peer.weight.detach().numpy()))
    x, y = paddle.to_tensor(ids), torch.from_numpy(ids)
    a, b = ours(mine.parameters()), theirs(list(peer.parameters()))

    def one() -> None:
        mine(x).sum().backward()
        a.step()
        a.clear_grad(False)

    def other() -> None:
        peer(y).sum().backward()
        b.step()
        b.zero_grad()

    one()
    other()
    check_equal("sparse table", [mine.weight.detach()[::50]], [peer.weight.detach()[::50]])
    return Side("step()", {"step": one}), Side("step()", {"step": other})


@faster(
    "embedding-rows-adam",
    "4096 of 200,000 rows × 64: forward, backward, `Adam(lazy_mode)` (`SparseAdam`)",
    1.0,
    section=FAMILIES,
)
def _(settings: Settings) -> Pair:
    return sparse_table(
        lambda ps: paddle.optimizer.Adam(0.01, parameters=ps, lazy_mode=True),
        lambda ps: torch.optim.SparseAdam(ps, 0.01),
    )


@faster(
    "embedding-rows-sgd",
    "4096 of 200,000 rows × 64: forward, backward, `SGD` (`Embedding(sparse=True)`)",
    1.0,
    section=FAMILIES,
)
def _(settings: Settings) -> Pair:
    return sparse_table(lambda ps: paddle.optimizer.SGD(0.01, parameters=ps), lambda ps: torch.optim.SGD(ps, 0.01))


@faster(
    "step-clip-200",
    "`AdamW.step()` that clips by global norm, 200 parameters (PyTorch's foreach clip, fused step)",
    1.5,
    section=FAMILIES,
)
def _(settings: Settings) -> Pair:
    mine, peers = parameters()
    a = paddle.optimizer.AdamW(1e-3, parameters=mine, weight_decay=0.1, grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0))
    b = torch.optim.AdamW(peers, 1e-3, weight_decay=0.1, fused=True)

    def other() -> None:
        torch.nn.utils.clip_grad_norm_(peers, 1.0, foreach=True)
        b.step()

    for _ in range(3):
        a.step()
        other()
    check_equal("step-clip-200", [p.detach() for p in mine], [p.detach() for p in peers])
    return Side("step()", {"step": a.step}), Side("step()", {"step": other})


# PyTorch's time over the prototype's, on one core.
IN_CACHE = {
    "gelu-tanh": 6.1, "gelu-chain": 0.95, "gelu-fused": 9.5, "gelu-fused-grad": 9.3, "gelu-tanh-grad": 0.95, "exp": 1.1,
    "gelu-erf": 1.0, "gelu-bf16": 4.7, "sum": 1.12, "column-sum": 1.6, "transpose": 1.62, "broadcast-add": 1.03,
    "gather": 1.13, "embedding-grad": 1.4, "adamw": 1.1,
}  # fmt: skip
IN_MEMORY = {**IN_CACHE, "gelu-tanh": 3.8, "gelu-fused": 5.9, "gelu-fused-grad": 4.9, "adamw": 0.96}

for label, size in SIZES.items():
    factors = IN_CACHE if size == SMALL else IN_MEMORY
    pointwise(label, size, factors)
    matrices(label, size, factors)
    adamw(label, size, factors["adamw"])
rowwise()
