"""A small model learns the softened scores of a larger one."""

from __future__ import annotations

from typing import Any

from common import digits, fill, steps

import paddle
import paddle.nn.functional as F
from paddle import nn


def net(width: int) -> nn.Sequential:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, width), nn.Tanh(), nn.Linear(width, 10))


def run() -> dict[str, Any]:
    images, labels = digits()
    x, y = paddle.to_tensor(images[:256]), paddle.to_tensor(labels[:256])
    batches = [(x[i : i + 64], y[i : i + 64]) for i in range(0, 256, 64)] * 4
    teacher, student = fill(net(48), "teacher"), fill(net(8), "student")
    taught = steps(teacher, lambda a, b: F.cross_entropy(teacher(a), b), batches, rate=0.1)
    teacher.eval()

    def loss(a: Any, b: Any) -> Any:
        with paddle.no_grad():
            soft = F.softmax(teacher(a) / 4, axis=-1)
        scores = student(a)
        divergence = F.kl_div(F.log_softmax(scores / 4, axis=-1), soft, reduction="batchmean")
        return 0.3 * F.cross_entropy(scores, b, label_smoothing=0.1) + 0.7 * 16 * divergence

    return {"teacher": taught, "student": steps(student, loss, batches, rate=0.05)}
