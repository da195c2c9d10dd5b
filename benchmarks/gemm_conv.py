"""Matmuls and convolutions of the ``cpu`` backend's providers against PyTorch: one thread, one core, by turns.

    python benchmarks/gemm_conv.py [--core N] [--seconds S] [--only TEXT] [--providers onednn,blas]

Launches are driven directly, without dispatch. PyTorch allocates the results of its convolutions, as it does for any
user; matmuls are written to an existing tensor. Figures are the fastest of interleaved runs in CPU time.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Row = tuple[str, float, Callable[[], Any], Callable[[], Any]]

# name, m, n, k, transpose x, transpose y, batch
MATMULS = (
    ("8", 8, 8, 8, False, False, 0),
    ("32", 32, 32, 32, False, False, 0),
    ("64", 64, 64, 64, False, False, 0),
    ("128", 128, 128, 128, False, False, 0),
    ("256", 256, 256, 256, False, False, 0),
    ("512", 512, 512, 512, False, False, 0),
    ("1024", 1024, 1024, 1024, False, False, 0),
    ("GPT qkv", 512, 2304, 768, False, False, 0),
    ("GPT proj", 512, 768, 768, False, False, 0),
    ("GPT up", 512, 3072, 768, False, False, 0),
    ("GPT down", 512, 768, 3072, False, False, 0),
    ("GPT logits", 128, 50304, 768, False, True, 0),
    ("GPT up, dx", 512, 768, 3072, False, True, 0),
    ("GPT up, dw", 768, 3072, 512, True, False, 0),
    ("GPT proj, dx", 512, 768, 768, False, True, 0),
    ("GPT proj, dw", 768, 768, 512, True, False, 0),
    ("GPT q k^T", 256, 256, 64, False, True, 24),
    ("GPT att v", 256, 64, 256, False, False, 24),
    ("GPT one token", 1, 3072, 768, False, False, 0),
    ("GPT one token, nt", 1, 3072, 768, False, True, 0),
    ("classifier", 32, 1000, 2048, False, True, 0),
    ("classifier, dw", 1000, 2048, 32, True, False, 0),
)
# images, channels in and out, size, kernel, stride, pad, groups
CONVOLUTIONS = (
    (8, 3, 64, 224, 7, 2, 3, 1),
    (8, 64, 64, 56, 1, 1, 0, 1),
    (8, 64, 64, 56, 3, 1, 1, 1),
    (8, 64, 256, 56, 1, 1, 0, 1),
    (8, 256, 64, 56, 1, 1, 0, 1),
    (8, 256, 128, 56, 1, 1, 0, 1),
    (8, 128, 128, 56, 3, 2, 1, 1),
    (8, 128, 512, 28, 1, 1, 0, 1),
    (8, 256, 512, 56, 1, 2, 0, 1),
    (8, 512, 128, 28, 1, 1, 0, 1),
    (8, 128, 128, 28, 3, 1, 1, 1),
    (8, 256, 256, 28, 3, 2, 1, 1),
    (8, 256, 1024, 14, 1, 1, 0, 1),
    (8, 512, 1024, 28, 1, 2, 0, 1),
    (8, 1024, 256, 14, 1, 1, 0, 1),
    (8, 256, 256, 14, 3, 1, 1, 1),
    (8, 512, 512, 14, 3, 2, 1, 1),
    (8, 512, 2048, 7, 1, 1, 0, 1),
    (8, 2048, 512, 7, 1, 1, 0, 1),
    (8, 512, 512, 7, 3, 1, 1, 1),
    (1, 64, 64, 56, 3, 1, 1, 1),
    (1, 256, 256, 14, 3, 1, 1, 1),
    (8, 96, 96, 28, 3, 1, 1, 96),
    (8, 128, 128, 28, 3, 1, 1, 32),
)


def driver() -> Callable[..., Callable[[], int]]:
    """``(op, inputs, outputs, words) -> call``."""
    from umiak.backends.cpu import providers
    from umiak.backends.cpu.providers.launch import call
    from umiak.core import dtype
    from umiak.ir.meta import Meta

    providers.set_threads(1)

    def drive(op: Any, inputs: list, outputs: list, words: tuple = ()) -> Callable[[], int]:
        launch = providers.find(op, [Meta(x.shape, dtype.convert(x.dtype)) for x in inputs])
        if launch is None:
            raise RuntimeError(f"[gemm_conv] requires a provider for {op}, got none")
        return call(launch, inputs, outputs, words)

    return drive


def matmuls(drive: Any) -> Iterator[Row]:
    import torch

    from umiak.ops import linalg

    for name, m, n, k, tx, ty, batch in MATMULS:
        lead = (batch,) if batch else ()
        x = torch.randn(*lead, *((k, m) if tx else (m, k)))
        y = torch.randn(*lead, *((n, k) if ty else (k, n)))
        a, b = x.mT if tx else x, y.mT if ty else y
        want, got = torch.empty(*lead, m, n), torch.empty(*lead, m, n)
        op = linalg.Matmul(transpose_x=tx, transpose_y=ty)
        ours = drive(op, [x.numpy(), y.numpy()], [got.numpy()])
        text = f"{name}: {f'{batch} x ' if batch else ''}{m} x {n} x {k} {'nt'[tx]}{'nt'[ty]}"

        def other(a=a, b=b, want=want):
            torch.matmul(a, b, out=want)

        check(text, ours, other, got, want)
        yield text, 2.0 * op.multiply_adds((x, y), (want,)), ours, other


def convolutions(drive: Any, last: bool) -> Iterator[Row]:
    import torch

    from umiak.ops import convolution as ops

    form = torch.channels_last if last else torch.contiguous_format
    for n, c, o, size, kernel, stride, pad, groups in CONVOLUTIONS:
        x = torch.randn(n, c, size, size).to(memory_format=form)
        w = torch.randn(o, c // groups, kernel, kernel).to(memory_format=form)
        g = torch.randn_like(torch.conv2d(x, w, None, stride, pad, 1, groups))
        words = (groups, stride, stride, pad, pad, pad, pad, 1, 1)
        text = f"{n} x {c} -> {o}, {size}, kernel {kernel}" + (f" / {stride}" if stride > 1 else "")
        text += (f", {groups} groups" if groups > 1 else "") + (", channels last" if last else "")
        for kind, op, inputs, like in (
            ("forward", ops.Conv(nd=2), (x, w), g),
            ("input grad", ops.ConvInputGrad(nd=2), (g, w), x),
            ("weight grad", ops.ConvWeightGrad(nd=2), (x, g), w),
        ):
            got, want = torch.empty_like(like), torch.empty_like(like)
            ours = drive(op, [v.numpy() for v in inputs], [got.numpy()], words)

            def other(kind=kind, x=x, w=w, g=g, stride=stride, pad=pad, groups=groups):
                if kind == "forward":
                    return torch.conv2d(x, w, None, stride, pad, 1, groups)
                mask = [kind == "input grad", kind == "weight grad", False]
                found = torch.ops.aten.convolution_backward(
                    g, x, w, [0], [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], groups, mask
                )
                return found[0] if mask[0] else found[1]

            want = other()
            check(f"{kind} {text}", ours, lambda: None, got, want)
            yield f"{kind} {text}", 2.0 * op.multiply_adds(inputs, (like,)), ours, other


def check(text: str, ours: Any, other: Any, got: Any, want: Any) -> None:
    """Both sides compute the same."""
    code = ours()
    other()
    error = float((got - want).abs().max() / want.abs().max())
    if code or error > 1e-4:
        raise RuntimeError(f"[gemm_conv] {text} requires equal results, got code {code} and a difference of {error:g}")


def fastest(ours: Any, other: Any, seconds: float) -> tuple[float, float]:
    """The fastest run of each, by turns."""
    clock = time.process_time
    best, passes = [math.inf, math.inf], [1, 1]
    for i, side in enumerate((ours, other)):
        begin = clock()
        side()
        took = max(clock() - begin, 1e-7)
        passes[i] = max(1, int(2e-4 / took))
    end, rounds = time.perf_counter() + seconds, 0
    while rounds < 5 or time.perf_counter() < end:
        for i in (0, 1) if rounds % 2 else (1, 0):
            side, n = (ours, other)[i], passes[i]
            begin = clock()
            for _ in range(n):
                side()
            best[i] = min(best[i], (clock() - begin) / n)
        rounds += 1
    return best[0], best[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=1.0, help="per row")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--providers", default="")
    args = parser.parse_args()
    os.sched_setaffinity(0, {args.core})
    import torch

    import umiak
    from umiak.util import flags

    torch.set_num_threads(1)
    drive = driver()
    if args.providers:
        flags.set_flags({"FLAGS_cpu_providers": args.providers})
    print(f"umiak {umiak.__version__}, PyTorch {torch.__version__}, NumPy {np.__version__}; µs, GF/s; PyTorch ÷ ours")
    for title, rows in (
        ("matmul", matmuls(drive)),
        ("convolutions", convolutions(drive, False)),
        ("convolutions, channels last", convolutions(drive, True)),
    ):
        ratios = []
        for text, flops, ours, other in rows:
            if args.only not in f"{title} {text}":
                continue
            a, b = fastest(ours, other, args.seconds)
            ratios.append(b / a)
            sides = "   ".join(f"{t * 1e6:10.2f} {flops / t / 1e9:6.1f}" for t in (a, b))
            print(f"{text:72} {sides}   {b / a:5.2f}", flush=True)
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            below = sum(r < 0.97 for r in ratios)
            print(f"{title}: geometric mean {mean:.3f}, lowest {min(ratios):.2f}, {below} below 0.97\n")


if __name__ == "__main__":
    main()
