"""Sums, products, quotients and powers of two operands, element by element; scaling and mixing."""

from __future__ import annotations

import builtins
import operator
from typing import Any

from paddle._public import also, inplace, public
from paddle.tensor._args import (
    cast,
    data_of_run,
    need_tensor,
    number,
    number_tensor,
    op_error,
    operate,
    reads_numbers,
    real_number,
    same_dtype,
    tensor,
)
from paddle.tensor.overwriting import some_elements, updated
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir.sym import Sym, to_float, to_int

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
    """Scale and shift, ``scale * x + bias``, then apply an activation.

    Args:
        x: tensor of any shape and dtype.
        scale: number, or tensor of one element; of integer x it is truncated to an integer. Of bools it counts as
            whether it is not 0, a product is "and", and a sum is "or".
        bias: number, which counts likewise.
        bias_after_scale: whether to scale first; if False, the result is ``scale * (x + bias)``.
        act: name of the activation: ``"relu"``, ``"tanh"``, ``"sigmoid"``, ``"gelu"``, ``"softplus"`` or
            ``"softsign"``; None applies none.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is no tensor.
        ValueError: the activation is none of these.

    Example:
        >>> import paddle
        >>> paddle.scale(paddle.to_tensor([1.0, -4.0]), 2.0, 1.0, act="relu").tolist()
        [3.0, 0.0]
    """
    need_tensor(x, "scale")
    tensors = isinstance(scale, Tensor) or isinstance(bias, Tensor)
    if tensors and (data_of_run(scale) is not None or data_of_run(bias) is not None):
        out = _scaled_in_run(x, scale, bias, bias_after_scale)
    elif x.dtype.is_bool:
        passes, sets = real_number(scale, "scale", "scale") != 0, real_number(bias, "scale", "bias") != 0
        out = x & passes | sets if bias_after_scale else (x | sets) & passes
    elif x.dtype.is_complex:
        scale, bias = number(scale), number(bias)
        out = x * scale + bias if bias_after_scale else (x + bias) * scale
    elif x.dtype.is_integer:
        # In integers, as the reference does: a fraction of the factor is lost.
        int_scale, int_bias = to_int(real_number(scale, "scale", "scale")), to_int(real_number(bias, "scale", "bias"))
        out = x * int_scale + int_bias if bias_after_scale else (x + int_bias) * int_scale
    else:
        factor, shift = real_number(scale, "scale", "scale"), real_number(bias, "scale", "bias")
        out = F.scale(x, builtins.bool(bias_after_scale), factor, shift)
    if act is None:
        return out
    if act not in _ACTS:
        raise op_error(ValueError, "scale", f"an act of {sorted(_ACTS)}", repr(act))
    return _ACTS[act](out)


def _scaled_in_run(x: Tensor, scale: Any, bias: Any, bias_after_scale: bool) -> Tensor:
    """The same by numbers that only a run of the recorded program knows; they get no gradient either."""
    factor, shift = number_tensor(scale), number_tensor(bias)
    if x.dtype.is_bool:
        passes, sets = F.ne(factor, 0), F.ne(shift, 0)
        return x & passes | sets if bias_after_scale else (x | sets) & passes
    # Products of narrow floating numbers are of the number itself, not of what their dtype makes of it.
    wide = dt.float32 if x.dtype.is_floating and x.dtype is not dt.float64 else x.dtype
    y, factor, shift = cast(x, wide), cast(factor, wide), cast(shift, wide)
    return cast(y * factor + shift if bias_after_scale else (y + shift) * factor, x.dtype)


_SCALE_OP = F.Scale(True)


def _is_of_run(factor: Any, options: dict[str, Any]) -> bool:
    return (isinstance(factor, Tensor) and reads_numbers()) or isinstance(options.get("bias"), Tensor)


def _scaled(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Float numbers in one pass over the memory of ``x``."""
    if len(args) != 1 or kwargs.keys() - {"bias"} or not x.dtype.is_floating or _is_of_run(args[0], kwargs):
        return scale(x, *args, **kwargs)
    factor, shift = real_number(args[0], "scale", "scale"), real_number(kwargs.get("bias", 0.0), "scale", "bias")
    return updated(x, _SCALE_OP, (x,), (factor, shift))


scale_ = inplace(scale, "paddle.tensor Tensor", by=_scaled, write=some_elements)


@public
def lerp(x: Tensor, y: Tensor, weight: Any, name: str | None = None) -> Tensor:
    """Linear interpolation from x to y, ``x + weight * (y - x)``, element by element.

    Args:
        x: floating or complex tensor.
        y: tensor of x's dtype.
        weight: number or tensor, which is cast to x's dtype: 0 gives x, and 1 gives y. All three shapes broadcast.

    Returns:
        Tensor of the broadcast shape and x's dtype.

    Raises:
        TypeError: x or y is no tensor, or their dtypes differ, or are not floating or complex.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.lerp(paddle.to_tensor([0.0, 10.0]), paddle.to_tensor([4.0, 20.0]), 0.25).tolist()
        [1.0, 12.5]
    """
    need_tensor(x, "lerp")
    return F.lerp(
        x,
        need_tensor(y, "lerp", "y"),
        to_float(weight) if isinstance(weight, (int, float, Sym)) else cast(tensor(weight), x.dtype),
    )


lerp_ = inplace(lerp, "paddle.tensor Tensor")


@public(usual=False)
def increment(x: Tensor, value: float = 1.0, name: str | None = None) -> Tensor:
    """Add a number to a tensor of one element, in place.

    Args:
        x: tensor of one element and any dtype, which is written.
        value: number to add; the sum is cast to x's dtype.

    Returns:
        The tensor x.

    Raises:
        TypeError: x is no tensor.
        ValueError: x has another number of elements than one.
        RuntimeError: x is a leaf with ``stop_gradient=False``, outside ``no_grad``.

    Example:
        >>> import paddle
        >>> step = paddle.to_tensor([3])
        >>> paddle.increment(step, 2).tolist(), step.tolist()
        ([5], [5])
    """
    from umiak.core.inplace import assign

    if need_tensor(x, "increment")._count != 1:
        raise op_error(ValueError, "increment", "a tensor of one element", x.shape)
    return assign(x, cast(x + value, x.dtype))


@public
def true_divide(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Quotient, element by element, for which integers become floats; the operator ``input / other``.

    Args:
        input: tensor of any shape and dtype.
        other: tensor or number; the shapes broadcast. Floating dtypes that differ are promoted, others must be equal.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of the broadcast shape and the common dtype; float32 for integers and bools.

    Raises:
        TypeError: the input is no tensor, or the dtypes cannot be promoted.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.true_divide(paddle.to_tensor([1, 3]), paddle.to_tensor([2, 4])).tolist()
        [0.5, 0.75]
    """
    return need_tensor(input, "true_divide", "input") / other


@public(operator="//")
def floor_divide(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Quotient ``x / y`` rounded down, element by element; the operator ``x // y``.

    Args:
        x: integer or floating tensor; a number if y is a tensor.
        y: tensor or number; the shapes broadcast. Floating dtypes that differ are promoted, others must be equal.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: no operand is a tensor, the dtypes cannot be promoted, or one is bool or complex.
        ValueError: the shapes do not broadcast.
        ZeroDivisionError: an integer is divided by 0.

    Example:
        >>> import paddle
        >>> paddle.floor_divide(paddle.to_tensor([7, -7]), paddle.to_tensor([2, 2])).tolist()
        [3, -4]
    """
    return operate(operator.floordiv, F.floor_div, "floor_divide", x, y)


floor_divide_ = inplace(floor_divide)


@public(operator="*")
def multiply(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Product, element by element; the operator ``x * y``.

    Args:
        x: tensor of any shape; a number if y is a tensor.
        y: tensor or number; the shapes broadcast. Floating dtypes that differ are promoted, others must be equal.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: no operand is a tensor, or the dtypes cannot be promoted.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.multiply(paddle.to_tensor([[1, 2], [3, 4]]), paddle.to_tensor([10, 1])).tolist()
        [[10, 2], [30, 4]]
    """
    return operate(operator.mul, F.mul, "multiply", x, y)


mul = also(multiply, "mul")

multiply_ = inplace(multiply)

mul_ = inplace(multiply, "paddle.tensor Tensor", name="mul_")


@public(operator="**", aliases={"exponent": "y"})
def pow(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Power, element by element; the operator ``x ** y``.

    Integers to a negative power are truncated to 0, unless they are 1 or -1.

    Args:
        x: integer, floating or complex tensor.
        y: tensor or number; the shapes broadcast. Floating dtypes that differ are promoted, others must be equal.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: x is no tensor, the dtypes cannot be promoted, or one is bool.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.pow(paddle.to_tensor([2.0, 9.0]), paddle.to_tensor([3.0, 0.5])).tolist()
        [8.0, 3.0]
    """
    return operate(operator.pow, F.pow, "pow", need_tensor(x, "pow"), y)


pow_ = inplace(pow)


@public(operator="%")
def remainder(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Remainder of a division rounded down, which has the sign of y, element by element; the operator ``x % y``.

    Args:
        x: integer, floating or complex tensor; a number if y is a tensor. The quotient of complex numbers is the
            nearest Gaussian integer.
        y: tensor or number; the shapes broadcast. Floating dtypes that differ are promoted, others must be equal.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: no operand is a tensor, the dtypes cannot be promoted, or one is bool.
        ValueError: the shapes do not broadcast.
        ZeroDivisionError: an integer is divided by 0.

    Example:
        >>> import paddle
        >>> paddle.remainder(paddle.to_tensor([7, -7]), paddle.to_tensor([3, 3])).tolist()
        [1, 2]
    """
    return operate(operator.mod, F.remainder, "remainder", x, y)


mod = also(remainder, "mod")

floor_mod = also(remainder, "floor_mod")

remainder_ = inplace(remainder)

mod_ = inplace(remainder, name="mod_")

floor_mod_ = inplace(remainder, name="floor_mod_")


@public(operator="+")
def add(x: Tensor, y: Any, name: str | None = None, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """Sum ``x + alpha * y``, element by element; with ``alpha=1`` the operator ``x + y``.

    Args:
        x: tensor of any shape; a number if y is a tensor. With another alpha, x must be a tensor.
        y: tensor or number; the shapes broadcast. Floating dtypes that differ are promoted, others must be equal.
        alpha: factor of y, a number.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: no operand is a tensor, or the dtypes cannot be promoted.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.add(paddle.to_tensor([[1, 2], [3, 4]]), paddle.to_tensor([10, 20])).tolist()
        [[11, 22], [13, 24]]
        >>> paddle.add(paddle.to_tensor([1, 2]), paddle.to_tensor([10, 20]), alpha=2).tolist()
        [21, 42]
    """
    if alpha != 1:
        return need_tensor(x, "add") + y * alpha
    return operate(operator.add, F.add, "add", x, y)


add_ = inplace(add, "paddle.tensor Tensor")


@public(operator="-")
def subtract(x: Tensor, y: Any, name: str | None = None, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """Difference ``x - alpha * y``, element by element; with ``alpha=1`` the operator ``x - y``.

    Args:
        x: integer, floating or complex tensor; a number if y is a tensor and alpha is 1.
        y: tensor or number; the shapes broadcast. Floating dtypes that differ are promoted, others must be equal.
        alpha: factor of y, a number.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: no operand is a tensor, the dtypes cannot be promoted, or are bool.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.subtract(paddle.to_tensor([10, 20]), paddle.to_tensor([1, 2])).tolist()
        [9, 18]
    """
    if alpha != 1:
        return need_tensor(x, "subtract") - y * alpha
    return operate(operator.sub, F.sub, "subtract", x, y)


sub = also(subtract, "sub")

subtract_ = inplace(subtract)

sub_ = inplace(subtract, name="sub_")


@public(operator="/")
def divide(
    x: Tensor, y: Any, name: str | None = None, *, rounding_mode: str | None = None, out: Tensor | None = None
) -> Tensor:
    """Quotient, element by element; without a rounding mode the operator ``x / y``, for which integers become floats.

    Args:
        x: tensor of any shape; a number if y is a tensor.
        y: tensor or number; the shapes broadcast. Floating dtypes that differ are promoted, others must be equal.
        rounding_mode: ``"floor"`` rounds the quotient down, ``"trunc"`` towards zero; None does not round.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of the broadcast shape and the common dtype; float32 for integers and bools that are not rounded.

    Raises:
        TypeError: no operand is a tensor, the dtypes cannot be promoted, or what is to be rounded is bool or complex.
        ValueError: the shapes do not broadcast, or the rounding mode is none of these.
        ZeroDivisionError: integers are divided by 0 and rounded.

    Example:
        >>> import paddle
        >>> x, y = paddle.to_tensor([7.0, -7.0]), paddle.to_tensor([2.0, 2.0])
        >>> paddle.divide(x, y).tolist()
        [3.5, -3.5]
        >>> paddle.divide(x, y, rounding_mode="trunc").tolist()
        [3.0, -3.0]
    """
    if rounding_mode is not None:
        return _rounded_quotient(x, y, rounding_mode)
    return operate(operator.truediv, F.div, "divide", x, y)


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
