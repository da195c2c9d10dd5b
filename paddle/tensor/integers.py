"""Functions of integers: divisors and bits."""

from __future__ import annotations

from typing import Any

from paddle._public import inplace, public
from paddle.tensor._args import (
    promoted,
    same_dtype,
)
from umiak import ops as F
from umiak.core.tensor import Tensor


@public
def bitwise_left_shift(
    x: Tensor, y: Any, is_arithmetic: bool = True, out: Tensor | None = None, name: str | None = None
) -> Tensor:
    """Shift bits up, element by element: ``x * 2**y`` without the bits that the dtype does not hold.

    Args:
        x: integer tensor; an integer if y is a tensor.
        y: by how many bits: integer tensor of x's dtype, or an integer; the shapes broadcast.
        is_arithmetic: without effect, as bits that move up leave no sign behind.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: no operand is a tensor, or one is not integer.
        ValueError: the shapes do not broadcast, or the dtypes differ.

    Example:
        >>> import paddle
        >>> paddle.bitwise_left_shift(paddle.to_tensor([1, -3]), paddle.to_tensor([3, 1])).tolist()
        [8, -6]
    """
    x, y = same_dtype("shift", x, y)
    return F.shift_left(x, y)


bitwise_left_shift_ = inplace(bitwise_left_shift, keeps_out=True)


@public
def bitwise_right_shift(
    x: Tensor, y: Any, is_arithmetic: bool = True, out: Tensor | None = None, name: str | None = None
) -> Tensor:
    """Shift bits down, element by element: ``x / 2**y`` rounded down.

    Args:
        x: integer tensor; an integer if y is a tensor.
        y: by how many bits: integer tensor of x's dtype, or an integer; the shapes broadcast.
        is_arithmetic: whether copies of the sign move in at the top; if False, zeros do.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: no operand is a tensor, or one is not integer.
        ValueError: the shapes do not broadcast, or the dtypes differ.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([8, -8], "int8")
        >>> paddle.bitwise_right_shift(x, 1).tolist()
        [4, -4]
        >>> paddle.bitwise_right_shift(x, 1, is_arithmetic=False).tolist()
        [4, 124]
    """
    x, y = same_dtype("shift", x, y)
    return F.shift_right(x, y) if is_arithmetic else F.shift_right_logical(x, y)


bitwise_right_shift_ = inplace(bitwise_right_shift, keeps_out=True)


@public(op=F.Gcd())
def gcd(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """Greatest common divisor, which is never negative, element by element.

    Args:
        x: integer or floating tensor; a number if y is a tensor. Floating numbers are taken as the fractions that they
            are: no digit is rounded away.
        y: tensor of x's dtype, or a number; the shapes broadcast.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: no operand is a tensor, the dtypes differ, or are bool or complex.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.gcd(paddle.to_tensor([12, -4]), paddle.to_tensor([18, 6])).tolist()
        [6, 2]
    """
    return promoted(F.gcd, "gcd", x, y)


gcd_ = inplace(gcd)


@public(op=F.Lcm())
def lcm(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """Least common multiple, which is never negative, element by element.

    Args:
        x: integer or floating tensor; a number if y is a tensor. Floating numbers are taken as the fractions that they
            are: no digit is rounded away.
        y: tensor of x's dtype, or a number; the shapes broadcast.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: no operand is a tensor, the dtypes differ, or are bool or complex.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.lcm(paddle.to_tensor([4, -4]), paddle.to_tensor([6, 6])).tolist()
        [12, 12]
    """
    return promoted(F.lcm, "lcm", x, y)


lcm_ = inplace(lcm)
