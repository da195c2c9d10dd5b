"""Rows of digits are read by convolutions, a bidirectional LSTM and CTC."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import digits, fill, steps

import paddle
import paddle.nn.functional as F
from paddle import nn


class CRNN(nn.Layer):
    """Scores of 10 digits and of the blank for each column of an image."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2D(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2D(2), nn.Conv2D(8, 16, 3, padding=1), nn.ReLU()
        )
        self.rnn = nn.LSTM(64, 24, direction="bidirect")
        self.head = nn.Linear(48, 11)

    def forward(self, x: Any) -> Any:
        y = self.conv(x)  # [N, 16, 4, W / 2]
        y = y.transpose([0, 3, 1, 2]).flatten(2)
        return self.head(self.rnn(y)[0])


def run() -> dict[str, Any]:
    images, labels = digits()
    rows = np.concatenate([images[:96].reshape(24, 4, 1, 8, 8)[:, i] for i in range(4)], axis=-1)
    texts = labels[:96].reshape(24, 4) + 1  # 0 is the blank
    model = fill(CRNN())

    def loss(x: Any, y: Any) -> Any:
        scores = model(x).transpose([1, 0, 2])
        lengths = paddle.full([len(x)], scores.shape[0], "int64")
        return F.ctc_loss(scores, y, lengths, paddle.full([len(x)], 4, "int64"))

    x, y = paddle.to_tensor(rows), paddle.to_tensor(texts.astype("int32"))
    losses = steps(model, loss, [(x[i : i + 8], y[i : i + 8]) for i in (0, 8, 16)] * 4, rate=0.01)
    return {"losses": losses, "scores": model(x[:1]).mean([0, 1])}
