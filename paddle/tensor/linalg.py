"""Products of matrices, norms, factorisations, solvers."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from paddle._public import also, inplace, public
from paddle.tensor._args import (
    axis_of,
    cast,
    dtype_of,
    floating,
    integers,
    made_on,
    need_tensor,
    number,
    op_error,
    reduced_axes,
    same_dtype,
)
from paddle.tensor.math import norm_kind
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dispatch import apply2
from umiak.core.tensor import Tensor

_MATMUL = {(a, b): F.Matmul(a, b) for a in (False, True) for b in (False, True)}
_PLAIN = _MATMUL[False, False]


# --- products ------------------------------------------------------------------------------------------------------


@public("paddle paddle.tensor paddle.linalg Tensor", aliases={"mat2": "y"}, op=_PLAIN)
def matmul(
    x: Tensor,
    y: Tensor,
    transpose_x: bool = False,
    transpose_y: bool = False,
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The matrix product of the last two dims; leading dims broadcast, tensors of rank 1 are vectors.

    Args:
        x: a tensor of rank 1 or more.
        y: a tensor of rank 1 or more, of the same dtype.
        transpose_x: whether to swap the last two dims of x first.
        transpose_y: whether to swap the last two dims of y first.
        out: a tensor that is written instead.

    Raises ValueError where sizes do not fit.

    Example:
        >>> import paddle
        >>> paddle.matmul(paddle.ones([2, 3]), paddle.ones([3, 4])).shape
        [2, 4]
    """
    try:
        return apply2(_MATMUL[transpose_x, transpose_y], x, y)
    except (TypeError, KeyError):
        x, y = _pair("matmul", x, y)
        return apply2(_MATMUL[builtins.bool(transpose_x), builtins.bool(transpose_y)], x, y)


def _pair(op: str, x: Any, y: Any) -> tuple[Tensor, Tensor]:
    need_tensor(x, op)
    need_tensor(y, op, "y")
    return (x, y) if x.dtype is y.dtype else same_dtype(op, x, y)


@public(aliases={"x": "input", "other": "mat2", "y": "mat2"})
def mm(input: Tensor, mat2: Tensor, name: str | None = None) -> Tensor:
    """The matrix product of two matrices (or batches of them).

    Example:
        >>> import paddle
        >>> paddle.mm(paddle.ones([2, 3]), paddle.ones([3, 4])).shape
        [2, 4]
    """
    return apply2(_PLAIN, *_pair("mm", input, mat2))


@public(aliases={"mat2": "y"})
def bmm(x: Tensor, y: Tensor, name: str | None = None, *, out: Any = None) -> Tensor:
    """The products of two batches of matrices, ``[b, m, k]`` and ``[b, k, n]``.

    Example:
        >>> import paddle
        >>> paddle.bmm(paddle.ones([5, 2, 3]), paddle.ones([5, 3, 4])).shape
        [5, 2, 4]
    """
    x, y = _pair("bmm", x, y)
    if x.ndim != 3 or y.ndim != 3:
        raise op_error(ValueError, "bmm", "tensors of rank 3", f"{x.shape} and {y.shape}")
    return F.bmm(x, y)


@public
def mv(x: Tensor, vec: Tensor, name: str | None = None) -> Tensor:
    """The product of a matrix and a vector.

    Example:
        >>> import paddle
        >>> paddle.mv(paddle.ones([2, 3]), paddle.ones([3])).tolist()
        [3.0, 3.0]
    """
    x, vec = _pair("mv", x, vec)
    if x.ndim != 2 or vec.ndim != 1:
        raise op_error(ValueError, "mv", "a matrix and a vector", f"{x.shape} and {vec.shape}")
    return apply2(_PLAIN, x, vec)


@public
def dot(x: Tensor, y: Tensor, name: str | None = None, *, out: Any = None) -> Tensor:
    """The sum of products of two vectors, or row by row of two matrices.

    Example:
        >>> import paddle
        >>> float(paddle.dot(paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, 4.0])))
        11.0
    """
    x, y = _pair("dot", x, y)
    if x.ndim not in (1, 2) or x.shape != y.shape:
        raise op_error(ValueError, "dot", "two tensors of one shape and rank 1 or 2", f"{x.shape} and {y.shape}")
    return F.dot(x, y)


@public
def inner(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Sums of products over the last dims of both; a 0-d tensor multiplies.

    Example:
        >>> import paddle
        >>> paddle.inner(paddle.ones([2, 3]), paddle.ones([4, 3])).shape
        [2, 4]
    """
    x, y = _pair("inner", x, y)
    if x.ndim == 0 or y.ndim == 0:
        return F.mul(x, y)
    if x.shape[-1] != y.shape[-1]:
        raise op_error(ValueError, "inner", "equal last dims", f"{x.shape} and {y.shape}")
    return F.tensordot(x, y, (x.ndim - 1,), (y.ndim - 1,))


@public(aliases={"vec2": "y"})
def outer(x: Tensor, y: Tensor, name: str | None = None, *, out: Any = None) -> Tensor:
    """Each element of ``x`` times each of ``y``; both count as vectors.

    Example:
        >>> import paddle
        >>> paddle.outer(paddle.to_tensor([1, 2]), paddle.to_tensor([3, 4])).tolist()
        [[3, 4], [6, 8]]
    """
    x, y = same_dtype("mul", need_tensor(x, "outer"), need_tensor(y, "outer", "y"))
    return F.outer(F.reshape(x, (x.size,)), F.reshape(y, (y.size,)))


ger = also(outer, "ger", "paddle paddle.tensor")


@public
def kron(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """The Kronecker product: each element of ``x`` times the whole of ``y``.

    Example:
        >>> import paddle
        >>> paddle.kron(paddle.to_tensor([1, 2]), paddle.to_tensor([1, 1])).tolist()
        [1, 1, 2, 2]
    """
    x, y = _pair("kron", x, y)
    n = builtins.max(x.ndim, y.ndim)
    return F.kron(*(F.reshape(v, (1,) * (n - v.ndim) + tuple(v.shape)) for v in (x, y)))


@public("paddle paddle.tensor paddle.linalg Tensor")
def cross(x: Tensor, y: Tensor, axis: int = 9, name: str | None = None) -> Tensor:
    """The vector product along ``axis``, by default the first of size 3.

    Example:
        >>> import paddle
        >>> paddle.cross(paddle.to_tensor([1, 0, 0]), paddle.to_tensor([0, 1, 0])).tolist()
        [0, 0, 1]
    """
    x, y = _pair("cross", x, y)
    if axis is None or axis == 9:
        found = [i for i, n in enumerate(x.shape) if n == 3]
        if not found:
            raise op_error(ValueError, "cross", "a dim of size 3", x.shape)
        k = found[0]
    else:
        k = axis_of(axis, x.ndim, "cross")
        if x.shape[k] != 3:
            raise op_error(ValueError, "cross", f"size 3 along axis {axis}", x.shape)
    return F.cross(x, y, k)


@public
def trace(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None) -> Tensor:
    """The sum of the diagonal of two dims, ``offset`` above the main one.

    Example:
        >>> import paddle
        >>> int(paddle.trace(paddle.to_tensor([[1, 2], [3, 4]])))
        5
    """
    need_tensor(x, "trace")
    return F.trace(x, axis_of(axis1, x.ndim, "trace"), axis_of(axis2, x.ndim, "trace"), offset)


@public
def tensordot(x: Tensor, y: Tensor, axes: Any = 2, name: str | None = None) -> Tensor:
    """Sums of products over pairs of dims.

    Args:
        x: a tensor.
        y: a tensor of the same dtype.
        axes: a number, of the last dims of x and the first of y; a list of axes for both; or one list for each.

    Example:
        >>> import paddle
        >>> paddle.tensordot(paddle.ones([2, 3, 4]), paddle.ones([3, 4, 5]), 2).shape
        [2, 5]
    """
    op = "tensordot"
    x, y = _pair(op, x, y)
    if isinstance(axes, Tensor):
        axes = axes.tolist()
    if isinstance(axes, int):
        if axes < 0:
            raise op_error(ValueError, op, "axes of 0 or more", axes)
        a, b = list(builtins.range(x.ndim - axes, x.ndim)), list(builtins.range(axes))
        if axes > builtins.min(x.ndim, y.ndim):
            raise op_error(ValueError, op, f"at most {builtins.min(x.ndim, y.ndim)} axes", axes)
    else:
        axes = list(axes)
        if not axes or isinstance(axes[0], int):
            a, b = axes, axes
        else:
            a = list(integers(axes[0], op, "axes"))
            b = list(integers(axes[1], op, "axes")) if len(axes) > 1 else a
        # The shorter list goes on as the longer does.
        n = builtins.max(len(a), len(b))
        a, b = a + b[len(a) : n], b + a[len(b) : n]
        a, b = [axis_of(i, x.ndim, op) for i in a], [axis_of(i, y.ndim, op) for i in b]
    # Dims of size 1 broadcast against the other side.
    for i, (p, q) in enumerate(zip(a, b, strict=True)):
        m, n = x.shape[p], y.shape[q]
        if m != n:
            if m == 1:
                y = F.sum(y, (q,), True)
            elif n == 1:
                x = F.sum(x, (p,), True)
            else:
                raise op_error(ValueError, op, f"equal sizes for pair {i} of axes", f"{m} and {n}")
    return F.tensordot(x, y, tuple(a), tuple(b))


@public(usual=False)
def addmm(
    input: Tensor, x: Tensor, y: Tensor, beta: float = 1.0, alpha: float = 1.0, name: str | None = None
) -> Tensor:
    """``beta*input + alpha*(x @ y)`` for matrices.

    Example:
        >>> import paddle
        >>> paddle.addmm(paddle.ones([2, 2]), paddle.ones([2, 2]), paddle.ones([2, 2]), beta=0.0).tolist()
        [[2.0, 2.0], [2.0, 2.0]]
    """
    x, y = _pair("addmm", x, y)
    if x.ndim != 2 or y.ndim != 2:
        raise op_error(ValueError, "addmm", "matrices", f"{x.shape} and {y.shape}")
    return F.addmm(cast(need_tensor(input, "addmm", "input"), x.dtype), x, y, float(beta), float(alpha))


addmm_ = inplace(addmm)


@public(usual=False)
def baddbmm(
    input: Tensor, x: Tensor, y: Tensor, beta: float = 1.0, alpha: float = 1.0, name: str | None = None
) -> Tensor:
    """``beta*input + alpha*(x @ y)`` for batches of matrices.

    Example:
        >>> import paddle
        >>> paddle.baddbmm(paddle.ones([1, 2, 2]), paddle.ones([1, 2, 3]), paddle.ones([1, 3, 2])).shape
        [1, 2, 2]
    """
    x, y = _pair("baddbmm", x, y)
    if x.ndim != 3 or y.ndim != 3:
        raise op_error(ValueError, "baddbmm", "tensors of rank 3", f"{x.shape} and {y.shape}")
    return F.addmm(cast(need_tensor(input, "baddbmm", "input"), x.dtype), x, y, float(beta), float(alpha))


baddbmm_ = inplace(baddbmm)


@public("paddle.tensor paddle.linalg Tensor", aliases={"tensors": "x"}, usual=False)
def multi_dot(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """The product of several matrices, in the order that takes the fewest multiplications; the ends may be vectors.

    Example:
        >>> import paddle
        >>> paddle.linalg.multi_dot([paddle.ones([2, 3]), paddle.ones([3, 4]), paddle.ones([4])]).tolist()
        [12.0, 12.0]
    """
    xs = list(x)
    if len(xs) < 2:
        raise op_error(ValueError, "multi_dot", "at least two tensors", len(xs))
    first, last = need_tensor(xs[0], "multi_dot").ndim == 1, need_tensor(xs[-1], "multi_dot").ndim == 1
    if first:
        xs[0] = F.reshape(xs[0], (1, xs[0].size))
    if last:
        xs[-1] = F.reshape(xs[-1], (xs[-1].size, 1))
    for m in xs:
        if m.ndim != 2:
            raise op_error(ValueError, "multi_dot", "matrices, with vectors only at the ends", m.shape)
    sizes = [xs[0].shape[0], *(m.shape[1] for m in xs)]
    n = len(xs)
    cost = [[0] * n for _ in xs]
    cut = [[0] * n for _ in xs]
    for length in builtins.range(1, n):
        for i in builtins.range(n - length):
            j = i + length
            options = [
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in builtins.range(i, j)
            ]
            cost[i][j], cut[i][j] = builtins.min(options)

    def product(i: int, j: int) -> Tensor:
        return xs[i] if i == j else F.matmul(product(i, cut[i][j]), product(cut[i][j] + 1, j))

    out = product(0, n - 1)
    if first or last:
        out = F.reshape(out, tuple(m for m, gone in zip(out.shape, (first, last), strict=True) if not gone))
    return out


@public("paddle paddle.tensor paddle.linalg")
def vecdot(x: Tensor, y: Tensor, axis: int = -1, name: str | None = None) -> Tensor:
    """Sums of ``conj(x) * y`` along ``axis``; the other dims broadcast.

    Example:
        >>> import paddle
        >>> paddle.vecdot(paddle.ones([2, 3]), paddle.ones([2, 3])).tolist()
        [3.0, 3.0]
    """
    x, y = same_dtype("mul", need_tensor(x, "vecdot"), need_tensor(y, "vecdot", "y"))
    product = F.mul(F.conj(x) if x.dtype.is_complex else x, y)
    return F.sum(product, (axis_of(axis, product.ndim, "vecdot"),))


# --- norms ---------------------------------------------------------------------------------------------------------


def _vector_norm(x: Tensor, p: Any, axes: tuple[int, ...], keepdim: bool) -> Tensor:
    kind, power = norm_kind(p)
    return F.vector_norm(x, axes, keepdim, kind, power)


def _matrix_norm(x: Tensor, p: Any, axes: tuple[int, int], keepdim: bool, op: str) -> Tensor:
    a, b = axes
    if p == "fro":
        return _vector_norm(x, 2.0, tuple(sorted(axes)), keepdim)
    if p != "nuc" and (isinstance(p, str) or abs(p) not in (1, 2, math.inf)):
        raise op_error(ValueError, op, "a p of 'fro', 'nuc', 1, -1, 2, -2, inf or -inf for matrices", repr(p))
    if p == "nuc" or abs(p) == 2:
        rest = tuple(i for i in builtins.range(x.ndim) if i not in axes)
        s = F.svdvals(F.permute(x, (*rest, a, b)))
        last = (s.ndim - 1,)
        out = F.sum(s, last) if p == "nuc" else (F.max if p > 0 else F.min)(s, last)
        return F.unsqueeze(out, tuple(sorted(axes))) if keepdim else out
    # 1: the largest sum of a column; inf: of a row.
    inner, outer = (a, b) if abs(p) == 1 else (b, a)
    sums = F.sum(F.abs(x), (inner,), True)
    out = (F.max if p > 0 else F.min)(sums, (outer,), True)
    return out if keepdim else F.squeeze(out, tuple(sorted(axes)))


@public("paddle.tensor paddle.linalg Tensor", aliases={"A": "x", "ord": "p"})
def norm(
    x: Tensor,
    p: Any = None,
    axis: Any = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """The norm of vectors or matrices.

    Args:
        x: a floating or complex tensor.
        p: a number, ``"fro"`` or ``"nuc"``; by default 2, of all elements that are reduced.
        axis: one axis for vectors, two for matrices; None for all elements in a row.
        keepdim: whether reduced dims stay, as size 1.
        dtype: cast to first.

    Example:
        >>> import paddle
        >>> float(paddle.linalg.norm(paddle.to_tensor([3.0, 4.0])))
        5.0
    """
    x = floating(need_tensor(x, "norm"))
    if dtype is not None:
        x = cast(x, dtype_of(dtype))
    p = number(p)
    axes = None if axis is None else tuple(axis_of(a, x.ndim, "norm") for a in integers(axis, "norm", "axis"))
    keepdim = builtins.bool(keepdim)
    if axes is not None and len(axes) == 2 and p not in (None, "fro", 0):
        return _matrix_norm(x, p, axes, keepdim, "norm")
    if p == "nuc":
        if axes is None and x.ndim == 2:
            return _matrix_norm(x, p, (0, 1), keepdim, "norm")
        raise op_error(ValueError, "norm", "two axes for the nuclear norm", axis)
    if isinstance(p, str) and p != "fro":
        raise op_error(ValueError, "norm", "a p that is a number, 'fro' or 'nuc'", repr(p))
    full = tuple(builtins.range(x.ndim)) if axes is None else tuple(sorted(axes))
    return _vector_norm(x, 2.0 if p in (None, "fro") else p, full, keepdim)


@public("paddle.linalg", aliases={"ord": "p"})
def vector_norm(
    x: Tensor,
    p: Any = 2.0,
    axis: Any = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Tensor:
    """The p-norm of the elements along one axis or several, of all for None.

    Example:
        >>> import paddle
        >>> float(paddle.linalg.vector_norm(paddle.to_tensor([3.0, 4.0])))
        5.0
    """
    x = floating(need_tensor(x, "vector_norm"))
    if dtype is not None:
        x = cast(x, dtype_of(dtype))
    if isinstance(p, str):
        raise op_error(ValueError, "vector_norm", "a number for p", repr(p))
    return _vector_norm(x, number(p), reduced_axes(axis, x.ndim, "vector_norm"), builtins.bool(keepdim))


@public("paddle.linalg", aliases={"ord": "p"})
def matrix_norm(
    x: Tensor, p: Any = "fro", axis: Any = (-2, -1), keepdim: bool = False, name: str | None = None
) -> Tensor:
    """The norm of matrices in two axes: ``"fro"``, ``"nuc"``, 1, -1, 2, -2, inf or -inf.

    Example:
        >>> import paddle
        >>> float(paddle.linalg.matrix_norm(paddle.ones([2, 2])))
        2.0
    """
    x = floating(need_tensor(x, "matrix_norm"))
    axes = tuple(axis_of(a, x.ndim, "matrix_norm") for a in integers(axis, "matrix_norm", "axis"))
    if len(axes) != 2 or axes[0] == axes[1]:
        raise op_error(ValueError, "matrix_norm", "two different axes", axis)
    return _matrix_norm(x, p, axes, builtins.bool(keepdim), "matrix_norm")


# --- factorisations ------------------------------------------------------------------------------------------------


def _matrix(x: Any, op: str, square: bool = False) -> Tensor:
    x = floating(need_tensor(x, op))
    if x.ndim < 2:
        raise op_error(ValueError, op, "a tensor of rank 2 or more", x.shape)
    if square and x.shape[-1] != x.shape[-2]:
        raise op_error(ValueError, op, "square matrices", x.shape)
    return x


@public("paddle.tensor paddle.linalg Tensor")
def cholesky(x: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """The triangular factor of symmetric (Hermitian) positive definite matrices; ValueError for others.

    Example:
        >>> import paddle
        >>> paddle.linalg.cholesky(paddle.to_tensor([[4.0, 0.0], [0.0, 9.0]])).tolist()
        [[2.0, 0.0], [0.0, 3.0]]
    """
    return F.cholesky(_matrix(x, "cholesky", True), builtins.bool(upper))


@public("paddle.tensor paddle.linalg Tensor")
def cholesky_solve(x: Tensor, y: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """The solution of ``A z = x``, given the Cholesky factor ``y`` of A.

    Example:
        >>> import paddle
        >>> paddle.linalg.cholesky_solve(paddle.to_tensor([[8.0]]), paddle.to_tensor([[2.0]])).tolist()
        [[2.0]]
    """
    x, y = _pair("cholesky_solve", _matrix(x, "cholesky_solve"), _matrix(y, "cholesky_solve", True))
    return F.cholesky_solve(x, y, builtins.bool(upper))


@public("paddle.tensor paddle.linalg Tensor")
def cholesky_inverse(x: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """The inverse of a matrix, given its Cholesky factor ``x``.

    Example:
        >>> import paddle
        >>> paddle.linalg.cholesky_inverse(paddle.to_tensor([[2.0]])).tolist()
        [[0.25]]
    """
    x = _matrix(x, "cholesky_inverse", True)
    n = x.shape[-1]
    return F.cholesky_solve(_identity(n, x), x, builtins.bool(upper))


def _identity(n: int, like: Tensor) -> Tensor:
    i = made_on(like.place, F.iota, 0, 1, dt.int64, n)
    return F.cast(F.eq(i, F.unsqueeze(i, (1,))), dtype=like.dtype)


@public("paddle.tensor paddle.linalg Tensor")
def qr(x: Tensor, mode: str = "reduced", name: str | None = None) -> Any:
    """``x = Q R``. Modes: ``"reduced"``, ``"complete"`` (square Q), ``"r"`` (R alone).

    Example:
        >>> import paddle
        >>> q, r = paddle.linalg.qr(paddle.ones([3, 2]))
        >>> q.shape, r.shape
        ([3, 2], [2, 2])
    """
    if mode not in ("reduced", "complete", "r"):
        raise op_error(ValueError, "qr", "a mode of 'reduced', 'complete' or 'r'", repr(mode))
    return F.qr(_matrix(x, "qr"), mode)


@public("paddle.tensor paddle.linalg Tensor")
def lu(x: Tensor, pivot: bool = True, get_infos: bool = False, name: str | None = None) -> Any:
    """L and U in one matrix, and the pivots (from 1), of ``P x = L U``; with ``get_infos`` also zeros.

    Example:
        >>> import paddle
        >>> both, pivots = paddle.linalg.lu(paddle.to_tensor([[2.0, 0.0], [0.0, 3.0]]))
        >>> pivots.tolist()
        [1, 2]
    """
    if not pivot:
        raise op_error(ValueError, "lu", "pivot=True", "pivot=False")
    x = _matrix(x, "lu")
    out = F.lu(x)
    return (*out, made_on(x.place, F.full, 0, dt.int32, tuple(x.shape[:-2]))) if get_infos else out


@public("paddle.tensor paddle.linalg Tensor")
def lu_unpack(
    x: Tensor, y: Tensor, unpack_ludata: bool = True, unpack_pivots: bool = True, name: str | None = None
) -> tuple:
    """P, L and U from the two results of :func:`lu`; those not asked for are None.

    Example:
        >>> import paddle
        >>> p, l, u = paddle.linalg.lu_unpack(*paddle.linalg.lu(paddle.to_tensor([[2.0]])))
        >>> u.tolist()
        [[2.0]]
    """
    p, low, up = F.lu_unpack(_matrix(x, "lu_unpack"), need_tensor(y, "lu_unpack", "y"))
    return (p if unpack_pivots else None, low if unpack_ludata else None, up if unpack_ludata else None)


@public("paddle.tensor paddle.linalg")
def lu_solve(b: Tensor, lu: Tensor, pivots: Tensor, trans: str = "N", name: str | None = None) -> Tensor:
    """The solution of ``A x = b``, given the two results of :func:`lu` for A.

    ``trans``: ``"T"`` or ``"C"`` for the transpose or the adjoint of A.

    Example:
        >>> import paddle
        >>> a = paddle.to_tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> paddle.linalg.lu_solve(paddle.ones([2, 1]), *paddle.linalg.lu(a)).tolist()
        [[0.5], [0.25]]
    """
    if trans not in ("N", "T", "C"):
        raise op_error(ValueError, "lu_solve", "a trans of 'N', 'T' or 'C'", repr(trans))
    b, lu = _pair("lu_solve", _matrix(b, "lu_solve"), _matrix(lu, "lu_solve", True))
    p, low, up = F.lu_unpack(lu, need_tensor(pivots, "lu_solve", "pivots"))
    swap = (*builtins.range(lu.ndim - 2), lu.ndim - 1, lu.ndim - 2)
    if trans == "N":
        half = F.triangular_solve(low, F.matmul(F.permute(p, swap), b), False, False, True)
        return F.triangular_solve(up, half, True, False, False)
    if trans == "C" and lu.dtype.is_complex:
        up, low = F.conj(up), F.conj(low)
    half = F.triangular_solve(up, b, True, True, False)
    return F.matmul(p, F.triangular_solve(low, half, False, True, True))


@public("paddle.tensor paddle.linalg")
def svd(
    x: Tensor, full_matrices: bool = False, name: str | None = None, *, out: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    """``x = U diag(S) VH``, S falling; with ``full_matrices``, square U and VH.

    Example:
        >>> import paddle
        >>> u, s, vh = paddle.linalg.svd(paddle.ones([3, 2]))
        >>> u.shape, s.shape, vh.shape
        ([3, 2], [2], [2, 2])
    """
    return F.svd(_matrix(x, "svd"), builtins.bool(full_matrices))


@public("paddle.tensor paddle.linalg")
def svdvals(x: Tensor, name: str | None = None) -> Tensor:
    """The singular values, falling.

    Example:
        >>> import paddle
        >>> paddle.linalg.svdvals(paddle.to_tensor([[3.0, 0.0], [0.0, 4.0]])).tolist()
        [4.0, 3.0]
    """
    return F.svdvals(_matrix(x, "svdvals"))


@public("paddle.tensor paddle.linalg Tensor")
def eig(x: Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The eigenvalues and eigenvectors (columns) of square matrices; both complex.

    Example:
        >>> import paddle
        >>> values, vectors = paddle.linalg.eig(paddle.to_tensor([[2.0]]))
        >>> values.tolist()
        [(2+0j)]
    """
    return F.eig(_matrix(x, "eig", True))


@public("paddle.tensor paddle.linalg Tensor")
def eigvals(x: Tensor, name: str | None = None) -> Tensor:
    """The eigenvalues of square matrices; complex.

    Example:
        >>> import paddle
        >>> paddle.linalg.eigvals(paddle.to_tensor([[2.0]])).tolist()
        [(2+0j)]
    """
    return F.eigvals(_matrix(x, "eigvals", True))


def _upper(UPLO: str, op: str) -> bool:
    if UPLO not in ("L", "U"):
        raise op_error(ValueError, op, "a UPLO of 'L' or 'U'", repr(UPLO))
    return UPLO == "U"


@public("paddle.tensor paddle.linalg Tensor")
def eigh(x: Tensor, UPLO: str = "L", name: str | None = None) -> tuple[Tensor, Tensor]:
    """The eigenvalues, rising, and eigenvectors of symmetric (Hermitian) matrices, of which one triangle is read.

    Example:
        >>> import paddle
        >>> paddle.linalg.eigh(paddle.to_tensor([[2.0, 0.0], [0.0, 1.0]]))[0].tolist()
        [1.0, 2.0]
    """
    return F.eigh(_matrix(x, "eigh", True), _upper(UPLO, "eigh"))


@public("paddle.tensor paddle.linalg Tensor")
def eigvalsh(x: Tensor, UPLO: str = "L", name: str | None = None) -> Tensor:
    """The eigenvalues, rising, of symmetric (Hermitian) matrices, of which one triangle is read.

    Example:
        >>> import paddle
        >>> paddle.linalg.eigvalsh(paddle.to_tensor([[2.0, 0.0], [0.0, 1.0]])).tolist()
        [1.0, 2.0]
    """
    return F.eigvalsh(_matrix(x, "eigvalsh", True), _upper(UPLO, "eigvalsh"))


# --- solvers, inverses, determinants -------------------------------------------------------------------------------


@public("paddle.tensor paddle.linalg Tensor", aliases={"A": "x", "B": "y"})
def solve(x: Tensor, y: Tensor, left: bool = True, name: str | None = None, *, out: Any = None) -> Tensor:
    """The solution of ``x z = y``, or of ``z x = y`` with ``left=False``.

    Args:
        x: square matrices ``[..., n, n]``.
        y: matrices ``[..., n, k]``, or vectors ``[..., n]``.

    Raises ValueError for singular x.

    Example:
        >>> import paddle
        >>> paddle.linalg.solve(paddle.to_tensor([[2.0, 0.0], [0.0, 4.0]]), paddle.ones([2])).tolist()
        [0.5, 0.25]
    """
    x = _matrix(x, "solve", True)
    x, y = _pair("solve", x, floating(need_tensor(y, "solve", "y")))
    vector = y.ndim == 1 or (y.ndim == x.ndim - 1 and y.shape == x.shape[:-1])
    if vector:
        y = F.unsqueeze(y, (y.ndim if left else y.ndim - 1,))
    if left:
        found = F.solve(x, y)
    else:
        found = _swap_last(F.solve(_swap_last(x), _swap_last(y)))
    return F.squeeze(found, (found.ndim - 1 if left else found.ndim - 2,)) if vector else found


def _swap_last(x: Tensor) -> Tensor:
    return F.permute(x, (*builtins.range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


@public("paddle.linalg")
def triangular_solve(
    x: Tensor,
    y: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    name: str | None = None,
) -> Tensor:
    """The solution of ``x z = y`` for triangular x, of which the other triangle is not read.

    Args:
        x: square matrices.
        y: matrices.
        upper: which triangle.
        transpose: whether to solve ``x^T z = y``.
        unitriangular: whether the diagonal counts as ones.

    Example:
        >>> import paddle
        >>> paddle.linalg.triangular_solve(paddle.to_tensor([[2.0]]), paddle.to_tensor([[4.0]])).tolist()
        [[2.0]]
    """
    x, y = _pair("triangular_solve", _matrix(x, "triangular_solve", True), _matrix(y, "triangular_solve"))
    return F.triangular_solve(x, y, builtins.bool(upper), builtins.bool(transpose), builtins.bool(unitriangular))


@public("paddle.tensor Tensor")
def inverse(x: Tensor, name: str | None = None) -> Tensor:
    """The inverse of square matrices; ValueError for singular ones.

    Example:
        >>> import paddle
        >>> paddle.linalg.inv(paddle.to_tensor([[2.0]])).tolist()
        [[0.5]]
    """
    return F.inverse(_matrix(x, "inverse", True))


inv = also(inverse, "inv", "paddle.linalg")


@public("paddle.tensor paddle.linalg Tensor")
def pinv(x: Tensor, rcond: Any = 1e-15, hermitian: bool = False, name: str | None = None) -> Tensor:
    """The Moore-Penrose inverse; singular values up to ``rcond`` times the largest count as zero.

    Example:
        >>> import paddle
        >>> paddle.linalg.pinv(paddle.to_tensor([[2.0], [0.0]])).tolist()
        [[0.5, 0.0]]
    """
    x = _matrix(x, "pinv", hermitian)
    least = builtins.max(float(number(rcond)), float(_eps(x)))
    return F.pinv(x, builtins.bool(hermitian), least)


def _eps(x: Tensor) -> float:
    return 2.0**-52 if x.dtype.real is dt.float64 else 2.0**-23


@public("paddle.linalg Tensor")
def det(x: Tensor, name: str | None = None) -> Tensor:
    """The determinant of square matrices.

    Example:
        >>> import paddle
        >>> float(paddle.linalg.det(paddle.to_tensor([[2.0, 0.0], [0.0, 3.0]])))
        6.0
    """
    return F.det(_matrix(x, "det", True))


@public("paddle.tensor paddle.linalg Tensor")
def slogdet(x: Tensor, name: str | None = None) -> Tensor:
    """The sign and the logarithm of the size of determinants, stacked in a new leading dim.

    Example:
        >>> import paddle
        >>> paddle.linalg.slogdet(paddle.to_tensor([[1.0]])).tolist()
        [1.0, 0.0]
    """
    sign, size = F.slogdet(_matrix(x, "slogdet", True))
    return F.stack([sign, cast(size, sign.dtype)], 0)


@public("paddle.tensor paddle.linalg Tensor", aliases={"A": "x"})
def cond(x: Tensor, p: Any = None, name: str | None = None) -> Tensor:
    """The condition number of matrices in a norm, by default of 2.

    Example:
        >>> import paddle
        >>> float(paddle.linalg.cond(paddle.to_tensor([[2.0, 0.0], [0.0, 1.0]])))
        2.0
    """
    x = _matrix(x, "cond", p not in (None, 2, -2))
    if p in (None, 2, -2):
        s = F.svdvals(x)
        large, small = F.max(s, (s.ndim - 1,)), F.min(s, (s.ndim - 1,))
        return F.div(small, large) if p == -2 else F.div(large, small)
    axes = (x.ndim - 2, x.ndim - 1)
    return F.mul(_matrix_norm(x, p, axes, False, "cond"), _matrix_norm(F.inverse(x), p, axes, False, "cond"))


@public("paddle.tensor paddle.linalg Tensor")
def matrix_power(x: Tensor, n: int, name: str | None = None) -> Tensor:
    """Square matrices multiplied by themselves ``n`` times; a negative n means the inverse.

    Example:
        >>> import paddle
        >>> paddle.linalg.matrix_power(paddle.to_tensor([[2.0]]), 3).tolist()
        [[8.0]]
    """
    if not isinstance(n, int):
        raise op_error(TypeError, "matrix_power", "an integer n", type(n).__name__)
    return F.matrix_power(_matrix(x, "matrix_power", True), n)


@public("paddle.linalg")
def matrix_exp(x: Tensor, name: str | None = None) -> Tensor:
    """The exponential of square matrices.

    Example:
        >>> import paddle
        >>> paddle.linalg.matrix_exp(paddle.zeros([2, 2])).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    return F.matrix_exp(_matrix(x, "matrix_exp", True))


@public("paddle.linalg", aliases={"A": "x"})
def matrix_rank(
    x: Tensor, tol: Any = None, hermitian: bool = False, atol: Any = None, rtol: Any = None, name: str | None = None
) -> Tensor:
    """How many singular values exceed a threshold, in int64.

    Args:
        x: matrices.
        tol: the threshold, a number or a tensor; by default the larger of ``atol`` and ``rtol`` times the largest.
        hermitian: whether x is Hermitian, so that eigenvalues serve.
        atol: absolute tolerance, 0 by default.
        rtol: relative tolerance; by default the larger size times the precision, or 0 if ``atol`` is given.

    Example:
        >>> import paddle
        >>> int(paddle.linalg.matrix_rank(paddle.ones([3, 3])))
        1
    """
    x = _matrix(x, "matrix_rank", hermitian)
    s = F.abs(F.eigvalsh(x)) if hermitian else F.svdvals(x)
    last = (s.ndim - 1,)

    def at(v: Any) -> Any:
        return F.unsqueeze(cast(v, s.dtype), (v.ndim,)) if isinstance(v, Tensor) else float(v)

    if tol is not None:
        if atol is not None or rtol is not None:
            raise op_error(ValueError, "matrix_rank", "tol, or atol and rtol", "both")
        limit = at(tol)
    else:
        relative = rtol if rtol is not None else (0.0 if atol is not None else builtins.max(x.shape[-2:]) * _eps(x))
        limit = F.mul(F.max(s, last, True), at(relative)) if s.shape[-1] else 0.0
        if atol is not None:
            limit = F.maximum(limit, at(atol))
    return F.sum(F.cast(F.gt(s, limit), dtype=dt.int64), last)


@public("paddle.tensor paddle.linalg Tensor")
def lstsq(
    x: Tensor, y: Tensor, rcond: float | None = None, driver: str | None = None, name: str | None = None
) -> tuple[Tensor, ...]:
    """The least squares solution of ``x z = y``.

    Args:
        x: matrices ``[..., m, n]``.
        y: matrices ``[..., m, k]``.
        rcond: singular values up to it times the largest count as zero; by default the larger size times the precision.
        driver: ``"gels"`` (x of full rank), ``"gelsy"``, ``"gelsd"`` or ``"gelss"``; all find the least norm.

    Returns solution, residuals, rank of x and its singular values; residuals are empty unless ``m > n``, the rank is
    full and the driver finds it, and singular values are empty for ``"gels"`` and ``"gelsy"``.

    Example:
        >>> import paddle
        >>> paddle.linalg.lstsq(paddle.to_tensor([[1.0], [1.0]]), paddle.to_tensor([[1.0], [3.0]]))[0].shape
        [1, 1]
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise op_error(ValueError, "lstsq", "a driver of 'gels', 'gelsy', 'gelsd' or 'gelss'", repr(driver))
    x, y = _pair("lstsq", _matrix(x, "lstsq"), _matrix(y, "lstsq"))
    m, n = x.shape[-2:]
    least = builtins.max(m, n) * _eps(x) if rcond is None else float(rcond)
    solution, residuals, rank, values = F.lstsq(x, y, least)
    full = m > n and driver in ("gels", "gelsd", "gelss") and bool((rank == n).all())
    nothing = made_on(x.place, F.full, 0, x.dtype.real, (0,))
    return solution, residuals if full else nothing, rank, values if driver in ("gelsd", "gelss") else nothing


@public("paddle.tensor paddle.linalg Tensor")
def householder_product(x: Tensor, tau: Tensor, name: str | None = None) -> Tensor:
    """The first columns of a product of reflections ``I - tau[i] v v^H``.

    v is column i of ``x`` below its diagonal, 1 on it and 0 above.

    Example:
        >>> import paddle
        >>> paddle.linalg.householder_product(paddle.ones([2, 1]), paddle.zeros([1])).tolist()
        [[1.0], [0.0]]
    """
    x, tau = _pair("householder_product", _matrix(x, "householder_product"), tau)
    return F.householder_product(x, tau, tau.shape[-1])


@public("paddle.tensor paddle.linalg Tensor")
def ormqr(
    x: Tensor, tau: Tensor, y: Tensor, left: bool = True, transpose: bool = False, name: str | None = None
) -> Tensor:
    """``Q y`` (``left=False``: ``y Q``), Q being the full product of the reflections in ``x`` and ``tau``.

    ``transpose``: the adjoint of Q instead.

    Example:
        >>> import paddle
        >>> paddle.linalg.ormqr(paddle.ones([2, 1]), paddle.zeros([1]), paddle.ones([2, 1])).tolist()
        [[1.0], [1.0]]
    """
    x, y = _pair("ormqr", _matrix(x, "ormqr"), _matrix(y, "ormqr"))
    m, n = x.shape[-2:]
    if m > n:
        x = F.pad(x, 0, axes=(x.ndim - 1,), lo=(0,), hi=(m - n,))
    q = F.householder_product(x, cast(need_tensor(tau, "ormqr", "tau"), x.dtype), tau.shape[-1])
    if transpose:
        q = _swap_last(q)
        q = F.conj(q) if q.dtype.is_complex else q
    return F.matmul(q, y) if left else F.matmul(y, q)


# --- of low rank ---------------------------------------------------------------------------------------------------


def _range_of(x: Tensor, q: int, niter: int, shift: Tensor | None) -> Tensor:
    """An orthonormal basis of what ``x`` (less ``shift``) does to ``q`` random directions."""
    from paddle.tensor.creation import _on
    from paddle.tensor.random import _normal

    with _on(x.place):
        directions = _normal([x.shape[-1], q], x.dtype, "svd_lowrank")

    def forward(v: Tensor) -> Tensor:
        return F.matmul(x, v) if shift is None else F.sub(F.matmul(x, v), F.matmul(shift, v))

    def backward(v: Tensor) -> Tensor:
        a = adjoint(x)
        return F.matmul(a, v) if shift is None else F.sub(F.matmul(a, v), F.matmul(adjoint(shift), v))

    basis = F.qr(forward(directions))[0]
    for _ in builtins.range(niter):
        basis = F.qr(forward(F.qr(backward(basis))[0]))[0]
    return basis


def adjoint(x: Tensor) -> Tensor:
    """The conjugate transpose of matrices."""
    y = _swap_last(x)
    return F.conj(y) if y.dtype.is_complex else y


@public("paddle.tensor paddle.linalg Tensor")
def svd_lowrank(
    x: Tensor, q: int | None = None, niter: int = 2, M: Tensor | None = None, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """A singular value decomposition of about rank ``q``, by random projection: ``x - M`` is about ``U diag(S) V^H``.

    Args:
        x: matrices.
        q: how many singular values, by default up to 6.
        niter: steps of refinement.
        M: subtracted from x.

    Returns U, S and V (not V^H).

    Example:
        >>> import paddle
        >>> u, s, v = paddle.linalg.svd_lowrank(paddle.ones([5, 4]), q=2)
        >>> u.shape, s.shape, v.shape
        ([5, 2], [2], [4, 2])
    """
    x = _matrix(x, "svd_lowrank")
    m, n = x.shape[-2:]
    q = builtins.min(6, m, n) if q is None else q
    if not 0 < q <= builtins.min(m, n):
        raise op_error(ValueError, "svd_lowrank", f"a q from 1 to {builtins.min(m, n)}", q)
    if niter < 0:
        raise op_error(ValueError, "svd_lowrank", "a niter of 0 or more", niter)
    shift = None if M is None else F.broadcast_to(cast(M, x.dtype), tuple(x.shape))
    if m < n:
        u, s, v = svd_lowrank(adjoint(x), q, niter, None if shift is None else adjoint(shift))
        return v, s, u
    basis = _range_of(x, q, niter, shift)
    b = F.matmul(adjoint(basis), x if shift is None else F.sub(x, shift))
    u, s, vh = F.svd(b)
    return F.matmul(basis, u), s, adjoint(vh)


@public("paddle.tensor paddle.linalg Tensor")
def pca_lowrank(
    x: Tensor, q: int | None = None, center: bool = True, niter: int = 2, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """:func:`svd_lowrank` of ``x`` with the mean of each column taken away, unless ``center`` is False.

    Example:
        >>> import paddle
        >>> paddle.linalg.pca_lowrank(paddle.ones([5, 4]), q=2)[1].shape
        [2]
    """
    x = _matrix(x, "pca_lowrank")
    m, n = x.shape[-2:]
    q = builtins.min(6, m, n) if q is None else q
    if not 0 < q <= builtins.min(m, n):
        raise op_error(ValueError, "pca_lowrank", f"a q from 1 to {builtins.min(m, n)}", q)
    return svd_lowrank(F.sub(x, F.mean(x, (x.ndim - 2,), True)) if center else x, q, niter)
