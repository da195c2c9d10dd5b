"""The encoder of encoder.py with a judgement of the sequence by its mean: a training step."""

from __future__ import annotations

import numpy as np
from models.common import Model
from models.encoder import BATCH, LENGTH, WIDTH, encoder

import paddle.nn.functional as F
from paddle import nn

CLASSES = 10


class Classifier(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = encoder()
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x, labels):
        return F.cross_entropy(self.head(self.encoder(x).mean(axis=1)), labels)


def data() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((BATCH, LENGTH, WIDTH)).astype("float32"), rng.integers(0, CLASSES, BATCH)


MODEL = Model(Classifier, data)
