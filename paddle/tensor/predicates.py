"""Questions about floating numbers."""

from __future__ import annotations

from paddle._public import public
from paddle.tensor._args import (
    floats,
    need_tensor,
)
from umiak import ops as F
from umiak.core.tensor import Tensor


@public(op=F.Isfinite())
def isfinite(x: Tensor, name: str | None = None) -> Tensor:
    """Whether x is neither infinite nor NaN, element by element.

    Args:
        x: a tensor.

    Example:
        >>> import paddle
        >>> paddle.isfinite(paddle.to_tensor([1.0])).tolist()
        [True]
    """
    return F.isfinite(need_tensor(x, "isfinite"))


@public(op=F.Isinf())
def isinf(x: Tensor, name: str | None = None) -> Tensor:
    """Whether x is infinite, element by element.

    Args:
        x: a tensor.

    Example:
        >>> import paddle
        >>> paddle.isinf(paddle.to_tensor([1.0])).tolist()
        [False]
    """
    return F.isinf(need_tensor(x, "isinf"))


@public(op=F.Isnan())
def isnan(x: Tensor, name: str | None = None) -> Tensor:
    """Whether x is NaN, element by element.

    Args:
        x: a tensor.

    Example:
        >>> import paddle
        >>> paddle.isnan(paddle.to_tensor([1.0])).tolist()
        [False]
    """
    return F.isnan(need_tensor(x, "isnan"))


@public(op=F.Isneginf())
def isneginf(x: Tensor, name: str | None = None) -> Tensor:
    """Whether x is -inf, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.isneginf(paddle.to_tensor([1.0])).tolist()
        [False]
    """
    return F.isneginf(floats(x, "isneginf"))


@public(op=F.Isposinf())
def isposinf(x: Tensor, name: str | None = None) -> Tensor:
    """Whether x is +inf, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.isposinf(paddle.to_tensor([1.0])).tolist()
        [False]
    """
    return F.isposinf(floats(x, "isposinf"))
