"""Sums, means, extrema and other reductions."""

from __future__ import annotations

import builtins
from collections import defaultdict
from typing import Any

from paddle._public import OtherOrder, public
from paddle.tensor._args import (
    apart,
    cast,
    dtype_of,
    equal_shapes,
    floats,
    need_tensor,
    op_error,
    reduced_axes,
)
from paddle.tensor._tensor_array import TensorArray
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.eager import apply1, apply_reduce, reduction_key
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim

_SUMS: dict[Any, Any] = {}
_SUMS_IN_INT64 = {dt.bool: F.CountNonzero, dt.int32: F.WideSum}


_MEANS: dict[Any, Any] = {}


def _reducer(cls: type, table: dict, x: Tensor, axis: Any, keepdim: bool, op: str) -> Any:
    """The interned op for these axes; kept where ``apply_reduce`` finds it, unless they are a list."""
    reducer = cls(reduced_axes(axis, x.ndim, op), builtins.bool(keepdim))
    key = reduction_key(x, axis, keepdim)
    if key >= 0:
        table[key] = reducer
    return reducer


def _sum(x: Tensor, axis: Any = None, keepdim: bool = False, dtype: Any = None, *, out: Any = None) -> Tensor:
    return sum(x, axis, dtype, keepdim)


@public(reduction=_SUMS, other_order=OtherOrder(_sum, at=2, types=(builtins.bool,)))
def sum(
    x: Tensor,
    axis: Any = None,
    dtype: Any = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Sum of elements along axes.

    Args:
        x: tensor of any shape and dtype. bool and int32 are summed in int64.
        axis: axis or axes to reduce, negative ones counted from the end; None means all.
        dtype: dtype that x is cast to first, of which bool gives whether any holds; None keeps x's, but for bool and
            int32.
        keepdim: whether reduced axes stay, with size 1.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor without the reduced axes (with keepdim, of size 1 there), of ``dtype`` or x's dtype.

    Raises:
        TypeError: x is no tensor, or the axis no integer.
        ValueError: x has no such axis (which is an IndexError, too), or an axis is given twice.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> float(paddle.sum(x)), paddle.sum(x, 0).tolist(), paddle.sum(x, 1, keepdim=True).tolist()
        (10.0, [4.0, 6.0], [[3.0], [7.0]])
    """
    if dtype is None and (y := apply_reduce(_SUMS, x, axis, keepdim)) is not None:
        return y
    if not isinstance(x, Tensor):
        need_tensor(x, "sum")
    cls = _SUMS_IN_INT64.get(x.dtype, F.Sum)
    wanted = None if dtype is None else dtype_of(dtype)
    if wanted is dt.bool:
        return _reduced(F.Any, cast(x, wanted), axis, keepdim, "sum")
    if wanted is not None and not (wanted is dt.int64 and cls is not F.Sum):
        return apply1(_reducer(F.Sum, _TABLES[F.Sum], x, axis, keepdim, "sum"), cast(x, wanted))
    return apply1(_reducer(cls, _SUMS, x, axis, keepdim, "sum"), x)


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
    """Mean of elements along axes.

    Args:
        x: tensor of any shape and dtype.
        axis: axis or axes to reduce, negative ones counted from the end; None means all.
        keepdim: whether reduced axes stay, with size 1.
        dtype: dtype that x is cast to first; None keeps x's.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor without the reduced axes (with keepdim, of size 1 there), of ``dtype`` or x's dtype, in which the mean of
        integers is truncated. Of no elements it is NaN.

    Raises:
        TypeError: x is no tensor, or the axis no integer.
        ValueError: x has no such axis (which is an IndexError, too), or an axis is given twice.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> float(paddle.mean(x)), paddle.mean(x, 1).tolist()
        (2.5, [1.5, 3.5])
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
    """Test along axes whether all elements are true, or not zero.

    Args:
        x: tensor of any shape and dtype.
        axis: axis or axes to reduce, negative ones counted from the end; None means all.
        keepdim: whether reduced axes stay, with size 1.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor without the reduced axes (with keepdim, of size 1 there), of bool. Of no elements it is True.

    Raises:
        TypeError: x is no tensor, or the axis no integer.
        ValueError: x has no such axis (which is an IndexError, too), or an axis is given twice.

    Example:
        >>> import paddle
        >>> paddle.all(paddle.to_tensor([[True, False], [True, True]]), axis=1).tolist()
        [False, True]
    """
    return _reduced(F.All, _to_bool(x, "all"), axis, keepdim, "all")


@public
def any(
    x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Test along axes whether some element is true, or not zero.

    Args:
        x: tensor of any shape and dtype.
        axis: axis or axes to reduce, negative ones counted from the end; None means all.
        keepdim: whether reduced axes stay, with size 1.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor without the reduced axes (with keepdim, of size 1 there), of bool. Of no elements it is False.

    Raises:
        TypeError: x is no tensor, or the axis no integer.
        ValueError: x has no such axis (which is an IndexError, too), or an axis is given twice.

    Example:
        >>> import paddle
        >>> paddle.any(paddle.to_tensor([[True, False], [False, False]]), axis=1).tolist()
        [True, False]
    """
    return _reduced(F.Any, _to_bool(x, "any"), axis, keepdim, "any")


@public(reduction=_TABLES[F.Max])
def amax(
    x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Largest element along axes. The gradient is shared between equal ones.

    Args:
        x: integer or floating tensor of any shape.
        axis: axis or axes to reduce, negative ones counted from the end; None means all.
        keepdim: whether reduced axes stay, with size 1.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor without the reduced axes (with keepdim, of size 1 there), of x's dtype; NaN where an element is.

    Raises:
        TypeError: x is no tensor, or is bool or complex.
        ValueError: there is no element to take.
        ValueError: x has no such axis (which is an IndexError, too), or an axis is given twice.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([3.0, 3.0, 1.0], stop_gradient=False)
        >>> paddle.amax(x).backward()
        >>> x.grad.tolist()
        [0.5, 0.5, 0.0]
    """
    return _reduced(F.Max, x, axis, keepdim, "amax")


@public(reduction=_TABLES[F.Min])
def amin(
    x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Smallest element along axes. The gradient is shared between equal ones.

    Args:
        x: integer or floating tensor of any shape.
        axis: axis or axes to reduce, negative ones counted from the end; None means all.
        keepdim: whether reduced axes stay, with size 1.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor without the reduced axes (with keepdim, of size 1 there), of x's dtype; NaN where an element is.

    Raises:
        TypeError: x is no tensor, or is bool or complex.
        ValueError: there is no element to take.
        ValueError: x has no such axis (which is an IndexError, too), or an axis is given twice.

    Example:
        >>> import paddle
        >>> paddle.amin(paddle.to_tensor([[1.0, 3.0], [5.0, 2.0]]), axis=1).tolist()
        [1.0, 2.0]
    """
    return _reduced(F.Min, x, axis, keepdim, "amin")


# `input` and `dim` belong to another framework's max, which also returns indices: paddle.compat.max.
@public(usual=False, reduction=_TABLES[F.Max])
def max(x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Largest element along axes. The gradient is shared between equal ones.

    ``paddle.compat.max`` returns indices, too.

    Args:
        x: integer or floating tensor of any shape.
        axis: axis or axes to reduce, negative ones counted from the end; None means all.
        keepdim: whether reduced axes stay, with size 1.

    Returns:
        Tensor without the reduced axes (with keepdim, of size 1 there), of x's dtype; NaN where an element is.

    Raises:
        TypeError: x is no tensor, or is bool or complex.
        ValueError: there is no element to take.
        ValueError: x has no such axis (which is an IndexError, too), or an axis is given twice.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1.0, 3.0], [5.0, 2.0]])
        >>> float(paddle.max(x)), paddle.max(x, axis=1).tolist()
        (5.0, [3.0, 5.0])
    """
    return _reduced(F.Max, x, axis, keepdim, "max")


@public(usual=False, reduction=_TABLES[F.Min])
def min(x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Smallest element along axes. The gradient is shared between equal ones.

    Args:
        x: integer or floating tensor of any shape.
        axis: axis or axes to reduce, negative ones counted from the end; None means all.
        keepdim: whether reduced axes stay, with size 1.

    Returns:
        Tensor without the reduced axes (with keepdim, of size 1 there), of x's dtype; NaN where an element is.

    Raises:
        TypeError: x is no tensor, or is bool or complex.
        ValueError: there is no element to take.
        ValueError: x has no such axis (which is an IndexError, too), or an axis is given twice.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1.0, 3.0], [5.0, 2.0]])
        >>> float(paddle.min(x)), paddle.min(x, axis=1).tolist()
        (1.0, [1.0, 2.0])
    """
    return _reduced(F.Min, x, axis, keepdim, "min")


@public("paddle paddle.tensor paddle.special Tensor")
def logsumexp(
    x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Logarithm of the sum of ``exp(x)`` along axes, without overflow.

    Args:
        x: floating tensor of any shape; integers and bools become float32.
        axis: axis or axes to reduce, negative ones counted from the end; None means all.
        keepdim: whether reduced axes stay, with size 1.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor without the reduced axes (with keepdim, of size 1 there), of x's dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is complex.
        ValueError: x has no such axis (which is an IndexError, too), or an axis is given twice.

    Example:
        >>> import paddle
        >>> round(float(paddle.logsumexp(paddle.to_tensor([1000.0, 1000.0]))), 4)
        1000.6932
    """
    return _reduced(F.Logsumexp, floats(x, "logsumexp"), axis, keepdim, "logsumexp")


@public(reduction=_TABLES[F.CountNonzero])
def count_nonzero(x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Number of elements along axes that are not zero.

    Args:
        x: tensor of any shape and dtype. NaN counts.
        axis: axis or axes to reduce, negative ones counted from the end; None means all.
        keepdim: whether reduced axes stay, with size 1.

    Returns:
        Tensor without the reduced axes (with keepdim, of size 1 there), of int64.

    Raises:
        TypeError: x is no tensor, or the axis no integer.
        ValueError: x has no such axis (which is an IndexError, too), or an axis is given twice.

    Example:
        >>> import paddle
        >>> paddle.count_nonzero(paddle.to_tensor([[0, 5], [7, 8]]), axis=1).tolist()
        [1, 2]
    """
    return _reduced(F.CountNonzero, x, axis, keepdim, "count_nonzero")


@public
def nanmean(x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Mean of the elements along axes that are not NaN.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.
        axis: axis or axes to reduce, negative ones counted from the end; None means all.
        keepdim: whether reduced axes stay, with size 1.

    Returns:
        Tensor without the reduced axes (with keepdim, of size 1 there), of x's dtype; float32 for integers and bools.
        It is NaN where all elements are.

    Raises:
        TypeError: x is no tensor.
        ValueError: x has no such axis (which is an IndexError, too), or an axis is given twice.

    Example:
        >>> import paddle
        >>> float(paddle.nanmean(paddle.to_tensor([1.0, float("nan"), 3.0])))
        2.0
    """
    return _reduced(F.Nanmean, floats(x, "nanmean"), axis, keepdim, "nanmean")


@public
def nansum(x: Tensor, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Sum of the elements along axes that are not NaN.

    Args:
        x: tensor of any shape and dtype. bool and int32 are summed in int64.
        axis: axis or axes to reduce, negative ones counted from the end; None means all.
        dtype: dtype that x is cast to first; None keeps x's, but for bool and int32.
        keepdim: whether reduced axes stay, with size 1.

    Returns:
        Tensor without the reduced axes (with keepdim, of size 1 there), of ``dtype`` or x's dtype.

    Raises:
        TypeError: x is no tensor.
        ValueError: x has no such axis (which is an IndexError, too), or an axis is given twice.

    Example:
        >>> import paddle
        >>> float(paddle.nansum(paddle.to_tensor([1.0, float("nan"), 3.0])))
        4.0
    """
    need_tensor(x, "nansum")
    if not (x.dtype.is_floating or x.dtype.is_complex):
        return sum(x, axis, dtype, keepdim)
    if dtype is not None:
        to = dtype_of(dtype)
        if not (to.is_floating or to.is_complex):
            return sum(F.where(F.isnan(x), 0, x), axis, to, keepdim)
        x = cast(x, to)
    return F.nansum(x, reduced_axes(axis, x.ndim, "nansum"), keepdim=builtins.bool(keepdim))


@public
def prod(
    x: Tensor, axis: Any = None, keepdim: bool = False, dtype: Any = None, out: Any = None, name: str | None = None
) -> Tensor:
    """Product of elements along axes.

    Args:
        x: integer, floating or complex tensor of any shape.
        axis: axis or axes to reduce, negative ones counted from the end; None means all.
        keepdim: whether reduced axes stay, with size 1.
        dtype: dtype that x is cast to first; None keeps x's.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor without the reduced axes (with keepdim, of size 1 there), of ``dtype`` or x's dtype.

    Raises:
        TypeError: x is no tensor, or is bool and no dtype is given.
        ValueError: x has no such axis (which is an IndexError, too), or an axis is given twice.

    Example:
        >>> import paddle
        >>> paddle.prod(paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]]), axis=1).tolist()
        [2.0, 12.0]
    """
    need_tensor(x, "prod")
    if dtype is not None:
        x = cast(x, dtype_of(dtype))
    return F.prod(x, reduced_axes(axis, x.ndim, "prod"), keepdim=builtins.bool(keepdim))


@public(usual=False)
def reduce_as(x: Tensor, target: Tensor, name: str | None = None) -> Tensor:
    """Sum over the axes along which ``target`` is broadcast: the gradient of a broadcast.

    Args:
        x: tensor of any shape.
        target: tensor of any dtype, of which only the shape is used; it must broadcast to x's shape.

    Returns:
        Tensor of the target's shape and x's dtype; sums of bools and of int32 are int64.

    Raises:
        TypeError: x or the target is no tensor.
        ValueError: the target's shape does not broadcast to x's.

    Example:
        >>> import paddle
        >>> paddle.reduce_as(paddle.to_tensor([[1, 2], [3, 4]]), paddle.zeros([2])).tolist()
        [4, 6]
    """
    sizes = tuple(need_tensor(target, "reduce_as", "target").shape)
    if equal_shapes(need_tensor(x, "reduce_as").shape, sizes):
        return apart(x, x)
    return apart(F.sum_to(cast(x, dt.int64) if x.dtype in (dt.bool, dt.int32) else x, sizes), x)


@public
def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """Sum of several tensors, element by element; a copy of one alone.

    Args:
        inputs: list of tensors of one shape, whose dtypes are promoted; or one tensor.

    Returns:
        Tensor of their shape and common dtype.

    Raises:
        TypeError: an element of the list is no tensor, or the dtypes cannot be promoted.
        ValueError: the list is empty, or the shapes differ; tensors without elements count as absent, and a scalar may
            stand beside one element of any rank.

    Example:
        >>> import paddle
        >>> paddle.add_n([paddle.to_tensor([1, 2]), paddle.to_tensor([10, 20]), paddle.to_tensor([100, 200])]).tolist()
        [111, 222]
    """
    if isinstance(inputs, Tensor):
        return F.copy(inputs)
    if type(inputs) is TensorArray and inputs.data is not None:
        return F.sum(inputs.data, axes=(0,))
    if not hasattr(inputs, "__iter__"):
        raise op_error(TypeError, "add_n", "a Tensor or a list of Tensors", type(inputs).__name__)
    inputs = list(inputs)
    if not inputs:
        raise op_error(ValueError, "add_n", "at least one tensor", "none")
    full = [x for x in inputs if not (isinstance(x, Tensor) and type(x._count) is int and not x._count)]
    inputs = full or [x for x in inputs if x.shape == inputs[0].shape]
    out = need_tensor(inputs[0], "add_n", "inputs")
    for x in inputs[1:]:
        sizes = need_tensor(x, "add_n", "inputs").shape
        if not (out.shape and sizes) and out._count == x._count == 1:  # a scalar and one element of any rank
            out = out + x
            continue
        if len(sizes) != len(out.shape) or not builtins.all(map(dim.eq, sizes, out.shape)):
            raise op_error(ValueError, "add_n", "tensors of one shape", f"{list(out.shape)} and {list(x.shape)}")
        out = out + x
    return out if len(inputs) > 1 else F.copy(out)
