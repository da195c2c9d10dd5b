"""The model of mixer.py on PyTorch."""

from __future__ import annotations

import torch.nn.functional as F
from models.mixer import CHANNELS_HIDDEN, CLASSES, LAYERS, PATCHES, PIXELS, PLACES_HIDDEN, WIDTH
from torch import nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.places1, self.places2 = nn.Linear(PATCHES, PLACES_HIDDEN), nn.Linear(PLACES_HIDDEN, PATCHES)
        self.channels1, self.channels2 = nn.Linear(WIDTH, CHANNELS_HIDDEN), nn.Linear(CHANNELS_HIDDEN, WIDTH)

    def forward(self, x):
        y = self.norm1(x).transpose(1, 2)
        x = x + self.places2(F.gelu(self.places1(y))).transpose(1, 2)
        return x + self.channels2(F.gelu(self.channels1(self.norm2(x))))


class Mixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Linear(PIXELS, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, patches, labels):
        x = self.norm(self.blocks(self.patch(patches)))
        return F.cross_entropy(self.head(x.mean(dim=1)), labels)


PEER = Mixer
