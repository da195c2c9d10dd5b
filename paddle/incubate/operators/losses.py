"""A loss that is there already."""

from __future__ import annotations

from typing import Any

from paddle._public import need_tensor, public
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_REDUCTIONS = ("sum", "mean", "none")  # which the reference numbers in this order


@public("paddle.incubate paddle.incubate.operators", usual=False)
def identity_loss(x: Tensor, reduction: Any = "none") -> Tensor:
    """A tensor as a loss: its sum, its mean or itself.

    Args:
        x: floating tensor.
        reduction: ``"sum"``, ``"mean"`` or ``"none"``, or 0, 1 or 2 for them.

    Returns:
        Tensor of x's dtype: of rank 0, or x's shape for ``"none"``.

    Raises:
        TypeError: x is not floating, or there is no such word.
        ValueError: there is no such number.

    Example:
        >>> import paddle
        >>> paddle.incubate.identity_loss(paddle.to_tensor([1.0, 3.0]), reduction="mean").item()
        2.0
    """
    op = "identity_loss"
    if not need_tensor(x, op).dtype.is_floating:
        raise op_error(TypeError, op, "a floating x", x.dtype.name)
    if isinstance(reduction, int) and 0 <= reduction < len(_REDUCTIONS):
        reduction = _REDUCTIONS[reduction]
    if reduction not in _REDUCTIONS:
        kind = ValueError if isinstance(reduction, int) else TypeError
        raise op_error(kind, op, f"a reduction of {_REDUCTIONS} or 0, 1, 2", repr(reduction))
    axes = tuple(range(x.ndim))
    return F.copy(x) if reduction == "none" else F.sum(x, axes) if reduction == "sum" else F.mean(x, axes)
