"""Elements in another order along axes: flips, rolls, rotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.tensor._args import (
    InternedOps,
    axes_of,
    axis_of,
    integers,
    need_tensor,
    op_error,
)
from paddle.tensor.axes import swap
from umiak import ops as F
from umiak.core.eager import apply1
from umiak.core.tensor import Tensor

_FLIP = InternedOps(F.Flip)


@public(aliases={"dims": "axis"})
def flip(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """Elements of ``x`` in reverse order along the given dims.

    Args:
        x: tensor of any shape and dtype.
        axis: the dims, an int or a sequence of ints; negative counts from the end.

    Returns:
        Tensor of x's shape and dtype, in memory of its own.

    Raises:
        TypeError: x is not a tensor.
        IndexError: x has no such dim.
        ValueError: ``axis`` names a dim twice.

    Example:
        >>> import paddle
        >>> paddle.flip(paddle.to_tensor([[1, 2], [3, 4]]), 0).tolist()
        [[3, 4], [1, 2]]
    """
    axes = axes_of(axis, need_tensor(x, "flip").ndim, "flip")
    return F.flip(x, axes) if axes else F.copy(x)


@public(aliases={"dims": "axis"})
def reverse(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """Elements of ``x`` in reverse order along the given dims, as :func:`flip` gives them.

    Args:
        x: tensor of any shape and dtype.
        axis: the dims, an int or a sequence of ints; negative counts from the end.

    Returns:
        Tensor of x's shape and dtype, in memory of its own.

    Raises:
        TypeError: x is not a tensor.
        IndexError: x has no such dim.
        ValueError: ``axis`` names a dim twice.

    Example:
        >>> import paddle
        >>> paddle.reverse(paddle.to_tensor([1, 2, 3]), 0).tolist()
        [3, 2, 1]
    """
    return flip(x, axis)


@public(aliases={"dims": "axis"}, takes_out=True)
def roll(x: Tensor, shifts: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """Move elements along dims; those that leave at one end enter at the other.

    Args:
        x: tensor of any shape and dtype.
        shifts: by how many places: an int, or one for each dim of ``axis``; negative moves towards the front.
        axis: the dims, an int or a sequence of ints; negative counts from the end. By default, or where
            there are none, x counts as one row of all its elements.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not a tensor.
        IndexError: x has no such dim.
        ValueError: ``shifts`` and ``axis`` differ in length.

    Example:
        >>> import paddle
        >>> paddle.roll(paddle.to_tensor([[1, 2], [3, 4], [5, 6]]), 1, 0).tolist()
        [[5, 6], [1, 2], [3, 4]]
    """
    axis = () if axis is None else integers(axis, "roll", "axis")
    by = integers(shifts, "roll", "shifts", len(axis) or 1)
    need_tensor(x, "roll")
    if not axis:
        if len(by) != 1:
            raise op_error(ValueError, "roll", "one shift where there is no axis", list(by))
        return F.reshape(F.roll(F.reshape(x, (x._count,)), (0,), by), tuple(x.shape))
    axes = tuple(axis_of(a, x.ndim, "roll") for a in axis)
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
def rot90(x: Tensor, k: int = 1, axes: Sequence[int] = [0, 1], name: str | None = None) -> Tensor:
    """Rotate ``x`` by quarter turns in the plane of two dims.

    Args:
        x: tensor of rank 2 or more, of any dtype.
        k: the number of quarter turns, from the first of the two dims towards the second; negative turns back.
        axes: the two dims; negative counts from the end.

    Returns:
        Tensor of x's dtype; for odd ``k`` the two sizes are swapped. x itself where ``k`` is a multiple of 4.

    Raises:
        TypeError: x is not a tensor.
        IndexError: x has no such dim.
        ValueError: ``axes`` are not two different dims.

    Example:
        >>> import paddle
        >>> paddle.rot90(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
        [[2, 4], [1, 3]]
    """
    pair = integers(axes, "rot90", "axes")
    if len(pair) != 2:
        raise op_error(ValueError, "rot90", "two axes", list(pair))
    n = need_tensor(x, "rot90").ndim
    a, b = axis_of(pair[0], n, "rot90"), axis_of(pair[1], n, "rot90")
    if a == b:
        raise op_error(ValueError, "rot90", "two different axes", list(pair))
    k %= 4
    if k == 0:
        return x
    if k == 2:
        return F.flip(x, tuple(sorted((a, b))))
    swapped, flipped = swap(n, a, b), _FLIP[((b,),)]
    return apply1(swapped, apply1(flipped, x)) if k == 1 else apply1(flipped, apply1(swapped, x))
