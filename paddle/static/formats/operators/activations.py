"""Activations."""

from __future__ import annotations

from typing import Any

import paddle
from paddle.nn import functional as F
from paddle.static.formats.operators.table import Number, dropout_mode, operator, unary
from umiak.core.tensor import Tensor

for _name in "relu relu6 silu swish softsign hardswish sigmoid mish".split():
    unary(getattr(F, _name), _name)
unary(F.log_sigmoid, "logsigmoid")
unary(F.tanhshrink, "tanh_shrink")


@operator("selu")
def selu(x: Tensor, *, scale: float = 1.0507009873554805, alpha: float = 1.6732632423543772) -> Any:
    return F.selu(x, scale, alpha)


@operator("elu")
def elu(x: Tensor, *, alpha: float = 1.0) -> Any:
    return F.elu(x, alpha)


@operator("celu")
def celu(x: Tensor, *, alpha: float = 1.0) -> Any:
    return F.celu(x, alpha)


@operator("gelu")
def gelu(x: Tensor, *, approximate: bool = False) -> Any:
    return F.gelu(x, approximate)


@operator("leaky_relu")
def leaky_relu(x: Tensor, *, negative_slope: float = 0.02) -> Any:
    return F.leaky_relu(x, negative_slope)


@operator("hardshrink")
def hardshrink(x: Tensor, *, threshold: float = 0.5) -> Any:
    return F.hardshrink(x, threshold)


@operator("softshrink")
def softshrink(x: Tensor, *, threshold: float = 0.5) -> Any:
    return F.softshrink(x, threshold)


@operator("hardsigmoid")
def hardsigmoid(x: Tensor, *, slope: float = 0.2, offset: float = 0.5) -> Any:
    return F.hardsigmoid(x, slope, offset)


@operator("hardtanh")
def hardtanh(x: Tensor, *, t_min: float = 0.0, t_max: float = 24.0) -> Any:
    return F.hardtanh(x, t_min, t_max)


@operator("thresholded_relu")
def thresholded_relu(x: Tensor, *, threshold: float = 1.0, value: float = 0.0) -> Any:
    return F.thresholded_relu(x, threshold, value)


@operator("softplus")
def softplus(x: Tensor, *, beta: float = 1.0, threshold: float = 20.0) -> Any:
    return F.softplus(x, beta, threshold)


@operator("soft_relu")
def soft_relu(x: Tensor, *, threshold: float = 40.0) -> Any:
    return paddle.log1p(paddle.exp(paddle.clip(x, -threshold, threshold)))


@operator("prelu")
def prelu(x: Tensor, alpha: Tensor, *, data_format: str = "NCHW", mode: str = "all") -> Any:
    if mode == "element":
        return paddle.where(x > 0, x, x * alpha.reshape([1, *alpha.shape[-(x.ndim - 1) :]]))
    return F.prelu(x, alpha.reshape([-1]), data_format)


@operator("rrelu")
def rrelu(x: Tensor, *, lower: float = 0.125, upper: float = 1 / 3, is_test: bool = False) -> Any:
    return F.rrelu(x, lower, upper, training=not is_test), None


@operator("maxout")
def maxout(x: Tensor, *, groups: int, axis: int = 1) -> Any:
    return F.maxout(x, groups, axis)


@operator("swiglu")
def swiglu(x: Tensor, y: Tensor | None = None) -> Any:
    return F.swiglu(x, y)


@operator("softmax")
def softmax(x: Tensor, *, axis: int = -1) -> Any:
    return F.softmax(x, axis)


@operator("log_softmax")
def log_softmax(x: Tensor, *, axis: int = -1) -> Any:
    return F.log_softmax(x, axis)


@operator("gumbel_softmax")
def gumbel_softmax(x: Tensor, *, temperature: float = 1.0, hard: bool = False, axis: int = -1) -> Any:
    return F.gumbel_softmax(x, temperature, hard, axis)


@operator("dropout")
def dropout(
    x: Tensor, seed_tensor: Tensor | None = None, p: Number = 0.5, *, is_test: bool = False,
    mode: str = "downgrade_in_infer", seed: int = 0, fix_seed: bool = False,
) -> Any:  # fmt: skip
    mode = "downscale_in_infer" if mode == "downgrade_in_infer" else mode
    return F.dropout(x, p, training=not is_test, mode=dropout_mode(mode)), None
