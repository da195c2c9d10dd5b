"""The model of vit.py on PyTorch."""

from __future__ import annotations

import torch
from models.peer_vision import Loss
from models.vision import CLASSES, PIXELS
from models.vit import HEADS, LAYERS, PATCH, WIDTH
from torch import nn


class ViT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        tokens = (PIXELS // PATCH) ** 2 + 1
        self.patches = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.token = nn.Parameter(0.02 * torch.randn(1, 1, WIDTH))
        self.position = nn.Parameter(0.02 * torch.randn(1, tokens, WIDTH))
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", norm_first=True, batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(WIDTH), enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), 1, WIDTH), x], dim=1) + self.position
        return self.head(self.encoder(x)[:, 0])


def PEER() -> nn.Module:
    return Loss(ViT())
