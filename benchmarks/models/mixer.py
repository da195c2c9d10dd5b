"""An MLP-Mixer: patches of images, mixed over places and over channels in turn, a training step."""

from __future__ import annotations

import numpy as np
from models.common import Model

import paddle.nn.functional as F
from paddle import nn

PATCHES, WIDTH, LAYERS, PLACES_HIDDEN, CHANNELS_HIDDEN, CLASSES, BATCH = 64, 256, 6, 128, 512, 10, 32
PIXELS = 48  # of a patch: 4 x 4 x 3


class Block(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.places1, self.places2 = nn.Linear(PATCHES, PLACES_HIDDEN), nn.Linear(PLACES_HIDDEN, PATCHES)
        self.channels1, self.channels2 = nn.Linear(WIDTH, CHANNELS_HIDDEN), nn.Linear(CHANNELS_HIDDEN, WIDTH)

    def forward(self, x):
        y = self.norm1(x).transpose([0, 2, 1])
        x = x + self.places2(F.gelu(self.places1(y))).transpose([0, 2, 1])
        return x + self.channels2(F.gelu(self.channels1(self.norm2(x))))


class Mixer(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Linear(PIXELS, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, patches, labels):
        x = self.norm(self.blocks(self.patch(patches)))
        return F.cross_entropy(self.head(x.mean(axis=1)), labels)


def data() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((BATCH, PATCHES, PIXELS)).astype("float32"), rng.integers(0, CLASSES, BATCH)


MODEL = Model(Mixer, data)
