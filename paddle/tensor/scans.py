"""Running sums, products and extrema."""

from __future__ import annotations

from typing import Any

from paddle._public import inplace, public
from paddle.tensor._args import (
    AxisError,
    OperandError,
    axis_of,
    cast,
    create_on,
    dtype_of,
    floating,
    need_tensor,
    number,
    op_error,
)
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor


def _along(x: Tensor, axis: Any, op: str) -> tuple[Tensor, int]:
    """x and an axis; without one, all elements in a row."""
    need_tensor(x, op)
    if axis is None:
        return F.reshape(x, (x._count,)), 0
    if x.ndim == 0:
        if number(axis) not in (0, -1):
            raise op_error(AxisError, op, "axis 0 or -1 of a 0-d tensor", axis)
        return F.copy(x), -1
    return x, axis_of(axis, x.ndim, op)


@public
def cumsum(x: Tensor, axis: Any = None, dtype: Any = None, name: str | None = None, *, out: Any = None) -> Tensor:
    """Running sums along an axis.

    Args:
        x: tensor of any shape and dtype. bool and integers are summed in int64.
        axis: the axis, negative counted from the end; None sums all elements in row-major order.
        dtype: dtype that x is cast to first; None keeps x's, but for bool and integers.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape (1-d if axis is None), of ``dtype`` or x's dtype.

    Raises:
        TypeError: x is no tensor, or the axis no integer.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1, 2], [3, 4]])
        >>> paddle.cumsum(x, 0).tolist(), paddle.cumsum(x).tolist()
        ([[1, 2], [4, 6]], [1, 3, 6, 10])
    """
    x, k = _along(x, axis, "cumsum")
    if dtype is not None:
        x = cast(x, dtype_of(dtype))
    elif not (x.dtype.is_floating or x.dtype.is_complex or x.dtype.is_packed):
        x = cast(x, dt.int64)
    return x if k < 0 else F.cumsum(x, k)


def _cumsum_within(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Integers keep their dtype in place, unless another is asked for."""
    sums = cumsum(x, *args, **kwargs)
    given = kwargs.get("dtype") is not None or len(args) > 1
    return cast(sums, x.dtype) if x.dtype.is_integer and not given else sums


cumsum_ = inplace(cumsum, any_shape=True, by=_cumsum_within)


@public
def cumprod(x: Tensor, dim: Any = None, *, dtype: Any = None, out: Any = None, name: str | None = None) -> Tensor:
    """Running products along an axis.

    Args:
        x: integer, floating or complex tensor of any shape.
        dim: the axis, negative counted from the end; None multiplies all elements in row-major order.
        dtype: dtype that x is cast to first; None keeps x's.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape (1-d if dim is None), of ``dtype`` or x's dtype.

    Raises:
        TypeError: x is no tensor or is bool, or the axis no integer.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.cumprod(paddle.to_tensor([[1, 2], [3, 4]]), 1).tolist()
        [[1, 2], [3, 12]]
    """
    x, k = _along(x, dim, "cumprod")
    if dtype is not None:
        x = cast(x, dtype_of(dtype))
    return x if k < 0 else F.cumprod(x, k)


def _cumprod_within(x: Tensor, dim: Any = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """In place, ``dtype`` and ``name`` may come by position, too."""
    return cumprod(x, dim, dtype=dtype)


_cumprod_within.__qualname__ = "cumprod_"  # what errors of Python call it
cumprod_ = inplace(cumprod, any_shape=True, by=_cumprod_within)


@public
def logcumsumexp(x: Tensor, axis: Any = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """Logarithms of running sums of ``exp(x)`` along an axis, without overflow.

    Args:
        x: floating tensor of any shape; integers and bools become float32.
        axis: the axis, negative counted from the end; None takes all elements in row-major order.
        dtype: floating dtype that x is cast to first; None keeps x's.

    Returns:
        Tensor of x's shape (1-d if axis is None), of ``dtype`` or x's dtype (float32 for integers and bools).

    Raises:
        TypeError: x is no tensor or is complex, or the axis no integer.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.logcumsumexp(paddle.zeros([3]), 0).tolist()]
        [0.0, 0.6931, 1.0986]
    """
    x, k = _along(x, axis, "logcumsumexp")
    x = cast(x, dtype_of(dtype)) if dtype is not None else floating(x)
    return x if k < 0 else F.log_cumsum_exp(x, k)


@public
def cummax(x: Tensor, axis: Any = None, dtype: Any = "int64", name: str | None = None) -> tuple[Tensor, Tensor]:
    """Running maxima along an axis, and where they are.

    Args:
        x: integer or floating tensor of any shape. NaN is larger than all numbers.
        axis: the axis, negative counted from the end; None takes all elements in row-major order.
        dtype: dtype of the indices, int32 or int64.

    Returns:
        Tuple of the maxima, of x's dtype, and of their indices along the axis, of equal elements the latest; both of
        x's shape (1-d if axis is None).

    Raises:
        TypeError: x is no tensor, or is bool or complex, or the axis is no integer.
        ValueError: dtype is neither int32 nor int64.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> values, indices = paddle.cummax(paddle.to_tensor([1, 3, 2]), 0)
        >>> values.tolist(), indices.tolist()
        ([1, 3, 3], [0, 1, 1])
    """
    return _running(F.cummax, x, axis, dtype, "cummax")


@public
def cummin(x: Tensor, axis: Any = None, dtype: Any = "int64", name: str | None = None) -> tuple[Tensor, Tensor]:
    """Running minima along an axis, and where they are.

    Args:
        x: integer or floating tensor of any shape. NaN is smaller than all numbers.
        axis: the axis, negative counted from the end; None takes all elements in row-major order.
        dtype: dtype of the indices, int32 or int64.

    Returns:
        Tuple of the minima, of x's dtype, and of their indices along the axis, of equal elements the latest; both of
        x's shape (1-d if axis is None).

    Raises:
        TypeError: x is no tensor, or is bool or complex, or the axis is no integer.
        ValueError: dtype is neither int32 nor int64.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> values, indices = paddle.cummin(paddle.to_tensor([3, 1, 2]), 0)
        >>> values.tolist(), indices.tolist()
        ([3, 1, 1], [0, 1, 1])
    """
    return _running(F.cummin, x, axis, dtype, "cummin")


def _running(find: Any, x: Tensor, axis: Any, dtype: Any, op: str) -> tuple[Tensor, Tensor]:
    x, k = _along(x, axis, op)
    d = dtype_of(dtype, dt.int64)
    if d not in (dt.int32, dt.int64):
        raise op_error(OperandError, op, "a dtype of int32 or int64", d.name)
    return (x, create_on(x.place, F.full, 0, d, ())) if k < 0 else find(x, k, dtype=d)
