"""A two-stage detector learns to find bright squares: proposals, features of regions, suppression."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill, steps

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.vision import ops

SIZE, STRIDE, SIDE = 32, 4, 8.0
SLOW = ("",)


def scenes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Images with one square each, and its box."""
    rng = np.random.RandomState(5)
    images = rng.uniform(0, 0.2, (count, 1, SIZE, SIZE)).astype("float32")
    boxes = np.empty((count, 4), "float32")
    for image, box in zip(images, boxes, strict=True):
        x, y, w, h = rng.randint(2, 18), rng.randint(2, 18), rng.randint(7, 12), rng.randint(7, 12)
        image[0, y : y + h, x : x + w] += 0.8
        box[:] = x, y, x + w, y + h
    return images, boxes


class Detector(nn.Layer):
    """Scores and moves of one anchor for each element, then a class and a box for each region."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            ops.ConvNormActivation(1, 8, stride=2, norm_layer=None), ops.ConvNormActivation(8, 16, stride=2)
        )
        self.score, self.move = nn.Conv2D(16, 1, 1), nn.Conv2D(16, 4, 1)
        self.pool = ops.RoIAlign(3, 1 / STRIDE)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(144, 32), nn.ReLU())
        self.kind, self.box = nn.Linear(32, 2), nn.Linear(32, 4)
        cells = np.arange(SIZE // STRIDE, dtype="float32") * STRIDE + STRIDE / 2
        x, y = np.meshgrid(cells, cells)
        anchors = np.stack([x - SIDE / 2, y - SIDE / 2, x + SIDE / 2, y + SIDE / 2], -1)[:, :, None]
        self.anchors = paddle.to_tensor(anchors)
        self.variances = paddle.ones_like(self.anchors)

    def regions(self, features: Any, most: int) -> tuple[Any, Any]:
        count = features.shape[0]
        size = paddle.full([count, 2], float(SIZE))
        rois, _, number = ops.generate_proposals(
            F.sigmoid(self.score(features)), 0.1 * self.move(features), size, self.anchors, self.variances, 40, most,
            0.7, return_rois_num=True,
        )  # fmt: skip
        return rois, number

    def answers(self, features: Any, rois: Any, number: Any) -> tuple[Any, Any]:
        hidden = self.head(self.pool(features, rois, number))
        return self.kind(hidden), self.box(hidden)


def overlap(a: Any, b: Any) -> Any:
    """Intersection over union, box by box."""
    sides = F.relu(paddle.minimum(a[:, 2:], b[:, 2:]) - paddle.maximum(a[:, :2], b[:, :2]))
    common = sides.prod(1)
    return common / ((a[:, 2:] - a[:, :2]).prod(1) + (b[:, 2:] - b[:, :2]).prod(1) - common)


def run() -> dict[str, Any]:
    images, boxes = (paddle.to_tensor(v) for v in scenes(32))
    model = fill(Detector())
    fixed = model.anchors.reshape([-1, 4])

    def loss(part: slice) -> Any:
        features, truth = model.body(images[part]), boxes[part]
        count = truth.shape[0]
        # Fixed regions, so that the losses of two frameworks do not depend on ties of scores.
        number = paddle.full([count], fixed.shape[0], "int32")
        rois = paddle.tile(fixed, [count, 1])
        wanted = paddle.repeat_interleave(truth, fixed.shape[0], 0)
        near = (overlap(rois, wanted) > 0.4).astype("int64")
        kinds, moves = model.answers(features, rois, number)
        codes = ops.box_coder(rois[:1], [0.1, 0.1, 0.2, 0.2], wanted, box_normalized=True)[:, 0]
        weight = near.astype("float32").unsqueeze(1)
        of_boxes = (F.smooth_l1_loss(moves, codes / 50, reduction="none") * weight).sum() / (weight.sum() + 1)
        scores = model.score(features).reshape([-1])
        first = F.binary_cross_entropy_with_logits(scores, near.astype("float32"))
        return first + F.cross_entropy(kinds, near) + of_boxes

    losses = steps(model, loss, [(slice(i, i + 8),) for i in range(0, 32, 8)] * 24, rate=0.05)
    model.eval()
    features = model.body(images[:8])
    rois, number = model.regions(features, 20)
    kinds, _ = model.answers(features, rois, number)
    scores = F.softmax(kinds, 1)[:, 1]
    found, start = [], 0
    for i, n in enumerate(number.tolist()):
        own, of_own = rois[start : start + n], scores[start : start + n]
        best = own[ops.nms(own, 0.3, of_own)[:1]]
        found.append(overlap(best, boxes[i : i + 1]).item())
        start += n
    return {"losses": losses, "found": sum(v > 0.3 for v in found) >= 6, "regions": int(number.sum()) > 8}
