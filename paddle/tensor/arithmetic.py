"""Functions of two operands that work element by element: arithmetic, extrema, special functions."""

from __future__ import annotations

from typing import Any

from paddle._public import also, inplace, public
from paddle.tensor._args import need_tensor, op_error, promoted, same_dtype
from umiak import ops as F
from umiak.core.tensor import Tensor


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


@public(operator="//")
def floor_divide(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """x divided by y, rounded down, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.floor_divide(paddle.to_tensor([-3]), paddle.to_tensor([2])).tolist()
        [-2]
    """
    return x // y if isinstance(x, Tensor) else promoted(F.floor_div, "floor_divide", x, y)


floor_divide_ = inplace(floor_divide)


@public(op=F.Fmax())
def fmax(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """The larger; of a number and NaN, the number, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.

    Example:
        >>> import paddle
        >>> paddle.fmax(paddle.to_tensor([1.0]), paddle.to_tensor([2.0])).tolist()
        [2.0]
    """
    return promoted(F.fmax, "fmax", x, y)


@public(op=F.Fmin())
def fmin(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """The smaller; of a number and NaN, the number, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.

    Example:
        >>> import paddle
        >>> paddle.fmin(paddle.to_tensor([1.0]), paddle.to_tensor([2.0])).tolist()
        [1.0]
    """
    return promoted(F.fmin, "fmin", x, y)


@public(op=F.Igamma())
def gammainc(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """The regularised lower incomplete gamma function P(x, y), element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.

    Example:
        >>> import paddle
        >>> paddle.gammainc(paddle.to_tensor([1.0]), paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return promoted(F.igamma, "gammainc", x, y)


gammainc_ = inplace(gammainc)


@public(op=F.Igammac())
def gammaincc(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """The regularised upper incomplete gamma function Q(x, y), element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.

    Example:
        >>> import paddle
        >>> paddle.gammaincc(paddle.to_tensor([1.0]), paddle.to_tensor([0.0])).tolist()
        [1.0]
    """
    return promoted(F.igammac, "gammaincc", x, y)


gammaincc_ = inplace(gammaincc)


@public(op=F.Gcd())
def gcd(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """The greatest common divisor, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.

    Example:
        >>> import paddle
        >>> paddle.gcd(paddle.to_tensor([12]), paddle.to_tensor([18])).tolist()
        [6]
    """
    return promoted(F.gcd, "gcd", x, y)


gcd_ = inplace(gcd)


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


@public(op=F.Lcm())
def lcm(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """The least common multiple, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.

    Example:
        >>> import paddle
        >>> paddle.lcm(paddle.to_tensor([4]), paddle.to_tensor([6])).tolist()
        [12]
    """
    return promoted(F.lcm, "lcm", x, y)


lcm_ = inplace(lcm)


@public(op=F.Logaddexp())
def logaddexp(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """log(exp(x) + exp(y)), without overflow, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.

    Example:
        >>> import paddle
        >>> paddle.logaddexp(paddle.to_tensor([0.0]), paddle.to_tensor([-float('inf')])).shape
        [1]
    """
    return promoted(F.logaddexp, "logaddexp", x, y)


@public(op=F.Maximum())
def maximum(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The larger; NaN where either is, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.maximum(paddle.to_tensor([1.0]), paddle.to_tensor([2.0])).tolist()
        [2.0]
    """
    return promoted(F.maximum, "maximum", x, y)


@public(op=F.Minimum())
def minimum(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The smaller; NaN where either is, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.minimum(paddle.to_tensor([1.0]), paddle.to_tensor([2.0])).tolist()
        [1.0]
    """
    return promoted(F.minimum, "minimum", x, y)


@public(operator="*")
def multiply(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """x * y, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.multiply(paddle.to_tensor([2.0]), paddle.to_tensor([3.0])).tolist()
        [6.0]
    """
    return x * y if isinstance(x, Tensor) else promoted(F.mul, "multiply", x, y)


mul = also(multiply, "mul")
multiply_ = inplace(multiply)
mul_ = inplace(multiply, "paddle.tensor Tensor", name="mul_")


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


@public(operator="**", aliases={"exponent": "y"})
def pow(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """x to the power y, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.pow(paddle.to_tensor([2.0]), paddle.to_tensor([3.0])).tolist()
        [8.0]
    """
    return x**y if isinstance(x, Tensor) else promoted(F.pow, "pow", x, y)


pow_ = inplace(pow)


@public(operator="%")
def remainder(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """x modulo y, with the sign of y, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.remainder(paddle.to_tensor([-3]), paddle.to_tensor([2])).tolist()
        [1]
    """
    return x % y if isinstance(x, Tensor) else promoted(F.remainder, "remainder", x, y)


mod = also(remainder, "mod")
floor_mod = also(remainder, "floor_mod")
remainder_ = inplace(remainder)
mod_ = inplace(remainder, name="mod_")
floor_mod_ = inplace(remainder, name="floor_mod_")


@public(operator="+")
def add(x: Tensor, y: Any, name: str | None = None, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """x + alpha*y, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        alpha: a factor of y.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.add(paddle.to_tensor([1]), paddle.to_tensor([2])).tolist()
        [3]
    """
    if alpha != 1:
        return need_tensor(x, "add") + y * alpha
    return x + y if isinstance(x, Tensor) else promoted(F.add, "add", x, y)


add_ = inplace(add, "paddle.tensor Tensor")


@public(operator="-")
def subtract(x: Tensor, y: Any, name: str | None = None, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """x - alpha*y, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        alpha: a factor of y.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.subtract(paddle.to_tensor([1]), paddle.to_tensor([2])).tolist()
        [-1]
    """
    if alpha != 1:
        return need_tensor(x, "subtract") - y * alpha
    return x - y if isinstance(x, Tensor) else promoted(F.sub, "subtract", x, y)


sub = also(subtract, "sub")
subtract_ = inplace(subtract)
sub_ = inplace(subtract, name="sub_")


@public(operator="/")
def divide(
    x: Tensor, y: Any, name: str | None = None, *, rounding_mode: str | None = None, out: Tensor | None = None
) -> Tensor:
    """x / y, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        rounding_mode: "floor" or "trunc" rounds the quotient down or towards zero; None does not.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.divide(paddle.to_tensor([1.0]), paddle.to_tensor([2.0])).tolist()
        [0.5]
    """
    if rounding_mode is not None:
        return _rounded_quotient(x, y, rounding_mode)
    return x / y if isinstance(x, Tensor) else promoted(F.div, "divide", x, y)


div = also(divide, "div")
divide_ = inplace(divide)
div_ = inplace(divide, name="div_")


def _rounded_quotient(x: Any, y: Any, mode: str) -> Tensor:
    if mode not in ("floor", "trunc"):
        raise op_error(ValueError, "divide", "a rounding_mode of None, 'trunc' or 'floor'", repr(mode))
    if mode == "floor":
        return need_tensor(x, "divide") // y
    x, y = same_dtype("floor_div", x, y)
    if (x if isinstance(x, Tensor) else y).dtype.is_floating:
        return F.trunc(F.div(x, y))
    quotient, rest = F.floor_div(x, y), F.remainder(x, y)
    # A floor below zero with something left is one below the truncated quotient.
    return quotient + F.cast(F.logical_and(F.lt(quotient, 0), F.ne(rest, 0)), dtype=quotient.dtype)
