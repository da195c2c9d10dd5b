"""Digits and a network for them, which the programs beside this one share."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

import paddle
import paddle.nn.functional as F


class DigitReader(paddle.nn.Layer):
    """LeNet that takes images as they come, 8 × 8 numbers of 0 to 16: what is done to them first is saved with it."""

    def __init__(self) -> None:
        super().__init__()
        self.lenet = paddle.vision.models.LeNet()

    def forward(self, image: paddle.Tensor) -> paddle.Tensor:
        return self.lenet(F.interpolate(image / 16.0, size=[28, 28], mode="bilinear"))


class Digits(paddle.io.Dataset):
    """Images of scikit-learn with their labels; a fifth of them is for the test. ``inverted``: dark on light."""

    def __init__(self, test: bool = False, inverted: bool = False) -> None:
        digits = load_digits()
        order = np.random.default_rng(0).permutation(len(digits.images))
        held = len(order) // 5
        chosen = order[:held] if test else order[held:]
        images = digits.images[chosen, None].astype("float32")
        self.images = 16 - images if inverted else images
        self.labels = digits.target[chosen, None].astype("int64")

    def __getitem__(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        return self.images[i], self.labels[i]

    def __len__(self) -> int:
        return len(self.images)


def accuracy(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return how many in a hundred are right."""
    return 100 * float((scores.argmax(-1) == labels[:, 0]).mean())
