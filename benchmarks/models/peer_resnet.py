"""The model of resnet.py on PyTorch."""

from __future__ import annotations

import torch.nn.functional as F
from models.resnet import BLOCKS, CLASSES, WIDTHS
from torch import nn


def conv(i: int, o: int, kernel: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(i, o, kernel, stride, kernel // 2, bias=False)


class Block(nn.Module):
    def __init__(self, i: int, o: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = conv(i, o, 3, stride), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = conv(o, o, 3, 1), nn.BatchNorm2d(o)
        self.down = nn.Sequential(conv(i, o, 1, stride), nn.BatchNorm2d(o)) if i != o else None

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + (x if self.down is None else self.down(x)))


class ResNet18(nn.Module):
    def __init__(self, small: bool = False) -> None:
        super().__init__()
        self.conv1 = conv(3, WIDTHS[0], 3, 1) if small else conv(3, WIDTHS[0], 7, 2)
        self.bn1, self.pool = nn.BatchNorm2d(WIDTHS[0]), None if small else nn.MaxPool2d(3, 2, 1)
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
        return F.cross_entropy(self.head(self.blocks(y).mean(dim=(2, 3))), labels)


PEER = ResNet18
