"""Products of vectors and matrices."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from paddle._public import also, inplace, public
from paddle.tensor._args import (
    axis_of,
    cast,
    integers,
    need_tensor,
    op_error,
    same_dtype,
)
from paddle.tensor._matrices import pair
from umiak import ops as F
from umiak.core.dispatch import apply2
from umiak.core.tensor import Tensor

_MATMUL = {(a, b): F.Matmul(a, b) for a in (False, True) for b in (False, True)}


_PLAIN = _MATMUL[False, False]


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
        x, y = pair("matmul", x, y)
        return apply2(_MATMUL[builtins.bool(transpose_x), builtins.bool(transpose_y)], x, y)


@public(aliases={"x": "input", "other": "mat2", "y": "mat2"})
def mm(input: Tensor, mat2: Tensor, name: str | None = None) -> Tensor:
    """The matrix product of two matrices (or batches of them).

    Example:
        >>> import paddle
        >>> paddle.mm(paddle.ones([2, 3]), paddle.ones([3, 4])).shape
        [2, 4]
    """
    return apply2(_PLAIN, *pair("mm", input, mat2))


@public(aliases={"mat2": "y"})
def bmm(x: Tensor, y: Tensor, name: str | None = None, *, out: Any = None) -> Tensor:
    """The products of two batches of matrices, ``[b, m, k]`` and ``[b, k, n]``.

    Example:
        >>> import paddle
        >>> paddle.bmm(paddle.ones([5, 2, 3]), paddle.ones([5, 3, 4])).shape
        [5, 2, 4]
    """
    x, y = pair("bmm", x, y)
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
    x, vec = pair("mv", x, vec)
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
    x, y = pair("dot", x, y)
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
    x, y = pair("inner", x, y)
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
    x, y = pair("kron", x, y)
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
    x, y = pair("cross", x, y)
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
    x, y = pair(op, x, y)
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
    x, y = pair("addmm", x, y)
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
    x, y = pair("baddbmm", x, y)
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
