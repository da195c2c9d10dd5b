"""The model of encoder.py on PyTorch, whose fused path for inference it takes."""

from __future__ import annotations

from models.encoder import HEADS, HIDDEN, LAYERS, WIDTH
from torch import nn


def encoder() -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, dropout=0.0, activation="gelu", batch_first=True)
    return nn.TransformerEncoder(layer, LAYERS)


PEER = encoder
