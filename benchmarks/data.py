"""Loading data: passes of ``paddle.io.DataLoader`` and of PyTorch's over the same datasets, by turns.

Times are the CPU time of all processes, per sample: workers end with a pass, so theirs is known after it.
"""

from __future__ import annotations

import resource
import time
import warnings
from typing import Any

import numpy as np
from measure import FEWEST, Settings, Spread
from rows import Outcome, add_row, add_section, times, with_spread

DATA = add_section("data", "Loading data")


class Images:
    """Images as decoded: 256 × 256 bytes of three colours, cropped, flipped at random and normalised by NumPy."""

    mean = np.array([123.7, 116.3, 103.5], np.float32)[:, None, None]
    deviation = np.array([58.4, 57.1, 57.4], np.float32)[:, None, None]

    def __len__(self) -> int:
        return 512

    def __getitem__(self, i: int) -> tuple[np.ndarray, int]:
        rng = np.random.default_rng(i)
        x = rng.integers(0, 256, (256, 256, 3), np.uint8)
        top, left = rng.integers(0, 32, 2)
        x = x[top : top + 224, left : left + 224]
        if rng.random() < 0.5:
            x = x[:, ::-1]
        out = x.transpose(2, 0, 1).astype(np.float32)
        out -= self.mean
        out /= self.deviation
        return out, i % 10


class Tiny:
    """Hardly anything but what the loader adds."""

    def __len__(self) -> int:
        return 8192

    def __getitem__(self, i: int) -> tuple[np.ndarray, int]:
        return np.full(4, i, np.float32), i


class Large:
    """Megabytes that are there already: what it takes to move them."""

    def __init__(self) -> None:
        self.arrays = np.ones((4, 1 << 20), np.float32)

    def __len__(self) -> int:
        return 256

    def __getitem__(self, i: int) -> np.ndarray:
        return self.arrays[i % 4]


def cpu() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in both)


def one_pass(loader: Any) -> float:
    """Seconds for each sample."""
    begin = cpu()
    n = sum(1 for _ in loader)
    if n != len(loader):
        raise RuntimeError(f"[data] requires {len(loader)} batches, got {n}")
    return (cpu() - begin) / len(loader.dataset)


def add(name: str, what: str, dataset: type, batch_size: int, workers: int, factor: float) -> None:
    def measure(settings: Settings) -> Outcome:
        import torch

        import paddle

        data = dataset()
        took: tuple[list[float], list[float]] = ([], [])
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "This DataLoader will create 2 worker processes", UserWarning)
            loaders = [
                module.DataLoader(data, batch_size=batch_size, num_workers=workers)
                for module in (paddle.io, torch.utils.data)
            ]
            for i in range(settings.rounds):
                if i >= FEWEST and time.perf_counter() - begin > settings.row_s:
                    break
                for which in (0, 1) if i % 2 == 0 else (1, 0):
                    took[which].append(one_pass(loaders[which]))
        if settings.fastest:
            took = ([min(took[0])], [min(took[1])])
        ratio = Spread.of([b / a for a, b in zip(*took, strict=True)])
        ours, other = map(Spread.of, took)
        return Outcome(with_spread(ours), with_spread(other), times(ratio), ratio.median >= factor, ratio.median)

    add_row(name, what, f"PyTorch takes ≥ {factor:g}×", measure, DATA)


for workers, factor in ((0, 1.0), (2, 1.2)):
    by = f"{workers} workers"
    add(f"data-images-{workers}", f"images of 3 × 224 × 224, 32 a batch, {by}", Images, 32, workers, factor)
    add(f"data-tiny-{workers}", f"4 floats and a number, 32 a batch, {by}", Tiny, 32, workers, factor)
    add(f"data-large-{workers}", f"4 MiB, 8 a batch, {by}", Large, 8, workers, factor)
