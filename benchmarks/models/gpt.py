"""A decoder-only transformer (RMSNorm, rotary positions, causal attention, SwiGLU, tied embeddings), AdamW step."""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as T
from models.case import Case

import paddle
import paddle.nn.functional as F
from paddle import nn

VOCABULARY, CONTEXT, LAYERS, HEADS, WIDTH, BATCH = 512, 256, 4, 8, 256, 4
HIDDEN = -(-WIDTH * 8 // 3 // 32) * 32


def _angles() -> np.ndarray:
    half = WIDTH // HEADS // 2
    return np.arange(CONTEXT)[:, None, None] * np.exp(np.arange(half) * (-math.log(10000.0) / half))


class Block(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias_attr=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias_attr=False)
        self.gate_up = nn.Linear(WIDTH, 2 * HIDDEN, bias_attr=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias_attr=False)

    def forward(self, x: paddle.Tensor, cos: paddle.Tensor, sin: paddle.Tensor) -> paddle.Tensor:
        batch, length, _ = x.shape
        qkv = self.qkv(self.norm1(x)).reshape([batch, length, 3 * HEADS, WIDTH // HEADS])
        qk, v = paddle.split(qkv, [2 * HEADS, HEADS], axis=2)
        a, b = paddle.chunk(qk, 2, axis=-1)
        q, k = paddle.chunk(paddle.concat([a * cos - b * sin, b * cos + a * sin], axis=-1), 2, axis=2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.reshape([batch, length, WIDTH]))
        return x + self.down(F.swiglu(self.gate_up(self.norm2(x))))


class GPT(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH, weight_attr=nn.initializer.Normal(0.0, 0.02))
        self.blocks = nn.LayerList([Block() for _ in range(LAYERS)])
        self.norm = nn.RMSNorm(WIDTH)
        self.register_buffer("cos", paddle.to_tensor(np.cos(_angles()).astype("float32")))
        self.register_buffer("sin", paddle.to_tensor(np.sin(_angles()).astype("float32")))

    def forward(self, ids: paddle.Tensor, targets: paddle.Tensor) -> paddle.Tensor:
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        logits = paddle.matmul(self.norm(x), self.embedding.weight, transpose_y=True)
        return F.cross_entropy(logits.reshape([-1, VOCABULARY]), targets.reshape([-1]))


class PeerBlock(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = (torch.nn.RMSNorm(WIDTH, eps=1e-5) for _ in range(2))
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = torch.nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate_up = torch.nn.Linear(WIDTH, 2 * HIDDEN, bias=False)
        self.down = torch.nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3 * HEADS, WIDTH // HEADS)
        qk, v = qkv.split([2 * HEADS, HEADS], dim=2)
        a, b = qk.chunk(2, dim=-1)
        q, k = torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1).chunk(2, dim=2)
        y = T.scaled_dot_product_attention(*(z.transpose(1, 2) for z in (q, k, v)), is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, WIDTH))
        gate, up = self.gate_up(self.norm2(x)).chunk(2, dim=-1)
        return x + self.down(T.silu(gate) * up)


class PeerGPT(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = torch.nn.ModuleList([PeerBlock() for _ in range(LAYERS)])
        self.norm = torch.nn.RMSNorm(WIDTH, eps=1e-5)
        self.register_buffer("cos", torch.tensor(np.cos(_angles()), dtype=torch.float32))
        self.register_buffer("sin", torch.tensor(np.sin(_angles()), dtype=torch.float32))

    def forward(self, ids: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        logits = self.norm(x) @ self.embedding.weight.T
        return T.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))


def case() -> Case:
    rng = np.random.default_rng(0)
    ids, targets = (rng.integers(0, VOCABULARY, (BATCH, CONTEXT)) for _ in range(2))
    return Case.training("gpt", GPT, PeerGPT, (ids, targets), weight_decay=0.01)
