"""A decoder-only transformer as in LLaMA: RMSNorm, rotary positions, grouped heads, SwiGLU.

What the weights are comes from a *source*, an object with three methods: ``matrix(name, outputs, inputs, bias)``
gives a linear map, ``rows(name, count, width)`` and ``vector(name, size)`` tensors. Names and shapes are those of the
published files, and stand here alone: a source may read them, make them up, or look whether they are there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from config import Config
from rotary import Rotary, rotate

import paddle
import paddle.nn.functional as F
from paddle import nn

# Attention of a layer: its number, queries [..., heads, head_dim], keys and values [..., kv_heads, head_dim].
Attend = Callable[[int, paddle.Tensor, paddle.Tensor, paddle.Tensor], paddle.Tensor]


class Source(Protocol):
    """Where weights come from. ``dtype``: of activations."""

    dtype: str

    def matrix(self, name: str, outputs: int, inputs: int, bias: bool = False) -> nn.Layer:
        """A linear map by the weight [outputs, inputs] ``name.weight``, and the bias ``name.bias``."""

    def rows(self, name: str, count: int, width: int) -> Any:
        """The matrix ``name.weight``, of which single rows are looked up."""

    def vector(self, name: str, size: int) -> Any:
        """The vector ``name.weight``."""


class Norm(nn.Layer):
    def __init__(self, config: Config, source: Source, name: str) -> None:
        super().__init__()
        self.eps = config.rms_norm_eps
        self.register_buffer("weight", source.vector(name, config.hidden_size))

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return F.rms_norm(x, x.shape[-1:], self.weight, self.eps)[0]


class Attention(nn.Layer):
    def __init__(self, config: Config, source: Source, name: str) -> None:
        super().__init__()
        self.dim, width = config.head_dim, config.hidden_size
        heads, kv_heads = config.num_attention_heads * self.dim, config.num_key_value_heads * self.dim
        self.q_proj = source.matrix(f"{name}.q_proj", heads, width, config.qkv_bias)
        self.k_proj = source.matrix(f"{name}.k_proj", kv_heads, width, config.qkv_bias)
        self.v_proj = source.matrix(f"{name}.v_proj", kv_heads, width, config.qkv_bias)
        self.o_proj = source.matrix(f"{name}.o_proj", width, heads, config.out_bias)

    def forward(self, x: paddle.Tensor, rotation: tuple, layer: int, attend: Attend) -> paddle.Tensor:
        q, k, v = (p(x).reshape([*x.shape[:-1], -1, self.dim]) for p in (self.q_proj, self.k_proj, self.v_proj))
        y = attend(layer, rotate(q, rotation), rotate(k, rotation), v)
        return self.o_proj(y.reshape([*x.shape[:-1], -1]))


class Mlp(nn.Layer):
    def __init__(self, config: Config, source: Source, name: str) -> None:
        super().__init__()
        width, hidden = config.hidden_size, config.intermediate_size
        self.gate_proj = source.matrix(f"{name}.gate_proj", hidden, width, config.mlp_bias)
        self.up_proj = source.matrix(f"{name}.up_proj", hidden, width, config.mlp_bias)
        self.down_proj = source.matrix(f"{name}.down_proj", width, hidden, config.mlp_bias)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Layer):
    def __init__(self, config: Config, source: Source, name: str) -> None:
        super().__init__()
        self.input_layernorm = Norm(config, source, f"{name}.input_layernorm")
        self.self_attn = Attention(config, source, f"{name}.self_attn")
        self.post_attention_layernorm = Norm(config, source, f"{name}.post_attention_layernorm")
        self.mlp = Mlp(config, source, f"{name}.mlp")

    def forward(self, x: paddle.Tensor, rotation: tuple, layer: int, attend: Attend) -> paddle.Tensor:
        x = x + self.self_attn(self.input_layernorm(x), rotation, layer, attend)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Layer):
    """Token ids [...] in, logits [..., vocab_size] out."""

    def __init__(self, config: Config, source: Source) -> None:
        super().__init__()
        self.config = config
        size = config.vocab_size, config.hidden_size
        self.register_buffer("embedding", source.rows("model.embed_tokens", *size))
        self.rotary = Rotary(config)
        self.blocks = nn.LayerList(
            [Block(config, source, f"model.layers.{i}") for i in range(config.num_hidden_layers)]
        )
        self.norm = Norm(config, source, "model.norm")
        self.head = source.matrix("model.embed_tokens" if config.tie_word_embeddings else "lm_head", *size)
        self.dtype = source.dtype  # of activations

    def forward(self, ids: paddle.Tensor, positions: paddle.Tensor, attend: Attend) -> paddle.Tensor:
        """Features [..., hidden_size] after the last norm. ``positions``: of each token in its text, from 0."""
        x = F.embedding(ids, self.embedding).astype(self.dtype)
        rotation = self.rotary(positions)
        for i, block in enumerate(self.blocks):
            x = block(x, rotation, i, attend)
        return self.norm(x)

    def logits(self, x: paddle.Tensor) -> paddle.Tensor:
        """Logits of features, float32."""
        return self.head(x).astype("float32")


def causal(layer: int, q: paddle.Tensor, k: paddle.Tensor, v: paddle.Tensor) -> paddle.Tensor:
    """Attention of whole texts [batch, length, …], without a cache or a window."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)
