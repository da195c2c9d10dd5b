"""The padded model of bert.py on PyTorch."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from models.bert import CLASSES, FAR, HEADS, HIDDEN, LAYERS, WIDTH
from models.inference import LENGTH, WORDS
from torch import nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.first, self.second = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x, mask):
        heads = (*x.shape[:-1], HEADS, WIDTH // HEADS)
        q, k, v = (layer(x).view(heads).transpose(1, 2) for layer in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).reshape(x.shape)
        x = self.norm1(x + self.out(y))
        return self.norm2(x + self.second(F.gelu(self.first(x))))


class Padded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, words, counts):
        mask = ((1 - counts) * FAR)[:, None, None]
        x = self.norm(self.words(words) + self.places(torch.arange(words.shape[1])))
        for block in self.blocks:
            x = block(x, mask)
        return self.head(x[:, 0])


NETWORKS = {"bert": Padded}
