"""Rounding, signs and neighbours of numbers."""

from __future__ import annotations

import builtins
import math
from functools import cache
from typing import Any

from paddle._public import also, inplace, public
from paddle.tensor._args import floats, integer, need_tensor, numeric, op_error, promoted, real_number
from umiak import ops as F
from umiak.core.dtype import DType
from umiak.core.eager import apply
from umiak.core.tensor import Tensor

_NAN_TO_NUM = F.NanToNum()


@public(op=F.Abs())
def abs(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Absolute value, element by element; the modulus of complex numbers.

    Args:
        x: integer, floating or complex tensor of any shape.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for complex64, float64 for complex128.

    Raises:
        TypeError: x is no tensor, or is bool.

    Example:
        >>> import paddle
        >>> paddle.abs(paddle.to_tensor([-1.0, 2.0])).tolist()
        [1.0, 2.0]
        >>> paddle.abs(paddle.to_tensor([3 + 4j])).tolist()
        [5.0]
    """
    return F.abs(numeric(x, "abs"))


abs_ = inplace(abs)


@public(op=F.Ceil())
def ceil(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Round up to whole numbers, element by element.

    Args:
        x: integer or floating tensor of any shape.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is no tensor, or is bool or complex.

    Example:
        >>> import paddle
        >>> paddle.ceil(paddle.to_tensor([1.2, -1.2])).tolist()
        [2.0, -1.0]
    """
    return F.ceil(need_tensor(x, "ceil"))


ceil_ = inplace(ceil, "paddle.tensor Tensor")


@public(op=F.Copysign())
def copysign(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """Absolute value of x with the sign of y, element by element.

    Args:
        x: floating tensor; a number if y is a tensor.
        y: floating tensor or number, of which -0.0 counts as negative; the shapes broadcast.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: no operand is a tensor, or one is not floating.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.copysign(paddle.to_tensor([1.0, -2.0]), paddle.to_tensor([-3.0, 0.0])).tolist()
        [-1.0, 2.0]
    """
    exact = isinstance(x, Tensor) and (x.dtype.is_integer or x.dtype.is_bool)
    if not exact or (isinstance(y, Tensor) and x.dtype is not y.dtype):
        return promoted(F.copysign, "copysign", x, y)
    if x.dtype.is_bool or x.dtype.name == "uint8":
        return F.copy(x)
    size = F.abs(x)
    if isinstance(y, Tensor):
        return F.where(F.lt(y, 0), F.neg(size), size)
    return F.neg(size) if math.copysign(1.0, real_number(y, "copysign", "a number for y")) < 0 else size


copysign_ = inplace(copysign)


@public(op=F.Floor())
def floor(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Round down to whole numbers, element by element.

    Args:
        x: integer or floating tensor of any shape.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is no tensor, or is bool or complex.

    Example:
        >>> import paddle
        >>> paddle.floor(paddle.to_tensor([1.8, -1.2])).tolist()
        [1.0, -2.0]
    """
    return F.floor(need_tensor(x, "floor"))


floor_ = inplace(floor, "paddle.tensor Tensor")


@public(op=F.Frac())
def frac(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Fraction that :func:`trunc` takes away, with the sign of x, element by element.

    Args:
        x: floating tensor of any shape; integers and bools become float32.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is complex.

    Example:
        >>> import paddle
        >>> paddle.frac(paddle.to_tensor([1.5, -1.5])).tolist()
        [0.5, -0.5]
    """
    if need_tensor(x, "frac").dtype.is_integer:
        return F.sub(x, x)
    return F.frac(floats(x, "frac"))


frac_ = inplace(frac)


@public(op=F.Heaviside())
def heaviside(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """Step function, element by element: 0 for x < 0, y for x == 0, 1 for x > 0.

    Args:
        x: integer or floating tensor, of which NaN gives NaN; a number if y is a tensor.
        y: tensor or number; the shapes broadcast. Floating dtypes that differ are promoted, others must be equal.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: no operand is a tensor, the dtypes cannot be promoted, or one is bool or complex.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.heaviside(paddle.to_tensor([-1.0, 0.0, 2.0]), 0.5).tolist()
        [0.0, 0.5, 1.0]
    """
    return promoted(F.heaviside, "heaviside", x, y)


@public
def nan_to_num(
    x: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None, name: str | None = None
) -> Tensor:
    """Replace NaN and infinities by numbers, element by element.

    Args:
        x: tensor of any shape and dtype. Only floating ones change; others are copied.
        nan: number in place of NaN.
        posinf: number in place of +inf; None means the largest finite number of x's dtype.
        neginf: number in place of -inf; None means the smallest finite number of x's dtype.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([float("nan"), float("inf"), 1.0])
        >>> paddle.nan_to_num(x, posinf=9.0).tolist()
        [0.0, 9.0, 1.0]
    """
    need_tensor(x, "nan_to_num")
    if not x.dtype.is_floating:
        return F.copy(x)
    op = "nan_to_num"
    low, high = _limits(x.dtype)
    high = high if posinf is None else real_number(posinf, op, "posinf")
    low = low if neginf is None else real_number(neginf, op, "neginf")
    return apply(_NAN_TO_NUM, (x,), (real_number(nan, op, "nan"), high, low))


@cache
def _limits(dtype: DType) -> tuple[float, float]:
    from paddle.framework.dtype import finfo

    limits = finfo(dtype)
    return limits.min, limits.max


nan_to_num_ = inplace(nan_to_num)


@public(op=F.Neg())
def neg(x: Tensor, name: str | None = None) -> Tensor:
    """Change the sign, element by element.

    Args:
        x: integer, floating or complex tensor of any shape. Unsigned integers wrap.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is no tensor, or is bool.

    Example:
        >>> import paddle
        >>> paddle.neg(paddle.to_tensor([1.0, -2.0])).tolist()
        [-1.0, 2.0]
    """
    return F.neg(numeric(x, "neg"))


negative = also(neg, "negative")

neg_ = inplace(neg)


@public(op=F.Nextafter())
def nextafter(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """Next number after x towards y that the dtype has, element by element.

    Args:
        x: floating tensor; a number if y is a tensor.
        y: floating tensor or number; the shapes broadcast.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: no operand is a tensor, or one is not floating.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> float(paddle.nextafter(paddle.to_tensor(1.0, "float64"), paddle.to_tensor(2.0, "float64")) - 1)
        2.220446049250313e-16
    """
    return promoted(F.nextafter, "nextafter", x, y)


@public
def positive(x: Tensor, name: str | None = None) -> Tensor:
    """Return x itself, as the operator ``+x`` does.

    Args:
        x: integer, floating or complex tensor of any shape.

    Returns:
        The tensor x.

    Raises:
        TypeError: x is no tensor, or is bool.

    Example:
        >>> import paddle
        >>> paddle.positive(paddle.to_tensor([1.0, -2.0])).tolist()
        [1.0, -2.0]
    """
    if need_tensor(x, "positive").dtype.is_bool:
        raise op_error(TypeError, "positive", "a numeric dtype", "bool")
    return x


@public
def round(x: Tensor, decimals: int = 0, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Round to ``decimals`` digits after the point, ties to even, element by element.

    Args:
        x: integer, floating or complex tensor of any shape; of complex numbers both parts are rounded.
        decimals: digits; negative ones are before the point. Integers stay as they are.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is no tensor, or is bool or complex.

    Example:
        >>> import paddle
        >>> paddle.round(paddle.to_tensor([0.5, 1.5, 2.6])).tolist()
        [0.0, 2.0, 3.0]
        >>> paddle.round(paddle.to_tensor([1234.0]), decimals=-2).tolist()
        [1200.0]
    """
    need_tensor(x, "round")
    if decimals == 0 or x.dtype.is_integer:
        return F.round(x)
    decimals = integer(decimals, "round", "decimals")
    factor = 10.0 ** builtins.abs(decimals)
    return F.div(F.round(F.mul(x, factor)), factor) if decimals > 0 else F.mul(F.round(F.div(x, factor)), factor)


round_ = inplace(round, "paddle.tensor Tensor")


@public(op=F.Sign())
def sgn(x: Tensor, name: str | None = None) -> Tensor:
    """Sign of numbers, element by element: -1, 0 or 1; of complex ones ``x / |x|``, and 0 at 0.

    Args:
        x: integer, floating or complex tensor of any shape.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is no tensor, or is bool.

    Example:
        >>> import paddle
        >>> paddle.sgn(paddle.to_tensor([-3.0, 0.0])).tolist()
        [-1.0, 0.0]
        >>> paddle.sgn(paddle.to_tensor([0 + 2j])).tolist()
        [1j]
    """
    return F.sign(need_tensor(x, "sgn"))


@public(op=F.Sign())
def sign(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Sign of numbers, element by element: -1, 0 or 1; of complex ones ``x / |x|``, and 0 at 0.

    Args:
        x: integer, floating or complex tensor of any shape. NaN gives NaN.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is no tensor, or is bool.

    Example:
        >>> import paddle
        >>> paddle.sign(paddle.to_tensor([-3.0, 0.0, 5.0])).tolist()
        [-1.0, 0.0, 1.0]
    """
    return F.sign(numeric(x, "sign"))


@public(op=F.Signbit())
def signbit(x: Tensor, name: str | None = None) -> Tensor:
    """Test the sign bit of each element, which -0.0 has, too.

    Args:
        x: floating tensor of any shape; integers and bools become float32.

    Returns:
        bool tensor of x's shape.

    Raises:
        TypeError: x is no tensor, or is complex.

    Example:
        >>> import paddle
        >>> paddle.signbit(paddle.to_tensor([-1.0, -0.0, 0.0])).tolist()
        [True, True, False]
    """
    return F.signbit(floats(x, "signbit"))


@public(op=F.Trunc())
def trunc(input: Tensor, name: str | None = None) -> Tensor:
    """Round towards zero to whole numbers, element by element.

    Args:
        input: integer or floating tensor of any shape.

    Returns:
        Tensor of the input's shape and dtype.

    Raises:
        TypeError: the input is no tensor, or is bool or complex.

    Example:
        >>> import paddle
        >>> paddle.trunc(paddle.to_tensor([1.8, -1.8])).tolist()
        [1.0, -1.0]
    """
    return F.trunc(need_tensor(input, "trunc", "input"))


trunc_ = inplace(trunc)
