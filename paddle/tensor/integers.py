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
    """Bits moved up.

    Args:
        x: an integer tensor.
        y: how far: a tensor of the same dtype, or a number.
        is_arithmetic: whether the sign stays.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.bitwise_left_shift(paddle.to_tensor([1]), paddle.to_tensor([3])).tolist()
        [8]
    """
    x, y = same_dtype("shift", x, y)
    return F.shift_left(x, y)


bitwise_left_shift_ = inplace(bitwise_left_shift, keeps_out=True)


@public
def bitwise_right_shift(
    x: Tensor, y: Any, is_arithmetic: bool = True, out: Tensor | None = None, name: str | None = None
) -> Tensor:
    """Bits moved down.

    Args:
        x: an integer tensor.
        y: how far: a tensor of the same dtype, or a number.
        is_arithmetic: whether the sign stays.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.bitwise_right_shift(paddle.to_tensor([8]), paddle.to_tensor([3])).tolist()
        [1]
    """
    x, y = same_dtype("shift", x, y)
    return F.shift_right(x, y) if is_arithmetic else F.shift_right_logical(x, y)


bitwise_right_shift_ = inplace(bitwise_right_shift, keeps_out=True)


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
