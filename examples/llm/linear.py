"""Linear maps by weights [outputs, inputs], as files have them: floating, quantised, with an adapter."""

from __future__ import annotations

import math

import paddle
from paddle import nn
from paddle.nn.quant import weight_only_linear, weight_quantize

WEIGHTS = ("float32", "bfloat16", "int8", "int4")


class Dense(nn.Layer):
    """``x @ weight.T + bias``."""

    def __init__(self, weight: paddle.Tensor, bias: paddle.Tensor | None = None) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("bias", bias)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        y = paddle.matmul(x, self.weight, transpose_y=True)
        return y if self.bias is None else y + self.bias


class Quantised(nn.Layer):
    """The same by integers of 8 or 4 bits; ``group`` inputs of 4 bits share a scale, where groups divide them."""

    def __init__(self, weight: paddle.Tensor, bias: paddle.Tensor | None, kind: str, group: int = 64) -> None:
        super().__init__()
        self.kind = kind
        self.group = group if kind == "int4" and weight.shape[1] % group == 0 else -1
        values, scales = weight_quantize(weight.T.astype("float32"), f"weight_only_{kind}", group_size=self.group)
        self.register_buffer("weight", values)
        self.register_buffer("scales", scales)
        self.register_buffer("bias", bias)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return weight_only_linear(x, self.weight, self.bias, self.scales, self.kind, group_size=self.group)


class Lora(nn.Layer):
    """A linear map plus one of low rank that is trained: ``base(x) + scale * x @ down.T @ up.T``.

    References:
        Hu et al., 2021: LoRA: Low-Rank Adaptation of Large Language Models.
    """

    def __init__(self, base: Dense | Quantised, inputs: int, outputs: int, rank: int, alpha: float) -> None:
        super().__init__()
        self.base, self.scale = base, alpha / rank
        bound = 1 / math.sqrt(inputs)
        self.down = self.create_parameter(
            [rank, inputs], default_initializer=nn.initializer.Uniform(-bound, bound), dtype="float32"
        )
        self.up = self.create_parameter([outputs, rank], default_initializer=nn.initializer.Constant(0.0))

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        low = paddle.matmul(x.astype("float32"), self.down, transpose_y=True)
        return self.base(x) + (paddle.matmul(low, self.up, transpose_y=True) * self.scale).astype(x.dtype)

    @paddle.no_grad()
    def merged(self) -> Dense:
        """The floating map that gives the same."""
        change = paddle.matmul(self.up, self.down) * self.scale
        weight = (self.base.weight.astype("float32") + change).astype(self.base.weight.dtype)
        return Dense(weight, self.base.bias)
