"""Pictures of digits: float32 arrays ``[784]`` from -1 to 1, and labels from 0 to 9."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from paddle.dataset.common import Reader
from paddle.vision.datasets.mnist import MNIST


def _reader(mode: str) -> Reader:
    data = MNIST(mode=mode)

    def read() -> Iterator[tuple[np.ndarray, int]]:
        for image, label in zip(data.images, data.labels):
            yield image.ravel().astype(np.float32) / np.float32(255) * np.float32(2) - np.float32(1), int(label[0])

    return read


def train() -> Reader:
    """Reader of the 60,000 pictures to train with."""
    return _reader("train")


def test() -> Reader:
    """Reader of the 10,000 pictures to test with."""
    return _reader("test")


def fetch() -> None:
    """Download the files."""
    train()
    test()
