"""Vectors of words by negative sampling, and the neighbours of a word."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill, steps

import paddle
import paddle.nn.functional as F
from paddle import nn


def run(case: str = "") -> dict[str, Any]:
    rng = np.random.RandomState(0)
    text = rng.randint(0, 5, 400) * 4 + np.arange(400) % 4
    model = fill(nn.LayerList([nn.Embedding(20, 8), nn.Embedding(20, 8)]))

    def loss(center: Any, context: Any, others: Any) -> Any:
        v = model[0](center)
        near = (v * model[1](context)).sum(1)
        far = paddle.matmul(model[1](others), v.unsqueeze(2)).squeeze(2)
        return -(F.log_sigmoid(near).mean() + F.log_sigmoid(-far).sum(1).mean())

    def batch() -> tuple[Any, ...]:
        at = rng.randint(2, 398, 64)
        near = at + rng.choice([-2, -1, 1, 2], 64)
        return tuple(paddle.to_tensor(a) for a in (text[at], text[near], rng.randint(0, 20, (64, 5))))

    losses = steps(model, loss, [batch() for _ in range(15)], rate=0.5)
    vectors = F.normalize(model[0].weight, axis=1).detach()
    return {"losses": losses, "likeness": paddle.matmul(vectors[:3], vectors.T)}
