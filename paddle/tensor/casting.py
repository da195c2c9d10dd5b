"""Casts to another dtype."""

from __future__ import annotations

from typing import Any

from paddle._public import inplace, public
from paddle.tensor._args import (
    dtype_of,
    need_tensor,
    op_error,
)
from umiak import ops as F
from umiak.core.eager import apply1
from umiak.core.tensor import Tensor

_CAST: dict[Any, Any] = {}


@public(usual=False)
def cast(x: Tensor, dtype: Any) -> Tensor:
    """Convert ``x`` to another dtype.

    Floats become integers by dropping the fraction, numbers become bools by comparison with 0, and of complex numbers
    the real part remains.

    Args:
        x: tensor of any shape and dtype.
        dtype: the dtype: a dtype of this package, its name, or a NumPy or Python type.

    Returns:
        Tensor of x's shape and the new dtype; a copy even if x has it already.

    Raises:
        TypeError: x is not a tensor, or ``dtype`` is not a dtype.

    Example:
        >>> import paddle
        >>> paddle.cast(paddle.to_tensor([1.7, -1.7]), "int32").tolist()
        [1, -1]
    """
    if not isinstance(x, Tensor):
        need_tensor(x, "cast")
    return apply1(_CAST.get(dtype) or cast_op(dtype), x)


def cast_op(dtype: Any) -> Any:
    """The op that casts to a dtype."""
    if dtype is None:
        raise op_error(TypeError, "cast", "a dtype", "None")
    op = _CAST.get(dtype)
    if op is None:
        op = _CAST[dtype] = F.Cast(dtype_of(dtype))
    return op


cast_ = inplace(cast)
