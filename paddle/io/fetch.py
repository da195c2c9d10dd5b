"""Reading of samples for tasks: the part of loading that is the same in the main process and in workers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from paddle.io.dataset import Dataset, IterableDataset


def keep_memory() -> None:
    """Let freed memory stay in the process: the arrays of the next sample are as large as those of the last.

    The allocator of glibc maps large arrays afresh and trims its heap, so that every page costs a fault again, until it
    has seen a block of up to 32 MiB freed; twice as much it keeps from then on.
    """
    np.empty(31 << 20, np.uint8)


class _Exhausted:
    """Sentinel that a stream gives after its last sample."""


EXHAUSTED = _Exhausted()


@dataclass(frozen=True)
class Source:
    """Source of samples and their grouping; ``batch_size`` and ``drop_last`` are a stream's."""

    dataset: Dataset
    batched: bool
    batch_size: int | None
    drop_last: bool

    @property
    def stream(self) -> bool:
        return isinstance(self.dataset, IterableDataset)

    def fetcher(self) -> Callable[[Any], Any]:
        """A function from a task (an index, a list of them; of a stream, anything) to samples, or EXHAUSTED."""
        dataset = self.dataset
        if not self.stream:
            if self.batched:
                return lambda indices: [dataset[i] for i in indices]
            return lambda index: dataset[index]
        samples: Iterator[Any] = iter(dataset)
        if not self.batched:
            return lambda _: next(samples, EXHAUSTED)

        def batch(_: Any) -> Any:
            chosen = list(itertools.islice(samples, self.batch_size))
            return chosen if len(chosen) == self.batch_size or (chosen and not self.drop_last) else EXHAUSTED

        return batch
