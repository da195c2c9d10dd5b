"""Diagonals, and tensors of which a diagonal is replaced."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.tensor._args import (
    axis_of,
    create_on,
    integer,
    need_tensor,
    number,
    op_error,
    write_part,
)
from paddle.tensor._args import cast as _cast_to
from paddle.tensor.from_data import to_tensor
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor


@public("paddle paddle.tensor paddle.linalg Tensor", aliases={"dim1": "axis1", "dim2": "axis2"}, takes_out=True)
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


@public
def diag(x: Tensor, offset: int = 0, padding_value: Any = 0, name: str | None = None) -> Tensor:
    """Matrix with a vector on a diagonal, or the diagonal of a matrix.

    Args:
        x: tensor of any dtype: of rank 0 or 1, the diagonal of a new matrix; of rank 2, a matrix to read.
        offset: which diagonal: 0 is the main one, positive ones lie above it, negative ones below.
        padding_value: number, one that x's dtype can hold, which fills the rest of a new matrix.

    Returns:
        Tensor of x's dtype: a square matrix, or a 1-d tensor in memory of its own.

    Raises:
        TypeError: x is not a tensor.
        ValueError: x has a rank above 2.

    Example:
        >>> import paddle
        >>> paddle.diag(paddle.to_tensor([1, 2])).tolist()
        [[1, 0], [0, 2]]
        >>> paddle.diag(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
        [1, 4]
    """
    need_tensor(x, "diag")
    if x.ndim == 2:
        return F.copy(F.diagonal(x, 0, 1, offset))
    if x.ndim > 1:
        raise op_error(ValueError, "diag", "a tensor of rank 0, 1 or 2", f"rank {x.ndim}")
    if x.ndim == 0:
        x = F.reshape(x, (1,))
    out = F.diag_embed(x, 0, 1, offset)
    if number(padding_value) == 0:
        return out
    on = F.diag_embed(create_on(x.place, F.full, True, dt.bool, tuple(x.shape)), 0, 1, offset)
    return F.where(on, out, number(padding_value))


@public
def diagflat(x: Tensor, offset: int = 0, name: str | None = None) -> Tensor:
    """Matrix with all elements of ``x``, in row-major order, on a diagonal and zeros elsewhere.

    Args:
        x: tensor of any shape and dtype.
        offset: which diagonal: 0 is the main one, positive ones lie above it, negative ones below.

    Returns:
        Square matrix of x's dtype.

    Raises:
        TypeError: x is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.diagflat(paddle.to_tensor([[1, 2]])).tolist()
        [[1, 0], [0, 2]]
    """
    need_tensor(x, "diagflat")
    return F.diag_embed(F.reshape(x, (x._count,)), 0, 1, offset)


@public("paddle paddle.tensor Tensor paddle.nn.functional", aliases={"x": "input"})
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the rows of ``input`` on a diagonal and zeros elsewhere.

    Args:
        input: tensor of rank 1 or more, of any dtype, or data for :func:`to_tensor`. Its last dim goes onto diagonals.
        offset: which diagonal: 0 is the main one, positive ones lie above it, negative ones below.
        dim1: the dim of the result that counts as rows; negative counts from the end.
        dim2: the dim of the result that counts as columns.

    Returns:
        Tensor of input's dtype, with one dim more.

    Raises:
        IndexError: the result has no such dim, or input is 0-d.
        ValueError: the two dims are the same.

    Example:
        >>> import paddle
        >>> paddle.diag_embed(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
        [[[1, 0], [0, 2]], [[3, 0], [0, 4]]]
    """
    x = input if isinstance(input, Tensor) else to_tensor(input)
    n = x.ndim + 1
    return F.diag_embed(x, axis1=axis_of(dim1, n, "diag_embed"), axis2=axis_of(dim2, n, "diag_embed"), offset=offset)
