"""A two-stage detector over a pyramid of features: anchors, proposals, regions by level, boxes of regions."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.vision import ops

SIZE, STRIDES, SIDES = 32, (4, 8), (8.0, 14.0)
EDGE = 28  # a half of the coarser stride from the border, behind which gradients of the reference are not exact
VARIANCE = [0.1, 0.1, 0.2, 0.2]
SLOW = ("",)


def scenes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Images with one square each, small or large, and its box."""
    rng = np.random.RandomState(3)
    images = rng.uniform(0, 0.2, (count, 1, SIZE, SIZE)).astype("float32")
    boxes = np.empty((count, 1, 4), "float32")
    for i in range(count):
        side = rng.randint(6, 9) if i % 2 else rng.randint(12, 17)
        x, y = rng.randint(1, EDGE - side, 2)
        images[i, 0, y : y + side, x : x + side] += 0.8
        boxes[i, 0] = x, y, x + side, y + side
    return images, boxes


class Pyramid(nn.Layer):
    """Features at strides four and eight; the finer ones also see the coarser ones."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.c2 = nn.Sequential(ops.ConvNormActivation(1, 8, stride=2), ops.ConvNormActivation(8, width, stride=2))
        self.c3 = ops.ConvNormActivation(width, width, stride=2)
        self.lateral = nn.LayerList([nn.Conv2D(width, width, 1) for _ in STRIDES])

    def forward(self, x: Any) -> list[Any]:
        fine = self.c2(x)
        coarse = self.lateral[1](self.c3(fine))
        return [self.lateral[0](fine) + F.interpolate(coarse, scale_factor=2, mode="nearest"), coarse]


class ProposalHead(nn.Layer):
    """A score and four moves for two anchors at each place of each level."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.conv = nn.Conv2D(width, width, 3, padding=1)
        self.score, self.move = nn.Conv2D(width, 2, 1), nn.Conv2D(width, 8, 1)

    def forward(self, levels: list[Any]) -> tuple[list[Any], list[Any]]:
        hidden = [F.relu(self.conv(level)) for level in levels]
        return [self.score(h) for h in hidden], [0.1 * self.move(h) for h in hidden]


class FasterRCNN(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.backbone, self.rpn = Pyramid(), ProposalHead()
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(16 * 9, 32), nn.ReLU())
        self.kind, self.box = nn.Linear(32, 2), nn.Linear(32, 4)

    def anchors(self, levels: list[Any], image: Any) -> list[tuple[Any, Any]]:
        """Boxes in pixels, and variances, each ``[H, W, 2, 4]``, of every level."""
        found = []
        for level, side, stride in zip(levels, SIDES, STRIDES, strict=True):
            boxes, variances = ops.prior_box(
                level, image, [side], [side * 1.5], [1.0], VARIANCE, steps=[stride, stride], clip=False
            )
            found.append((boxes * SIZE, variances))
        return found

    def proposals(self, scores: list[Any], moves: list[Any], anchors: list[Any]) -> tuple[Any, Any]:
        """The best regions of all levels, image after image, and how many each image has."""
        count = scores[0].shape[0]
        sizes = paddle.full([count, 2], float(SIZE))
        rois, by_level = [], []
        for score, move, (boxes, variances) in zip(scores, moves, anchors, strict=True):
            best, _, number = ops.generate_proposals(
                F.sigmoid(score), move, sizes, boxes, variances, 60, 8, 0.6, min_size=2.0, pixel_offset=False,
                return_rois_num=True,
            )  # fmt: skip
            rois.append(paddle.split(best, number.tolist()))
            by_level.append(number)
        together = [roi for image in zip(*rois, strict=True) for roi in image]
        return paddle.concat(together), paddle.add_n(by_level)

    def classify(self, levels: list[Any], rois: Any, number: Any) -> tuple[Any, Any]:
        """Scores and moves of regions, each read from the level that fits its size."""
        by_level, restore, numbers = ops.distribute_fpn_proposals(rois, 2, 3, 3, 12, rois_num=number)
        pooled = [
            ops.roi_align(level, own, n, 3, 1 / stride, sampling_ratio=2)
            for level, own, n, stride in zip(levels, by_level, numbers, STRIDES, strict=True)
            if own.shape[0]
        ]
        hidden = self.head(paddle.gather(paddle.concat(pooled), restore.flatten()))
        return self.kind(hidden), self.box(hidden)


def overlaps(a: Any, b: Any) -> Any:
    """Intersection over union of each of ``a`` with each of ``b``."""
    low, high = paddle.maximum(a[:, None, :2], b[None, :, :2]), paddle.minimum(a[:, None, 2:], b[None, :, 2:])
    common = (high - low).clip(min=0).prod(-1)
    area_a, area_b = (((v[:, 2:] - v[:, :2]).prod(-1)) for v in (a, b))
    return common / (area_a[:, None] + area_b[None] - common)


def flat(levels: list[Any], per_anchor: int) -> Any:
    """Outputs of all levels as ``[images, anchors, per_anchor]``, in the order of the anchors."""
    return paddle.concat([v.transpose([0, 2, 3, 1]).reshape([v.shape[0], -1, per_anchor]) for v in levels], axis=1)


def first_stage_loss(scores: list[Any], moves: list[Any], anchors: Any, truth: Any) -> Any:
    """What the scores and moves of anchors should say of the boxes."""
    near = paddle.stack([overlaps(anchors, boxes).max(-1) for boxes in truth])
    label = (near > 0.5).astype("float32")
    codes = paddle.stack([ops.box_coder(anchors, VARIANCE, boxes, box_normalized=False)[0] for boxes in truth])
    found = F.binary_cross_entropy_with_logits(flat(scores, 1)[..., 0], label)
    moved = F.smooth_l1_loss(flat(moves, 4), codes, reduction="none") * label[..., None]
    return found + moved.sum() / (label.sum() + 1)


def second_stage_loss(model: FasterRCNN, levels: list[Any], truth: Any) -> Any:
    """What regions should say, at boxes near the true ones and at boxes far from them."""
    shifts = paddle.to_tensor([[0, 0, 0, 0], [1, 1, 1, 1], [-2, 0, 0, 1], [5, 5, 5, 5], [-5, 4, -5, 4]], "float32")
    rois = (truth + shifts).clip(0, EDGE).reshape([-1, 4])
    number = paddle.full([truth.shape[0]], len(shifts), "int32")
    kinds, moves = model.classify(levels, rois, number)
    wanted = paddle.repeat_interleave(truth[:, 0], len(shifts), axis=0)
    label = (paddle.diagonal(overlaps(rois, wanted)) > 0.5).astype("int64")
    codes = paddle.stack(
        [
            ops.box_coder(r[None], VARIANCE, w[None], box_normalized=False)[0, 0]
            for r, w in zip(rois, wanted, strict=True)
        ]
    )
    moved = F.smooth_l1_loss(moves, codes, reduction="none") * label.astype("float32")[:, None]
    return F.cross_entropy(kinds, label) + 0.2 * moved.sum() / (label.sum() + 1).astype("float32")


def run() -> dict[str, Any]:
    images, boxes = (paddle.to_tensor(v) for v in scenes(16))
    model = fill(FasterRCNN())
    optimizer = paddle.optimizer.Momentum(0.01, parameters=model.parameters(), weight_decay=1e-4)
    losses: dict[str, list[float]] = {"first": [], "second": []}
    for step in range(24):
        part = slice(step % 2 * 8, step % 2 * 8 + 8)
        levels = model.backbone(images[part])
        anchors = paddle.concat([a.reshape([-1, 4]) for a, _ in model.anchors(levels, images)])
        first = first_stage_loss(*model.rpn(levels), anchors, boxes[part])
        second = second_stage_loss(model, levels, boxes[part])
        (first + second).backward()
        optimizer.step()
        optimizer.clear_grad()
        losses["first"].append(float(first))
        losses["second"].append(float(second))
    model.eval()
    with paddle.no_grad():
        levels = model.backbone(images[:4])
        rois, number = model.proposals(*model.rpn(levels), model.anchors(levels, images))
        kinds, moves = model.classify(levels, rois, number)
        refined = ops.box_coder(rois, VARIANCE, moves[:, None], "decode_center_size", box_normalized=False, axis=1)[
            :, 0
        ].clip(0, SIZE)
    scores = F.softmax(kinds)[:, 1]
    found, start = [], 0
    for truth, count in zip(boxes[:4], number.tolist(), strict=True):
        own, of_own = refined[start : start + count], scores[start : start + count]
        best = own[ops.nms(own, 0.3, of_own)[:1]]
        found.append(overlaps(best, truth).item())
        start += count
    return {**losses, "proposals": number, "rois": rois[:4], "found": found}
