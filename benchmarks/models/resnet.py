"""ResNet-18 (He et al., 2015), with the stem for large images: a training step."""

from __future__ import annotations

import numpy as np
from models.common import Model

import paddle.nn.functional as F
from paddle import nn

WIDTHS, BLOCKS, CLASSES, BATCH, PIXELS = (64, 128, 256, 512), 2, 10, 16, 32


def conv(i: int, o: int, kernel: int, stride: int) -> nn.Conv2D:
    return nn.Conv2D(i, o, kernel, stride, kernel // 2, bias_attr=False)


class Block(nn.Layer):
    def __init__(self, i: int, o: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = conv(i, o, 3, stride), nn.BatchNorm2D(o)
        self.conv2, self.bn2 = conv(o, o, 3, 1), nn.BatchNorm2D(o)
        self.down = nn.Sequential(conv(i, o, 1, stride), nn.BatchNorm2D(o)) if i != o else None

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + (x if self.down is None else self.down(x)))


class ResNet18(nn.Layer):
    """``small``: with the stem for small images, which keeps their size."""

    def __init__(self, small: bool = False) -> None:
        super().__init__()
        self.conv1 = conv(3, WIDTHS[0], 3, 1) if small else conv(3, WIDTHS[0], 7, 2)
        self.bn1, self.pool = nn.BatchNorm2D(WIDTHS[0]), None if small else nn.MaxPool2D(3, 2, 1)
        widths = (WIDTHS[0], *WIDTHS)
        self.blocks = nn.Sequential(
            *(
                Block(widths[stage] if b == 0 else o, o, 2 if stage and b == 0 else 1)
                for stage, o in enumerate(WIDTHS)
                for b in range(BLOCKS)
            )
        )
        self.head = nn.Linear(WIDTHS[-1], CLASSES)

    def forward(self, images, labels):
        y = F.relu(self.bn1(self.conv1(images)))
        y = y if self.pool is None else self.pool(y)
        return F.cross_entropy(self.head(self.blocks(y).mean(axis=[2, 3])), labels)


def data() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    images = rng.standard_normal((BATCH, 3, PIXELS, PIXELS)).astype("float32")
    return images, rng.integers(0, CLASSES, BATCH)


MODEL = Model(ResNet18, data)
