"""Ratings of films by embeddings of users and films and a network over both."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill, steps

import paddle
import paddle.nn.functional as F
from paddle import nn


class Net(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.users, self.films = nn.Embedding(20, 8), nn.Embedding(30, 8)
        self.bias = nn.Embedding(30, 1)
        self.body = nn.Sequential(nn.Linear(16, 16), nn.BatchNorm1D(16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, user: Any, film: Any) -> Any:
        both = paddle.concat([self.users(user), self.films(film)], 1)
        return (self.body(both) + self.bias(film)).squeeze(1) + F.cosine_similarity(self.users(user), self.films(film))


def run(case: str = "") -> dict[str, Any]:
    rng = np.random.RandomState(0)
    user, film = rng.randint(0, 20, 160), rng.randint(0, 30, 160)
    stars = ((user * 7 + film * 3) % 5 + 1).astype("float32")
    parts = [paddle.to_tensor(a) for a in (user, film, stars)]
    model = fill(Net())
    batches = [tuple(p[i : i + 32] for p in parts) for i in range(0, 160, 32)] * 3
    losses = steps(model, lambda u, f, s: F.smooth_l1_loss(model(u, f), s), batches, rate=0.05)
    model.eval()
    with paddle.no_grad():
        ratings = model(paddle.zeros([30], "int64"), paddle.arange(30))
    return {"losses": losses, "ratings": ratings, "best": paddle.topk(ratings, 3)[0]}
