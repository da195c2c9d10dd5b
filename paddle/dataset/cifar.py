"""Small pictures of 10 or 100 kinds: float32 arrays ``[3072]`` from 0 to 1, channels first, and labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from paddle.dataset.common import Reader, repeated
from paddle.vision.datasets.cifar import Cifar10, Cifar100
from umiak.util.errors import op_error

URL_PREFIX = Cifar10._url.rpartition("/")[0] + "/"
CIFAR10_URL, CIFAR10_MD5 = Cifar10._url, Cifar10._md5
CIFAR100_URL, CIFAR100_MD5 = Cifar100._url, Cifar100._md5
# What names of members of the archives contain, and what they hold.
_PARTS = {
    "data_batch": (Cifar10, "train"), "test_batch": (Cifar10, "test"), "train": (Cifar100, "train"),
    "test": (Cifar100, "test"),
}  # fmt: skip


def _reader(data: Any, cycle: bool = False) -> Reader:
    def read() -> Iterator[tuple[np.ndarray, int]]:
        for pixels, label in data.data:
            yield pixels.astype(np.float32) / np.float32(255), int(label)

    return repeated(read, cycle)


def reader_creator(filename: str, sub_name: str, cycle: bool = False) -> Reader:
    """Reader of a part of an archive.

    Args:
        filename: path of the archive.
        sub_name: ``"data_batch"`` or ``"test_batch"`` of ten kinds, ``"train"`` or ``"test"`` of a hundred.
        cycle: whether to begin anew at the end.

    Raises:
        ValueError: sub_name is none of these, or the archive is broken.
        FileNotFoundError: there is no such file.
    """
    if sub_name not in _PARTS:
        raise op_error(ValueError, "cifar", f"a sub_name of {', '.join(map(repr, _PARTS))}", repr(sub_name))
    kind, mode = _PARTS[sub_name]
    return _reader(kind(filename, mode), cycle)


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
