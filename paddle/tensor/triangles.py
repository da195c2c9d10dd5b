"""Triangles of matrices, and the indices of their elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from paddle._public import inplace, public
from paddle.tensor._args import dtype_of, integer, need_tensor, number_in, op_error
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy as _from_numpy
from umiak.core.dtype import DType
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym


@public
def tril(x: Tensor, diagonal: int = 0, name: str | None = None, *, out: Any = None) -> Tensor:
    """Lower triangle of matrices, with zeros above it.

    Args:
        x: tensor of shape ``[..., m, n]``, of any dtype.
        diagonal: the highest diagonal that is kept: 0 is the main one, positive ones lie above it, negative ones below.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not a tensor.
        ValueError: x has a rank below 2.

    Example:
        >>> import paddle
        >>> paddle.tril(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
        [[1, 0], [3, 4]]
    """
    return F.tril(need_tensor(x, "tril"), integer(diagonal, "tril", "diagonal"))


tril_ = inplace(tril)


@public
def triu(x: Tensor, diagonal: int = 0, name: str | None = None, *, out: Any = None) -> Tensor:
    """Upper triangle of matrices, with zeros below it.

    Args:
        x: tensor of shape ``[..., m, n]``, of any dtype.
        diagonal: the lowest diagonal that is kept: 0 is the main one, positive ones lie above it, negative ones below.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not a tensor.
        ValueError: x has a rank below 2.

    Example:
        >>> import paddle
        >>> paddle.triu(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
        [[1, 2], [0, 4]]
    """
    return F.triu(need_tensor(x, "triu"), integer(diagonal, "triu", "diagonal"))


triu_ = inplace(triu)


def _triangle(op: str, find: Any, row: Any, col: Any, offset: Any, dtype: Any) -> Tensor:
    r: Any = integer(row, op, "row")
    c: Any = r if col is None else integer(col, op, "col")
    if r < 0 or c < 0:
        raise op_error(ValueError, op, "sizes of 0 or more", (r, c))
    if any(type(n) is Sym and not n.hinted for n in (r, c)):  # how many there are, data tell
        found = _found(find, r, integer(offset, op, "offset"), c)
        return F.cast(F.permute(found, perm=(1, 0)), dtype=dtype_of(dtype, dt.int64))
    return _from_array(np.stack(find(r, integer(offset, op, "offset"), c)), dtype_of(dtype, dt.int64))


def _found(find: Any, rows: Any, offset: int, columns: Any) -> Tensor:
    """Coordinates of a triangle whose sizes are known when the program runs, ``[n, 2]``."""
    i = F.unsqueeze(F.iota(0, 1, dt.int64, rows), axes=(1,))
    j = F.iota(0, 1, dt.int64, columns)
    inside = F.le if find is np.tril_indices else F.ge
    found = inside(F.sub(j, i), offset)
    return F.nonzero_sized(found, number_in(F.count_true(found)))


def _from_array(a: np.ndarray, d: DType) -> Tensor:
    return _from_numpy(a.astype(d.numpy))


@public("paddle paddle.tensor")
def tril_indices(row: int, col: int | None = None, offset: int = 0, dtype: Any = "int64") -> Tensor:
    """Coordinates of the lower triangle of a matrix, row by row.

    Args:
        row: the number of rows.
        col: the number of columns; by default that of rows.
        offset: the highest diagonal of the triangle: 0 is the main one, positive ones lie above it.
        dtype: the dtype of the coordinates.

    Returns:
        Tensor of shape ``[2, n]``: rows and columns.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.tril_indices(2).tolist()
        [[0, 1, 1], [0, 0, 1]]
    """
    return _triangle("tril_indices", np.tril_indices, row, col, offset, dtype)


@public("paddle paddle.tensor")
def triu_indices(row: int, col: int | None = None, offset: int = 0, dtype: Any = "int64") -> Tensor:
    """Coordinates of the upper triangle of a matrix, row by row.

    Args:
        row: the number of rows.
        col: the number of columns; by default that of rows.
        offset: the lowest diagonal of the triangle: 0 is the main one, positive ones lie above it.
        dtype: the dtype of the coordinates.

    Returns:
        Tensor of shape ``[2, n]``: rows and columns.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.triu_indices(2).tolist()
        [[0, 0, 1], [0, 1, 1]]
    """
    return _triangle("triu_indices", np.triu_indices, row, col, offset, dtype)
