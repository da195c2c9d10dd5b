"""The number of workers of a ``DataLoader``, found by trial."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paddle.io.dataset import IterableDataset

if TYPE_CHECKING:
    from paddle.io.loader import DataLoader

# Workers that do not save a fifth of the time are not worth their memory.
_WORTH = 1.25


@dataclass
class Settings:
    """Switch for the tuning of loaders when they are made, and the number of batches that each trial reads."""

    enabled: bool = False
    steps: int = 500


settings = Settings()


def fewest_workers(seconds: Callable[[int], float], most: int) -> int:
    """The fewest workers that are nearly as quick as the quickest, of 0, 1, 2, 4, ... up to ``most``."""
    times = {0: seconds(0)} if most else {0: 0.0}
    workers = 1
    while workers <= most:
        times[workers] = seconds(workers)
        workers *= 2
    least = min(times.values())
    return min(workers for workers, time in times.items() if time <= _WORTH * least)


def usable_workers() -> int:
    """Half of the CPUs of this process: the rest is for what uses the batches."""
    return len(os.sched_getaffinity(0)) // 2


def _seconds(loader: DataLoader, batches: list[list[int]], workers: int) -> float:
    """Seconds per batch of a pass, the first batch apart: workers start with it."""
    trial: Any = copy.copy(loader)
    trial.batch_sampler, trial.num_workers, trial.persistent_workers = batches, workers, False
    begin = None
    for _ in trial:
        begin = time.perf_counter() if begin is None else begin
    assert begin is not None
    return (time.perf_counter() - begin) / (len(batches) - 1)


def tuned_workers(loader: DataLoader) -> int:
    """The number of workers for a loader, whose own number stays where there is nothing to try.

    Trials read the first samples in their order, so that the sampler and the generators stay where they are.
    """
    size = loader.batch_size
    if isinstance(loader.dataset, IterableDataset) or loader.batch_sampler is None or not isinstance(size, int):
        return loader.num_workers
    count = min(len(loader.dataset), size * settings.steps)
    batches = [list(range(i, min(i + size, count))) for i in range(0, count, size)]
    if len(batches) < 2:
        return loader.num_workers
    from umiak.autodiff.recompute import random_states, set_random_states  # not before it is needed

    states = random_states()
    try:
        return fewest_workers(lambda workers: _seconds(loader, batches, workers), usable_workers())
    finally:
        set_random_states(states)
