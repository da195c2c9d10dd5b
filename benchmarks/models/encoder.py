"""A transformer encoder as sentence models have it (6 layers, 384 wide, norms behind, GELU): inference."""

from __future__ import annotations

import numpy as np
from models.common import Model

from paddle import nn

LAYERS, WIDTH, HEADS, HIDDEN, BATCH, LENGTH = 6, 384, 12, 1536, 8, 128


def encoder() -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, dropout=0.0, activation="gelu")
    return nn.TransformerEncoder(layer, LAYERS)


def data() -> tuple[np.ndarray, ...]:
    return (np.random.default_rng(0).standard_normal((BATCH, LENGTH, WIDTH)).astype("float32"),)


MODEL = Model(encoder, data, training=False)
