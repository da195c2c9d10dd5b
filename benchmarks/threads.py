"""Speedup of a second thread. Each measurement has a process of its own, since thread pools do not forget."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from measure import Settings
from rows import Outcome, add_row, add_section

THREADS = add_section("threads", "Two threads", figure="gain ÷ PyTorch's")
REPEATS = 5

# name, what, shapes of x and y, ours, theirs
CASES = (
    ("softmax", "`F.softmax(x, -1)`, 4096 × 1024", ((4096, 1024),), "F.softmax(x, -1)", "F.softmax(x, -1)"),
    ("layer-norm", "`F.layer_norm`, 4096 × 1024", ((4096, 1024),), "F.layer_norm(x, [1024])",
     "F.layer_norm(x, [1024])"),
    ("add", "`x + y`, 16M elements", ((1 << 24,),) * 2, "x + y", "x + y"),
    ("gelu", "`F.gelu(x)`, 4M elements", ((1 << 22,),), "F.gelu(x)", "F.gelu(x)"),
    ("matmul", "`x @ y`, 1024 × 1024", ((1024, 1024),) * 2, "x @ y", "x @ y"),
)  # fmt: skip

WORKER = """
import os, time
os.environ["OMP_NUM_THREADS"] = "{threads}"
os.sched_setaffinity(0, {cores})
import numpy as np
arrays = [np.random.default_rng(k).standard_normal(s, dtype="float32") for k, s in enumerate({shapes})]
if {ours}:
    import paddle
    import paddle.nn.functional as F
    x, y = ([paddle.to_tensor(a) for a in arrays] * 2)[:2]
else:
    import torch
    import torch.nn.functional as F
    torch.set_num_threads({threads})
    x, y = ([torch.tensor(a) for a in arrays] * 2)[:2]
def call():
    return {code}
best, end = float("inf"), time.perf_counter() + {seconds}
for _ in range(3):
    call()
while time.perf_counter() < end:
    begin = time.perf_counter()
    call()
    best = min(best, time.perf_counter() - begin)
print(best)
"""


def seconds(ours: bool, threads: int, shapes: tuple, code: str, settings: Settings) -> float:
    """The fastest call in a new process."""
    text = WORKER.format(
        threads=threads, cores=set(settings.cores[:threads]), shapes=shapes, ours=ours, code=code,
        seconds=0.0 if settings.check else 0.7,
    ).replace("while", "while best == float('inf') or", 1)  # fmt: skip
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"[threads] requires a run of {code}, got\n{done.stderr}")
    return float(done.stdout)


def measure(shapes: tuple, ours: str, theirs: str, settings: Settings) -> Outcome:
    if len(settings.cores) < 2 and not settings.check:
        raise RuntimeError(f"[threads] requires two cores, got {settings.cores}")
    took: dict[tuple[bool, int], list[float]] = {}
    for _ in range(1 if settings.check else REPEATS):
        for mine, code in ((True, ours), (False, theirs)):
            for threads in (1, 2):
                took.setdefault((mine, threads), []).append(seconds(mine, threads, shapes, code, settings))
    fastest = {k: min(v) for k, v in took.items()}
    gains = [fastest[mine, 1] / fastest[mine, 2] for mine in (True, False)]
    texts = [
        f"{gain:.2f}× ({1e3 * fastest[mine, 1]:.3g} → {1e3 * fastest[mine, 2]:.3g} ms)"
        for gain, mine in zip(gains, (True, False), strict=True)
    ]
    ratio = gains[0] / gains[1]
    return Outcome(*texts, f"{ratio:.3g}×", ratio >= 0.98)


for name, what, shapes, ours, theirs in CASES:
    add_row(f"threads-{name}", what, "≥ PyTorch's gain", partial(measure, shapes, ours, theirs), THREADS)
