"""ResNet-18 with the stem for small images, as it is trained on CIFAR: a training step."""

from __future__ import annotations

from functools import partial

from models.common import Model
from models.resnet import ResNet18, data

MODEL = Model(partial(ResNet18, small=True), data)
