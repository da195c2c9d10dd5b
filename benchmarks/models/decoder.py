"""A LLaMA-like decoder of random weights, as floats and in 8 and 4 bits."""

from __future__ import annotations

from typing import Any

from models.decoder_sizes import BASE, GROUP, HEAD, HEADS, HIDDEN, KEY_HEADS, LAYERS, PROMPT, WIDTH, WORDS

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.nn.quant import weight_only_linear, weight_quantize


class LowBit(nn.Layer):
    """A linear map by integers."""

    def __init__(self, inputs: int, outputs: int, kind: str) -> None:
        super().__init__()
        self.kind, self.group = kind, GROUP if kind == "int4" else -1
        weight = paddle.randn([inputs, outputs]).astype("bfloat16") * 0.02
        values, scales = weight_quantize(weight, f"weight_only_{kind}", group_size=self.group)
        self.register_buffer("weight", values)
        self.register_buffer("scales", scales)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return weight_only_linear(x, self.weight, None, self.scales, self.kind, group_size=self.group)


def linear(kind: str, inputs: int, outputs: int) -> nn.Layer:
    return LowBit(inputs, outputs, kind) if kind.startswith("int") else nn.Linear(inputs, outputs, bias_attr=False)


class Block(nn.Layer):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.q, self.k, self.v = (linear(kind, WIDTH, HEAD * n) for n in (HEADS, KEY_HEADS, KEY_HEADS))
        self.out = linear(kind, HEADS * HEAD, WIDTH)
        self.gate, self.up = (linear(kind, WIDTH, HIDDEN) for _ in range(2))
        self.down = linear(kind, HIDDEN, WIDTH)

    def forward(self, x: Any, cos: Any, sin: Any, cache: list[Any]) -> Any:
        batch, length, _ = x.shape
        y = self.norm1(x)
        q, k, v = (f(y).reshape([batch, length, -1, HEAD]) for f in (self.q, self.k, self.v))
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        if cache:
            k, v = paddle.concat([cache[0], k], 1), paddle.concat([cache[1], v], 1)
        cache[:] = [k, v]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        x = x + self.out(y.reshape([batch, length, -1]))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def rotated(x: paddle.Tensor, cos: paddle.Tensor, sin: paddle.Tensor) -> paddle.Tensor:
    a, b = x.chunk(2, -1)
    return paddle.concat([a * cos - b * sin, b * cos + a * sin], -1)


class Decoder(nn.Layer):
    def __init__(self, kind: str, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.LayerList([Block(kind) for _ in range(layers)])
        self.norm = nn.RMSNorm(WIDTH)
        self.head = linear(kind, WIDTH, WORDS)
        angles = paddle.arange(2.0 * PROMPT).reshape([-1, 1, 1]) * BASE ** (-paddle.arange(HEAD / 2) / (HEAD / 2))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, ids: Any, caches: list[list[Any]]) -> Any:
        start = caches[0][0].shape[1] if caches[0] else 0
        cos, sin = (t[start : start + ids.shape[1]] for t in (self.cos, self.sin))
        x = self.embedding(ids)
        for block, cache in zip(self.blocks, caches, strict=True):
            x = block(x, cos, sin, cache)
        return self.head(self.norm(x)[:, -1])


def decoder(kind: str, layers: int = LAYERS) -> Decoder:
    paddle.seed(0)
    model = Decoder(kind, layers)
    model.eval()
    return model if kind == "float32" else model.to(dtype="bfloat16")
