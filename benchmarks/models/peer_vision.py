"""What peers of vision.py share, on PyTorch."""

from __future__ import annotations

import torch.nn.functional as F
from torch import nn


class Loss(nn.Module):
    """Cross entropy of a model's scores."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, images, labels):
        return F.cross_entropy(self.model(images), labels)


def conv_norm(i: int, o: int, kernel: int, stride: int = 1, groups: int = 1, **norm: float) -> list[nn.Module]:
    conv = nn.Conv2d(i, o, kernel, stride, kernel // 2, groups=groups, bias=False)
    return [conv, nn.BatchNorm2d(o, **norm)]
