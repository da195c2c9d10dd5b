"""Photographs of flowers: float32 arrays ``[150528]``, 3 × 224 × 224 in BGR minus a mean, and labels from 0 to 101."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from paddle.dataset import image
from paddle.dataset.common import Reader, repeated
from paddle.vision.datasets.flowers import Flowers

_MEAN = (103.94, 116.78, 123.68)  # of ImageNet, in BGR
_Sample = tuple[bytes, int]


def default_mapper(is_train: bool, sample: _Sample) -> tuple[np.ndarray, int]:
    """The sample of a compressed image: resized to 256, cropped to 224, flattened; at random if ``is_train``."""
    content, label = sample
    pixels = image.simple_transform(image.load_image_bytes(content), 256, 224, is_train, mean=_MEAN)
    return pixels.ravel(), label


_TRAIN = functools.partial(default_mapper, True)
_TEST = functools.partial(default_mapper, False)


def _reader(mode: str, mapper: Callable[[_Sample], Any], cycle: bool) -> Reader:
    data = Flowers(mode=mode)

    def read() -> Iterator[Any]:
        for index, content in data._images.items():  # in the order of the archive
            yield mapper((content, int(data.labels[index - 1]) - 1))

    return repeated(read, cycle)


def train(
    mapper: Callable[[_Sample], Any] = _TRAIN, buffered_size: int = 1024, use_xmap: bool = True, cycle: bool = False
) -> Reader:
    """Reader of the images to train with.

    Args:
        mapper: function of (compressed image, label).
        buffered_size: taken for the sake of older programs; images are mapped when they are asked for.
        use_xmap: likewise.
        cycle: whether to begin anew at the end.
    """
    return _reader("train", mapper, cycle)


def test(
    mapper: Callable[[_Sample], Any] = _TEST, buffered_size: int = 1024, use_xmap: bool = True, cycle: bool = False
) -> Reader:
    """Reader of the images to test with; its arguments are those of :func:`train`."""
    return _reader("test", mapper, cycle)


def valid(mapper: Callable[[_Sample], Any] = _TEST, buffered_size: int = 1024, use_xmap: bool = True) -> Reader:
    """Reader of the images for validation; its arguments are those of :func:`train`."""
    return _reader("valid", mapper, False)


def fetch() -> None:
    """Download the files."""
    Flowers()
