"""Random tensors. Seeds of operators are left: streams of random numbers are those of ``paddle.seed``."""

from __future__ import annotations

from typing import Any

import paddle
from paddle.static.formats.operators.table import Number, Sizes, operator, unary
from umiak.core.tensor import Tensor

for _name in "bernoulli poisson standard_gamma".split():
    unary(getattr(paddle, _name), _name)


def _uniform(shape: Any, low: Any, high: Any, dtype: str) -> Tensor:
    return paddle.uniform(shape, dtype, low, high)


def _normal(shape: Any, mean: float, std: float, dtype: str) -> Tensor:
    return paddle.standard_normal(shape, dtype) * std + mean


@operator("uniform")
def uniform(shape: Sizes, min: Number = -1.0, max: Number = 1.0, *, dtype: str = "float32", seed: int = 0) -> Any:
    return _uniform(shape, min, max, dtype)


@operator("uniform_inplace")
def uniform_inplace(x: Tensor, *, min: float = -1.0, max: float = 1.0, seed: int = 0) -> Any:
    return _uniform(list(x.shape), min, max, x.dtype.name)


@operator("uniform_random_batch_size_like", "uniform_random_batch_size_like_sr")
def uniform_like(
    input: Tensor, *, shape: Any, input_dim_idx: int = 0, output_dim_idx: int = 0, min: float = -1.0, max: float = 1.0,
    dtype: str = "float32",
) -> Any:  # fmt: skip
    sizes = list(shape)
    sizes[output_dim_idx] = input.shape[input_dim_idx]
    return _uniform(sizes, min, max, dtype)


@operator("gaussian")
def gaussian(shape: Sizes, *, mean: float = 0.0, std: float = 1.0, seed: int = 0, dtype: str = "float32") -> Any:
    return _normal(shape, mean, std, dtype)


@operator("gaussian_inplace")
def gaussian_inplace(x: Tensor, *, mean: float = 0.0, std: float = 1.0, seed: int = 0) -> Any:
    return _normal(list(x.shape), mean, std, x.dtype.name)


@operator("truncated_gaussian_random")
def truncated_gaussian_random(
    *, shape: Any, mean: float = 0.0, std: float = 1.0, seed: int = 0, a: float = -2.0, b: float = 2.0,
    dtype: str = "float32",
) -> Any:  # fmt: skip
    # By the inverse of the distribution: of what lies between the bounds, each quantile is as likely.
    low, high = (0.5 * (1.0 + paddle.erf(paddle.to_tensor(v / 2.0**0.5, "float32"))) for v in (a, b))
    quantile = low + (high - low) * paddle.uniform(shape, "float32", 0.0, 1.0)
    drawn = paddle.erfinv(2.0 * quantile - 1.0) * 2.0**0.5
    return (paddle.clip(drawn, a, b) * std + mean).astype(dtype)


@operator("randint")
def randint(shape: Sizes, *, low: int, high: int, dtype: str = "int64", seed: int = 0) -> Any:
    return paddle.randint(low, high, shape, dtype)


@operator("randperm")
def randperm(*, n: int, dtype: str = "int64") -> Any:
    return paddle.randperm(n, dtype)


@operator("multinomial")
def multinomial(x: Tensor, num_samples: Number, *, replacement: bool = False) -> Any:
    return paddle.multinomial(x, int(num_samples), replacement)


@operator("binomial")
def binomial(count: Tensor, prob: Tensor) -> Any:
    return paddle.binomial(count, prob)


@operator("exponential")
def exponential(x: Tensor, *, lam: float) -> Any:
    return -paddle.log1p(-paddle.uniform(list(x.shape), x.dtype, 0.0, 1.0)) / lam


@operator("dirichlet")
def dirichlet(alpha: Tensor) -> Any:
    drawn = paddle.standard_gamma(alpha)
    return drawn / paddle.sum(drawn, -1, keepdim=True)


@operator("shuffle_batch")
def shuffle_batch(x: Tensor, seed: Tensor | None = None, *, startup_seed: int = 0) -> Any:
    order = paddle.randperm(x.shape[0])
    return paddle.index_select(x, order, 0), order, seed


@operator("seed")
def seed(*, seed: int = 0) -> Any:
    return paddle.full([1], seed, "int32")


@operator("top_p_sampling")
def top_p_sampling(
    x: Tensor, ps: Tensor, threshold: Tensor | None = None, topp_seed: Tensor | None = None, *, seed: int = -1,
    k: int = 0, mode: str = "truncated",
) -> Any:  # fmt: skip
    return tuple(paddle.tensor.top_p_sampling(x, ps, threshold, None, -1, k, mode, return_top=False))
