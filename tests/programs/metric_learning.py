"""A Siamese network draws digits of a kind together: triplet, contrastive and cosine losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import digits, fill, steps

import paddle
import paddle.nn.functional as F
from paddle import nn

CASES = ("triplet", "contrastive", "cosine")


def run(case: str) -> dict[str, Any]:
    images, labels = digits()
    model = fill(
        nn.Sequential(nn.Conv2D(1, 8, 3, padding=1), nn.PReLU(8), nn.AvgPool2D(2), nn.Flatten(), nn.Linear(128, 6))
    )
    rng = np.random.RandomState(0)
    kinds = [np.flatnonzero(labels == digit)[:20] for digit in range(10)]

    def triple() -> tuple[Any, ...]:
        first = rng.randint(0, 10, 32)
        other = (first + rng.randint(1, 10, 32)) % 10
        chosen = [[kinds[d][rng.randint(0, 20)] for d in of] for of in (first, first, other)]
        return tuple(paddle.to_tensor(images[c]) for c in chosen)

    def loss(anchor: Any, same: Any, other: Any) -> Any:
        a, s, o = (F.normalize(model(x), axis=1) for x in (anchor, same, other))
        if case == "triplet":
            return F.triplet_margin_loss(a, s, o, margin=0.5)
        if case == "contrastive":
            near, far = F.pairwise_distance(a, s), F.pairwise_distance(a, o)
            return (near**2).mean() + (F.relu(1.0 - far) ** 2).mean()
        signs = paddle.concat([paddle.ones([32]), -paddle.ones([32])])
        return F.cosine_embedding_loss(paddle.concat([a, a]), paddle.concat([s, o]), signs, margin=0.2)

    return {"losses": steps(model, loss, [triple() for _ in range(12)], rate=0.05)}
