"""Numbers in order: ranges, and numbers at equal distances."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from paddle._public import public
from paddle.framework.place import on_device
from paddle.tensor._args import (
    cast,
    data_of_run,
    default_float,
    dtype_of,
    integer,
    number,
    number_in,
    number_tensor,
    op_error,
)
from paddle.tensor.filled import with_gradient
from paddle.tensor.from_data import check_integers
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.core.eager import apply
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim

_COUNT = F.Iota(dt.int64)
_FAR = 1 << 62  # ranges between numbers nearer to 0 are in int64


@public("paddle paddle.tensor")
def arange(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    name: str | None = None,
) -> Tensor:
    """Numbers from ``start`` up to, not including, ``end``, with equal steps; ``arange(n)`` counts from 0.

    Args:
        start: the first number; a number or a tensor of one element. Alone it is the end.
        end: the bound, which is not reached.
        step: from one number to the next; negative counts down.
        dtype: the dtype. By default int64 where all three are integers, otherwise the default floating dtype.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        1-d tensor, empty where ``end`` lies on the other side.

    Raises:
        TypeError: a bound or the step is not a real number, or the dtype is bool or complex.
        ValueError: the step is 0, or becomes 0 in an integer dtype.
        OverflowError: an integer dtype cannot hold a number.

    Example:
        >>> import paddle
        >>> paddle.arange(1, 7, 2).tolist()
        [1, 3, 5]
        >>> paddle.arange(3).tolist()
        [0, 1, 2]
    """
    if end is None:
        start, end = 0, start
    if (
        type(start) is type(end) is type(step) is int
        and step
        and (dtype is None or dtype is dt.int64)
        and device is None
        and not requires_grad
        and -_FAR < start < _FAR
        and -_FAR < end < _FAR
        and -_FAR < step < _FAR
    ):
        return apply(_COUNT, (start, step), (max(0, -((start - end) // step)),))
    return _count("arange", start, end, step, dtype, False, device, requires_grad)


@public("paddle paddle.tensor")
def range(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """Numbers from ``start`` up to and including ``end``, with equal steps; ``range(n)`` counts from 0.

    Args:
        start: the first number; a number or a tensor of one element. Alone it is the end.
        end: the bound, which is included where a step reaches it.
        step: from one number to the next; negative counts down.
        dtype: the dtype; by default the default floating dtype.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).

    Returns:
        1-d tensor, empty where ``end`` lies on the other side.

    Raises:
        TypeError: a bound or the step is not a real number, or the dtype is bool or complex.
        ValueError: the step is 0, or becomes 0 in an integer dtype.
        OverflowError: an integer dtype cannot hold a number.

    Example:
        >>> import paddle
        >>> paddle.range(0, 3).tolist()
        [0.0, 1.0, 2.0, 3.0]
    """
    if end is None:
        start, end = 0, start
    return _count("range", start, end, step, dtype_of(dtype), True, device, requires_grad)


def _count(
    op: str, start: Any, end: Any, step: Any, dtype: Any, closed: bool, device: Any, requires_grad: bool
) -> Tensor:
    given = (start, end, step)
    if any(v.dtype.is_floating for v in map(data_of_run, given) if v is not None):
        return _count_of_run(given, dtype, closed)
    start, end, step = (number(v) for v in given)
    for v in (start, end, step):
        if isinstance(v, (str, builtins.complex)) or v is None:
            raise op_error(TypeError, op, "real numbers", type(v).__name__)
    if step == 0:
        raise op_error(ValueError, op, "a step other than 0", step)
    d = _counted_in(dtype, given)
    if d.is_integer:
        start, end, step = dim.to_int(start), dim.to_int(end), dim.to_int(step)
        if step == 0:
            raise op_error(ValueError, op, f"a step that does not become 0 in {d.name}", number(given[2]))
    if all(dim.kind_of(v) == "int" for v in (start, end, step)):
        size = dim.maximum(0, (end - start) // step + 1 if closed else -((start - end) // step))
    else:
        span = (end - start) / step
        size = dim.maximum(0, math.floor(span) + 1 if closed else math.ceil(span))
    if d.is_integer and type(size) is int and size:
        check_integers(np.array([start, start + (size - 1) * step], object), d, op)
    with on_device(device):
        return with_gradient(F.iota(start, step, d, size), requires_grad)


def _counted_in(dtype: Any, given: tuple) -> DType:
    if dtype is not None:
        return dtype_of(dtype)
    floating = (v.dtype.is_floating if isinstance(v, Tensor) else dim.kind_of(number(v)) == "float" for v in given)
    return default_float() if any(floating) else dt.int64


def _count_of_run(given: tuple, dtype: Any, closed: bool) -> Tensor:
    """A range between numbers that only a run of the recorded program knows, some of them floating."""
    d = _counted_in(dtype, given)
    start, end, step = (cast(number_tensor(v), dt.float64) for v in given)
    if d.is_integer:
        start, end, step = (F.trunc(v) for v in (start, end, step))
    span = F.div(F.sub(end, start), step)
    count = F.add(F.floor(span), 1) if closed else F.ceil(span)
    size = number_in(cast(F.maximum(count, 0), dt.int64))
    places = F.iota(0, 1, dt.float64, size)
    return cast(F.add(F.mul(places, step), start), d)


@public("paddle paddle.tensor", aliases={"end": "stop", "steps": "num"})
def linspace(
    start: Any,
    stop: Any,
    num: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from ``start`` to ``stop``, both included, at equal distances.

    Args:
        start: the first number; a number or a tensor of one element.
        stop: the last number, in the same form.
        num: how many; 1 gives ``start`` alone.
        dtype: the dtype; by default the default floating dtype, also of ends in tensors of another one. For an integer
            dtype fractions are dropped.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).

    Returns:
        1-d tensor of ``num`` elements.

    Raises:
        TypeError: ``num`` is not an integer, or the dtype is bool or complex.
        ValueError: ``num`` is negative.
        OverflowError: an integer dtype cannot hold an end.

    Example:
        >>> import paddle
        >>> paddle.linspace(0, 1, 5).tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    d = dtype_of(dtype)
    a, b, n = _ends("linspace", start, stop, num, d)
    with on_device(device):
        return with_gradient(F.linspace(a, b, d, n) if n else F.full(0, d, (0,)), requires_grad)


@public("paddle paddle.tensor")
def logspace(start: Any, stop: Any, num: Any, base: Any = 10.0, dtype: Any = None, name: str | None = None) -> Tensor:
    """Powers of ``base`` from ``base**start`` to ``base**stop``, both included, with exponents at equal distances.

    Args:
        start: the first exponent; a number or a tensor of one element.
        stop: the last exponent, in the same form.
        num: how many; 1 gives the first power alone.
        base: a number or a tensor of one element.
        dtype: the dtype; by default the default floating dtype, also of ends in tensors of another one.

    Returns:
        1-d tensor of ``num`` elements.

    Raises:
        TypeError: ``num`` is not an integer, or the dtype is bool or complex.
        ValueError: ``num`` is negative.

    Example:
        >>> import paddle
        >>> paddle.logspace(0, 2, 3).tolist()
        [1.0, 10.0, 100.0]
    """
    d = dtype_of(dtype)
    a, b, n = _ends("logspace", start, stop, num, default_float())
    if not n:
        return F.full(0, d, (0,))
    root = data_of_run(base)
    if root is None:
        return F.logspace(a, b, d, n, number(base))
    return cast(F.pow(cast(root, dt.float64), F.linspace(a, b, dt.float64, n)), d)


def _ends(op: str, start: Any, stop: Any, num: Any, d: DType) -> tuple[Any, Any, int]:
    """Both ends and the count; ``d``: what the ends must be numbers of."""
    n = integer(num, op, "num")
    if n < 0:
        raise op_error(ValueError, op, "a num of 0 or more", n)
    ends = tuple(number(v) if (x := data_of_run(v)) is None else x for v in (start, stop))
    if d.is_integer and not any(isinstance(v, Tensor) for v in ends):
        check_integers(np.array(ends, object), d, op)
    return *ends, n
