"""Diagonals, and tensors of which a diagonal is replaced."""

from __future__ import annotations

from paddle._public import public
from paddle.tensor._args import (
    axis_of,
    integer,
    need_tensor,
    op_error,
    write_part,
)
from paddle.tensor._args import cast as _cast_to
from umiak import ops as F
from umiak.core.tensor import Tensor


@public("paddle paddle.tensor paddle.linalg Tensor")
def diagonal(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None) -> Tensor:
    """The diagonal of two dims, ``offset`` above the main one, as the last dim; a view.

    Example:
        >>> import paddle
        >>> paddle.diagonal(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
        [1, 4]
    """
    a, b = (axis_of(axis, need_tensor(x, "diagonal").ndim, "diagonal") for axis in (axis1, axis2))
    return F.diagonal(x, a, b, integer(offset, "diagonal", "offset"))


@public
def diagonal_scatter(
    x: Tensor, y: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None
) -> Tensor:
    """``x`` with a diagonal, as :func:`diagonal` selects it, replaced by ``y``.

    Example:
        >>> import paddle
        >>> paddle.diagonal_scatter(paddle.zeros([2, 2]), paddle.ones([2])).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    return fill_diagonal_tensor(x, y, offset, axis1, axis2)


@public("Tensor")
def fill_diagonal_tensor(
    x: Tensor, y: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, name: str | None = None
) -> Tensor:
    """``x`` with the diagonal of dims ``dim1`` and ``dim2`` replaced by ``y``."""
    op = "fill_diagonal_tensor"
    a, b = (axis_of(axis, need_tensor(x, op).ndim, op) for axis in (dim1, dim2))
    shape = F.diagonal(x, a, b, offset).shape
    if need_tensor(y, "fill_diagonal_tensor", "y").shape != shape:
        raise op_error(ValueError, "fill_diagonal_tensor", f"a y of shape {shape}", y.shape)
    return write_part(F.copy(x), lambda x: F.diagonal(x, a, b, offset), _cast_to(y, x.dtype))
