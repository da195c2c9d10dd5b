"""The model of resnet_small.py on PyTorch."""

from __future__ import annotations

from functools import partial

from models.peer_resnet import ResNet18

PEER = partial(ResNet18, small=True)
