"""Texts of different lengths are told apart by an LSTM's last states."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill, steps

import paddle
import paddle.nn.functional as F
from paddle import nn


def run(case: str = "") -> dict[str, Any]:
    rng = np.random.RandomState(0)
    lengths = rng.randint(3, 13, 64)
    words = rng.randint(1, 40, (64, 12)) * (np.arange(12) < lengths[:, None])
    labels = ((words > 20).sum(1) * 2 > lengths).astype("int64")
    model = fill(nn.LayerList([nn.Embedding(40, 12, padding_idx=0), nn.LSTM(12, 10, num_layers=2), nn.Linear(10, 2)]))

    def logits(words: Any, lengths: Any) -> Any:
        _, (h, _) = model[1](model[0](words), sequence_length=lengths)
        return model[2](h[-1])

    parts = [paddle.to_tensor(a) for a in (words, lengths, labels)]
    batches = [tuple(p[i : i + 16] for p in parts) for i in range(0, 64, 16)] * 4
    losses = steps(model, lambda w, n, y: F.cross_entropy(logits(w, n), y), batches, rate=0.2)
    with paddle.no_grad():
        out = logits(parts[0], parts[1])
    metric = paddle.metric.Accuracy()
    metric.update(metric.compute(out, parts[2].unsqueeze(1)))
    return {"losses": losses, "accuracy": float(metric.accumulate()), "logits": out[:5]}
