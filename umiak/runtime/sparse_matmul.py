"""Matmuls of a sparse matrix and a dense one, and of dense ones at some positions, with derivatives of any order.

On the host float32 and float64 have a kernel of our own; other dtypes, and the transposed matmul, run SciPy's loops.

A matrix is given by ``crows``, by ``rows`` and ``cols`` of each value, which are sorted by rows, and by the values.
Indices are of int32 where that suffices, since memory is what these loops wait for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from umiak import ops as F
from umiak.backends.base import Kernel
from umiak.core.array import from_numpy
from umiak.core.tensor import Tensor
from umiak.ir.meta import Meta
from umiak.ops._common import conj, zeros
from umiak.ops.custom import register_target

_FORWARD, _TRANSPOSED = "sparse matrix times dense matrix", "transposed sparse matrix times dense matrix"
_AT_POSITIONS = "sampled matmul"
_FLOATS = ("float32", "float64")
_INDICES = ("int32", "int64")
_BLOCK = 1 << 20  # elements of rows that are gathered at once


def _infer(crows: Meta, rows: Meta, cols: Meta, values: Meta, dense: Meta, like: Meta | None = None) -> Meta:
    n = like.shape[0] if like is not None else crows.shape[0] - 1
    return Meta((n, dense.shape[1]), dense.dtype)


def _arrays(values: np.ndarray, dense: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
    """Operands that SciPy has loops for, contiguous, and the dtype of the result."""
    wide = values.dtype if values.dtype.kind in "iufc" and values.dtype != np.float16 else np.dtype(np.float32)
    x = np.ascontiguousarray(values, dtype=wide), np.ascontiguousarray(dense, dtype=wide)
    return (*x, values.dtype)


def _times(crows: np.ndarray, rows: np.ndarray, cols: np.ndarray, values: np.ndarray, dense: np.ndarray) -> np.ndarray:
    a, x, dtype = _arrays(values, dense)
    m, (k, n) = crows.size - 1, x.shape
    from scipy.sparse import _sparsetools

    out = np.zeros((m, n), a.dtype)
    if n == 1:
        _sparsetools.csr_matvec(m, k, crows, cols, a, x.reshape(-1), out.reshape(-1))
    else:
        _sparsetools.csr_matvecs(m, k, n, crows, cols, a, x.reshape(-1), out.reshape(-1))
    return out.astype(dtype, copy=False)


def _launcher(call: Any, indices: tuple[int, int], factors: tuple[int, int]) -> Any:
    """Launcher of our own loops for these operands; None where there are none."""
    from umiak.backends.cpu.sparse_rows import SparseRows

    index, float_ = ({call.metas[i].dtype.name for i in pair} for pair in (indices, factors))
    contiguous = all(call.operands[i].is_contiguous() for i in indices)
    if not contiguous or len(index) > 1 or len(float_) > 1 or not index <= {*_INDICES} or not float_ <= {*_FLOATS}:
        return None
    return SparseRows("float64" in float_, "int64" in index)


def _times_kernel(call: Any) -> Kernel | None:
    launcher = _launcher(call, (0, 2), (3, 4))
    if launcher is None:
        return None
    values, dense = call.classes.metas[3:]
    dims = [call.outs[0].shape[0], *values.shape, *call.strides(3), *dense.shape, *call.strides(4)]
    return Kernel(launcher.times, launcher.self_pointer, keep=launcher, dims=dims)


def _at_kernel(call: Any) -> Kernel | None:
    launcher = _launcher(call, (0, 1), (2, 3))
    if launcher is None:
        return None
    rows, _, left, right = call.classes.metas
    dims = [*rows.shape, *left.shape, *call.strides(2), *right.shape, *call.strides(3)]
    return Kernel(launcher.at_positions, launcher.self_pointer, keep=launcher, dims=dims)


def _transposed_times(
    crows: np.ndarray, rows: np.ndarray, cols: np.ndarray, values: np.ndarray, dense: np.ndarray, like: np.ndarray
) -> np.ndarray:
    """Compressed rows are the compressed columns of the transposed matrix."""
    from scipy.sparse import _sparsetools

    a, x, dtype = _arrays(values, dense)
    m, (k, n) = like.shape[0], x.shape
    out = np.zeros((m, n), a.dtype)
    if n == 1:
        _sparsetools.csc_matvec(m, k, crows, cols, a, x.reshape(-1), out.reshape(-1))
    else:
        _sparsetools.csc_matvecs(m, k, n, crows, cols, a, x.reshape(-1), out.reshape(-1))
    return out.astype(dtype, copy=False)


def _infer_at(rows: Meta, cols: Meta, left: Meta, right: Meta) -> Meta:
    return Meta((rows.shape[0],), left.dtype)


def _at(rows: np.ndarray, cols: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    x, y, dtype = _arrays(left, right)
    k = x.shape[1]
    out = np.empty(rows.size, x.dtype)
    some = max(_BLOCK // max(k, 1), 1)
    for i in range(0, rows.size, some):
        part = slice(i, i + some)
        np.einsum("ij,ij->i", x[rows[part]], y[cols[part]], out=out[part])
    return out.astype(dtype, copy=False)


def _at_gradient(s: Any, g: Tensor) -> tuple:
    rows, cols, left, right = s.inputs
    each = F.unsqueeze(g, axes=(1,))
    of_left = F.put(zeros(left), rows, F.mul(each, conj(F.take(right, cols, axis=0))), axis=0, mode="add")
    of_right = F.put(zeros(right), cols, F.mul(each, conj(F.take(left, rows, axis=0))), axis=0, mode="add")
    return None, None, of_left, of_right


def sampled_matmul(rows: Tensor, cols: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """The elements of ``left @ right.T`` at positions, which are within bounds."""
    return F.custom_call([rows, cols, left, right], target=_AT_POSITIONS)


def _gradient(s: Any, g: Tensor) -> tuple:
    crows, rows, cols, values, dense = s.inputs
    of_values = sampled_matmul(rows, cols, g, conj(dense))
    of_dense = F.custom_call([crows, rows, cols, conj(values), g, dense], target=_TRANSPOSED)
    return None, None, None, of_values, of_dense


def _transposed_gradient(s: Any, g: Tensor) -> tuple:
    crows, rows, cols, values, dense, _ = s.inputs
    of_values = sampled_matmul(cols, rows, g, conj(dense))
    of_dense = F.custom_call([crows, rows, cols, conj(values), g], target=_FORWARD)
    return None, None, None, of_values, of_dense, None


register_target(_FORWARD, _infer, _times, _gradient, _times_kernel)
register_target(_TRANSPOSED, _infer, _transposed_times, _transposed_gradient)
register_target(_AT_POSITIONS, _infer_at, _at, _at_gradient, _at_kernel)


class SparsityPattern:
    """The positions of a sparse matrix, sorted for matmuls."""

    __slots__ = ("cols", "crows", "order", "rows")

    def __init__(self, rows: np.ndarray, cols: np.ndarray, shape: tuple[int, int], place: Any) -> None:
        self.order: Tensor | None = None
        if (rows[1:] < rows[:-1]).any():
            order = np.argsort(rows, kind="stable")
            rows, cols = rows[order], cols[order]
            self.order = from_numpy(order, place)
        crows = np.zeros(shape[0] + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=shape[0]), out=crows[1:])
        index = np.int32 if max(*shape, rows.size) < 1 << 31 else np.int64
        self.crows, self.rows, self.cols = (from_numpy(a.astype(index), place) for a in (crows, rows, cols))

    def __call__(self, values: Tensor, dense: Tensor) -> Tensor:
        if self.order is not None:
            values = F.take(values, self.order, axis=0)
        return F.custom_call([self.crows, self.rows, self.cols, values, dense], target=_FORWARD)
