"""A frozen backbone with a new head: only the head learns, and running statistics stay."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import digits, fill, steps

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.vision.models import MobileNetV1


class Classifier(nn.Layer):
    """Ten scores of the features of a backbone, which is not trained."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = MobileNetV1(scale=0.25, num_classes=0)
        for parameter in self.backbone.parameters():
            parameter.stop_gradient = True
        self.head = nn.Linear(256, 10)

    def forward(self, x: Any) -> Any:
        self.backbone.eval()
        return self.head(self.backbone(x).flatten(1))


def run() -> dict[str, Any]:
    images, labels = digits()
    model = fill(Classifier())
    before = model.backbone.conv1[0].weight.numpy().copy()
    large = F.interpolate(paddle.to_tensor(images[:128]), size=[32, 32]).expand([128, 3, 32, 32])
    y = paddle.to_tensor(labels[:128])
    batches = [(large[i : i + 32], y[i : i + 32]) for i in (0, 32, 64, 96)] * 3
    losses = steps(model, lambda a, b: F.cross_entropy(model(a), b), batches, rate=0.02)
    return {
        "losses": losses,
        "frozen": bool(np.array_equal(before, model.backbone.conv1[0].weight.numpy())),
        "trained": [name for name, p in model.named_parameters() if not p.stop_gradient],
    }
