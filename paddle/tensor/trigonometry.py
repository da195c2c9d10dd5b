"""Trigonometric and hyperbolic functions."""

from __future__ import annotations

from typing import Any

from paddle._public import inplace, public
from paddle.tensor._args import (
    floating,
    floats,
    need_tensor,
    promoted,
)
from umiak import ops as F
from umiak.core.tensor import Tensor


@public(op=F.Acos())
def acos(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse cosine, from 0 to pi, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.acos(paddle.to_tensor([1.0])).tolist()
        [0.0]
    """
    return F.acos(floats(x, "acos"))


acos_ = inplace(acos)


@public(op=F.Acosh())
def acosh(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic cosine, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.acosh(paddle.to_tensor([1.0])).tolist()
        [0.0]
    """
    return F.acosh(floats(x, "acosh"))


acosh_ = inplace(acosh, "paddle.tensor Tensor")


@public(op=F.Asin())
def asin(x: Tensor, name: str | None = None) -> Tensor:
    """The inverse sine, from -pi/2 to pi/2, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.asin(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.asin(floats(x, "asin"))


asin_ = inplace(asin, "paddle.tensor Tensor")


@public(op=F.Asinh())
def asinh(x: Tensor, name: str | None = None) -> Tensor:
    """The inverse hyperbolic sine, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.asinh(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.asinh(floats(x, "asinh"))


asinh_ = inplace(asinh, "paddle.tensor Tensor")


@public(op=F.Atan())
def atan(x: Tensor, name: str | None = None) -> Tensor:
    """The inverse tangent, from -pi/2 to pi/2, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.atan(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.atan(floats(x, "atan"))


atan_ = inplace(atan)


@public(op=F.Atan2())
def atan2(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """The angle of the point (y, x), element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.

    Example:
        >>> import paddle
        >>> paddle.atan2(paddle.to_tensor([0.0]), paddle.to_tensor([1.0])).tolist()
        [0.0]
    """
    return promoted(F.atan2, "atan2", x, y)


@public(op=F.Atanh())
def atanh(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic tangent, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.atanh(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.atanh(floats(x, "atanh"))


atanh_ = inplace(atanh, "paddle.tensor Tensor")


@public(op=F.Cos())
def cos(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The cosine, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.cos(paddle.to_tensor([0.0])).tolist()
        [1.0]
    """
    return F.cos(floats(x, "cos"))


cos_ = inplace(cos)


@public(op=F.Cosh())
def cosh(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.cosh(paddle.to_tensor([0.0])).tolist()
        [1.0]
    """
    return F.cosh(floats(x, "cosh"))


cosh_ = inplace(cosh, "paddle.tensor Tensor")


@public(op=F.Deg2rad())
def deg2rad(x: Tensor, name: str | None = None) -> Tensor:
    """Degrees as radians, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.deg2rad(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.deg2rad(floats(x, "deg2rad"))


@public(op=F.Hypot())
def hypot(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """sqrt(x*x + y*y), element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.

    Example:
        >>> import paddle
        >>> paddle.hypot(paddle.to_tensor([3.0]), paddle.to_tensor([4.0])).tolist()
        [5.0]
    """
    return promoted(F.hypot, "hypot", x, y)


hypot_ = inplace(hypot)


@public(op=F.Rad2deg())
def rad2deg(x: Tensor, name: str | None = None) -> Tensor:
    """Radians as degrees, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.rad2deg(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.rad2deg(floats(x, "rad2deg"))


@public(op=F.Sin())
def sin(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The sine, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.sin(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.sin(floats(x, "sin"))


sin_ = inplace(sin)


@public(op=F.Sinc())
def sinc(x: Tensor, name: str | None = None) -> Tensor:
    """sin(pi*x)/(pi*x), and 1 at 0, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.sinc(paddle.to_tensor([0.0])).tolist()
        [1.0]
    """
    return F.sinc(floats(x, "sinc"))


sinc_ = inplace(sinc)


@public(op=F.Sinh())
def sinh(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.sinh(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.sinh(floats(x, "sinh"))


sinh_ = inplace(sinh)


@public(usual=False)
def stanh(x: Tensor, scale_a: float = 0.67, scale_b: float = 1.7159, name: str | None = None) -> Tensor:
    """``scale_b * tanh(scale_a * x)``.

    Example:
        >>> import paddle
        >>> paddle.stanh(paddle.zeros([1])).tolist()
        [0.0]
    """
    return F.stanh(floating(need_tensor(x, "stanh")), scale_a, scale_b)


@public(op=F.Tan())
def tan(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The tangent, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.tan(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.tan(floats(x, "tan"))


tan_ = inplace(tan)


@public("paddle paddle.tensor paddle.nn.functional Tensor", op=F.Tanh())
def tanh(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.tanh(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.tanh(floats(x, "tanh"))


tanh_ = inplace(tanh, "paddle paddle.tensor paddle.nn.functional Tensor")
