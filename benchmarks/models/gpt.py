"""A decoder-only transformer (RMSNorm, rotary positions, causal attention, SwiGLU, tied embeddings): training."""

from __future__ import annotations

import math

import numpy as np
from models.common import Model

import paddle
import paddle.nn.functional as F
from paddle import nn

VOCABULARY, CONTEXT, LAYERS, HEADS, WIDTH, BATCH = 512, 256, 4, 8, 256, 4
HIDDEN = -(-WIDTH * 8 // 3 // 32) * 32


def angles() -> np.ndarray:
    half = WIDTH // HEADS // 2
    return np.arange(CONTEXT)[:, None, None] * np.exp(np.arange(half) * (-math.log(10000.0) / half))


class Norm(nn.Layer):
    """For PaddlePaddle, whose wheel has no ``nn.RMSNorm``."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = self.create_parameter([width], default_initializer=nn.initializer.Constant(1.0))

    def forward(self, x):
        return x * paddle.rsqrt((x * x).mean(axis=-1, keepdim=True) + 1e-5) * self.weight


RMSNorm = getattr(nn, "RMSNorm", Norm)


class Block(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(WIDTH), RMSNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias_attr=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias_attr=False)
        self.gate_up = nn.Linear(WIDTH, 2 * HIDDEN, bias_attr=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias_attr=False)

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        qkv = self.qkv(self.norm1(x)).reshape([batch, length, 3 * HEADS, WIDTH // HEADS])
        qk, v = paddle.split(qkv, [2 * HEADS, HEADS], axis=2)
        a, b = paddle.chunk(qk, 2, axis=-1)
        q, k = paddle.chunk(paddle.concat([a * cos - b * sin, b * cos + a * sin], axis=-1), 2, axis=2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.reshape([batch, length, WIDTH]))
        gate, up = paddle.chunk(self.gate_up(self.norm2(x)), 2, axis=-1)
        return x + self.down(F.silu(gate) * up)


class GPT(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH, weight_attr=nn.initializer.Normal(0.0, 0.02))
        self.blocks = nn.LayerList([Block() for _ in range(LAYERS)])
        self.norm = RMSNorm(WIDTH)
        self.register_buffer("cos", paddle.to_tensor(np.cos(angles()).astype("float32")))
        self.register_buffer("sin", paddle.to_tensor(np.sin(angles()).astype("float32")))

    def forward(self, ids, targets):
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        logits = paddle.matmul(self.norm(x), self.embedding.weight, transpose_y=True)
        return F.cross_entropy(logits.reshape([-1, VOCABULARY]), targets.reshape([-1]))


def data() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    return tuple(rng.integers(0, VOCABULARY, (BATCH, CONTEXT)) for _ in range(2))


MODEL = Model(GPT, data)
