"""The model of resnet50.py on PyTorch."""

from __future__ import annotations

import torch.nn.functional as F
from models.peer_vision import Loss, conv_norm
from models.vision import CLASSES
from torch import nn

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride


class Bottleneck(nn.Module):
    def __init__(self, i: int, width: int, stride: int) -> None:
        super().__init__()
        o = 4 * width
        self.body = nn.Sequential(
            *conv_norm(i, width, 1),
            nn.ReLU(inplace=True),
            *conv_norm(width, width, 3, stride),
            nn.ReLU(inplace=True),
            *conv_norm(width, o, 1),
        )
        self.down = nn.Sequential(*conv_norm(i, o, 1, stride)) if stride != 1 or i != o else None

    def forward(self, x):
        return F.relu(self.body(x) + (x if self.down is None else self.down(x)), inplace=True)


def resnet50() -> nn.Module:
    layers: list[nn.Module] = [*conv_norm(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    i = 64
    for width, blocks, stride in STAGES:
        for b in range(blocks):
            layers.append(Bottleneck(i, width, 1 if b else stride))
            i = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(i, CLASSES))


NETWORKS = {"resnet50": resnet50}


def PEER() -> nn.Module:
    return Loss(resnet50())
