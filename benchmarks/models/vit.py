"""A vision transformer (Dosovitskiy et al., 2020): patches of 16 × 16, 12 layers, 192 wide, 3 heads."""

from __future__ import annotations

from models.vision import CLASSES, PIXELS, trained

import paddle
from paddle import nn

LAYERS, WIDTH, HEADS, PATCH = 12, 192, 3, 16


class ViT(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        tokens = (PIXELS // PATCH) ** 2 + 1
        self.patches = nn.Conv2D(3, WIDTH, PATCH, PATCH)
        self.token = self.create_parameter([1, 1, WIDTH])
        self.position = self.create_parameter([1, tokens, WIDTH])
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", normalize_before=True
        )
        self.encoder = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(WIDTH))
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose([0, 2, 1])
        x = paddle.concat([self.token.expand([len(x), 1, WIDTH]), x], axis=1) + self.position
        return self.head(self.encoder(x)[:, 0])


MODEL = trained(ViT)
