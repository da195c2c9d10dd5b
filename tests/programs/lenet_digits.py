"""LeNet learns scikit-learn's digits, enlarged to the size it takes."""

from __future__ import annotations

from typing import Any

from common import digits, fill, steps

import paddle
import paddle.nn.functional as F
from paddle.vision.models import LeNet


def run() -> dict[str, Any]:
    images, labels = digits()
    model = fill(LeNet())

    def scores(part: slice) -> Any:
        return model(F.interpolate(paddle.to_tensor(images[part]), size=[28, 28], mode="bilinear"))

    batches = [(slice(i, i + 32), paddle.to_tensor(labels[i : i + 32])) for i in range(0, 640, 32)]
    losses = steps(model, lambda part, y: F.cross_entropy(scores(part), y), batches, rate=0.01)
    model.eval()
    held_out = slice(1400, 1500)
    right = (scores(held_out).argmax(1) == paddle.to_tensor(labels[held_out])).astype("float32").mean()
    return {"losses": losses, "learned": float(right) > 0.7}
