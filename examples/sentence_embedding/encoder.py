"""A BERT-style encoder of sentences: queries, keys and values in one projection, mean of the tokens, length 1."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import paddle
import paddle.nn.functional as F
from paddle import nn


@dataclass(frozen=True)
class Config:
    """Names are those of the ``config.json`` beside a model's weights."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_attention_heads: int
    num_hidden_layers: int
    max_position_embeddings: int
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12

    @classmethod
    def read(cls, path: Path) -> Config:
        """The configuration in a file, refused if it asks for what is not built here."""
        values = json.loads(path.read_text())
        for key, built in (("hidden_act", "gelu"), ("position_embedding_type", "absolute")):
            if values.get(key, built) != built:
                raise ValueError(f"[Config.read] requires {key} = {built!r}, got {values[key]!r} in {path}")
        return cls(**{key: values[key] for key in cls.__dataclass_fields__ if key in values})


class Embedding(nn.Layer):
    """Sum of the embeddings of words, their positions and their segment (here always the first)."""

    def __init__(self, c: Config) -> None:
        super().__init__()
        self.words = nn.Embedding(c.vocab_size, c.hidden_size)
        self.positions = nn.Embedding(c.max_position_embeddings, c.hidden_size)
        self.types = nn.Embedding(c.type_vocab_size, c.hidden_size)
        self.norm = nn.LayerNorm(c.hidden_size, epsilon=c.layer_norm_eps)
        # Saved models have it, so it is state: what is exported is then all that was imported.
        self.register_buffer("position_ids", paddle.arange(c.max_position_embeddings, dtype="int64").unsqueeze(0))

    def forward(self, ids: paddle.Tensor) -> paddle.Tensor:
        places = self.positions(paddle.arange(ids.shape[1])) + self.types.weight[0]
        return self.norm(self.words(ids) + places)


class Attention(nn.Layer):
    """Every token looks at all that the mask shows. The projection's columns are q, k, v of head 0, then of head 1…"""

    def __init__(self, c: Config) -> None:
        super().__init__()
        self.heads = c.num_attention_heads
        self.qkv = nn.Linear(c.hidden_size, 3 * c.hidden_size)
        self.out = nn.Linear(c.hidden_size, c.hidden_size)

    def forward(self, x: paddle.Tensor, visible: paddle.Tensor) -> paddle.Tensor:
        q, k, v = self.qkv(x).reshape([0, 0, self.heads, 3, x.shape[2] // self.heads]).unbind(3)
        return self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=visible).flatten(2))


class Block(nn.Layer):
    """Attention, then two linear layers with GELU between, each with a residual connection and a normalisation."""

    def __init__(self, c: Config) -> None:
        super().__init__()
        self.attention = Attention(c)
        self.norm1 = nn.LayerNorm(c.hidden_size, epsilon=c.layer_norm_eps)
        self.up = nn.Linear(c.hidden_size, c.intermediate_size)
        self.down = nn.Linear(c.intermediate_size, c.hidden_size)
        self.norm2 = nn.LayerNorm(c.hidden_size, epsilon=c.layer_norm_eps)

    def forward(self, x: paddle.Tensor, visible: paddle.Tensor) -> paddle.Tensor:
        x = self.norm1(x + self.attention(x, visible))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Encoder(nn.Layer):
    """Token ids and how many of each row count in, one vector of length 1 per row out.

    Shapes:
        ids ``[batch, tokens]`` int64, lengths ``[batch]`` int64: ``[batch, hidden_size]`` float32. A row's vector
        depends on its first ``lengths`` tokens alone.
    """

    def __init__(self, c: Config) -> None:
        super().__init__()
        self.config = c
        self.embedding = Embedding(c)
        self.layers = nn.LayerList([Block(c) for _ in range(c.num_hidden_layers)])
        self.pooler = nn.Linear(c.hidden_size, c.hidden_size)  # for classifiers; part of what is saved

    def forward(self, ids: paddle.Tensor, lengths: paddle.Tensor) -> paddle.Tensor:
        visible = paddle.arange(ids.shape[1]) < lengths.unsqueeze(1)  # [batch, tokens]
        x = self.embedding(ids)
        for block in self.layers:
            x = block(x, visible.unsqueeze([1, 2]))
        # A product with zeros and ones adds up the tokens that count; the length divides out in the normalisation.
        total = paddle.matmul(visible.astype(x.dtype).unsqueeze(1), x).squeeze(1)
        return F.normalize(total, axis=-1)
