"""A variational autoencoder of digits."""

from __future__ import annotations

from typing import Any

from common import digits, fill, normal, steps

import paddle
import paddle.nn.functional as F
from paddle import nn


class VAE(nn.Layer):
    """Mean and logarithm of the variance of four hidden numbers, and back."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.GELU())
        self.mean, self.log_variance = nn.Linear(32, 4), nn.Linear(32, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.GELU(), nn.Linear(32, 64))

    def forward(self, x: Any, noise: Any) -> tuple[Any, Any, Any]:
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        return self.decoder(mean + noise * paddle.exp(0.5 * log_variance)), mean, log_variance


def run() -> dict[str, Any]:
    images = paddle.to_tensor(digits()[0][:128])
    model = fill(VAE())

    def loss(x: Any, noise: Any) -> Any:
        decoded, mean, log_variance = model(x, noise)
        likelihood = F.binary_cross_entropy_with_logits(decoded, x.flatten(1), reduction="sum")
        divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum()
        return (likelihood + divergence) / len(x)

    batches = [(images[i % 4 * 32 : i % 4 * 32 + 32], normal(i, 32, 4)) for i in range(20)]
    losses = steps(model, loss, batches, rate=0.002)
    p = paddle.distribution.Normal(paddle.zeros([4]), paddle.ones([4]))
    q = paddle.distribution.Normal(paddle.full([4], 0.5), paddle.full([4], 2.0))
    return {"losses": losses, "divergence": paddle.distribution.kl_divergence(q, p)}
