"""Rotary positions: pairs of features are rotated by angles proportional to the position (Su et al., 2021)."""

from __future__ import annotations

import math

import numpy as np
from config import Config

import paddle
from paddle import nn


def frequencies(config: Config) -> tuple[np.ndarray, float]:
    """The angle per position of each pair, and the factor of cosines and sines.

    References:
        dynamic: as default, up to the length of the first training, which a text may not exceed.
        linear: Chen et al., 2023: Extending Context Window of Large Language Models via Positional Interpolation.
        yarn: Peng et al., 2023: YaRN: Efficient Context Window Extension of Large Language Models.
        llama3: Grattafiori et al., 2024: The Llama 3 Herd of Models, with the constants that its files carry.
    """
    dim, theta, rope = config.head_dim, config.rope_theta, config.rope
    plain = theta ** (-np.arange(0, dim, 2) / dim)
    kind, factor = rope["rope_type"], rope.get("factor", 1.0)
    length = rope.get("original_max_position_embeddings") or config.max_position_embeddings
    if kind == "linear":
        return plain / factor, 1.0
    if kind == "llama3":
        rotations = length * plain / (2 * math.pi)  # within the length of its first training
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        kept = np.clip((rotations - low) / (high - low), 0, 1)
        return plain * (kept + (1 - kept) / factor), 1.0
    if kind == "yarn":
        # The pair that makes so many rotations within that length.
        ends = [
            dim * math.log(length / (rotations * 2 * math.pi)) / (2 * math.log(theta))
            for rotations in (rope.get("beta_fast") or 32, rope.get("beta_slow") or 1)
        ]
        if rope.get("truncate", True):
            ends = [math.floor(ends[0]), math.ceil(ends[1])]
        low, high = max(ends[0], 0), min(ends[1], dim - 1)
        stretched = np.clip((np.arange(dim // 2) - low) / (high - low or 0.001), 0, 1)
        scale = rope.get("attention_factor") or (0.1 * math.log(factor) + 1 if factor > 1 else 1.0)
        return plain * (1 - stretched + stretched / factor), scale
    return plain, 1.0


class Rotary(nn.Layer):
    """Cosines and sines of positions. They are computed, so there is no table as long as the longest text."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        values, self.scale = frequencies(config)
        self.register_buffer("frequencies", paddle.to_tensor(values.astype("float32")), persistable=False)

    def forward(self, positions: paddle.Tensor) -> tuple[paddle.Tensor, paddle.Tensor]:
        """For positions [...]: cosines and sines [..., 1, head_dim / 2], float32."""
        angles = positions.astype("float32").unsqueeze(-1).unsqueeze(-1) * self.frequencies
        return paddle.cos(angles) * self.scale, paddle.sin(angles) * self.scale


def rotate(x: paddle.Tensor, rotation: tuple[paddle.Tensor, paddle.Tensor]) -> paddle.Tensor:
    """Rotate heads [..., heads, head_dim]: feature i of the first half with feature i of the second."""
    cos, sin = rotation
    a, b = paddle.chunk(x.astype("float32"), 2, axis=-1)
    return paddle.concat([a * cos - b * sin, b * cos + a * sin], axis=-1).astype(x.dtype)
