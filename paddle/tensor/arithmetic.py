"""Sums, products, quotients and powers of two operands, element by element; scaling and mixing."""

from __future__ import annotations

import builtins
from typing import Any

from paddle._public import also, inplace, public
from paddle.tensor._args import (
    cast,
    need_tensor,
    number,
    op_error,
    promoted,
    same_dtype,
    tensor,
)
from umiak import ops as F
from umiak.core.tensor import Tensor

_ACTS = {
    "relu": F.relu,
    "tanh": F.tanh,
    "sigmoid": F.logistic,
    "gelu": F.gelu,
    "softplus": F.softplus,
    "softsign": F.softsign,
}


@public
def scale(
    x: Tensor,
    scale: Any = 1.0,
    bias: Any = 0.0,
    bias_after_scale: bool = True,
    act: str | None = None,
    name: str | None = None,
) -> Tensor:
    """``scale*x + bias``, or ``scale*(x + bias)`` with ``bias_after_scale=False``; then an activation by name.

    Example:
        >>> import paddle
        >>> paddle.scale(paddle.ones([2]), 2.0, 1.0).tolist()
        [3.0, 3.0]
    """
    need_tensor(x, "scale")
    scale, bias = number(scale), number(bias)
    if x.dtype.is_complex or x.dtype.is_bool:
        out = x * scale + bias if bias_after_scale else (x + bias) * scale
    elif x.dtype.is_integer:
        # In integers, as the reference does: a fraction of the factor is lost.
        out = x * int(scale) + int(bias) if bias_after_scale else (x + int(bias)) * int(scale)
    else:
        out = F.scale(x, builtins.bool(bias_after_scale), float(scale), float(bias))
    if act is None:
        return out
    if act not in _ACTS:
        raise op_error(ValueError, "scale", f"an act of {sorted(_ACTS)}", repr(act))
    return _ACTS[act](out)


scale_ = inplace(scale, "paddle.tensor Tensor")


@public
def lerp(x: Tensor, y: Tensor, weight: Any, name: str | None = None) -> Tensor:
    """``x + weight*(y - x)``; weight is a number or a tensor, and all broadcast.

    Example:
        >>> import paddle
        >>> paddle.lerp(paddle.zeros([2]), paddle.ones([2]), 0.25).tolist()
        [0.25, 0.25]
    """
    need_tensor(x, "lerp")
    return F.lerp(
        x,
        need_tensor(y, "lerp", "y"),
        float(weight) if isinstance(weight, (int, float)) else cast(tensor(weight), x.dtype),
    )


lerp_ = inplace(lerp, "paddle.tensor Tensor")


@public(usual=False)
def increment(x: Tensor, value: float = 1.0, name: str | None = None) -> Tensor:
    """Add a number to a tensor of one element, in place.

    Example:
        >>> import paddle
        >>> paddle.increment(paddle.zeros([1])).tolist()
        [1.0]
    """
    from umiak.core.dispatch import assign

    if need_tensor(x, "increment").size != 1:
        raise op_error(ValueError, "increment", "a tensor of one element", x.shape)
    return assign(x, cast(x + value, x.dtype))


@public
def true_divide(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """``input / other``; integers give floats.

    Example:
        >>> import paddle
        >>> paddle.true_divide(paddle.to_tensor([1]), paddle.to_tensor([2])).tolist()
        [0.5]
    """
    return need_tensor(input, "true_divide", "input") / other


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
