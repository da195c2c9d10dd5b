"""An LSTM over sequences (2 layers, 256 wide, 64 steps) and a judgement by its last output: a training step."""

from __future__ import annotations

import numpy as np
from models.common import Model

import paddle.nn.functional as F
from paddle import nn

WIDTH, LAYERS, STEPS, CLASSES, BATCH = 256, 2, 64, 10, 16


class Classifier(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(WIDTH, WIDTH, num_layers=LAYERS)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x, labels):
        y, _ = self.lstm(x)
        return F.cross_entropy(self.head(y[:, -1]), labels)


def data() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((BATCH, STEPS, WIDTH)).astype("float32"), rng.integers(0, CLASSES, BATCH)


MODEL = Model(Classifier, data)
