"""Prices of houses: float64 arrays of 13 features and of a price."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from paddle.dataset import common
from paddle.text.datasets.uci_housing import MD5, URL, UCIHousing, feature_names


def _reader(mode: str) -> common.Reader:
    data = UCIHousing(common.download(URL, "uci_housing", MD5), mode).data

    def read() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for row in data:
            yield row[:-1], row[-1:]

    return read


def train() -> common.Reader:
    """Reader of the first 80 % of the rows."""
    return _reader("train")


def test() -> common.Reader:
    """Reader of the other rows."""
    return _reader("test")


def predict_reader() -> tuple[np.ndarray]:
    """The features of the first house of the test set, to predict its price."""
    features, _ = next(iter(test()()))
    return (features,)


def fetch() -> None:
    """Download the file."""
    common.download(URL, "uci_housing", MD5)
