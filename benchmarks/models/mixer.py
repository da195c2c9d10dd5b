"""An MLP-Mixer: patches of images, mixed over places and over channels in turn, and its AdamW step."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as T
from models.case import Case

import paddle
import paddle.nn.functional as F
from paddle import nn

PATCHES, WIDTH, LAYERS, TOKENS_HIDDEN, CHANNELS_HIDDEN, CLASSES, BATCH = 64, 256, 6, 128, 512, 10, 32
PIXELS = 48  # of a patch: 4 x 4 x 3


class Block(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.places1, self.places2 = nn.Linear(PATCHES, TOKENS_HIDDEN), nn.Linear(TOKENS_HIDDEN, PATCHES)
        self.channels1, self.channels2 = nn.Linear(WIDTH, CHANNELS_HIDDEN), nn.Linear(CHANNELS_HIDDEN, WIDTH)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
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

    def forward(self, patches: paddle.Tensor, labels: paddle.Tensor) -> paddle.Tensor:
        x = self.norm(self.blocks(self.patch(patches)))
        return F.cross_entropy(self.head(x.mean(axis=1)), labels)


class PeerBlock(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.places1, self.places2 = torch.nn.Linear(PATCHES, TOKENS_HIDDEN), torch.nn.Linear(TOKENS_HIDDEN, PATCHES)
        self.channels1, self.channels2 = (
            torch.nn.Linear(WIDTH, CHANNELS_HIDDEN),
            torch.nn.Linear(CHANNELS_HIDDEN, WIDTH),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm1(x).transpose(1, 2)
        x = x + self.places2(T.gelu(self.places1(y))).transpose(1, 2)
        return x + self.channels2(T.gelu(self.channels1(self.norm2(x))))


class PeerMixer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch = torch.nn.Linear(PIXELS, WIDTH)
        self.blocks = torch.nn.Sequential(*(PeerBlock() for _ in range(LAYERS)))
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.head = torch.nn.Linear(WIDTH, CLASSES)

    def forward(self, patches: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.blocks(self.patch(patches)))
        return T.cross_entropy(self.head(x.mean(dim=1)), labels)


def case() -> Case:
    rng = np.random.default_rng(0)
    patches = rng.standard_normal((BATCH, PATCHES, PIXELS)).astype("float32")
    return Case.training("mixer", Mixer, PeerMixer, (patches, rng.integers(0, CLASSES, BATCH)))
