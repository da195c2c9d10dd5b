"""Elements in another order along axes: flips, rolls, rotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.tensor._args import (
    axes_of,
    axis_of,
    integers,
    need_tensor,
    op_error,
)
from paddle.tensor.axes import swap_op
from umiak import ops as F
from umiak.core.dispatch import apply1
from umiak.core.tensor import Tensor


@public(aliases={"dims": "axis"})
def flip(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """``x`` in reverse order along one axis or several.

    Example:
        >>> import paddle
        >>> paddle.flip(paddle.to_tensor([1, 2]), 0).tolist()
        [2, 1]
    """
    axes = axes_of(axis, need_tensor(x, "flip").ndim, "flip")
    return F.flip(x, axes) if axes else F.copy(x)


@public(aliases={"dims": "axis"})
def reverse(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """The same as :func:`flip`."""
    return flip(x, axis)


@public(aliases={"dims": "axis"})
def roll(x: Tensor, shifts: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """Elements moved along axes; what leaves at one end enters at the other. Without an axis, all in a row.

    Example:
        >>> import paddle
        >>> paddle.roll(paddle.to_tensor([1, 2, 3]), 1).tolist()
        [3, 1, 2]
    """
    by = integers(shifts, "roll", "shifts")
    need_tensor(x, "roll")
    if axis is None:
        if len(by) != 1:
            raise op_error(ValueError, "roll", "one shift where there is no axis", list(by))
        return F.reshape(F.roll(F.reshape(x, (x.size,)), (0,), by), tuple(x.shape))
    axes = tuple(axis_of(a, x.ndim, "roll") for a in integers(axis, "roll", "axis"))
    if len(by) == 1:
        by = by * len(axes)
    if len(axes) != len(by):
        raise op_error(ValueError, "roll", "one shift for each axis", f"{list(by)} for axes {list(axes)}")
    if len(set(axes)) != len(axes):
        for a, b in zip(axes, by, strict=True):
            x = F.roll(x, (a,), (b,))
        return x
    return F.roll(x, axes, by)


@public
def rot90(x: Tensor, k: int = 1, axes: Sequence[int] = (0, 1), name: str | None = None) -> Tensor:
    """``x`` turned by ``k`` quarters in the plane of two axes, from the first towards the second.

    Example:
        >>> import paddle
        >>> paddle.rot90(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
        [[2, 4], [1, 3]]
    """
    pair = integers(axes, "rot90", "axes")
    if len(pair) != 2:
        raise op_error(ValueError, "rot90", "two axes", list(pair))
    a, b = (axis_of(axis, need_tensor(x, "rot90").ndim, "rot90") for axis in pair)
    if a == b:
        raise op_error(ValueError, "rot90", "two different axes", list(pair))
    k %= 4
    if k == 0:
        return F.copy(x)
    if k == 2:
        return F.flip(x, tuple(sorted((a, b))))
    turned = swap_op(x, (a, b), "rot90")
    return apply1(turned, F.flip(x, (b,))) if k == 1 else F.flip(apply1(turned, x), (b,))
