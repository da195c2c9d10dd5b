"""Balanced chunks against Megatron-LM's dual chunks: simulated on many ranks, and run on four.

    python benchmarks/context_parallel.py                  # the table, by the tile times below
    python benchmarks/context_parallel.py --measure        # by times that are measured now
    python benchmarks/context_parallel.py --check          # both schemes on four processes

The table follows from the times of tiles and the link alone. Of documents, as many as the FlashMask benchmarks have of
a length are drawn, cut anywhere, five times.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from umiak import masks
from umiak.spmd import context_parallel
from umiak.spmd.context_parallel import ContextPlan, Link, SimulatedStep, TileTimes, kernels, simulate

DOCUMENTS = {8192: (2, 6), 32768: (10, 14), 131072: (11, 15)}  # by length, how many there are at least and at most
FAMILIES = {"causal document": masks.causal_document, "document": masks.document}
RANKS = (8, 16, 32, 64)
SAMPLES = 5
HEADS, KEY_HEADS, DIM, ITEMSIZE = 8, 2, 128, 2
# One core of a Xeon (Emerald Rapids), heads of 128 of float32: what --measure gave.
MEASURED = TileTimes(2.06e-4, 2.09e-4, 3.0e-6, 0.0)
LINK = Link(10e-6, 12.5e9)
PROCESSES = 4
CHECKED = (8192, 32768)
REPEATS = 3


def lengths(tokens: int, sample: int) -> list[int]:
    """Lengths of documents."""
    draw = np.random.default_rng((sample, tokens))
    count = int(draw.integers(DOCUMENTS[tokens][0], DOCUMENTS[tokens][1] + 1))
    return np.diff([0, *np.sort(draw.choice(np.arange(1, tokens), count - 1, replace=False)), tokens]).tolist()


def mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def rows(times: TileTimes, link: Link) -> Iterator[str]:
    """The table, line by line."""
    yield (
        "| tokens | mask | ranks | dual chunks ÷ ours | least – most | dual chunks that send like ours ÷ ours "
        "| imbalance, most | of dual chunks | gap, most | sent |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for tokens in DOCUMENTS:
        for name, family in FAMILIES.items():
            for ranks in RANKS:
                pairs = [both(family(lengths(tokens, i)), ranks, times, link) for i in range(SAMPLES)]
                ratios = [b[1].seconds / a[1].seconds for a, b in pairs]
                balance = [step(b[0], times, link).seconds / a[1].seconds for a, b in pairs]
                sent = np.mean([a[1].sent.sum() / b[1].sent.sum() for a, b in pairs])
                ours, dual = ([x[i][0].imbalance for x in pairs] for i in (0, 1))
                gap = max(a[0].assignment.gap for a, _ in pairs)
                yield (
                    f"| {tokens} | {name} | {ranks} | {mean(ratios):.2f} | {min(ratios):.2f} – {max(ratios):.2f} "
                    f"| {mean(balance):.2f} "
                    f"| {max(ours):.1%} | {np.mean(dual):.0%} | {gap:.1%} | {sent:.0%} |"
                )


Simulated = tuple[ContextPlan, SimulatedStep]


def both(mask: masks.ColumnMask, ranks: int, times: TileTimes, link: Link) -> tuple[Simulated, Simulated]:
    """Ours and dual chunks: plan and simulated step."""
    ours = context_parallel.plan(mask, ranks, times=times)
    dual = context_parallel.dual_chunk(mask, ranks, times=times)
    return (ours, step(ours, times, link)), (dual, step(dual, times, link, send_all=True))


def step(plan: ContextPlan, times: TileTimes, link: Link, send_all: bool = False) -> SimulatedStep:
    sizes = {"heads": HEADS, "key_heads": KEY_HEADS, "dim": DIM, "itemsize": ITEMSIZE}
    return simulate(plan, times, link, **sizes, send_all=send_all)


# --- on four processes


def check() -> None:
    """Start the processes."""
    mpiexec = Path(sys.executable).with_name("mpiexec")
    program = str(mpiexec) if mpiexec.exists() else "mpiexec"
    command = [program, "-n", str(PROCESSES), sys.executable, __file__, "--worker"]
    subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


def worker() -> None:
    """One rank: attention forward and backward by both schemes, and what it computes."""
    import paddle

    paddle.set_num_threads(1)
    paddle.distributed.init_parallel_env()
    group = kernels.group_of(_World(), PROCESSES)
    if group.rank == 0:
        print("| tokens | mask | sample | busiest rank, ours, s | dual chunks, s | ratio | by tile times |", flush=True)
        print("|---|---|---|---|---|---|---|", flush=True)
    for tokens in CHECKED:
        for name, family in FAMILIES.items():
            ratios, predicted = [], []
            for sample in range(SAMPLES):
                mask = family(lengths(tokens, sample))
                plans = (
                    context_parallel.plan(mask, PROCESSES, times=MEASURED),
                    context_parallel.dual_chunk(mask, PROCESSES, times=MEASURED),
                )
                ours, dual = busiest(group, plans)
                loads = [max(plan.assignment.loads) for plan in plans]
                ratios.append(dual / ours)
                predicted.append(loads[1] / loads[0])
                if group.rank == 0:
                    said = f"{ours:.3f} | {dual:.3f} | {ratios[-1]:.2f} | {predicted[-1]:.2f}"
                    print(f"| {tokens} | {name} | {sample} | {said} |", flush=True)
            if group.rank == 0:
                print(f"| {tokens} | {name} | mean | | | {mean(ratios):.2f} | {mean(predicted):.2f} |", flush=True)


class _World:
    """The name by which kernels find the group of all ranks."""

    name, group = "benchmark", "world"


def busiest(group: Any, plans: tuple[ContextPlan, ...]) -> list[float]:
    """For each plan the processor time of the rank that computes longest, without what it waits; the least of some
    runs, by turns."""
    best = np.full(len(plans), np.inf)
    for _ in range(REPEATS):
        for i, plan in enumerate(plans):
            best[i] = min(best[i], max(group.gather_objects(_computing(plan, group.rank))))
    return best.tolist()


def _computing(plan: ContextPlan, rank: int) -> float:
    import paddle

    tokens = plan.mask.keys // plan.ranks
    draw = np.random.default_rng(rank)

    def operand(heads: int) -> Any:
        x = paddle.to_tensor(draw.normal(size=(1, tokens, heads, DIM)).astype("float32"))
        x.stop_gradient = False
        return x

    q, k, v = operand(HEADS // 2), operand(KEY_HEADS), operand(KEY_HEADS)
    total, plain = [0.0], kernels.plain
    kernels.plain = _timed(plain, total)
    try:
        out = context_parallel.attention(q, k, v, plan)
        out.backward(out.detach())
    finally:
        kernels.plain = plain
    return total[0]


def _timed(call: Callable, total: list[float]) -> Callable:
    def timed(*args: Any, **options: Any) -> Any:
        start = time.thread_time()
        result = call(*args, **options)
        total[0] += time.thread_time() - start
        return result

    return timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="measure the times of tiles first")
    parser.add_argument("--link", default="", help="latency and bandwidth of a link, in us and GB/s, as in 10:12.5")
    parser.add_argument("--check", action="store_true", help="run both schemes on four processes instead")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        return worker()
    if given.check:
        return check()
    latency, bandwidth = map(float, (given.link or f"{LINK.latency * 1e6}:{LINK.bandwidth / 1e9}").split(":"))
    times = context_parallel.measure_tile_times(heads=HEADS // 2, dim=DIM) if given.measure else MEASURED
    print(f"{times}, {latency:g} us, {bandwidth:g} GB/s, {HEADS} heads of {DIM}, {KEY_HEADS} key heads\n")
    for line in rows(times, Link(latency * 1e-6, bandwidth * 1e9)):
        print(line)


if __name__ == "__main__":
    main()
