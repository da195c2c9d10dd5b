"""Norms of vectors and matrices."""

from __future__ import annotations

import builtins
import math
from typing import Any

from paddle._public import inplace, public
from paddle.tensor._args import (
    InternedOps,
    axis_of,
    cast,
    create_on,
    dtype_of,
    floating,
    integers,
    need_tensor,
    number,
    op_error,
    real_number,
    reduced_axes,
)
from paddle.tensor._matrices import matrix
from umiak import ops as F
from umiak.core.eager import apply
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym, to_float

_EUCLIDEAN = InternedOps(F.VectorNorm)
_KINDS = {1.0: "1", 2.0: "2", math.inf: "inf", -math.inf: "-inf", 0.0: "0"}


def norm_kind(p: Any) -> tuple[str, float]:
    """The static kind of a p-norm and its power, which may be computed of open sizes."""
    if type(p) is Sym:
        return "0" if p == 0 else "p", to_float(p)
    p = to_float(p)
    return _KINDS.get(p, "p"), p


def _vector_norm(x: Tensor, p: Any, axes: tuple[int, ...], keepdim: bool) -> Tensor:
    kind, power = norm_kind(p)
    if kind == "-inf" and any(x.shape[a] == 0 for a in axes):
        kind, power = norm_kind(math.inf)  # of nothing it is 0, too
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


@public("paddle paddle.tensor paddle.linalg Tensor", aliases={"A": "x", "ord": "p"})
def norm(
    x: Tensor,
    p: Any = None,
    axis: Any = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """Norm of vectors, of matrices, or of all elements.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.
        p: power of the norm. For vectors, and for all elements, any number, inf or -inf; for two axes ``"fro"``,
            ``"nuc"``, 1, -1, 2, -2, inf or -inf, as in :func:`matrix_norm`. None means the root of the sum of squares.
        axis: one axis for the norm of vectors, two for that of matrices; None, or none, takes all elements as one
            vector.
        keepdim: whether reduced axes stay, with size 1.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.
        dtype: floating dtype that x is cast to first; None keeps x's.

    Returns:
        Tensor without the axes, as precise as x: float32 for complex64, integers and bools.

    Raises:
        TypeError: x is no tensor.
        ValueError: p is no such norm, or is ``"nuc"`` for other than two axes, or an axis is given twice.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[3.0, 4.0], [6.0, 8.0]])
        >>> paddle.linalg.norm(x, axis=1).tolist(), float(paddle.linalg.norm(x, 1, axis=[0, 1]))
        ([5.0, 10.0], 12.0)
    """
    x = floating(need_tensor(x, "norm"))
    if dtype is not None:
        x = cast(x, dtype_of(dtype))
    p = number(p)
    euclidean = type(p) is not Sym and p in (None, "fro", 2)
    if type(axis) is int and x.ndim and euclidean:
        return apply(_EUCLIDEAN[(axis_of(axis, x.ndim, "norm"),), builtins.bool(keepdim), "2"], (x,), (2.0,))
    if x.ndim == 0 and axis is not None:
        axis = reduced_axes(axis, 0, "norm") or None
    axes = tuple(axis_of(a, x.ndim, "norm") for a in integers(axis, "norm", "axis")) if axis is not None else None
    axes = axes or None
    if axes is not None and len(set(axes)) != len(axes):
        raise op_error(ValueError, "norm", "different axes", axis)
    keepdim = builtins.bool(keepdim)
    if axes is not None and len(axes) == 2 and p not in (None, "fro", 0):
        return _matrix_norm(x, p, axes, keepdim, "norm")
    if type(p) is str and p == "nuc":
        if axes is None and x.ndim == 2:
            return _matrix_norm(x, p, (0, 1), keepdim, "norm")
        raise op_error(ValueError, "norm", "two axes for the nuclear norm", axis)
    if isinstance(p, str) and p != "fro":
        raise op_error(ValueError, "norm", "a p that is a number, 'fro' or 'nuc'", repr(p))
    full = tuple(builtins.range(x.ndim)) if axes is None else tuple(sorted(axes))
    return _vector_norm(x, 2.0 if euclidean else p, full, keepdim)


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
    """p-norm of the elements along axes: ``sum(abs(x)**p)**(1/p)``.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.
        p: power, a number; inf and -inf give the largest and the smallest absolute value, and 0 the number of elements
            other than zero.
        axis: axis or axes to reduce, negative ones counted from the end; None means all.
        keepdim: whether reduced axes stay, with size 1.
        dtype: floating dtype that x is cast to first; None keeps x's.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor without the reduced axes (with keepdim, of size 1 there), as precise as x: float32 for complex64,
        integers and bools.

    Raises:
        TypeError: x is no tensor.
        ValueError: p is no number.
        ValueError: x has no such axis (which is an IndexError, too), or an axis is given twice.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[3.0, 4.0], [6.0, 8.0]])
        >>> paddle.linalg.vector_norm(x, axis=1).tolist(), float(paddle.linalg.vector_norm(x, float("inf")))
        ([5.0, 10.0], 8.0)
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
    """Norm of matrices that lie in two axes.

    Args:
        x: floating or complex tensor of rank 2 or more; integers and bools become float32.
        p: ``"fro"``, the root of the sum of squares; ``"nuc"``, the sum of singular values; 2 or -2, the largest or
            smallest singular value; 1 or -1, the largest or smallest sum of absolute values of a column; inf or -inf,
            of a row.
        axis: the two axes, of rows and of columns.
        keepdim: whether reduced axes stay, with size 1.

    Returns:
        Tensor without the axes, as precise as x: float32 for complex64, integers and bools.

    Raises:
        TypeError: x is no tensor.
        ValueError: p is no such norm, or there are not two different axes.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[3.0, 0.0], [0.0, 4.0]])
        >>> float(paddle.linalg.matrix_norm(x)), float(paddle.linalg.matrix_norm(x, 2))
        (5.0, 4.0)
    """
    x = floating(need_tensor(x, "matrix_norm"))
    axes = tuple(axis_of(a, x.ndim, "matrix_norm") for a in integers(axis, "matrix_norm", "axis"))
    if len(axes) != 2 or axes[0] == axes[1]:
        raise op_error(ValueError, "matrix_norm", "two different axes", axis)
    return _matrix_norm(x, p, axes, builtins.bool(keepdim), "matrix_norm")


@public("paddle.tensor paddle.linalg Tensor", aliases={"A": "x"})
def cond(x: Tensor, p: Any = None, name: str | None = None) -> Tensor:
    """Condition number of matrices: the norm times that of the inverse.

    Args:
        x: float32, float64, complex64 or complex128 matrices ``[..., m, n]``; integers and bools become float32. They
            must be square unless p is None, 2 or -2.
        p: a norm as for ``matrix_norm``; None means 2, the ratio of the largest singular value to the smallest.

    Returns:
        Tensor of shape ``[...]``, as precise as x: float32 for complex64, integers and bools.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: x is of rank 0 or 1, p is no such norm, or with another p than None, 2 and -2 a matrix is not square
            or has no inverse.

    Example:
        >>> import paddle
        >>> round(float(paddle.linalg.cond(paddle.to_tensor([[2.0, 0.0], [0.0, 1.0]]))), 4)
        2.0
    """
    x = matrix(x, "cond", p not in (None, 2, -2))
    if 0 in x.shape[-2:]:
        return create_on(x.place, F.full, 0, x.dtype.real, tuple(x.shape[:-2]))
    if p in (None, 2, -2):
        s = F.svdvals(x)
        large, small = F.max(s, (s.ndim - 1,)), F.min(s, (s.ndim - 1,))
        return F.div(small, large) if p == -2 else F.div(large, small)
    axes = (x.ndim - 2, x.ndim - 1)
    return F.mul(_matrix_norm(x, p, axes, False, "cond"), _matrix_norm(F.inverse(x), p, axes, False, "cond"))


@public(usual=False)
def renorm(x: Tensor, p: float, axis: int, max_norm: float) -> Tensor:
    """Scale each slice along an axis down to a p-norm of at most ``max_norm``; shorter ones stay.

    Args:
        x: floating tensor.
        p: power of the norm, a number.
        axis: the axis whose slices are scaled, negative counted from the end.
        max_norm: the largest norm, a number.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is no tensor, or is not floating.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[30.0, 40.0], [0.3, 0.4]])
        >>> [[round(v, 4) for v in row] for row in paddle.renorm(x, 2.0, 0, 5.0).tolist()]
        [[3.0, 4.0], [0.3, 0.4]]
    """
    kind, power = norm_kind(real_number(p, "renorm", "p"))
    limit = real_number(max_norm, "renorm", "max_norm")
    return F.renorm(need_tensor(x, "renorm"), axis_of(axis, x.ndim, "renorm"), kind, power, limit)


renorm_ = inplace(renorm)
