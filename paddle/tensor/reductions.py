"""Sums, means, extrema and other reductions."""

from __future__ import annotations

import builtins
from collections import defaultdict
from typing import Any

from paddle._public import public
from paddle.tensor._args import (
    cast,
    dtype_of,
    floats,
    need_tensor,
    op_error,
    reduced_axes,
)
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dispatch import apply1, apply_reduce, reduction_key
from umiak.core.tensor import Tensor

_SUMS: dict[Any, Any] = {}


_MEANS: dict[Any, Any] = {}


def _reducer(cls: type, table: dict, x: Tensor, axis: Any, keepdim: bool, op: str) -> Any:
    """The interned op for these axes; kept where ``apply_reduce`` finds it, unless they are a list."""
    found = cls(reduced_axes(axis, x.ndim, op), builtins.bool(keepdim))
    key = reduction_key(x, axis, keepdim)
    if key >= 0:
        table[key] = found
    return found


@public(reduction=_SUMS)
def sum(
    x: Tensor,
    axis: Any = None,
    dtype: Any = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The sum of elements.

    Args:
        x: a tensor. bool and int32 are summed in int64.
        axis: one axis or several; all for None.
        dtype: cast to before summing.
        keepdim: whether reduced dims stay, as size 1.
        out: a tensor that is written instead.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> float(x.sum()), x.sum(0).tolist()
        (10.0, [4.0, 6.0])
    """
    if dtype is None and (y := apply_reduce(_SUMS, x, axis, keepdim)) is not None:
        return y
    if not isinstance(x, Tensor):
        need_tensor(x, "sum")
    d = x.dtype
    if dtype is not None:
        x = cast(x, dtype_of(dtype))
    elif d is dt.bool or d is dt.int32:
        x = F.cast(x, dtype=dt.int64)
    return apply1(_reducer(F.Sum, _SUMS, x, axis, keepdim, "sum"), x)


@public(reduction=_MEANS)
def mean(
    x: Tensor,
    axis: Any = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of elements.

    Args:
        x: a tensor; of integers the mean is truncated to an integer.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.
        dtype: cast to first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> float(paddle.mean(paddle.to_tensor([1.0, 2.0])))
        1.5
    """
    if dtype is not None:
        x = cast(need_tensor(x, "mean"), dtype_of(dtype))
    if (y := apply_reduce(_MEANS, x, axis, keepdim)) is not None:
        return y
    if not isinstance(x, Tensor):
        need_tensor(x, "mean")
    if not (x.dtype.is_floating or x.dtype.is_complex):
        return cast(mean(F.cast(x, dtype=dt.float64), axis, keepdim), x.dtype)
    return apply1(_reducer(F.Mean, _MEANS, x, axis, keepdim, "mean"), x)


_TABLES: defaultdict[type, dict[Any, Any]] = defaultdict(dict)


def _reduced(cls: type, x: Tensor, axis: Any, keepdim: bool, op: str) -> Tensor:
    need_tensor(x, op)
    table = _TABLES[cls]
    y = apply_reduce(table, x, axis, keepdim)
    return apply1(_reducer(cls, table, x, axis, keepdim, op), x) if y is None else y


def _to_bool(x: Any, op: str) -> Tensor:
    return x if need_tensor(x, op).dtype.is_bool else F.ne(x, 0)


@public
def all(
    x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Whether no element is zero.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.
        out: a tensor that is written instead.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> bool(paddle.all(paddle.to_tensor([True, False])))
        False
    """
    return _reduced(F.All, _to_bool(x, "all"), axis, keepdim, "all")


@public
def any(
    x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Whether some element is not zero.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.
        out: a tensor that is written instead.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> bool(paddle.any(paddle.to_tensor([True, False])))
        True
    """
    return _reduced(F.Any, _to_bool(x, "any"), axis, keepdim, "any")


@public(reduction=_TABLES[F.Max])
def amax(
    x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The largest element; ties share the gradient.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.
        out: a tensor that is written instead.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> float(paddle.amax(paddle.to_tensor([1.0, 3.0])))
        3.0
    """
    return _reduced(F.Max, x, axis, keepdim, "amax")


@public(reduction=_TABLES[F.Min])
def amin(
    x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The smallest element; ties share the gradient.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.
        out: a tensor that is written instead.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> float(paddle.amin(paddle.to_tensor([1.0, 3.0])))
        1.0
    """
    return _reduced(F.Min, x, axis, keepdim, "amin")


# `input` and `dim` belong to another framework's max, which also returns indices: paddle.compat.max.
@public(usual=False, reduction=_TABLES[F.Max])
def max(x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The largest element.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> float(paddle.max(paddle.to_tensor([1.0, 3.0])))
        3.0
    """
    return _reduced(F.Max, x, axis, keepdim, "max")


@public(usual=False, reduction=_TABLES[F.Min])
def min(x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The smallest element.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> float(paddle.min(paddle.to_tensor([1.0, 3.0])))
        1.0
    """
    return _reduced(F.Min, x, axis, keepdim, "min")


@public("paddle paddle.tensor paddle.special Tensor")
def logsumexp(
    x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """log(sum(exp(x))), without overflow.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.
        out: a tensor that is written instead.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> round(float(paddle.logsumexp(paddle.zeros([2]))), 4)
        0.6931
    """
    return _reduced(F.Logsumexp, floats(x, "logsumexp"), axis, keepdim, "logsumexp")


@public(reduction=_TABLES[F.CountNonzero])
def count_nonzero(x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """How many elements are not zero, in int64.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> int(paddle.count_nonzero(paddle.to_tensor([0, 5])))
        1
    """
    return _reduced(F.CountNonzero, x, axis, keepdim, "count_nonzero")


@public
def nanmean(x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The mean of the elements that are not NaN.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> float(paddle.nanmean(paddle.to_tensor([1.0, float('nan')])))
        1.0
    """
    return _reduced(F.Nanmean, floats(x, "nanmean"), axis, keepdim, "nanmean")


@public
def nansum(x: Tensor, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The sum of the elements that are not NaN; arguments as for :func:`sum`.

    Example:
        >>> import paddle
        >>> float(paddle.nansum(paddle.to_tensor([1.0, float("nan")])))
        1.0
    """
    need_tensor(x, "nansum")
    if not (x.dtype.is_floating or x.dtype.is_complex):
        return sum(x, axis, dtype, keepdim)
    if dtype is not None:
        x = cast(x, dtype_of(dtype))
    return F.nansum(x, reduced_axes(axis, x.ndim, "nansum"), keepdim=builtins.bool(keepdim))


@public
def prod(
    x: Tensor, axis: Any = None, keepdim: bool = False, dtype: Any = None, out: Any = None, name: str | None = None
) -> Tensor:
    """The product of elements.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.
        dtype: cast to first.

    Example:
        >>> import paddle
        >>> float(paddle.prod(paddle.to_tensor([2.0, 3.0])))
        6.0
    """
    need_tensor(x, "prod")
    if dtype is not None:
        x = cast(x, dtype_of(dtype))
    return F.prod(x, reduced_axes(axis, x.ndim, "prod"), keepdim=builtins.bool(keepdim))


@public(usual=False)
def reduce_as(x: Tensor, target: Tensor, name: str | None = None) -> Tensor:
    """``x`` summed down to the shape of ``target``, which must broadcast to that of x.

    Example:
        >>> import paddle
        >>> paddle.reduce_as(paddle.ones([2, 3]), paddle.ones([3])).tolist()
        [2.0, 2.0, 2.0]
    """
    return F.sum_to(need_tensor(x, "reduce_as"), tuple(need_tensor(target, "reduce_as", "target").shape))


@public
def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of a list of tensors of one shape and dtype; of one tensor, a copy.

    Example:
        >>> import paddle
        >>> paddle.add_n([paddle.ones([2]), paddle.ones([2])]).tolist()
        [2.0, 2.0]
    """
    if isinstance(inputs, Tensor):
        return F.copy(inputs)
    inputs = list(inputs)
    if not inputs:
        raise op_error(ValueError, "add_n", "at least one tensor", "none")
    out = need_tensor(inputs[0], "add_n", "inputs")
    for x in inputs[1:]:
        if need_tensor(x, "add_n", "inputs").shape != out.shape:
            raise op_error(ValueError, "add_n", "tensors of one shape", f"{out.shape} and {x.shape}")
        out = out + x
    return out if len(inputs) > 1 else F.copy(out)
