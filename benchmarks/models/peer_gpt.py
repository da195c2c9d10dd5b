"""The model of gpt.py on PyTorch."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from models.gpt import HEADS, HIDDEN, LAYERS, VOCABULARY, WIDTH, angles
from torch import nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = (nn.RMSNorm(WIDTH, eps=1e-5) for _ in range(2))
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate_up = nn.Linear(WIDTH, 2 * HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3 * HEADS, WIDTH // HEADS)
        qk, v = qkv.split([2 * HEADS, HEADS], dim=2)
        a, b = qk.chunk(2, dim=-1)
        q, k = torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1).chunk(2, dim=2)
        y = F.scaled_dot_product_attention(*(z.transpose(1, 2) for z in (q, k, v)), is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, WIDTH))
        gate, up = self.gate_up(self.norm2(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class GPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.norm = nn.RMSNorm(WIDTH, eps=1e-5)
        self.register_buffer("cos", torch.tensor(np.cos(angles()), dtype=torch.float32))
        self.register_buffer("sin", torch.tensor(np.sin(angles()), dtype=torch.float32))

    def forward(self, ids, targets):
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        logits = self.norm(x) @ self.embedding.weight.T
        return F.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))


PEER = GPT
