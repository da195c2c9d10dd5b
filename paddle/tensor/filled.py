"""Tensors filled with a number or not at all, by shape or by another tensor's shape; the identity matrix."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from paddle._public import public
from paddle.framework.place import on_device, place_of
from paddle.tensor._args import (
    NUMBERS,
    InternedOps,
    OperandError,
    default_float,
    dtype_of,
    integer,
    need_tensor,
    op_error,
    shape_of,
)
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import current, place_guard
from umiak.core.dtype import DType
from umiak.core.eager import apply
from umiak.core.tensor import Tensor
from umiak.core.tensor import empty as _empty
from umiak.ir.expr import Sym


def with_gradient(x: Tensor, requires_grad: bool) -> Tensor:
    if requires_grad:
        x.stop_gradient = False
    return x


def _uninitialised(shape: tuple, dtype: DType, place: Any) -> Tensor:
    """Memory as it comes; zeros where sizes are symbols, as the program that is traced makes the tensor."""
    if not any(type(n) is Sym for n in shape):
        return _empty(shape, dtype, place)
    with place_guard(place):
        return F.full(0, dtype, shape)


_FULL = InternedOps(F.Full)


def _filled(value: Any, shape: Any, dtype: DType, device: Any, requires_grad: bool, op: str) -> Tensor:
    sizes = shape_of(shape, op)
    if isinstance(value, Tensor) and value.ndim:
        value = F.reshape(value, ()) if type(value._count) is not int or value._count == 1 else value
    elif isinstance(value, builtins.complex) and not dtype.is_complex:
        value = value != 0 if dtype.is_bool else value.real
    if device is not None:
        with on_device(device):
            return with_gradient(apply(_FULL[dtype], (value,), (sizes,)), requires_grad)
    x = apply(_FULL[dtype], (value,), (sizes,))
    return with_gradient(x, requires_grad) if requires_grad else x


@public("paddle paddle.tensor", aliases={"size": "shape"}, ints_from=0)
def zeros(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor of zeros.

    Args:
        shape: sizes, as a list, a tuple, separate ints or an integer tensor.
        dtype: the dtype; by default the default floating dtype.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the given shape and dtype.

    Raises:
        TypeError: a size is not an integer, or ``dtype`` is not a dtype.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.zeros([2, 2], dtype="int32").tolist()
        [[0, 0], [0, 0]]
    """
    return _filled(0, shape, dtype_of(dtype), device, requires_grad, "zeros")


@public("paddle paddle.tensor", aliases={"size": "shape"}, ints_from=0)
def ones(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor of ones.

    Args:
        shape: sizes, as a list, a tuple, separate ints or an integer tensor.
        dtype: the dtype; by default the default floating dtype.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the given shape and dtype.

    Raises:
        TypeError: a size is not an integer, or ``dtype`` is not a dtype.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.ones([2, 2], dtype="int32").tolist()
        [[1, 1], [1, 1]]
    """
    return _filled(1, shape, dtype_of(dtype), device, requires_grad, "ones")


@public("paddle paddle.tensor", aliases={"size": "shape"}, ints_from=0)
def empty(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor whose elements are not set.

    Args:
        shape: sizes, as a list, a tuple, separate ints or an integer tensor.
        dtype: the dtype; by default the default floating dtype.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the given shape and dtype.

    Raises:
        TypeError: a size is not an integer, or ``dtype`` is not a dtype.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.empty([2, 3]).shape
        paddle.Size([2, 3])
    """
    x = _uninitialised(tuple(shape_of(shape, "empty")), dtype_of(dtype), None if device is None else place_of(device))
    return with_gradient(x, requires_grad)


@public("paddle paddle.tensor", aliases={"size": "shape"})
def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor in which every element is ``fill_value``.

    Args:
        shape: sizes, as a list, a tuple or an integer tensor.
        fill_value: a number, or a tensor of one element.
        dtype: the dtype. By default bool for a bool, complex128 for a complex number, that of a complex tensor, and the
            default floating dtype for all else, tensors of another one, too.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the given shape and dtype.

    Raises:
        TypeError: ``fill_value`` is neither a number nor a tensor, or ``dtype`` is not a dtype.
        ValueError: a size is negative.
        OverflowError: an integer dtype cannot hold the number.

    Example:
        >>> import paddle
        >>> paddle.full([2], 7, dtype="int64").tolist()
        [7, 7]
    """
    if dtype is None:
        if isinstance(fill_value, Tensor):
            d = fill_value.dtype if fill_value.dtype.is_complex else default_float()
        elif isinstance(fill_value, (bool, np.bool_)):
            d = dt.bool
        else:
            d = dt.complex128 if isinstance(fill_value, builtins.complex) else default_float()
    else:
        d = dtype_of(dtype)
    value = fill_value if isinstance(fill_value, Tensor) else _fill_number(fill_value)
    return _filled(value, shape, d, device, requires_grad, "full")


def _fill_number(v: Any) -> Any:
    if isinstance(v, (np.generic, np.ndarray)):
        return v.item()
    if isinstance(v, str):
        try:
            return float(v)
        except ValueError:
            raise op_error(ValueError, "full", "a number", repr(v)) from None
    if not isinstance(v, NUMBERS) and type(v) is not Sym:
        raise op_error(TypeError, "full", "a number or a Tensor to fill with", type(v).__name__)
    return v


@public("paddle.tensor")
def fill_constant(
    shape: Any,
    dtype: Any,
    value: Any,
    force_cpu: bool = False,
    out: Any = None,
    place: Any = None,
    name: str | None = None,
) -> Tensor:
    """Tensor in which every element is ``value``: :func:`full` with its parameters in another order.

    Args:
        shape: sizes, as a list, a tuple or an integer tensor.
        dtype: the dtype.
        value: a number, or a tensor of one element.
        force_cpu: without effect.
        out: tensor that is written with the result and returned.
        place: where to put the tensor; by default the current place.

    Returns:
        Tensor of the given shape and dtype.

    Raises:
        TypeError: ``value`` is neither a number nor a tensor, or ``dtype`` is not a dtype.
        ValueError: a size is negative.
        OverflowError: an integer dtype cannot hold the number.

    Example:
        >>> import paddle
        >>> paddle.tensor.fill_constant([2], "int64", 3).tolist()
        [3, 3]
    """
    filler = value if isinstance(value, Tensor) else _fill_number(value)
    return _filled(filler, shape, dtype_of(dtype), place, False, "fill_constant")


def _like(value: Any, x: Tensor, dtype: Any, device: Any, requires_grad: bool, op: str) -> Tensor:
    need_tensor(x, op)
    d = x.dtype if dtype is None else dtype_of(dtype)
    where = x.place if device is None else device
    return _filled(value, tuple(x.shape), d, where if where is not current().state.place else None, requires_grad, op)


@public("paddle paddle.tensor")
def zeros_like(
    x: Tensor,
    dtype: Any = None,
    name: str | None = None,
    *,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor of zeros in the shape of ``x``.

    Args:
        x: tensor of any shape and dtype, whose elements are not read.
        dtype: the dtype; by default that of x.
        device: where to put the tensor; by default the place of x.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of x's shape.

    Raises:
        TypeError: x is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.zeros_like(paddle.ones([2])).tolist()
        [0.0, 0.0]
    """
    return _like(0, x, dtype, device, requires_grad, "zeros_like")


@public("paddle paddle.tensor")
def ones_like(
    x: Tensor,
    dtype: Any = None,
    name: str | None = None,
    *,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor of ones in the shape of ``x``.

    Args:
        x: tensor of any shape and dtype, whose elements are not read.
        dtype: the dtype; by default that of x.
        device: where to put the tensor; by default the place of x.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of x's shape.

    Raises:
        TypeError: x is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.ones_like(paddle.zeros([2])).tolist()
        [1.0, 1.0]
    """
    return _like(1, x, dtype, device, requires_grad, "ones_like")


@public("paddle paddle.tensor")
def full_like(
    x: Tensor,
    fill_value: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor in the shape of ``x`` in which every element is ``fill_value``.

    Args:
        x: tensor of any shape and dtype, whose elements are not read.
        fill_value: a number, or a tensor of one element.
        dtype: the dtype; by default that of x.
        device: where to put the tensor; by default the place of x.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of x's shape.

    Raises:
        TypeError: x is not a tensor, or ``fill_value`` is neither a number nor a tensor.
        OverflowError: an integer dtype cannot hold the number.

    Example:
        >>> import paddle
        >>> paddle.full_like(paddle.ones([2]), 5).tolist()
        [5.0, 5.0]
    """
    value = fill_value if isinstance(fill_value, Tensor) else _fill_number(fill_value)
    return _like(value, x, dtype, device, requires_grad, "full_like")


@public("paddle paddle.tensor")
def empty_like(
    x: Tensor,
    dtype: Any = None,
    name: str | None = None,
    *,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor in the shape of ``x`` whose elements are not set.

    Args:
        x: tensor of any shape and dtype, whose elements are not read.
        dtype: the dtype; by default that of x.
        device: where to put the tensor; by default the place of x.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of x's shape.

    Raises:
        TypeError: x is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.empty_like(paddle.ones([2, 3])).shape
        paddle.Size([2, 3])
    """
    need_tensor(x, "empty_like")
    out = _uninitialised(
        tuple(x.shape), x.dtype if dtype is None else dtype_of(dtype), x.place if device is None else place_of(device)
    )
    return with_gradient(out, requires_grad)


@public("paddle paddle.tensor", aliases={"n": "num_rows", "m": "num_columns"})
def eye(
    num_rows: Any,
    num_columns: Any = None,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Matrix with ones on the main diagonal and zeros elsewhere.

    Args:
        num_rows: the number of rows.
        num_columns: the number of columns; by default that of rows.
        dtype: the dtype; by default the default floating dtype.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of shape ``[num_rows, num_columns]``.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.eye(2, 3).tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    rows = integer(num_rows, "eye", "num_rows")
    columns = rows if num_columns is None else integer(num_columns, "eye", "num_columns")
    if rows < 0 or columns < 0:
        raise op_error(OperandError, "eye", "sizes of 0 or more", (rows, columns))
    with on_device(device):
        at = F.eq(F.iota(0, 1, dt.int64, columns), F.unsqueeze(F.iota(0, 1, dt.int64, rows), (1,)))
        return with_gradient(F.cast(at, dtype=dtype_of(dtype)), requires_grad)
