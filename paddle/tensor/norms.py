"""Norms of vectors and matrices."""

from __future__ import annotations

import builtins
import math
from typing import Any

from paddle._public import inplace, public
from paddle.tensor._args import (
    axis_of,
    cast,
    dtype_of,
    floating,
    integers,
    need_tensor,
    number,
    op_error,
    reduced_axes,
)
from paddle.tensor._matrices import matrix
from umiak import ops as F
from umiak.core.tensor import Tensor


def norm_kind(p: Any) -> tuple[str, float]:
    """The static kind of a p-norm and its power."""
    p = float(p)
    kinds = {1.0: "1", 2.0: "2", float("inf"): "inf", float("-inf"): "-inf", 0.0: "0"}
    return kinds.get(p, "p"), p


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


@public("paddle.tensor paddle.linalg Tensor", aliases={"A": "x"})
def cond(x: Tensor, p: Any = None, name: str | None = None) -> Tensor:
    """The condition number of matrices in a norm, by default of 2.

    Example:
        >>> import paddle
        >>> float(paddle.linalg.cond(paddle.to_tensor([[2.0, 0.0], [0.0, 1.0]])))
        2.0
    """
    x = matrix(x, "cond", p not in (None, 2, -2))
    if p in (None, 2, -2):
        s = F.svdvals(x)
        large, small = F.max(s, (s.ndim - 1,)), F.min(s, (s.ndim - 1,))
        return F.div(small, large) if p == -2 else F.div(large, small)
    axes = (x.ndim - 2, x.ndim - 1)
    return F.mul(_matrix_norm(x, p, axes, False, "cond"), _matrix_norm(F.inverse(x), p, axes, False, "cond"))


@public(usual=False)
def renorm(x: Tensor, p: float, axis: int, max_norm: float) -> Tensor:
    """Each slice along ``axis`` scaled down to a p-norm of at most ``max_norm``.

    Example:
        >>> import paddle
        >>> paddle.renorm(paddle.to_tensor([[3.0, 4.0]]), 2.0, 0, 1.0).tolist()[0][0] < 0.61
        True
    """
    kind, power = norm_kind(p)
    return F.renorm(need_tensor(x, "renorm"), axis_of(axis, x.ndim, "renorm"), kind, power, float(max_norm))


renorm_ = inplace(renorm)
