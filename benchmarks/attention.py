"""Attention against PyTorch's ``scaled_dot_product_attention``: ``python attention.py [--backward] [--full]``.

Both sides run by turns on one pinned core; the least CPU time of each counts, so that what else runs on the machine
does not.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from measure import one_thread, pin

LENGTHS = (1024, 2048, 4096, 8192)
TOKENS = 8192  # heads times queries of a case


def by_turns(sides: list[Callable[[], object]], rounds: int, seconds: float) -> list[float]:
    """The least CPU seconds of a call of each side, out of ``rounds`` rounds or as many as fit."""
    best = [float("inf")] * len(sides)
    begin = time.perf_counter()
    for i in range(rounds):
        for j, side in enumerate(sides):
            start = time.process_time()
            side()
            best[j] = min(best[j], time.process_time() - start)
        if i > 2 and time.perf_counter() - begin > seconds:
            break
    return best


def sides(length: int, queries: int, heads: int, dim: int, causal: bool, backward: bool, dtype: str) -> list[Callable]:
    """Ours and PyTorch's, on the same numbers: [batch, length, heads, dim] and [batch, heads, length, dim]."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention as theirs

    import paddle
    from paddle.nn.functional import scaled_dot_product_attention as ours

    rng = np.random.default_rng(0)
    shapes = [(1, queries, heads, dim), (1, length, heads, dim), (1, length, heads, dim)]
    numbers = [rng.standard_normal(s, dtype=np.float32) for s in shapes]
    a = [paddle.to_tensor(x).astype(dtype) for x in numbers]
    b = [torch.from_numpy(x.transpose(0, 2, 1, 3).copy()).to(getattr(torch, dtype)) for x in numbers]
    if not backward:
        return [lambda: ours(*a, is_causal=causal), lambda: theirs(*b, is_causal=causal)]
    for x in a:
        x.stop_gradient = False
    for x in b:
        x.requires_grad_()
    g, h = a[0].detach(), b[0].detach()

    def run_ours() -> None:
        for x in a:
            x.clear_grad()
        ours(*a, is_causal=causal).backward(g)

    def run_theirs() -> None:
        for x in b:
            x.grad = None
        theirs(*b, is_causal=causal).backward(h)

    return [run_ours, run_theirs]


def flops(length: int, heads: int, dim: int, causal: bool, backward: bool) -> int:
    from umiak.ops import REGISTRY

    x = np.broadcast_to(np.float32(0), (1, length, heads, dim))
    ops = [REGISTRY["attention"](causal=causal), *([REGISTRY["attention_grad"](causal=causal)] if backward else [])]
    return sum(2 * op.multiply_adds((x, x, x), ()) for op in ops)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--dims", type=int, nargs="+", default=(64, 128))
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=6.0, help="at most, about, for a row")
    parser.add_argument("--backward", action="store_true", help="the rows of forward and backward alone")
    parser.add_argument("--forward", action="store_true", help="the rows of forward alone")
    parser.add_argument("--full", action="store_true", help="not causal")
    parser.add_argument("--decode", action="store_true", help="one query and a cache of keys, heads of 64")
    options = parser.parse_args()
    pin()
    with one_thread():
        if options.decode:
            print("| keys | heads | ours, µs | PyTorch, µs | ratio |\n|---|---|---|---|---|")
            for length in (1, 16, 100, 1000):
                for heads in (1, 12):
                    pair = sides(length, 1, heads, 64, False, False, options.dtype)
                    loops = [lambda f=f: [f() for _ in range(100)] for f in pair]
                    ours, theirs = (t / 100 for t in by_turns(loops, 20, options.seconds))
                    times = f"{ours * 1e6:.2f} | {theirs * 1e6:.2f}"
                    print(f"| {length} | {heads} | {times} | {theirs / ours:.2f} |", flush=True)
            return
        print("| | tokens | heads | dim | ours, ms | PyTorch, ms | ours, GFLOP/s | ratio |")
        print("|---|---|---|---|---|---|---|---|")
        both = options.forward == options.backward
        for backward in (False, True):
            if not both and backward != options.backward:
                continue
            for dim in options.dims:
                for length in options.lengths:
                    heads = max(1, TOKENS // length // 2)
                    pair = sides(length, length, heads, dim, not options.full, backward, options.dtype)
                    ours, theirs = by_turns(pair, options.rounds, options.seconds)
                    work = flops(length, heads, dim, not options.full, backward)
                    name = "forward + backward" if backward else "forward"
                    print(
                        f"| {name} | {length} | {heads} | {dim} | {ours * 1e3:.2f} | {theirs * 1e3:.2f} | "
                        f"{work / ours / 1e9:.1f} | {theirs / ours:.2f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
