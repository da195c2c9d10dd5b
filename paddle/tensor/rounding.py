"""Rounding, signs and neighbours of numbers."""

from __future__ import annotations

import builtins
from typing import Any

from paddle._public import also, inplace, public
from paddle.tensor._args import (
    floats,
    need_tensor,
    numeric,
    op_error,
    promoted,
)
from umiak import ops as F
from umiak.core.tensor import Tensor


@public(op=F.Abs())
def abs(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The absolute value; of complex numbers, their size, element by element.

    Args:
        x: a tensor.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.abs(paddle.to_tensor([-1.0, 2.0])).tolist()
        [1.0, 2.0]
    """
    return F.abs(numeric(x, "abs"))


abs_ = inplace(abs)


@public(op=F.Ceil())
def ceil(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The smallest integer not below, element by element.

    Args:
        x: a tensor.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.ceil(paddle.to_tensor([1.5])).tolist()
        [2.0]
    """
    return F.ceil(need_tensor(x, "ceil"))


ceil_ = inplace(ceil, "paddle.tensor Tensor")


@public(op=F.Copysign())
def copysign(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """|x| with the sign of y, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.

    Example:
        >>> import paddle
        >>> paddle.copysign(paddle.to_tensor([1.0]), paddle.to_tensor([-2.0])).tolist()
        [-1.0]
    """
    return promoted(F.copysign, "copysign", x, y)


copysign_ = inplace(copysign)


@public(op=F.Floor())
def floor(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The largest integer not above, element by element.

    Args:
        x: a tensor.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.floor(paddle.to_tensor([1.5])).tolist()
        [1.0]
    """
    return F.floor(need_tensor(x, "floor"))


floor_ = inplace(floor, "paddle.tensor Tensor")


@public(op=F.Frac())
def frac(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """What is left of x without its integer part, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.frac(paddle.to_tensor([1.5, -1.5])).tolist()
        [0.5, -0.5]
    """
    return F.frac(floats(x, "frac"))


frac_ = inplace(frac)


@public(op=F.Heaviside())
def heaviside(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """0 for x < 0, y for x == 0, 1 for x > 0, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.

    Example:
        >>> import paddle
        >>> paddle.heaviside(paddle.to_tensor([-1.0, 0.0]), paddle.to_tensor([0.5, 0.5])).tolist()
        [0.0, 0.5]
    """
    return promoted(F.heaviside, "heaviside", x, y)


@public
def nan_to_num(
    x: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None, name: str | None = None
) -> Tensor:
    """NaN and infinities replaced by numbers; infinities by default by the limits of the dtype.

    Example:
        >>> import paddle
        >>> paddle.nan_to_num(paddle.to_tensor([float("nan"), 1.0])).tolist()
        [0.0, 1.0]
    """
    need_tensor(x, "nan_to_num")
    if not x.dtype.is_floating:
        return F.copy(x)
    from paddle.framework.dtype import finfo

    limits = finfo(x.dtype)
    return F.nan_to_num(
        x, float(nan), limits.max if posinf is None else float(posinf), limits.min if neginf is None else float(neginf)
    )


nan_to_num_ = inplace(nan_to_num)


@public(op=F.Neg())
def neg(x: Tensor, name: str | None = None) -> Tensor:
    """-x, element by element.

    Args:
        x: a tensor.

    Example:
        >>> import paddle
        >>> paddle.neg(paddle.to_tensor([1.0])).tolist()
        [-1.0]
    """
    return F.neg(numeric(x, "neg"))


negative = also(neg, "negative")

neg_ = inplace(neg)


@public(op=F.Nextafter())
def nextafter(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """The next number after x towards y, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.

    Example:
        >>> import paddle
        >>> paddle.nextafter(paddle.to_tensor([0.0]), paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return promoted(F.nextafter, "nextafter", x, y)


@public
def positive(x: Tensor, name: str | None = None) -> Tensor:
    """``x`` itself; TypeError for bools."""
    if need_tensor(x, "positive").dtype.is_bool:
        raise op_error(TypeError, "positive", "a numeric dtype", "bool")
    return x


@public
def round(x: Tensor, decimals: int = 0, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The nearest number with ``decimals`` digits after the point, ties to even.

    Example:
        >>> import paddle
        >>> paddle.round(paddle.to_tensor([0.5, 1.5])).tolist()
        [0.0, 2.0]
    """
    need_tensor(x, "round")
    if decimals == 0 or x.dtype.is_integer:
        return F.round(x)
    factor = 10.0 ** builtins.abs(decimals)
    return F.div(F.round(F.mul(x, factor)), factor) if decimals > 0 else F.mul(F.round(F.div(x, factor)), factor)


round_ = inplace(round, "paddle.tensor Tensor")


@public(op=F.Sign())
def sgn(x: Tensor, name: str | None = None) -> Tensor:
    """-1, 0 or 1; of complex numbers, those of size 1 in their direction, element by element.

    Args:
        x: a tensor.

    Example:
        >>> import paddle
        >>> paddle.sgn(paddle.to_tensor([-3.0])).tolist()
        [-1.0]
    """
    return F.sign(need_tensor(x, "sgn"))


@public(op=F.Sign())
def sign(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1, element by element.

    Args:
        x: a tensor.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.sign(paddle.to_tensor([-3.0])).tolist()
        [-1.0]
    """
    return F.sign(numeric(x, "sign"))


@public(op=F.Signbit())
def signbit(x: Tensor, name: str | None = None) -> Tensor:
    """Whether the sign bit is set, also that of -0.0, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.signbit(paddle.to_tensor([-1.0])).tolist()
        [True]
    """
    return F.signbit(floats(x, "signbit"))


@public(op=F.Trunc(), aliases={"x": "input"})
def trunc(input: Tensor, name: str | None = None) -> Tensor:
    """x without its fraction, element by element.

    Args:
        input: a tensor.

    Example:
        >>> import paddle
        >>> paddle.trunc(paddle.to_tensor([-1.5])).tolist()
        [-1.0]
    """
    return F.trunc(need_tensor(input, "trunc", "input"))


trunc_ = inplace(trunc)
