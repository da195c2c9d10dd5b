"""Differences and integrals of samples, and the shapes that shapes broadcast to."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.tensor._args import axis_of, cast, floating, integer, integers, need_tensor, op_error, real_number
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim


@public
def diff(
    x: Tensor,
    n: int = 1,
    axis: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    name: str | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """Differences of neighbours along an axis, ``n`` times.

    Args:
        x: tensor of rank 1 or more; of bools the difference is whether neighbours differ.
        n: how many times to take differences, 1 or more.
        axis: the axis, negative counted from the end.
        prepend: tensor of x's dtype to put before x along the axis first; None puts nothing.
        append: tensor of x's dtype to put after x along the axis first; None puts nothing.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's dtype, along the axis n shorter than x with what was put to it.

    Raises:
        TypeError: x is no tensor, or the dtypes differ.
        ValueError: n is below 1, or shapes differ along another axis.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.diff(paddle.to_tensor([1, 4, 9, 16])).tolist()
        [3, 5, 7]
        >>> paddle.diff(paddle.to_tensor([1, 4, 9, 16]), n=2).tolist()
        [2, 2]
    """
    k = axis_of(axis, need_tensor(x, "diff").ndim, "diff")
    n = integer(n, "diff", "n")
    if n < 1:
        raise op_error(ValueError, "diff", "an n of 1 or more", n)
    parts = [p for p in (prepend, x, append) if p is not None]
    joined = F.concat(parts, k) if len(parts) > 1 else x
    for _ in builtins.range(n):
        if joined.shape[k] == 0:
            break
        joined = F.diff(joined, k)
    return F.copy(joined) if joined is x else joined


def _trapezoids(op: str, y: Tensor, x: Any, dx: Any, axis: int, cumulative: bool) -> Tensor:
    y = floating(need_tensor(y, op, "y"))
    if x is not None and dx is not None:
        raise op_error(ValueError, op, "one of x and dx", "both")
    k = axis_of(axis, y.ndim, op)
    if 0 in y.shape[k : k + 1]:
        return F.copy(y) if cumulative else F.sum(y, (k,))
    if x is None:
        return F.trapezoid(y, None, k, cumulative, 1.0 if dx is None else real_number(dx, op, "dx"))
    x = cast(need_tensor(x, op), y.dtype)
    if x.ndim == 1 and y.ndim > 1:
        x = F.broadcast_to(_at_axis(x, k, y.ndim), tuple(y.shape))
    elif x.shape != y.shape:
        shape = tuple(broadcast_shapes(x.shape, y.shape))
        x, y = F.broadcast_to(x, shape), F.broadcast_to(y, shape)
    return F.trapezoid(y, x, k, cumulative)


def _at_axis(x: Tensor, axis: int, ndim: int) -> Tensor:
    return F.reshape(x, tuple(x._count if i == axis else 1 for i in builtins.range(ndim)))


@public(usual=False)
def trapezoid(
    y: Tensor, x: Tensor | None = None, dx: float | None = None, axis: int = -1, name: str | None = None
) -> Tensor:
    """Integral of samples along an axis by the trapezoidal rule.

    Args:
        y: floating tensor of samples; integers and bools become float32.
        x: tensor of the places of samples: 1-d along the axis, or of a shape that broadcasts with y's; None means equal
            distances.
        dx: distance of neighbours if x is None; None means 1.
        axis: the axis of y, negative counted from the end.

    Returns:
        Tensor of y's shape without the axis, and of y's dtype.

    Raises:
        TypeError: y or x is no tensor, or is complex.
        ValueError: x and dx are both given, or their shapes do not broadcast.
        IndexError: y has no such axis.

    Example:
        >>> import paddle
        >>> float(paddle.trapezoid(paddle.to_tensor([1.0, 2.0, 3.0]), dx=0.5))
        2.0
    """
    return _trapezoids("trapezoid", y, x, dx, axis, False)


@public(usual=False)
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, dx: float | None = None, axis: int = -1, name: str | None = None
) -> Tensor:
    """Running integral of samples along an axis by the trapezoidal rule.

    Args:
        y: floating tensor of samples; integers and bools become float32.
        x: tensor of the places of samples: 1-d along the axis, or of a shape that broadcasts with y's; None means equal
            distances.
        dx: distance of neighbours if x is None; None means 1.
        axis: the axis of y, negative counted from the end.

    Returns:
        Tensor of y's dtype and shape, but one shorter along the axis: its last element is that of :func:`trapezoid`.

    Raises:
        TypeError: y or x is no tensor, or is complex.
        ValueError: x and dx are both given, or their shapes do not broadcast.
        IndexError: y has no such axis.

    Example:
        >>> import paddle
        >>> paddle.cumulative_trapezoid(paddle.to_tensor([1.0, 2.0, 3.0])).tolist()
        [1.5, 4.0]
    """
    return _trapezoids("cumulative_trapezoid", y, x, dx, axis, True)


@public
def broadcast_shape(x_shape: Sequence[int], y_shape: Sequence[int]) -> list[int]:
    """Shape that two shapes broadcast to.

    Args:
        x_shape: list of sizes.
        y_shape: list of sizes.

    Returns:
        List of sizes.

    Raises:
        ValueError: two sizes of one axis differ, and neither is 1.

    Example:
        >>> import paddle
        >>> paddle.broadcast_shape([2, 1, 3], [3, 1])
        [2, 3, 3]
    """
    return broadcast_shapes(x_shape, y_shape)


@public
def broadcast_shapes(*shapes: Sequence[int]) -> list[int]:
    """Shape that all the shapes broadcast to.

    Args:
        *shapes: lists of sizes.

    Returns:
        List of sizes.

    Raises:
        ValueError: two sizes of one axis differ, and neither is 1.

    Example:
        >>> import paddle
        >>> paddle.broadcast_shapes([2, 1], [3], [1, 1])
        [2, 3]
    """
    out: list[Any] = []
    lists = [list(integers(shape, "broadcast_shapes", "shapes")) for shape in shapes]
    for sizes in lists:
        length = builtins.max(len(out), len(sizes))
        a, b = [1] * (length - len(out)) + out, [1] * (length - len(sizes)) + sizes
        try:
            out = [dim.broadcast(m, n) for m, n in zip(a, b, strict=True)]
        except dim.DimError as error:
            required = "shapes that broadcast"
            raise op_error(ValueError, "broadcast_shapes", required, " and ".join(map(str, lists))) from error
    return out
