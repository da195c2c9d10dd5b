"""A model of images on batches of eight images of 224 × 224: its loss, for a training step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from models.common import Model

import paddle.nn.functional as F
from paddle import nn

BATCH, PIXELS, CLASSES = 8, 224, 1000


class Loss(nn.Layer):
    """Cross entropy of a model's scores."""

    def __init__(self, model: nn.Layer) -> None:
        super().__init__()
        self.model = model

    def forward(self, images, labels):
        return F.cross_entropy(self.model(images), labels)


def data() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    images = rng.standard_normal((BATCH, 3, PIXELS, PIXELS)).astype("float32")
    return images, rng.integers(0, CLASSES, BATCH)


def trained(make: Callable[[], Any]) -> Model:
    return Model(lambda: Loss(make()), data)
