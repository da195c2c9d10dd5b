"""Questions about floating numbers."""

from __future__ import annotations

from paddle._public import public
from paddle.tensor._args import (
    floats,
    need_tensor,
)
from umiak import ops as F
from umiak.core.tensor import Tensor


@public(op=F.Isfinite(), takes_out=True)
def isfinite(x: Tensor, name: str | None = None) -> Tensor:
    """Test each element for being neither infinite nor NaN.

    Args:
        x: tensor of any shape and dtype. Integers and bools always pass; complex numbers pass if both parts do.

    Returns:
        bool tensor of x's shape.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> paddle.isfinite(paddle.to_tensor([1.0, float("inf"), float("nan")])).tolist()
        [True, False, False]
    """
    return F.isfinite(need_tensor(x, "isfinite"))


@public(op=F.Isinf(), takes_out=True)
def isinf(x: Tensor, name: str | None = None) -> Tensor:
    """Test each element for being infinite.

    Args:
        x: tensor of any shape and dtype. Complex numbers pass if one of the parts does.

    Returns:
        bool tensor of x's shape.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> paddle.isinf(paddle.to_tensor([1.0, -float("inf"), float("nan")])).tolist()
        [False, True, False]
    """
    return F.isinf(need_tensor(x, "isinf"))


@public(op=F.Isnan(), takes_out=True)
def isnan(x: Tensor, name: str | None = None) -> Tensor:
    """Test each element for being NaN.

    Args:
        x: tensor of any shape and dtype. Complex numbers pass if one of the parts does.

    Returns:
        bool tensor of x's shape.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> paddle.isnan(paddle.to_tensor([1.0, float("inf"), float("nan")])).tolist()
        [False, False, True]
    """
    return F.isnan(need_tensor(x, "isnan"))


@public(op=F.Isneginf())
def isneginf(x: Tensor, name: str | None = None) -> Tensor:
    """Test each element for being -inf.

    Args:
        x: floating tensor of any shape; integers and bools become float32.

    Returns:
        bool tensor of x's shape.

    Raises:
        TypeError: x is no tensor, or is complex.

    Example:
        >>> import paddle
        >>> paddle.isneginf(paddle.to_tensor([-float("inf"), float("inf"), 1.0])).tolist()
        [True, False, False]
    """
    return F.isneginf(floats(x, "isneginf"))


@public(op=F.Isposinf())
def isposinf(x: Tensor, name: str | None = None) -> Tensor:
    """Test each element for being +inf.

    Args:
        x: floating tensor of any shape; integers and bools become float32.

    Returns:
        bool tensor of x's shape.

    Raises:
        TypeError: x is no tensor, or is complex.

    Example:
        >>> import paddle
        >>> paddle.isposinf(paddle.to_tensor([-float("inf"), float("inf"), 1.0])).tolist()
        [False, True, False]
    """
    return F.isposinf(floats(x, "isposinf"))
