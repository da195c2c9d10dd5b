"""Random data-parallel training, captured on some ranks or all, against the same as it was written:
``python -m tests.fuzz.steps 0 300`` runs that of 300 seeds.

A seed gives the model, the optimizer, the buckets, what a step does and what differs between steps and ranks: sizes of
batches, modes, accumulation, layers that are left out. A failure is printed with its seed, which gives the same again.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import paddle
from paddle import nn
from paddle.amp import fp8
from tests.fuzz.seeds import run_seeds
from umiak import comm

RANKS, STEPS, WIDTH = 2, 5, 8
LIMIT = 300.0  # seconds of a collective: ranks that cannot go on are told so at once, others may share a busy machine
PARTS = ("linear", "shared", "norm", "batch norm", "batch norm of all ranks", "dropout", "branch", "embedding", "rows")
EIGHT = "8 bits"  # some of the linear layers
RECIPES = fp8.Recipe(scaling="tensor", history=2), fp8.Recipe(scaling="row", power_of_two=False), fp8.Recipe()
OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "SGD": lambda p, clip: paddle.optimizer.SGD(0.05, parameters=p, grad_clip=clip),
    "Momentum": lambda p, clip: paddle.optimizer.Momentum(0.05, parameters=p, grad_clip=clip, weight_decay=0.01),
    "AdamW": lambda p, clip: paddle.optimizer.AdamW(0.01, parameters=p, grad_clip=clip),
    "lazy": lambda p, clip: paddle.optimizer.AdamW(0.01, parameters=p, grad_clip=clip, lazy_mode=True),
    "schedule": lambda p, clip: paddle.optimizer.SGD(
        paddle.optimizer.lr.StepDecay(0.05, 2), parameters=p, grad_clip=clip
    ),
}
CLIPS = {"none": None, "norm": nn.ClipGradByNorm(0.3), "global norm": nn.ClipGradByGlobalNorm(0.3)}
WAYS = ("captured", "one graph", "as written")


@dataclass(frozen=True)
class Case:
    """Training of one seed. ``ways``: how each rank runs its steps; ``left_out``: by rank and step, whether branches
    of the model are."""

    seed: int
    parts: tuple[str, ...]
    optimizer: str
    clip: str
    bucket: float
    last: float
    backwards: int
    clear: str
    sums: tuple[bool, ...]  # by step, whether it adds to this rank's gradients alone
    rows: tuple[tuple[int, ...], ...]
    left_out: tuple[tuple[bool, ...], ...]
    ways: tuple[str, ...]
    mixed: bool
    init_late: bool  # whether the first step is run as it was written everywhere


def draw(seed: int) -> Case:
    """The training of a seed."""
    r = random.Random(seed)
    parts = tuple(r.choices(PARTS, k=r.randint(1, 5)))
    eight = random.Random(f"{seed} {EIGHT}")  # numbers of its own: other parts stay as they were
    parts = tuple(EIGHT if name == "linear" and eight.random() < 0.3 else name for name in parts)
    if "branch" in parts:  # without which less is differentiated, and the statistics of ranks would wait for each other
        parts = tuple(name.removesuffix(" of all ranks") for name in parts)
    odd = r.random() < 0.5
    some_left_out = r.random() < 0.4
    ways = r.choice([("captured",) * RANKS, ("one graph",) * RANKS, tuple(r.choices(WAYS, k=RANKS))])
    # A rank that alone waits for the others' statistics would wait for one that agrees on buckets first.
    init_late = len(set(ways)) > 1 or r.random() < 0.3
    optimizer = r.choice(list(OPTIMIZERS))
    if "branch" in parts and "batch norm" in parts and optimizer in ("AdamW", "lazy"):
        optimizer = "Momentum"  # the norm takes the branch's bias away: its gradient is rounding, which Adam divides by
    # What divides by a size that rounding decides says nothing in low precision.
    steady = optimizer not in ("AdamW", "lazy") and not any("norm" in name for name in parts)
    sums = tuple(r.random() < 0.2 for _ in range(STEPS))
    backwards = 1 if r.random() < 0.8 else 2
    if "rows" in parts and any(sums):  # rows from before are no part of one graph
        ways = tuple("captured" if way == "one graph" else way for way in ways)
    if some_left_out and backwards == 2:  # the second pass stands in a branch, where no graph can end
        ways = tuple("captured" if way == "one graph" else way for way in ways)
    return Case(
        seed,
        parts,
        optimizer,
        r.choice(list(CLIPS)),
        r.choice([0.0003, 0.001, 25]),
        r.choice([0.0001, 0.0005, 1]),
        backwards,
        r.choice(["none", "zeros", "first"]),
        sums,
        tuple(tuple(r.choice([3, 4, 4, 6]) if odd else 4 for _ in range(STEPS)) for _ in range(RANKS)),
        tuple(tuple(some_left_out and r.random() < 0.4 for _ in range(STEPS)) for _ in range(RANKS)),
        ways,
        steady and r.random() < 0.4,
        init_late,
    )


class Model(nn.Layer):
    """Parts in a row; those of a branch may be left out."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        paddle.seed(case.seed)
        self.names = case.parts
        self.parts = nn.LayerList([self._part(name, case.seed) for name in case.parts])
        self.last = nn.Linear(WIDTH, 3)

    @staticmethod
    def _part(name: str, seed: int) -> nn.Layer:
        if name == EIGHT:
            return fp8.FP8Linear(WIDTH, WIDTH, RECIPES[seed % len(RECIPES)])
        if name == "norm":
            return nn.LayerNorm(WIDTH)
        if name == "batch norm":
            return nn.BatchNorm1D(WIDTH)
        if name == "batch norm of all ranks":
            return nn.SyncBatchNorm(WIDTH)
        if name == "dropout":
            return nn.Dropout(0.3)
        if name in ("embedding", "rows"):
            return nn.Embedding(5, WIDTH, sparse=name == "rows")
        return nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Any, ids: Any, without: bool) -> Any:
        for name, part in zip(self.names, self.parts):
            if name in ("embedding", "rows"):
                x = x + part(ids)
            elif name == "shared":
                x = paddle.tanh(part(paddle.tanh(part(x))))
            elif name != "branch":
                x = paddle.tanh(part(x))
            elif not without:
                x = x + part(x)
        return self.last(x)


def train(case: Case, captured: bool) -> list[dict[str, Any]]:
    """Parameters, gradients and buffers of this rank after each step."""
    rank = comm.world().rank
    net = Model(case)
    parallel = paddle.DataParallel(
        net,
        comm_buffer_size=case.bucket,
        last_comm_buffer_size=case.last,
        find_unused_parameters="branch" in case.parts,
    )
    optimizer = OPTIMIZERS[case.optimizer](net.parameters(), CLIPS[case.clip])

    tables = {layer.weight for layer in net.sublayers() if isinstance(layer, nn.Embedding) and layer._sparse}

    def loss(x: Any, ids: Any, without: bool) -> Any:
        with paddle.amp.auto_cast(case.mixed, dtype="bfloat16"):
            return parallel(x, ids, without).astype("float32").pow(2).mean()

    def add(x: Any, ids: Any, without: bool) -> Any:
        found = loss(x, ids, without)
        found.backward()
        return found

    def step(x: Any, ids: Any, without: bool) -> Any:
        if case.clear == "first":
            optimizer.clear_grad()
        found = add(x, ids, without)
        if case.backwards == 2:
            add(x + 1.0, ids, without)
        optimizer.step()
        fp8.advance(net)
        if case.clear != "first":
            optimizer.clear_grad(case.clear == "zeros")
        return found

    runs = {"as written": (add, step)}
    for way in ("captured", "one graph"):
        runs[way] = tuple(paddle.jit.to_static(f, full_graph=way == "one graph") for f in (add, step))
    found = []
    for i in range(STEPS):
        draws = np.random.default_rng((case.seed, rank, i))
        rows = case.rows[rank][i]
        x = paddle.to_tensor(draws.normal(size=(rows, WIDTH)).astype("float32"))
        ids = paddle.to_tensor(draws.integers(0, 5, rows))
        way = case.ways[rank] if captured and (i or not case.init_late) else "as written"
        given = x, ids, case.left_out[rank][i]
        if case.sums[i]:
            with parallel.no_sync():
                value = runs[way][0](*given)
        else:
            value = runs[way][1](*given)
        if case.optimizer == "schedule":
            optimizer._learning_rate.step()
        seen = {"loss": value.numpy()}
        seen.update((n, p.numpy().copy()) for n, p in (*net.named_parameters(), *net.named_buffers()))
        for n, p in net.named_parameters():
            if p in tables and case.clip != "none":  # clipped rows are new ones, other gradients are written to
                continue
            g = p.grad.to_dense() if p.grad is not None and p.grad.is_selected_rows() else p.grad
            seen[f"grad of {n}"] = None if g is None else g.numpy().copy()
        found.append(seen)
    return found


def check(case: Case) -> str | None:
    """What is wrong; None if nothing is."""
    try:
        wanted = comm.simulate(train, RANKS, case, False, timeout=LIMIT)
        found = comm.simulate(train, RANKS, case, True, timeout=LIMIT)
    except Exception as error:
        return f"{case}\n{type(error).__name__}: {error}"
    tolerance = 3e-2 if case.mixed or EIGHT in case.parts else 1e-4  # rounding moves codes of 8 bits by a step
    for rank, (ours, theirs) in enumerate(zip(found, wanted)):
        for i, (a, b) in enumerate(zip(ours, theirs)):
            for name, value in b.items():
                same = (a[name] is None) == (value is None)
                if not same or (value is not None and not np.allclose(a[name], value, tolerance, tolerance)):
                    return f"{case}\nrank {rank}, step {i}: {name} is {a[name]}, as written {value}"
    return None


if __name__ == "__main__":
    run_seeds(__doc__, (), lambda seed, tally, only: check(draw(seed)))
