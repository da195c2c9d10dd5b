"""A detector like Mask R-CNN on the features of ResNet-50 at stride 16: proposals, their classes and boxes, masks.

Each image has the best PROPOSALS regions, and masks of the MASKS surest ones: numbers that do not depend on data.
Regions that overlap are told apart by whoever reads the results.
"""

from __future__ import annotations

import numpy as np
from models.inference import BOXES_PIXELS

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.vision.models import resnet50
from paddle.vision.ops import roi_align

STRIDE, WIDTH, CLASSES = 16, 256, 80
SIDES = (64.0, 128.0, 256.0)  # of anchors, which are squares
PROPOSALS, MASKS = 50, 10
SPREAD = 1e-4  # of first weights behind features that no training has scaled: scores that saturate would be equal
MOST_LOG = float(np.log(1000 / 16))  # of a factor by which a box may grow


def anchors() -> np.ndarray:
    """Centres and sides of the boxes at all places, ``[places · 3, 4]``."""
    n = BOXES_PIXELS // STRIDE
    at = (np.arange(n) + 0.5) * STRIDE
    y, x, side = (v.ravel() for v in np.meshgrid(at, at, SIDES, indexing="ij"))
    return np.stack([x, y, side, side], 1).astype("float32")


def decoded(boxes, moves):
    """Corners of boxes ``[..., 4]``, given by centre and sides, after moves."""
    centre = boxes[..., :2] + moves[..., :2] * boxes[..., 2:]
    half = boxes[..., 2:] * paddle.exp(paddle.clip(moves[..., 2:], max=MOST_LOG)) / 2
    return paddle.clip(paddle.concat([centre - half, centre + half], -1), 0.0, float(BOXES_PIXELS))


class MaskRCNN(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        body = resnet50()
        self.body = nn.Sequential(body.conv1, body.bn1, body.relu, body.maxpool, body.layer1, body.layer2, body.layer3)
        self.reduce = nn.Conv2D(1024, WIDTH, 1)
        self.shared = nn.Conv2D(WIDTH, WIDTH, 3, padding=1)
        small = paddle.ParamAttr(initializer=nn.initializer.Normal(0, SPREAD))
        self.score = nn.Conv2D(WIDTH, len(SIDES), 1, weight_attr=small)
        self.move = nn.Conv2D(WIDTH, 4 * len(SIDES), 1, weight_attr=small)
        self.box_head = nn.Sequential(
            nn.Flatten(), nn.Linear(WIDTH * 49, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU()
        )
        self.kind = nn.Linear(1024, CLASSES + 1, weight_attr=small)
        self.refine = nn.Linear(1024, 4, weight_attr=small)
        convs = [layer for _ in range(4) for layer in (nn.Conv2D(WIDTH, WIDTH, 3, padding=1), nn.ReLU())]
        self.mask_head = nn.Sequential(
            *convs, nn.Conv2DTranspose(WIDTH, WIDTH, 2, stride=2), nn.ReLU(), nn.Conv2D(WIDTH, CLASSES, 1)
        )
        self.register_buffer("anchors", paddle.to_tensor(anchors()))

    def regions(self, features, boxes, count: int, size: int):
        """What lies in boxes ``[images, count, 4]``, as ``[images · count, WIDTH, size, size]``."""
        numbers = paddle.full([features.shape[0]], count, "int32")
        return roi_align(features, boxes.reshape([-1, 4]), numbers, size, 1 / STRIDE, sampling_ratio=2)

    def forward(self, image):
        features = F.relu(self.reduce(self.body(image)))
        hidden = F.relu(self.shared(features))
        scores = self.score(hidden).transpose([0, 2, 3, 1]).flatten(1)
        moves = self.move(hidden).transpose([0, 2, 3, 1]).reshape([0, -1, 4])
        _, best = paddle.topk(scores, PROPOSALS, axis=1)
        own = paddle.take_along_axis(moves, best.unsqueeze(-1), 1, broadcast=True)
        boxes = decoded(self.anchors[best], own)

        hidden = self.box_head(self.regions(features, boxes, PROPOSALS, 7))
        kinds = F.softmax(self.kind(hidden)).reshape([-1, PROPOSALS, CLASSES + 1])
        sides = boxes[..., 2:] - boxes[..., :2]
        middle = paddle.concat([boxes[..., :2] + sides / 2, sides], -1)
        refined = decoded(middle, self.refine(hidden).reshape([-1, PROPOSALS, 4]))
        sure, kind = kinds[..., :CLASSES].max(-1), kinds[..., :CLASSES].argmax(-1)
        sure, surest = paddle.topk(sure, MASKS, axis=1)
        found = paddle.take_along_axis(refined, surest.unsqueeze(-1), 1, broadcast=True)
        masks = F.sigmoid(self.mask_head(self.regions(features, found, MASKS, 14)))
        kind = paddle.take_along_axis(kind, surest, 1)
        own_mask = paddle.take_along_axis(masks, kind.reshape([-1, 1, 1, 1]), 1, broadcast=True)
        return found, sure, kind, own_mask.reshape([-1, MASKS, 28, 28])


NETWORKS = {"mask_rcnn": MaskRCNN}
