"""An autoencoder removes noise from digits; batches come from a DataLoader."""

from __future__ import annotations

from typing import Any

from common import digits, fill, normal

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.io import DataLoader, TensorDataset


def run() -> dict[str, Any]:
    images = paddle.to_tensor(digits()[0][:128])
    noisy = images + 0.3 * normal(1, 128, 1, 8, 8)
    model = fill(
        nn.Sequential(
            nn.Conv2D(1, 8, 3, stride=2, padding=1),
            nn.Swish(),
            nn.Conv2D(8, 16, 3, stride=2, padding=1),
            nn.GroupNorm(4, 16),
            nn.Swish(),
            nn.Upsample(scale_factor=2),
            nn.Conv2D(16, 8, 3, padding=1),
            nn.Swish(),
            nn.Upsample(scale_factor=2, mode="bilinear"),
            nn.Conv2D(8, 1, 3, padding=1),
        )
    )
    schedule = paddle.optimizer.lr.CosineAnnealingDecay(0.01, T_max=3)
    clip = nn.ClipGradByGlobalNorm(1.0)
    optimizer = paddle.optimizer.AdamW(schedule, parameters=model.parameters(), weight_decay=0.01, grad_clip=clip)
    losses = []
    for _ in range(3):
        for x, y in DataLoader(TensorDataset([noisy, images]), batch_size=32):
            loss = F.smooth_l1_loss(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(float(loss))
        schedule.step()
    return {"losses": losses, "rate": optimizer.get_lr()}
