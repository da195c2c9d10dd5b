"""A small U-Net finds the bright pixels of digits."""

from __future__ import annotations

from typing import Any

from common import digits, fill, steps

import paddle
import paddle.nn.functional as F
from paddle import nn


def block(channels: int, width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2D(channels, width, 3, padding=1, bias_attr=False),
        nn.BatchNorm2D(width),
        nn.ReLU(),
        nn.Conv2D(width, width, 3, padding=1),
        nn.ReLU(),
    )


class UNet(nn.Layer):
    """Two halvings of the size, and skips."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.bottom = block(1, 8), block(8, 16), block(16, 32)
        self.pool = nn.MaxPool2D(2)
        self.up2, self.up1 = nn.Conv2DTranspose(32, 16, 2, 2), nn.Conv2DTranspose(16, 8, 2, 2)
        self.join2, self.join1 = block(32, 16), block(16, 8)
        self.head = nn.Conv2D(8, 2, 1)

    def forward(self, x: Any) -> Any:
        a = self.first(x)
        b = self.second(self.pool(a))
        c = self.bottom(self.pool(b))
        b = self.join2(paddle.concat([self.up2(c), b], axis=1))
        return self.head(self.join1(paddle.concat([self.up1(b), a], axis=1)))


def dice(scores: Any, labels: Any) -> Any:
    """Dice loss of the second class."""
    p = F.softmax(scores, axis=1)[:, 1]
    y = labels.astype("float32")
    return 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)


def run() -> dict[str, Any]:
    images = paddle.to_tensor(digits()[0][:96])
    labels = (images[:, 0] > 0.4).astype("int64")
    model = fill(UNet())

    def loss(part: slice) -> Any:
        scores = model(images[part])
        return F.cross_entropy(scores, labels[part], axis=1) + dice(scores, labels[part])

    losses = steps(model, loss, [(slice(i, i + 16),) for i in range(0, 96, 16)] * 2, rate=0.02)
    model.eval()
    found = model(images[:16]).argmax(1)
    both = ((found == 1) & (labels[:16] == 1)).sum()
    return {"losses": losses, "overlap": float(both) / float((labels[:16] == 1).sum()) > 0.5}
