"""A decoder-only transformer: pre-norm RMSNorm, rotary positions, causal attention, SwiGLU, tied embeddings."""

from __future__ import annotations

import math
from dataclasses import dataclass

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.distributed.fleet.utils import recompute


@dataclass(frozen=True)
class Config:
    vocab_size: int
    context: int = 64
    layers: int = 4
    heads: int = 4
    width: int = 128

    @property
    def head_dim(self) -> int:
        return self.width // self.heads

    @property
    def hidden(self) -> int:
        return -(-self.width * 8 // 3 // 32) * 32  # SwiGLU has three matrices where GELU has two


class Rotary(nn.Layer):
    """Rotates pairs of features by an angle proportional to the position: scores then depend on distances alone."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        half = config.head_dim // 2
        frequencies = paddle.exp(paddle.arange(half, dtype="float32") * (-math.log(10000.0) / half))
        angles = paddle.arange(config.context, dtype="float32").reshape([-1, 1, 1]) * frequencies
        self.register_buffer("cos", paddle.cos(angles), persistable=False)
        self.register_buffer("sin", paddle.sin(angles), persistable=False)

    def forward(self, x: paddle.Tensor, start: int = 0) -> paddle.Tensor:
        stop = start + x.shape[1]
        cos, sin = self.cos[start:stop], self.sin[start:stop]
        a, b = paddle.chunk(x, 2, axis=-1)
        return paddle.concat([a * cos - b * sin, b * cos + a * sin], axis=-1)


class Attention(nn.Layer):
    def __init__(self, config: Config, init: nn.initializer.Initializer, init_out: nn.initializer.Initializer) -> None:
        super().__init__()
        self.heads, self.head_dim = config.heads, config.head_dim
        self.qkv = nn.Linear(config.width, 3 * config.width, weight_attr=init, bias_attr=False)
        self.out = nn.Linear(config.width, config.width, weight_attr=init_out, bias_attr=False)

    def forward(self, x: paddle.Tensor, rotary: Rotary, cache: Cache | None = None) -> paddle.Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(x).reshape([batch, length, 3 * self.heads, self.head_dim])
        qk, v = paddle.split(qkv, [2 * self.heads, self.heads], axis=2)
        q, k = paddle.chunk(rotary(qk, cache.length if cache else 0), 2, axis=2)
        if cache is not None:
            k, v = cache.extend(k, v)
        # One new token may look at all that came before it; several may look back only.
        y = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        return self.out(y.reshape([batch, length, width]))


class Mlp(nn.Layer):
    def __init__(self, config: Config, init: nn.initializer.Initializer, init_out: nn.initializer.Initializer) -> None:
        super().__init__()
        self.gate_up = nn.Linear(config.width, 2 * config.hidden, weight_attr=init, bias_attr=False)
        self.down = nn.Linear(config.hidden, config.width, weight_attr=init_out, bias_attr=False)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return self.down(F.swiglu(self.gate_up(x)))


class Block(nn.Layer):
    def __init__(self, config: Config, init: nn.initializer.Initializer, init_out: nn.initializer.Initializer) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(config.width), nn.RMSNorm(config.width)
        self.attention = Attention(config, init, init_out)
        self.mlp = Mlp(config, init, init_out)

    def forward(self, x: paddle.Tensor, rotary: Rotary, cache: Cache | None = None) -> paddle.Tensor:
        x = x + self.attention(self.norm1(x), rotary, cache)
        return x + self.mlp(self.norm2(x))


class Cache:
    """Keys and values of the tokens that one attention has seen."""

    def __init__(self) -> None:
        self.k: paddle.Tensor | None = None
        self.v: paddle.Tensor | None = None

    @property
    def length(self) -> int:
        return 0 if self.k is None else self.k.shape[1]

    def extend(self, k: paddle.Tensor, v: paddle.Tensor) -> tuple[paddle.Tensor, paddle.Tensor]:
        if self.k is not None:
            k, v = paddle.concat([self.k, k], axis=1), paddle.concat([self.v, v], axis=1)
        self.k, self.v = k, v
        return k, v


class GPT(nn.Layer):
    """Token ids ``[batch, length]`` in, logits ``[batch, length, vocab_size]`` out."""

    def __init__(self, config: Config, recompute: bool = False) -> None:
        super().__init__()
        self.config = config
        self.recompute = recompute  # blocks are recomputed for their gradients, which saves memory
        init = nn.initializer.Normal(0.0, 0.02)
        init_out = nn.initializer.Normal(
            0.0, 0.02 / math.sqrt(2 * config.layers)
        )  # the residual stream sums 2 * layers of these
        self.embedding = nn.Embedding(config.vocab_size, config.width, weight_attr=init)
        self.rotary = Rotary(config)
        self.blocks = nn.LayerList([Block(config, init, init_out) for _ in range(config.layers)])
        self.norm = nn.RMSNorm(config.width)

    def forward(self, ids: paddle.Tensor, caches: list[Cache] | None = None) -> paddle.Tensor:
        x = self.embedding(ids)
        for i, block in enumerate(self.blocks):
            if self.recompute and self.training and not caches:
                x = recompute(block, x, self.rotary)
            else:
                x = block(x, self.rotary, caches[i] if caches else None)
        return paddle.matmul(self.norm(x), self.embedding.weight, transpose_y=True)

    def loss(self, ids: paddle.Tensor, targets: paddle.Tensor) -> paddle.Tensor:
        """Mean negative log-likelihood, in nats per token."""
        logits = self(ids)
        return F.cross_entropy(logits.reshape([-1, self.config.vocab_size]), targets.reshape([-1]))

    @paddle.no_grad()
    def generate(self, ids: list[int], count: int, temperature: float = 0.8, top_k: int = 40):
        """Yield ``count`` token ids that continue ``ids``. Keys and values are kept, so each costs one position.

        When the context is full, the cache is rebuilt from its second half.
        """
        caches = [Cache() for _ in self.blocks]
        ids, fresh = list(ids), list(ids)[-self.config.context :]
        for _ in range(count):
            if caches[0].length + len(fresh) > self.config.context:
                caches, fresh = [Cache() for _ in self.blocks], ids[-self.config.context // 2 :]
            logits = self(paddle.to_tensor([fresh]), caches)[0, -1]
            values, indices = paddle.topk(logits, min(top_k, self.config.vocab_size))
            choice = paddle.multinomial(F.softmax(values / max(temperature, 1e-5)), 1)
            fresh = [int(indices[int(choice)])]
            ids += fresh
            yield fresh[0]
