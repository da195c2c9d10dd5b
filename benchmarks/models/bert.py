"""An encoder like BERT base (12 layers, 768 wide, 12 heads, norms behind, GELU) over documents, padded or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from models.inference import LENGTH, WORDS

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.nn.functional.flash_attention import flash_attn_unpadded

LAYERS, WIDTH, HEADS, HIDDEN, CLASSES = 12, 768, 12, 3072, 2
FAR = -1e4  # added to the scores of words that do not count
Attention = Callable[[Any, Any, Any], Any]


class Block(nn.Layer):
    """Attention, whose form the caller gives, and two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.first, self.second = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x, attend: Attention):
        heads = [*x.shape[:-1], HEADS, WIDTH // HEADS]
        q, k, v = (layer(x).reshape(heads) for layer in (self.query, self.key, self.value))
        x = self.norm1(x + self.out(attend(q, k, v).reshape(x.shape)))
        return self.norm2(x + self.second(F.gelu(self.first(x))))


class Encoder(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.blocks = nn.LayerList([Block() for _ in range(LAYERS)])
        self.head = nn.Linear(WIDTH, CLASSES)

    def encoded(self, words, places, attend: Attention):
        x = self.norm(self.words(words) + self.places(places))
        for block in self.blocks:
            x = block(x, attend)
        return x


class Padded(Encoder):
    """Scores of each document by its first word."""

    def forward(self, words, counts):
        mask = ((1 - counts) * FAR).unsqueeze([1, 2])

        def attend(q, k, v):
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

        return self.head(self.encoded(words, paddle.arange(words.shape[1]), attend)[:, 0])


class Unpadded(Encoder):
    """The same, for documents behind one another: no layer computes anything for padding."""

    def forward(self, words, places, ends):
        scale = (WIDTH // HEADS) ** -0.5

        def attend(q, k, v):
            return flash_attn_unpadded(q, k, v, ends, ends, LENGTH, LENGTH, scale, training=False)[0]

        return self.head(paddle.gather(self.encoded(words, places, attend), ends[:-1]))


NETWORKS = {"bert": Padded, "bert_unpadded": Unpadded}
