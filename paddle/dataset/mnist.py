"""Pictures of digits: float32 arrays ``[784]`` from -1 to 1, and labels from 0 to 9."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from paddle.dataset.common import Reader
from paddle.vision.datasets.mnist import MNIST

URL_PREFIX = MNIST.URL_PREFIX
TRAIN_IMAGE_URL, TRAIN_IMAGE_MD5 = MNIST.TRAIN_IMAGE_URL, MNIST.TRAIN_IMAGE_MD5
TRAIN_LABEL_URL, TRAIN_LABEL_MD5 = MNIST.TRAIN_LABEL_URL, MNIST.TRAIN_LABEL_MD5
TEST_IMAGE_URL, TEST_IMAGE_MD5 = MNIST.TEST_IMAGE_URL, MNIST.TEST_IMAGE_MD5
TEST_LABEL_URL, TEST_LABEL_MD5 = MNIST.TEST_LABEL_URL, MNIST.TEST_LABEL_MD5


def _reader(data: MNIST) -> Reader:
    def read() -> Iterator[tuple[np.ndarray, int]]:
        for image, label in zip(data.images, data.labels):
            yield image.ravel().astype(np.float32) / np.float32(255) * np.float32(2) - np.float32(1), int(label[0])

    return read


def reader_creator(image_filename: str, label_filename: str, buffer_size: int) -> Reader:
    """Reader of pictures and labels in two files of this format.

    Args:
        image_filename: path of the idx file of images, compressed by gzip.
        label_filename: path of the idx file of labels, compressed by gzip.
        buffer_size: taken for the sake of older programs; files are read as a whole.

    Raises:
        ValueError: a file is broken, or images and labels are not as many.
        FileNotFoundError: there is no such file.
    """
    return _reader(MNIST(image_filename, label_filename))


def train() -> Reader:
    """Reader of the 60,000 pictures to train with."""
    return _reader(MNIST(mode="train"))


def test() -> Reader:
    """Reader of the 10,000 pictures to test with."""
    return _reader(MNIST(mode="test"))


def fetch() -> None:
    """Download the files."""
    train()
    test()
