"""A one-stage detector of squares and bars: anchors on a grid, ``yolo_loss``, and suppression within kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill

import paddle
from paddle import nn
from paddle.vision import ops

SIZE, KINDS = 32, 2
ANCHORS = [6, 6, 10, 10, 18, 6]  # widths and heights, small ones first
OBJECTS = 3
SLOW = ("",)


def scenes(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images with a square and a bar; centres and sizes of their boxes, as parts of the image; their kinds."""
    rng = np.random.RandomState(11)
    images = rng.uniform(0, 0.2, (count, 3, SIZE, SIZE)).astype("float32")
    boxes = np.zeros((count, OBJECTS, 4), "float32")
    kinds = np.zeros((count, OBJECTS), "int32")
    for i in range(count):
        for kind, (w, h) in enumerate(((rng.randint(8, 12),) * 2, (rng.randint(15, 20), rng.randint(4, 7)))):
            x, y = rng.randint(1, SIZE - w), rng.randint(0, 5) + 17 * kind
            images[i, 1 + kind, y : y + h, x : x + w] += 0.8
            boxes[i, kind] = (x + w / 2) / SIZE, (y + h / 2) / SIZE, w / SIZE, h / SIZE
            kinds[i, kind] = kind
    return images, boxes, kinds


class Darknet(nn.Layer):
    """Features of a quarter and an eighth of the size; on each a head for some of the anchors."""

    masks, strides = ([1, 2], [0]), (8, 4)

    def __init__(self) -> None:
        super().__init__()
        act = nn.LeakyReLU
        self.stem = ops.ConvNormActivation(3, 8, stride=2, activation_layer=act)
        self.fine = ops.ConvNormActivation(8, 16, stride=2, activation_layer=act)
        self.coarse = ops.ConvNormActivation(16, 24, stride=2, activation_layer=act)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.heads = nn.LayerList(
            [nn.Conv2D(c, len(m) * (5 + KINDS), 1) for c, m in zip((24, 40), self.masks, strict=True)]
        )

    def forward(self, x: Any) -> list[Any]:
        fine = self.fine(self.stem(x))
        coarse = self.coarse(fine)
        joined = paddle.concat([fine, self.up(coarse)], axis=1)
        return [head(v) for head, v in zip(self.heads, (coarse, joined), strict=True)]

    def loss(self, outputs: list[Any], boxes: Any, kinds: Any, weight: Any) -> Any:
        losses = [
            ops.yolo_loss(
                out, boxes, kinds, ANCHORS, mask, KINDS, 0.7, stride, gt_score=weight, use_label_smooth=False,
                scale_x_y=1.05,
            )
            for out, mask, stride in zip(outputs, self.masks, self.strides, strict=True)
        ]  # fmt: skip
        return paddle.add_n(losses).mean()

    def boxes(self, outputs: list[Any]) -> tuple[Any, Any]:
        sizes = paddle.full([outputs[0].shape[0], 2], SIZE, "int32")
        found = []
        for out, mask, stride in zip(outputs, self.masks, self.strides, strict=True):
            own = [side for m in mask for side in ANCHORS[2 * m : 2 * m + 2]]
            found.append(ops.yolo_box(out, sizes, own, KINDS, 0.01, stride, scale_x_y=1.05))
        boxes, scores = zip(*found, strict=True)
        return paddle.concat(boxes, 1), paddle.concat(scores, 1)


def run() -> dict[str, Any]:
    images, boxes, kinds = (paddle.to_tensor(v) for v in scenes(24))
    model = fill(Darknet())
    schedule = paddle.optimizer.lr.PolynomialDecay(0.004, 30, end_lr=0.0005)
    clip = nn.ClipGradByGlobalNorm(20.0)
    optimizer = paddle.optimizer.Momentum(schedule, parameters=model.parameters(), grad_clip=clip)
    weight = paddle.to_tensor(np.where(np.arange(OBJECTS) < 2, 1.0, 0.0).astype("float32")).expand([24, OBJECTS])
    losses = []
    for step in range(30):
        part = slice(step % 3 * 8, step % 3 * 8 + 8)
        loss = model.loss(model(images[part]), boxes[part], kinds[part], weight[part])
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        schedule.step()
        losses.append(float(loss))
    model.eval()
    with paddle.no_grad():
        found, scores = model.boxes(model(images[:4]))
    kept = []
    for own, of_own in zip(found, scores, strict=True):
        best, kind = of_own.max(-1), of_own.argmax(-1)
        chosen = ops.nms(own, 0.3, best, category_idxs=kind, categories=list(range(KINDS)), top_k=4)
        kept.append({"kinds": kind[chosen], "scores": best[chosen], "boxes": own[chosen]})
    rows, numbers, _ = ops.matrix_nms(found, scores.transpose([0, 2, 1]), 0.05, 0.02, 50, 6, background_label=-1)
    return {
        "losses": losses,
        "found": [k["kinds"] for k in kept],
        "scores": [k["scores"] for k in kept],
        "boxes": kept[0]["boxes"],
        "rows": rows[:6],
        "numbers": numbers,
    }
