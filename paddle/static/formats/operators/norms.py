"""Norms."""

from __future__ import annotations

from typing import Any

import paddle
from paddle.nn import functional as F
from paddle.static.formats.operators.table import bounded, operator
from umiak.core.tensor import Tensor


@operator("batch_norm", "sync_batch_norm")
def batch_norm(
    x: Tensor, mean: Tensor, variance: Tensor, scale: Tensor | None = None, bias: Tensor | None = None, *,
    is_test: bool = False, momentum: float = 0.9, epsilon: float = 1e-5, data_format: str = "NCHW",
    use_global_stats: bool = False, trainable_statistics: bool = False,
) -> Any:  # fmt: skip
    y = _normalised(x, mean, variance, scale, bias, is_test, momentum, epsilon, data_format, use_global_stats)
    return y, mean, variance


def _normalised(
    x: Tensor, mean: Tensor, variance: Tensor, scale: Tensor | None, bias: Tensor | None, is_test: bool,
    momentum: float, epsilon: float, data_format: str, use_global_stats: bool,
) -> Tensor:  # fmt: skip
    form = {2: "NC", 3: "NCL", 4: "NCHW", 5: "NCDHW"}[x.ndim]
    if data_format in ("NHWC", "NDHWC", "NLC"):
        form = {2: "NC", 3: "NLC", 4: "NHWC", 5: "NDHWC"}[x.ndim]
    return F.batch_norm(x, mean, variance, scale, bias, not (is_test or use_global_stats), momentum, epsilon, form)


@operator("fused_batch_norm_act")
def fused_batch_norm_act(
    x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor, *, momentum: float = 0.9,
    epsilon: float = 1e-5, act_type: str = "relu",
) -> Any:  # fmt: skip
    y = _normalised(x, mean, variance, scale, bias, False, momentum, epsilon, "NHWC", False)
    return getattr(F, act_type)(y), mean, variance


@operator("layer_norm")
def layer_norm(
    x: Tensor, scale: Tensor | None = None, bias: Tensor | None = None, *, epsilon: float = 1e-5,
    begin_norm_axis: int = 1,
) -> Any:  # fmt: skip
    shape = list(x.shape[begin_norm_axis:])
    return F.layer_norm(x, shape, _shaped(scale, shape), _shaped(bias, shape), epsilon)


def _shaped(x: Tensor | None, shape: Any) -> Tensor | None:
    return None if x is None else x.reshape(shape)


@operator("rms_norm")
def rms_norm(x: Tensor, scale: Tensor | None = None, *, normalized_shape: Any = (), epsilon: float = 1e-5) -> Any:
    shape = list(normalized_shape) or [x.shape[-1]]
    return tuple(F.rms_norm(x, shape, _shaped(scale, shape), epsilon))


@operator("instance_norm")
def instance_norm(x: Tensor, scale: Tensor | None = None, bias: Tensor | None = None, *, epsilon: float = 1e-5) -> Any:
    return F.instance_norm(x, weight=scale, bias=bias, eps=epsilon)


@operator("group_norm")
def group_norm(
    x: Tensor, scale: Tensor | None = None, bias: Tensor | None = None, *, epsilon: float = 1e-5, groups: int,
    data_format: str = "NCHW",
) -> Any:  # fmt: skip
    last = data_format in ("NHWC", "NDHWC", "NLC")
    return F.group_norm(x, groups, epsilon, scale, bias, "NHWC" if last else "NCHW")


@operator("lrn")
def lrn(
    x: Tensor, *, n: int = 5, k: float = 2.0, alpha: float = 1e-4, beta: float = 0.75, data_format: str = "NCHW"
) -> Any:
    # The operator has the sum of squares where the function of today has their mean.
    form = "NHWC" if data_format == "NHWC" else "NCHW"
    return F.local_response_norm(x, n, alpha * n, beta, k, form)


@operator("spectral_norm")
def spectral_norm(
    weight: Tensor, u: Tensor, v: Tensor, *, dim: int = 0, power_iters: int = 1, eps: float = 1e-12
) -> Any:
    order = [dim, *(i for i in range(weight.ndim) if i != dim)]
    matrix = paddle.transpose(weight, order).reshape([weight.shape[dim], -1])
    u, v = u.reshape([-1, 1]), v.reshape([-1, 1])
    for _ in range(bounded(power_iters)):
        v = paddle.matmul(matrix, u, transpose_x=True)
        v = v / (paddle.sqrt(paddle.sum(v * v)) + eps)
        u = paddle.matmul(matrix, v)
        u = u / (paddle.sqrt(paddle.sum(u * u)) + eps)
    return weight / paddle.sum(u * paddle.matmul(matrix, v))
