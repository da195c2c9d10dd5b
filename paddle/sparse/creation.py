"""Sparse tensors from indices and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from paddle._public import public
from paddle.tensor._args import dtype_of, op_error, shape_of
from paddle.tensor.creation import to_tensor
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ops.promotion import cast
from umiak.runtime.sparse_tensor import SparseCoo, SparseCsr, SparseTensor, read, row_coordinates


def _index(x: Any, op: str, arg_name: str, place: Any) -> tuple[Tensor, np.ndarray]:
    """Indices as a tensor, and their data, which a captured function knows of lists and arrays."""
    data = None if isinstance(x, Tensor) else np.asarray(x)
    if data is not None and data.dtype.kind in "iu" and data.dtype != np.int32:
        data = data.astype(np.int64)
    index = x.detach() if isinstance(x, Tensor) else to_tensor(data, place=place)
    if isinstance(index, SparseTensor) or not index.dtype.is_integer:
        raise op_error(TypeError, op, f"{arg_name} of integers", index.dtype.name)
    if data is None:
        data = read(index, op, arg_name)
    index = index if index.dtype in (dt.int32, dt.int64) else cast(index, dt.int64)
    return index, data.astype(np.int64, copy=False)


def _values(x: Any, op: str, dtype: Any, place: Any, stop_gradient: bool) -> Tensor:
    """Values: a leaf of its own, or, of a tensor with a history that gradients are wanted of, that tensor."""
    if isinstance(x, SparseTensor):
        raise op_error(TypeError, op, "dense values", "a sparse tensor")
    if not isinstance(x, Tensor):
        values = to_tensor(x, dtype=dtype, place=place)
    else:
        values = x if dtype is None else cast(x, dtype_of(dtype))
        values = values if place is None else values.to(place)
        if not stop_gradient and not values.stop_gradient:
            return values
        values = values.detach()
    values.stop_gradient = stop_gradient
    return values


@public("paddle.sparse", usual=False)
def sparse_coo_tensor(
    indices: Any, values: Any, shape: Any = None, dtype: Any = None, place: Any = None, stop_gradient: bool = True
) -> Tensor:
    """Sparse tensor of coordinates and the values there.

    Args:
        indices: integers of shape [sparse_dim, nnz], a tensor, array or list: column k is the position of value k.
            int32 is kept, other dtypes become int64. A position may come more than once; its values add up.
        values: numbers of shape [nnz] and of the dims that are not sparse, a tensor, array or list.
        shape: sizes of the whole tensor; None: the smallest that has room for the positions.
        dtype: dtype of the values; None: their own.
        place: where the tensor goes; None: the current place, or that of the values.
        stop_gradient: False for values that gradients reach. Values that have a history keep it then.

    Returns:
        Sparse COO tensor of that shape.

    Raises:
        TypeError: indices that are no integers, or values that are sparse.
        ValueError: indices of another rank than 2, another number of values, a position outside of the shape, or no
            position and no shape.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1, 2], [1, 2, 0]], [1.0, 2.0, 3.0], [3, 3])
        >>> x.to_dense().tolist()
        [[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [3.0, 0.0, 0.0]]
    """
    op = "sparse_coo_tensor"
    where, a = _index(indices, op, "indices", place)
    if where.ndim != 2:
        raise op_error(ValueError, op, "indices of shape [sparse_dim, nnz]", f"shape {list(where.shape)}")
    kept = _values(values, op, dtype, place, stop_gradient)
    if kept.ndim < 1 or kept.shape[0] != where.shape[1]:
        got = f"{where.shape[1]} positions and values of shape {list(kept.shape)}"
        raise op_error(ValueError, op, "a value for each position", got)
    if not a.shape[0]:
        raise op_error(ValueError, op, "one sparse dim or more", "none")
    if shape is None:
        if not a.shape[1]:
            raise op_error(ValueError, op, "a shape where there are no positions", "None")
        sizes = (*(int(n) + 1 for n in a.max(axis=1)), *kept.shape[1:])
    else:
        sizes = shape_of(shape, op)
    n = a.shape[0]
    if len(sizes) != n + kept.ndim - 1 or list(sizes[n:]) != kept.shape[1:] or min(sizes) < 0:
        got = f"shape {list(sizes)} with {n} sparse dims and values of shape {list(kept.shape)}"
        raise op_error(ValueError, op, "a shape of the sparse dims and those of each value", got)
    if a.size and (a.min() < 0 or (a.max(axis=1) >= np.array(sizes[:n])).any()):
        got = f"positions up to {a.max(axis=1).tolist()} and from {a.min(axis=1).tolist()}"
        raise op_error(ValueError, op, f"positions within {list(sizes[:n])}", got)
    return SparseCoo(where, kept, sizes, False, a)


@public("paddle.sparse", usual=False)
def sparse_csr_tensor(
    crows: Any,
    cols: Any,
    values: Any,
    shape: Any = None,
    dtype: Any = None,
    place: Any = None,
    stop_gradient: bool = True,
) -> Tensor:
    """Sparse matrix, or a batch of them, of compressed rows.

    Args:
        crows: integers, rows + 1 of them, a tensor, array or list: row i has the values from ``crows[i]`` up to
            ``crows[i + 1]``. In a batch each matrix has rows + 1 of them, which begin at 0.
        cols: integers of shape [nnz]: the column of each value. int32 is kept, other dtypes become int64.
        values: numbers of shape [nnz], a tensor, array or list.
        shape: two sizes, or three, whose first one counts matrices; None: as many rows as there are, and the fewest
            columns that have room for the values.
        dtype: dtype of the values; None: their own.
        place: where the tensor goes; None: the current place, or that of the values.
        stop_gradient: False for values that gradients reach. Values that have a history keep it then.

    Returns:
        Sparse CSR tensor of that shape.

    Raises:
        TypeError: indices that are no integers, or values that are sparse.
        ValueError: shapes that do not fit each other, pointers that fall, or a column outside of the shape.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0], [2, 3])
        >>> x.to_dense().tolist()
        [[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]]
    """
    op = "sparse_csr_tensor"
    (rows, p), (columns, c) = _index(crows, op, "crows", place), _index(cols, op, "cols", place)
    kept = _values(values, op, dtype, place, stop_gradient)
    if rows.ndim != 1 or columns.ndim != 1 or kept.shape != columns.shape:
        got = f"shapes {list(rows.shape)}, {list(columns.shape)} and {list(kept.shape)}"
        raise op_error(ValueError, op, "crows, cols and values of one dim, the last two of one size", got)
    if rows.dtype is not columns.dtype:
        rows, columns = cast(rows, dt.int64), cast(columns, dt.int64)
    if shape is None:
        if not c.size:
            raise op_error(ValueError, op, "a shape where there are no values", "None")
        sizes: tuple[int, ...] = (p.size - 1, int(c.max()) + 1)
    else:
        sizes = shape_of(shape, op)
    if len(sizes) not in (2, 3) or min(sizes) < 0:
        raise op_error(ValueError, op, "two or three sizes", list(sizes))
    matrices = 1 if len(sizes) == 2 else sizes[0]
    if p.size != matrices * (sizes[-2] + 1):
        got = f"{p.size} for shape {list(sizes)}"
        raise op_error(ValueError, op, "rows + 1 pointers for each matrix", got)
    each = p.reshape(matrices, sizes[-2] + 1)
    if (each[:, :1] != 0).any() or (np.diff(each, axis=1) < 0).any() or each[:, -1].sum() != c.size:
        got = f"{p.tolist() if p.size < 20 else 'others'} for {c.size} values"
        raise op_error(ValueError, op, "crows that rise from 0 to the number of values", got)
    if c.size and (c.min() < 0 or c.max() >= sizes[-1]):
        raise op_error(ValueError, op, f"columns within {sizes[-1]}", f"from {c.min()} to {c.max()}")
    return SparseCsr(rows, columns, kept, sizes, row_coordinates(p, c, sizes))
