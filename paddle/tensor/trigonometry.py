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
    """Inverse cosine, from 0 to pi, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32. Real elements outside [-1, 1]
            give NaN.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.acos(paddle.to_tensor([1.0, 0.0, -1.0])).tolist()]
        [0.0, 1.5708, 3.1416]
    """
    return F.acos(floats(x, "acos"))


acos_ = inplace(acos)


@public(op=F.Acosh())
def acosh(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic cosine, 0 or more, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32. Real elements below 1 give NaN.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.acosh(paddle.to_tensor([1.0, 2.0])).tolist()]
        [0.0, 1.317]
    """
    return F.acosh(floats(x, "acosh"))


acosh_ = inplace(acosh)


@public(op=F.Asin(), takes_out=True)
def asin(x: Tensor, name: str | None = None) -> Tensor:
    """Inverse sine, from -pi/2 to pi/2, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32. Real elements outside [-1, 1]
            give NaN.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.asin(paddle.to_tensor([-1.0, 0.0, 1.0])).tolist()]
        [-1.5708, 0.0, 1.5708]
    """
    return F.asin(floats(x, "asin"))


asin_ = inplace(asin)


@public(op=F.Asinh())
def asinh(x: Tensor, name: str | None = None) -> Tensor:
    """Inverse hyperbolic sine, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.asinh(paddle.to_tensor([0.0, 1.0])).tolist()]
        [0.0, 0.8814]
    """
    return F.asinh(floats(x, "asinh"))


asinh_ = inplace(asinh)


@public(op=F.Atan())
def atan(x: Tensor, name: str | None = None) -> Tensor:
    """Inverse tangent, from -pi/2 to pi/2, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.atan(paddle.to_tensor([0.0, 1.0, float("inf")])).tolist()]
        [0.0, 0.7854, 1.5708]
    """
    return F.atan(floats(x, "atan"))


atan_ = inplace(atan)


@public(op=F.Atan2())
def atan2(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """Angle of the point with ordinate x and abscissa y, from -pi to pi, element by element.

    Unlike ``atan(x / y)``, it tells all four quadrants apart.

    Args:
        x: floating tensor, or an integer or bool one, which becomes float64; a number if y is a tensor.
        y: tensor or number; the shapes broadcast. Floating dtypes that differ are promoted, others must be equal.

    Returns:
        Tensor of the broadcast shape and the common dtype; float64 for integers and bools.

    Raises:
        TypeError: no operand is a tensor, the dtypes cannot be promoted, or one is complex.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.atan2(paddle.to_tensor([1.0, 1.0]), paddle.to_tensor([1.0, -1.0])).tolist()]
        [0.7854, 2.3562]
    """
    return promoted(F.atan2, "atan2", x, y)


@public(op=F.Atanh())
def atanh(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic tangent, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32. Real elements outside [-1, 1]
            give NaN, and -1 and 1 infinities.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.atanh(paddle.to_tensor([0.0, 0.5])).tolist()]
        [0.0, 0.5493]
    """
    return F.atanh(floats(x, "atanh"))


atanh_ = inplace(atanh)


@public(op=F.Cos())
def cos(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Cosine of angles in radians, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.cos(paddle.to_tensor([0.0, 1.0])).tolist()]
        [1.0, 0.5403]
    """
    return F.cos(floats(x, "cos"))


cos_ = inplace(cos)


@public(op=F.Cosh())
def cosh(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic cosine, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.cosh(paddle.to_tensor([0.0, 1.0])).tolist()]
        [1.0, 1.5431]
    """
    return F.cosh(floats(x, "cosh"))


cosh_ = inplace(cosh)


@public(op=F.Deg2rad())
def deg2rad(x: Tensor, name: str | None = None) -> Tensor:
    """Convert degrees to radians, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.deg2rad(paddle.to_tensor([0.0, 90.0, 180.0])).tolist()]
        [0.0, 1.5708, 3.1416]
    """
    return F.deg2rad(floats(x, "deg2rad"))


@public(op=F.Hypot())
def hypot(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """Length of the hypotenuse, ``sqrt(x*x + y*y)``, without overflow, element by element.

    Args:
        x: floating or complex tensor, or an integer or bool one, which becomes float32; a number if y is a tensor.
        y: tensor or number; the shapes broadcast. Floating dtypes that differ are promoted, others must be equal.

    Returns:
        Tensor of the broadcast shape and the common dtype; float32 for integers and bools.

    Raises:
        TypeError: no operand is a tensor, or the dtypes cannot be promoted.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.hypot(paddle.to_tensor([3.0, 5.0]), paddle.to_tensor([4.0, 12.0])).tolist()
        [5.0, 13.0]
    """
    return promoted(F.hypot, "hypot", x, y)


hypot_ = inplace(hypot)


@public(op=F.Rad2deg())
def rad2deg(x: Tensor, name: str | None = None) -> Tensor:
    """Convert radians to degrees, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 3) for v in paddle.rad2deg(paddle.to_tensor([0.0, 3.14159265])).tolist()]
        [0.0, 180.0]
    """
    return F.rad2deg(floats(x, "rad2deg"))


@public(op=F.Sin())
def sin(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Sine of angles in radians, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.sin(paddle.to_tensor([0.0, 1.0])).tolist()]
        [0.0, 0.8415]
    """
    return F.sin(floats(x, "sin"))


sin_ = inplace(sin)


@public(op=F.Sinc())
def sinc(x: Tensor, name: str | None = None) -> Tensor:
    """Normalised sinc, ``sin(pi*x) / (pi*x)``, and 1 at 0, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.sinc(paddle.to_tensor([0.0, 0.5])).tolist()]
        [1.0, 0.6366]
    """
    return F.sinc(floats(x, "sinc"))


sinc_ = inplace(sinc)


@public(op=F.Sinh())
def sinh(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic sine, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.sinh(paddle.to_tensor([0.0, 1.0])).tolist()]
        [0.0, 1.1752]
    """
    return F.sinh(floats(x, "sinh"))


sinh_ = inplace(sinh)


@public(usual=False)
def stanh(x: Tensor, scale_a: float = 0.67, scale_b: float = 1.7159, name: str | None = None) -> Tensor:
    """Scaled hyperbolic tangent, ``scale_b * tanh(scale_a * x)``, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.
        scale_a: factor of the argument, a number.
        scale_b: factor of the result, a number.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> paddle.stanh(paddle.to_tensor([0.0, 100.0]), scale_b=2.0).tolist()
        [0.0, 2.0]
    """
    return F.stanh(floating(need_tensor(x, "stanh")), scale_a, scale_b)


@public(op=F.Tan())
def tan(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Tangent of angles in radians, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.tan(paddle.to_tensor([0.0, 1.0])).tolist()]
        [0.0, 1.5574]
    """
    return F.tan(floats(x, "tan"))


tan_ = inplace(tan)


@public("paddle paddle.tensor paddle.nn.functional Tensor", op=F.Tanh())
def tanh(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic tangent, between -1 and 1, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.tanh(paddle.to_tensor([0.0, 1.0, 100.0])).tolist()]
        [0.0, 0.7616, 1.0]
    """
    return F.tanh(floats(x, "tanh"))


tanh_ = inplace(tanh, "paddle paddle.tensor paddle.nn.functional Tensor")
