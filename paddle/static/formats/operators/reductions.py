"""Sums, extrema and other reductions, and what runs along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle
from paddle.static.formats.operators.known import Known
from paddle.static.formats.operators.table import Number, Sizes, dtype_of, known, operator, small
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim


def _axes(axis: Any) -> Any:
    """None for all axes, which files have as none."""
    return list(axis) or None


@operator("sum")
def sum_(x: Tensor, axis: Sizes = (), *, dtype: str = "undefined", keepdim: bool = False) -> Any:  # type: ignore[assignment]
    return paddle.sum(x, _axes(axis), dtype_of(dtype), keepdim)


@operator("mean")
def mean(x: Tensor, axis: Sizes = (), *, keepdim: bool = False) -> Any:  # type: ignore[assignment]
    return paddle.mean(x, _axes(axis), keepdim)


@operator("mean_all")
def mean_all(x: Tensor) -> Any:
    return paddle.mean(x)


@operator("max")
def max_(x: Tensor, axis: Sizes = (), *, keepdim: bool = False) -> Any:  # type: ignore[assignment]
    return paddle.max(x, _axes(axis), keepdim)


@operator("min")
def min_(x: Tensor, axis: Sizes = (), *, keepdim: bool = False) -> Any:  # type: ignore[assignment]
    return paddle.min(x, _axes(axis), keepdim)


@operator("amax")
def amax(x: Tensor, *, axis: Any = (), keepdim: bool = False) -> Any:
    return paddle.amax(x, _axes(axis), keepdim)


@operator("amin")
def amin(x: Tensor, *, axis: Any = (), keepdim: bool = False) -> Any:
    return paddle.amin(x, _axes(axis), keepdim)


@operator("all")
def all_(x: Tensor, *, axis: Any = (), keepdim: bool = False) -> Any:
    return paddle.all(x, _axes(axis), keepdim)


@operator("any")
def any_(x: Tensor, *, axis: Any = (), keepdim: bool = False) -> Any:
    return paddle.any(x, _axes(axis), keepdim)


@operator("prod")
def prod_(x: Tensor, axis: Sizes = (), *, keepdim: bool = False, reduce_all: bool = False) -> Any:  # type: ignore[assignment]
    return paddle.prod(x, None if reduce_all else _axes(axis), keepdim)


@operator("nansum")
def nansum(x: Tensor, *, axis: Any = (), dtype: str = "undefined", keepdim: bool = False) -> Any:
    return paddle.nansum(x, _axes(axis), dtype_of(dtype), keepdim)


@operator("logsumexp")
def logsumexp(x: Tensor, *, axis: Any = (), keepdim: bool = False, reduce_all: bool = False) -> Any:
    return paddle.logsumexp(x, None if reduce_all else _axes(axis), keepdim)


@operator("var", "variance")
def var(x: Tensor, *, axis: Any = (), keepdim: bool = False, unbiased: bool = True, correction: Any = 1) -> Any:
    return paddle.var(x, _axes(axis), unbiased, keepdim)


@operator("std")
def std(x: Tensor, *, axis: Any = (), keepdim: bool = False, unbiased: bool = True, correction: Any = 1) -> Any:
    return paddle.std(x, _axes(axis), unbiased, keepdim)


@operator("median")
def median(x: Tensor, *, axis: Any = (), keepdim: bool = True, mode: str = "avg") -> Any:
    return paddle.median(x, _one_axis(axis), keepdim, mode)


@operator("nanmedian")
def nanmedian(x: Tensor, *, axis: Any = (), keepdim: bool = True, mode: str = "avg") -> Any:
    return paddle.nanmedian(x, _one_axis(axis), keepdim, mode)


def _one_axis(axis: Any) -> Any:
    axes = _axes(axis)
    return axes[0] if axes is not None and len(axes) == 1 else axes


@operator("p_norm")
def p_norm(
    x: Tensor, *, porder: float = 2, axis: int = -1, epsilon: float = 1e-12, keepdim: bool = False,
    asvector: bool = False,
) -> Any:  # fmt: skip
    return paddle.norm(x, porder, None if asvector else axis, keepdim)


@operator("frobenius_norm")
def frobenius_norm(x: Tensor, axis: Sizes = (), *, keep_dim: bool = False, reduce_all: bool = False) -> Any:  # type: ignore[assignment]
    return paddle.sqrt(paddle.sum(x * x, None if reduce_all else _axes(axis), keepdim=keep_dim))


@operator("squared_l2_norm")
def squared_l2_norm(x: Tensor) -> Any:
    return paddle.sum(x * x).reshape([1])


@operator("l1_norm")
def l1_norm(x: Tensor) -> Any:
    return paddle.sum(paddle.abs(x))


@operator("norm")
def norm(x: Tensor, *, axis: int, epsilon: float, is_test: bool = True) -> Any:
    length = paddle.sqrt(paddle.sum(x * x, axis, keepdim=True) + epsilon)
    return x / length, length


@operator("clip_by_norm", "clip_by_norm_sr")
def clip_by_norm(x: Tensor, *, max_norm: float) -> Any:
    length = paddle.sqrt(paddle.sum(x * x))
    return x * (max_norm / paddle.maximum(length, paddle.full([], max_norm, x.dtype)))


@operator("renorm")
def renorm(x: Tensor, *, p: float, axis: int, max_norm: float) -> Any:
    return paddle.renorm(x, p, axis, max_norm)


@operator("dist")
def dist(x: Tensor, y: Tensor, *, p: float = 2.0) -> Any:
    return paddle.dist(x, y, p)


@operator("reduce_as")
def reduce_as(x: Tensor, target: Tensor) -> Any:
    return paddle.reduce_as(x, target)


@operator("numel")
def numel(x: Tensor) -> Any:
    return Known(np.array(dim.product(x.shape), dtype=object), "int64")


@operator("is_empty")
def is_empty(x: Tensor) -> Any:
    return Known(np.array(dim.product(x.shape) == 0, dtype=object), "bool")


# --- along an axis ---------------------------------------------------------------------------------------------------


def _scanned(
    function: Any, x: Tensor, axis: int, flatten: bool, exclusive: bool, reverse: bool, first: float
) -> Tensor:
    """A running sum or product: over what comes behind instead of before, and without the element itself."""
    if flatten:
        x, axis = x.reshape([-1]), 0
    if reverse:
        x = paddle.flip(x, axis)
    y = function(x, axis)
    if exclusive:
        shape = list(y.shape)
        shape[axis] = 1
        rest = paddle.slice(y, [axis % y.ndim], [0], [y.shape[axis] - 1])
        y = paddle.concat([paddle.full(shape, first, y.dtype), rest], axis)
    return paddle.flip(y, axis) if reverse else y


@operator("cumsum")
def cumsum(x: Tensor, axis: Number, *, flatten: bool = False, exclusive: bool = False, reverse: bool = False) -> Any:
    return _scanned(paddle.cumsum, x, int(axis), flatten, exclusive, reverse, 0)


@operator("cumprod")
def cumprod(x: Tensor, *, dim: int, exclusive: bool = False, reverse: bool = False) -> Any:
    return _scanned(paddle.cumprod, x, dim, False, exclusive, reverse, 1)


@operator("logcumsumexp")
def logcumsumexp(
    x: Tensor, *, axis: int = -1, flatten: bool = False, exclusive: bool = False, reverse: bool = False
) -> Any:
    return _scanned(paddle.logcumsumexp, x, axis, flatten, exclusive, reverse, -float("inf"))


@operator("cummax")
def cummax(x: Tensor, *, axis: int = -1, dtype: str = "int64") -> Any:
    return tuple(paddle.cummax(x, axis, dtype))


@operator("cummin")
def cummin(x: Tensor, *, axis: int = -1, dtype: str = "int64") -> Any:
    return tuple(paddle.cummin(x, axis, dtype))


# --- of numbers that are known ---------------------------------------------------------------------------------------


def _folded(x: Known, axis: Any, keepdim: bool, fold: Any) -> Known | None:
    axes = tuple(axis) if axis is not None else None
    if (axes is not None and axes not in ((0,), (-1,))) or x.array.ndim > 1:
        return None
    return small(np.array([fold(x.elements())] if keepdim else fold(x.elements()), dtype=object), x.dtype)


@known("sum")
def known_sum(x: Known, axis: Known | None = None, *, dtype: str = "undefined", keepdim: bool = False) -> Known | None:
    if dtype_of(dtype, x.dtype) != x.dtype or x.dtype not in ("int32", "int64"):
        return None
    return _folded(x, axis and (axis.elements() or None), keepdim, lambda xs: sum(xs))


@known("prod")
def known_prod(x: Known, axis: Known | None = None, *, keepdim: bool = False, reduce_all: bool = False) -> Known | None:
    return _folded(x, None if reduce_all else axis and (axis.elements() or None), keepdim, dim.product)


@known("max")
def known_max(x: Known, axis: Known | None = None, *, keepdim: bool = False) -> Known | None:
    return _folded(x, axis and (axis.elements() or None), keepdim, lambda xs: _extreme(dim.maximum, xs))


@known("min")
def known_min(x: Known, axis: Known | None = None, *, keepdim: bool = False) -> Known | None:
    return _folded(x, axis and (axis.elements() or None), keepdim, lambda xs: _extreme(dim.minimum, xs))


def _extreme(choose: Any, xs: list[Any]) -> Any:
    found = xs[0]
    for x in xs[1:]:
        found = choose(found, x)
    return found
