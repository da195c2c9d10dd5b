"""Tensors that overlap, found among many."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from umiak import ops as F
from umiak.core import array
from umiak.ir import overlap as module
from umiak.ir.overlap import overlap, overlapping


def pieces(rng, n):
    """Views of three storages, some of them with steps, some backwards, some without elements."""
    storages = [array.from_numpy(np.zeros(40, np.float32)) for _ in range(3)]
    for _ in range(n):
        size, step = int(rng.integers(0, 4)), int(rng.choice([-3, -1, 1, 2]))
        low = (max(size, 1) - 1) * -step if step < 0 else 0
        high = 40 - (max(size, 1) - 1) * step if step > 0 else 40
        start = int(rng.integers(low, high))
        x = storages[rng.integers(3)]
        yield F.slice(x, axes=(0,), starts=(start,), sizes=(size,), steps=(step,))


@pytest.mark.parametrize("seed", range(60))
def test_pairs_are_those_that_comparing_all_finds(seed):
    rng = np.random.default_rng(seed)
    tensors = list(pieces(rng, int(rng.integers(2, 14))))
    chosen = [i for i in range(len(tensors)) if rng.random() < 0.3]
    pairs = {(i, j) for i, j in itertools.permutations(range(len(tensors)), 2) if overlap(tensors[i], tensors[j])}
    expected = {(i, j) for i, j in pairs if i in chosen}
    found = overlapping(tensors, chosen)
    assert (found is None) == (not expected)
    assert found is None or found in expected


def test_few_are_compared(monkeypatch):
    """A thousand tensors of their own, and a thousand pieces of one: each is looked at once."""
    flat = array.from_numpy(np.zeros(1000, np.float32))
    tensors = [F.slice(flat, axes=(0,), starts=(i,), sizes=(1,), steps=(1,)) for i in range(1000)]
    tensors += [array.from_numpy(np.zeros(2, np.float32)) for _ in range(1000)]
    looked = []
    extent = module._extent
    monkeypatch.setattr(module, "_extent", lambda x: looked.append(1) or extent(x))
    assert overlapping(tensors, range(2000)) is None
    assert len(looked) == 1000
