"""Tags of words by a recurrent network, and by Viterbi decoding with transitions that were counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill, steps

import paddle
import paddle.nn.functional as F
from paddle import nn

TAGS = 5


def run(case: str = "") -> dict[str, Any]:
    rng = np.random.RandomState(0)
    words = rng.randint(0, 30, (48, 9))
    tags = (words + np.roll(words, 1, 1)) % TAGS
    model = fill(nn.LayerList([nn.Embedding(30, 12), nn.LSTM(12, 10, direction="bidirect"), nn.Linear(20, TAGS)]))

    def scores(x: Any) -> Any:
        return model[2](model[1](model[0](x))[0])

    def loss(x: Any, y: Any) -> Any:
        return F.cross_entropy(scores(x).reshape([-1, TAGS]), y.reshape([-1]))

    x, y = paddle.to_tensor(words), paddle.to_tensor(tags)
    losses = steps(model, loss, [(x[i : i + 16], y[i : i + 16]) for i in range(0, 48, 16)] * 5, rate=0.3)
    counts = np.full((TAGS, TAGS), 0.1)
    np.add.at(counts, (tags[:, :-1].ravel(), tags[:, 1:].ravel()), 1)
    transitions = paddle.to_tensor(np.log(counts / counts.sum(1, keepdims=True)).astype("float32"))
    lengths = paddle.to_tensor(rng.randint(1, 10, 48).astype("int64"))
    results = {}
    with paddle.no_grad():
        for ends in (True, False):
            best, paths = paddle.text.ViterbiDecoder(transitions, ends)(scores(x), lengths)
            results[f"best {ends}"], results[f"paths {ends}"] = best, paths
    return {"losses": losses, **results}
