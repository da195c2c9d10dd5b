"""The model of mobilenet_v3.py on PyTorch."""

from __future__ import annotations

from models.peer_vision import Loss, conv_norm
from models.vision import CLASSES
from torch import nn

NORM = {"eps": 0.001, "momentum": 0.01}
# kernel, expanded, channels, squeeze and excitation, hard swish, stride
BLOCKS = (
    (3, 16, 16, False, False, 1),
    (3, 64, 24, False, False, 2),
    (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2),
    (5, 120, 40, True, False, 1),
    (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2),
    (3, 200, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 480, 112, True, True, 1),
    (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2),
    (5, 960, 160, True, True, 1),
    (5, 960, 160, True, True, 1),
)


class Excitation(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        squeezed = max(8, (channels // 4 + 4) // 8 * 8)
        self.factors = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(channels, squeezed, 1),
            nn.ReLU(inplace=True),
            nn.Conv2d(squeezed, channels, 1),
            nn.Hardsigmoid(inplace=True),
        )

    def forward(self, x):
        return x * self.factors(x)


class Residual(nn.Module):
    def __init__(self, i: int, kernel: int, expanded: int, o: int, se: bool, hard: bool, stride: int) -> None:
        super().__init__()
        act = nn.Hardswish if hard else nn.ReLU
        layers = [*conv_norm(i, expanded, 1, **NORM), act(inplace=True)] if expanded != i else []
        layers += [*conv_norm(expanded, expanded, kernel, stride, expanded, **NORM), act(inplace=True)]
        layers += [Excitation(expanded)] if se else []
        self.body = nn.Sequential(*layers, *conv_norm(expanded, o, 1, **NORM))
        self.shortcut = stride == 1 and i == o

    def forward(self, x):
        return x + self.body(x) if self.shortcut else self.body(x)


def mobilenet_v3() -> nn.Module:
    layers: list[nn.Module] = [*conv_norm(3, 16, 3, 2, **NORM), nn.Hardswish(inplace=True)]
    i = 16
    for kernel, expanded, o, se, hard, stride in BLOCKS:
        layers.append(Residual(i, kernel, expanded, o, se, hard, stride))
        i = o
    return nn.Sequential(
        *layers,
        *conv_norm(160, 960, 1, **NORM),
        nn.Hardswish(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(960, 1280),
        nn.Hardswish(inplace=True),
        nn.Dropout(0.2),
        nn.Linear(1280, CLASSES),
    )


NETWORKS = {"mobilenet_v3": mobilenet_v3}


def PEER() -> nn.Module:
    return Loss(mobilenet_v3())
