"""Data sets of random training, and the order in which their rows come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from paddle.io import BatchSampler, DataLoader, Dataset, Sampler
from tests.fuzz.epochs.draw import Case
from tests.fuzz.epochs.parts import TIME, WIDTH, WORDS

CLASSES, IGNORED = 3, -100


class Rows(Dataset):
    """Sequences, words, which places count (the first always does), and what is to be found."""

    def __init__(self, case: Case) -> None:
        rng = np.random.default_rng(case.seed)
        shape = (case.rows, TIME)
        self.x = rng.normal(size=(*shape, WIDTH)).astype("float64" if case.float64 else "float32")
        self.ids = rng.integers(0, WORDS, shape)
        self.keep = rng.random(shape) < 0.6
        self.keep[:, 0] = True
        if case.task.startswith("classes"):
            self.y = np.where(self.keep, rng.integers(0, CLASSES, shape), IGNORED)
        else:
            self.y = rng.normal(size=(*shape, CLASSES)).astype(self.x.dtype)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int) -> tuple[np.ndarray, ...]:
        return self.x[i], self.ids[i], self.keep[i], self.y[i]


def order(case: Case, epoch: int) -> list[int]:
    """The rows of an epoch."""
    if not case.shuffled:
        return list(range(case.rows))
    return [int(i) for i in np.random.default_rng((case.seed, epoch)).permutation(case.rows)]


def batches(case: Case, epoch: int, rows: Rows) -> Iterator[tuple[np.ndarray, ...]]:
    """The batches of an epoch, by the arithmetic of its length."""
    places = order(case, epoch)
    for i in range(case.batches):
        at = places[i * case.batch : (i + 1) * case.batch]
        yield rows.x[at], rows.ids[at], rows.keep[at], rows.y[at]


class Order(Sampler):
    """The rows of the epoch that ``epoch`` says."""

    def __init__(self, case: Case, rows: Rows) -> None:
        super().__init__(rows)
        self.case, self.epoch = case, 0

    def __iter__(self) -> Iterator[int]:
        return iter(order(self.case, self.epoch))

    def __len__(self) -> int:
        return self.case.rows


def loader_of(case: Case, rows: Rows) -> tuple[Any, Order]:
    """A loader of the rows, and what orders them."""
    sampler = Order(case, rows)
    if not case.shuffled:
        return DataLoader(rows, batch_size=case.batch, drop_last=case.drops_last), sampler
    batch_sampler = BatchSampler(sampler=sampler, batch_size=case.batch, drop_last=case.drops_last)
    return DataLoader(rows, batch_sampler=batch_sampler), sampler
