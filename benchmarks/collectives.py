"""Collectives of two processes, against PyTorch's over gloo."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable
from functools import cache, partial

from measure import Settings, Spread
from ranks import RANKS, Job
from rows import Outcome, add_row, add_section, times, with_spread

COLLECTIVES = add_section("collectives", "Collectives of two processes", mean=1.3)
SIZES = {"1 KB": 1 << 10, "16 KB": 1 << 14, "256 KB": 1 << 18, "4 MB": 1 << 22, "32 MB": 1 << 25, "256 MB": 1 << 28}
CALLS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
ROUNDS = 9


def start(side: str) -> Callable[[str], float]:
    """Run in a rank: ``"all_reduce 1024 50"`` gives the seconds of one of 50 calls on so many bytes."""
    if side == "peer":
        import torch
        import torch.distributed as dist

        def make(call: str, size: int) -> Callable[[], object]:
            n = size // 4
            x = torch.ones(n).mul_(0)  # sums stay what they are; every page is there
            if call == "all_reduce":
                return lambda: dist.all_reduce(x)
            if call == "all_gather":
                made = torch.empty(n * RANKS)
                return lambda: dist.all_gather_into_tensor(made, x)
            if call == "reduce_scatter":
                made = torch.empty(n // RANKS)
                return lambda: dist.reduce_scatter_tensor(made, x)
            made = torch.empty(n)
            return lambda: dist.all_to_all_single(made, x)

        barrier: Callable[[], object] = dist.barrier
    else:
        import paddle
        import paddle.distributed as pd

        def make(call: str, size: int) -> Callable[[], object]:
            n = size // 4
            x = paddle.ones([n]) * 0
            if call == "all_reduce":
                return lambda: pd.all_reduce(x)
            if call == "all_gather":
                made = paddle.empty([n * RANKS])
                return lambda: pd.stream.all_gather(made, x)
            if call == "reduce_scatter":
                made = paddle.empty([n // RANKS])
                return lambda: pd.stream.reduce_scatter(made, x)
            made = paddle.empty([n])
            return lambda: pd.alltoall_single(made, x)

        barrier = pd.barrier

    made = cache(make)

    def run(request: str) -> float:
        call, size, count = request.split()
        work = made(call, int(size))
        work()
        barrier()
        begin = time.perf_counter()
        for _ in range(int(count)):
            work()
        took = (time.perf_counter() - begin) / int(count)
        if int(size) >= 1 << 25:
            made.cache_clear()  # not all large arrays at once
        return took

    return run


@cache
def job(side: str, core: tuple[int, ...]) -> Job:
    made = Job("collectives", side, Settings(cores=core))
    atexit.register(made.__exit__)
    return made


def measure(call: str, size: int, settings: Settings) -> Outcome:
    """Measure both sides in turns, in rounds of 30 ms, of which the quickest counts: ranks wait for each other, so
    whatever disturbs one disturbs both.
    """
    if settings.check:
        size = min(size, 1 << 18)
    rounds = 1 if settings.check else ROUNDS
    ours, other = (job(side, settings.cores) for side in ("ours", "peer"))
    counts = []
    for one in (ours, other):
        took = one.run(f"{call} {size} 1")
        counts.append(1 if settings.check else max(1, min(400, int(0.03 / took))))
    taken: tuple[list[float], list[float]] = ([], [])
    for i in range(rounds):
        for which in (0, 1) if i % 2 else (1, 0):
            taken[which].append((ours, other)[which].run(f"{call} {size} {counts[which]}"))
    a, b = (Spread.of([min(t)]) for t in taken)
    ratio = Spread.of([b.median / a.median])
    return Outcome(with_spread(a), with_spread(b), times(ratio), ratio.median >= 1, ratio.median)


def enter() -> None:
    for call in CALLS:
        for text, size in SIZES.items():
            name = f"{call.replace('_', '-')}-{text.replace(' ', '').lower()}"
            add_row(
                name, f"`{call}`, {text} of float32 on each rank", "gloo takes ≥ 1×",
                partial(measure, call, size), COLLECTIVES,
            )  # fmt: skip


enter()
