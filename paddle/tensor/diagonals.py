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
    """Diagonal of two dims; a view, which shares the memory of ``x``.

    Args:
        x: tensor of rank 2 or more, of any dtype.
        offset: which diagonal: 0 is the main one, positive ones lie above it, negative ones below.
        axis1: the dim that counts as rows; negative counts from the end.
        axis2: the dim that counts as columns.

    Returns:
        Tensor of x's dtype: the two dims are gone, the diagonal is the last dim.

    Raises:
        TypeError: x is not a tensor.
        IndexError: x has no such dim.
        ValueError: the two dims are the same.

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
    """Copy of ``x`` with a diagonal, as :func:`diagonal` selects it, replaced.

    Args:
        x: tensor of rank 2 or more, of any dtype.
        y: tensor of the shape of the diagonal; it is cast to x's dtype.
        offset: which diagonal: 0 is the main one, positive ones lie above it, negative ones below.
        axis1: the dim that counts as rows; negative counts from the end.
        axis2: the dim that counts as columns.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x or y is not a tensor.
        IndexError: x has no such dim.
        ValueError: y has another shape than the diagonal, or the two dims are the same.

    Example:
        >>> import paddle
        >>> paddle.diagonal_scatter(paddle.zeros([2, 2]), paddle.to_tensor([1.0, 2.0])).tolist()
        [[1.0, 0.0], [0.0, 2.0]]
    """
    return fill_diagonal_tensor(x, y, offset, axis1, axis2)


@public("Tensor")
def fill_diagonal_tensor(
    x: Tensor, y: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, name: str | None = None
) -> Tensor:
    """Copy of ``x`` with a diagonal replaced, as by :func:`diagonal_scatter`.

    Args:
        x: tensor of rank 2 or more, of any dtype.
        y: tensor of the shape of the diagonal; it is cast to x's dtype.
        offset: which diagonal: 0 is the main one, positive ones lie above it, negative ones below.
        dim1: the dim that counts as rows; negative counts from the end.
        dim2: the dim that counts as columns.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x or y is not a tensor.
        IndexError: x has no such dim.
        ValueError: y has another shape than the diagonal, or the two dims are the same.

    Example:
        >>> import paddle
        >>> paddle.zeros([2, 2]).fill_diagonal_tensor(paddle.to_tensor([1.0, 2.0])).tolist()
        [[1.0, 0.0], [0.0, 2.0]]
    """
    op = "fill_diagonal_tensor"
    a, b = (axis_of(axis, need_tensor(x, op).ndim, op) for axis in (dim1, dim2))
    shape = F.diagonal(x, a, b, offset).shape
    if need_tensor(y, "fill_diagonal_tensor", "y").shape != shape:
        raise op_error(ValueError, "fill_diagonal_tensor", f"a y of shape {shape}", y.shape)
    return write_part(F.copy(x), lambda x: F.diagonal(x, a, b, offset), _cast_to(y, x.dtype))
