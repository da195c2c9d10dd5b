"""A transformer encoder as sentence models have it (6 layers, 384 wide, norms behind, GELU): inference."""

from __future__ import annotations

import numpy as np
from models.common import Model

import paddle.nn.functional as F
from paddle import nn

LAYERS, WIDTH, HEADS, HIDDEN, BATCH, LENGTH = 6, 384, 12, 1536, 8, 128


class Block(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x):
        shape = [x.shape[0], x.shape[1], HEADS, WIDTH // HEADS]
        y = F.scaled_dot_product_attention(*(f(x).reshape(shape) for f in (self.q, self.k, self.v)))
        x = self.norm1(x + self.out(y.reshape(x.shape)))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Encoder(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))

    def forward(self, x):
        return self.blocks(x)


def data() -> tuple[np.ndarray, ...]:
    return (np.random.default_rng(0).standard_normal((BATCH, LENGTH, WIDTH)).astype("float32"),)


MODEL = Model(Encoder, data, training=False)
