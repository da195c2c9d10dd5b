"""Photographs with the class of each pixel: arrays ``[height, width, 3]`` and ``[height, width]``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from paddle.dataset.common import Reader
from paddle.vision.datasets.voc2012 import VOC2012


def _reader(mode: str) -> Reader:
    data = VOC2012(mode=mode, backend="pil")

    def read() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for i in range(len(data)):
            image, label = data[i]
            yield np.array(image), np.array(label)

    return read


def train() -> Reader:
    """Reader of the list ``trainval``."""
    return _reader("train")


def test() -> Reader:
    """Reader of the list ``train``."""
    return _reader("test")


def val() -> Reader:
    """Reader of the list ``val``."""
    return _reader("valid")
