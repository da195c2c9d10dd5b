"""A generator and a discriminator take turns."""

from __future__ import annotations

from typing import Any

from common import digits, fill, normal

import paddle
import paddle.nn.functional as F
from paddle import nn


def run() -> dict[str, Any]:
    images = paddle.to_tensor(digits()[0][:128]) * 2 - 1
    generator = fill(
        nn.Sequential(
            nn.Linear(8, 64),
            nn.ReLU(),
            nn.Unflatten(1, [16, 2, 2]),
            nn.Conv2DTranspose(16, 8, 4, 2, 1, bias_attr=False),
            nn.BatchNorm2D(8),
            nn.ReLU(),
            nn.Conv2DTranspose(8, 1, 4, 2, 1),
            nn.Tanh(),
        ),
        "generator",
    )
    discriminator = fill(
        nn.Sequential(
            nn.Conv2D(1, 8, 4, 2, 1),
            nn.LeakyReLU(0.2),
            nn.utils.spectral_norm(nn.Conv2D(8, 16, 4, 2, 1)),
            nn.LeakyReLU(0.2),
            nn.Flatten(),
            nn.Linear(64, 1),
        ),
        "discriminator",
    )
    makes = paddle.optimizer.Adam(0.002, beta1=0.5, parameters=generator.parameters())
    judges = paddle.optimizer.Adam(0.002, beta1=0.5, parameters=discriminator.parameters())
    curves: dict[str, list[float]] = {"discriminator": [], "generator": []}
    for i in range(12):
        real = images[i % 4 * 32 : i % 4 * 32 + 32]
        made = generator(normal(i, 32, 8))
        yes, no = discriminator(real), discriminator(made.detach())
        loss = F.binary_cross_entropy_with_logits(yes, paddle.ones_like(yes)) + F.binary_cross_entropy_with_logits(
            no, paddle.zeros_like(no)
        )
        loss.backward()
        judges.step()
        judges.clear_grad()
        curves["discriminator"].append(float(loss))
        judged = discriminator(made)
        loss = F.binary_cross_entropy_with_logits(judged, paddle.ones_like(judged))
        loss.backward()
        makes.step()
        makes.clear_grad()
        judges.clear_grad()
        curves["generator"].append(float(loss))
    generator.eval()
    return {**curves, "made": generator(normal(99, 2, 8)).mean([1, 2, 3])}
