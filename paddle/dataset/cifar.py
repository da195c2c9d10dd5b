"""Small pictures of 10 or 100 kinds: float32 arrays ``[3072]`` from 0 to 1, channels first, and labels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from paddle.dataset.common import Reader, repeated
from paddle.vision.datasets.cifar import Cifar10, Cifar100


def _reader(data: Cifar10 | Cifar100, cycle: bool = False) -> Reader:
    def read() -> Iterator[tuple[np.ndarray, int]]:
        for pixels, label in data.data:
            yield pixels.astype(np.float32) / np.float32(255), int(label)

    return repeated(read, cycle)


def train10(cycle: bool = False) -> Reader:
    """Reader of 50,000 pictures of ten kinds; with ``cycle``, over and over."""
    return _reader(Cifar10(mode="train"), cycle)


def test10(cycle: bool = False) -> Reader:
    """Reader of 10,000 pictures of ten kinds to test with; with ``cycle``, over and over."""
    return _reader(Cifar10(mode="test"), cycle)


def train100() -> Reader:
    """Reader of 50,000 pictures of a hundred kinds."""
    return _reader(Cifar100(mode="train"))


def test100() -> Reader:
    """Reader of 10,000 pictures of a hundred kinds to test with."""
    return _reader(Cifar100(mode="test"))


def fetch() -> None:
    """Download the files."""
    train10()
    train100()
