"""Products of vectors and matrices."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from paddle._public import also, inplace, public
from paddle.tensor._args import (
    axis_of,
    cast,
    integer,
    integers,
    need_tensor,
    op_error,
    real_number,
    reduced_axes,
    same_dtype,
)
from paddle.tensor._matrices import pair
from umiak import ops as F
from umiak.core.eager import apply2
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim

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
    """Matrix product of the last two axes; the leading ones broadcast.

    A 1-d x counts as a row and a 1-d y as a column, and that axis is not in the result.

    Args:
        x: integer, floating or complex tensor ``[..., m, k]`` or ``[k]``.
        y: tensor ``[..., k, n]`` or ``[k]`` of x's dtype.
        transpose_x: whether to swap the last two axes of x first.
        transpose_y: whether to swap the last two axes of y first.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor ``[..., m, n]`` of their dtype.

    Raises:
        TypeError: x or y is no tensor, or is bool.
        ValueError: the sizes k or the leading axes do not fit, the dtypes differ, or an operand is 0-d.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> paddle.matmul(x, x).tolist()
        [[7.0, 10.0], [15.0, 22.0]]
        >>> paddle.matmul(x, paddle.ones([5, 2, 3])).shape
        paddle.Size([5, 2, 3])
    """
    try:
        return apply2(_MATMUL[transpose_x, transpose_y], x, y)
    except (TypeError, KeyError):
        x, y = pair("matmul", x, y)
        return apply2(_MATMUL[builtins.bool(transpose_x), builtins.bool(transpose_y)], x, y)


@public(aliases={"x": "input", "other": "mat2", "y": "mat2"})
def mm(input: Tensor, mat2: Tensor, name: str | None = None) -> Tensor:
    """Matrix product of two matrices, or of batches of them.

    Args:
        input: integer, floating or complex tensor ``[..., m, k]`` or ``[k]``.
        mat2: tensor ``[..., k, n]`` or ``[k]`` of the input's dtype.

    Returns:
        Tensor ``[..., m, n]`` of their dtype.

    Raises:
        TypeError: an operand is no tensor, or is bool.
        ValueError: the sizes k or the leading axes do not fit, the dtypes differ, or an operand is 0-d.

    Example:
        >>> import paddle
        >>> paddle.mm(paddle.to_tensor([[1, 2]]), paddle.to_tensor([[3], [4]])).tolist()
        [[11]]
    """
    return apply2(_PLAIN, *pair("mm", input, mat2))


@public(aliases={"mat2": "y"})
def bmm(x: Tensor, y: Tensor, name: str | None = None, *, out: Any = None) -> Tensor:
    """Matrix products of two batches of matrices, one by one.

    Args:
        x: integer, floating or complex tensor ``[b, m, k]``.
        y: tensor ``[b, k, n]`` of x's dtype.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor ``[b, m, n]`` of their dtype.

    Raises:
        TypeError: x or y is no tensor, or is bool.
        ValueError: an operand is not of rank 3, the sizes do not fit, or the dtypes differ.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[[1, 2]], [[3, 4]]])
        >>> paddle.bmm(x, x.transpose([0, 2, 1])).tolist()
        [[[5]], [[25]]]
    """
    x, y = pair("bmm", x, y)
    if x.ndim != 3 or y.ndim != 3:
        raise op_error(ValueError, "bmm", "tensors of rank 3", f"{list(x.shape)} and {list(y.shape)}")
    return F.bmm(x, y)


@public
def mv(x: Tensor, vec: Tensor, name: str | None = None) -> Tensor:
    """Product of a matrix and a vector.

    Args:
        x: integer, floating or complex tensor ``[m, k]``.
        vec: tensor ``[k]`` of x's dtype.

    Returns:
        Tensor ``[m]`` of their dtype.

    Raises:
        TypeError: an operand is no tensor, or is bool.
        ValueError: the ranks are others than 2 and 1, the sizes do not fit, or the dtypes differ.

    Example:
        >>> import paddle
        >>> paddle.mv(paddle.to_tensor([[1, 2], [3, 4]]), paddle.to_tensor([10, 1])).tolist()
        [12, 34]
    """
    x, vec = pair("mv", x, vec)
    if x.ndim != 2 or vec.ndim != 1:
        raise op_error(ValueError, "mv", "a matrix and a vector", f"{list(x.shape)} and {list(vec.shape)}")
    return apply2(_PLAIN, x, vec)


@public(aliases={"tensor": "y"})
def dot(x: Tensor, y: Tensor, name: str | None = None, *, out: Any = None) -> Tensor:
    """Sum of the products of two vectors, or of each two rows of matrices.

    Args:
        x: integer, floating or complex tensor ``[k]`` or ``[b, k]``.
        y: tensor of x's shape and dtype.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of shape ``[]`` or ``[b]`` and of their dtype.

    Raises:
        TypeError: x or y is no tensor, or is bool.
        ValueError: the shapes or dtypes differ, or the rank is neither 1 nor 2.

    Example:
        >>> import paddle
        >>> int(paddle.dot(paddle.to_tensor([1, 2]), paddle.to_tensor([3, 4])))
        11
    """
    x, y = pair("dot", x, y)
    if x.ndim not in (1, 2) or x.shape != y.shape:
        raise op_error(
            ValueError, "dot", "two tensors of one shape and rank 1 or 2", f"{list(x.shape)} and {list(y.shape)}"
        )
    return F.dot(x, y)


@public
def inner(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Sums of products over the last axes of both operands; a 0-d tensor multiplies each element.

    Args:
        x: integer, floating or complex tensor ``[..., k]``.
        y: tensor ``[..., k]`` of x's dtype.

    Returns:
        Tensor of their dtype, whose shape is that of x without the last axis, followed by that of y.

    Raises:
        TypeError: x or y is no tensor, or is bool.
        ValueError: the last sizes or the dtypes differ.

    Example:
        >>> import paddle
        >>> paddle.inner(paddle.to_tensor([[1, 2], [3, 4]]), paddle.to_tensor([10, 1])).tolist()
        [12, 34]
    """
    x, y = pair("inner", x, y)
    if x.ndim == 0 or y.ndim == 0:
        return F.mul(x, y)
    if x.shape[-1] != y.shape[-1]:
        raise op_error(ValueError, "inner", "equal last dims", f"{list(x.shape)} and {list(y.shape)}")
    return F.tensordot(x, y, (x.ndim - 1,), (y.ndim - 1,))


@public(aliases={"vec2": "y"})
def outer(x: Tensor, y: Tensor, name: str | None = None, *, out: Any = None) -> Tensor:
    """Products of each element of x with each of y, both taken as vectors.

    Args:
        x: tensor of any shape and dtype.
        y: tensor of any shape; floating dtypes that differ are promoted.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor ``[x.size, y.size]`` of their common dtype.

    Raises:
        TypeError: x or y is no tensor, or the dtypes cannot be promoted.

    Example:
        >>> import paddle
        >>> paddle.outer(paddle.to_tensor([1, 2]), paddle.to_tensor([3, 4])).tolist()
        [[3, 4], [6, 8]]
    """
    x, y = same_dtype("mul", need_tensor(x, "outer"), need_tensor(y, "outer", "y"))
    return F.outer(F.reshape(x, (x._count,)), F.reshape(y, (y._count,)))


ger = also(outer, "ger", "paddle paddle.tensor")


@public
def kron(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Kronecker product: each element of x is replaced by its products with y.

    Args:
        x: tensor of any shape and dtype.
        y: tensor of x's dtype; where the ranks differ, the smaller shape gets leading axes of size 1.

    Returns:
        Tensor of their dtype, of as many axes as the longer shape, whose sizes are the products of sizes.

    Raises:
        TypeError: x or y is no tensor.
        ValueError: the dtypes differ.

    Example:
        >>> import paddle
        >>> paddle.kron(paddle.to_tensor([1, 10]), paddle.to_tensor([1, 2, 3])).tolist()
        [1, 2, 3, 10, 20, 30]
    """
    x, y = pair("kron", x, y)
    n = builtins.max(x.ndim, y.ndim)
    return F.kron(*(F.reshape(v, (1,) * (n - v.ndim) + tuple(v.shape)) for v in (x, y)))


@public("paddle paddle.tensor paddle.linalg Tensor")
def cross(x: Tensor, y: Tensor, axis: int = 9, name: str | None = None) -> Tensor:
    """Vector product along an axis of size 3.

    Args:
        x: integer, floating or complex tensor.
        y: tensor of x's dtype and rank; the shapes broadcast.
        axis: the axis, negative counted from the end; 9, which no tensor has, or None takes the first of size 3.

    Returns:
        Tensor of the broadcast shape and their dtype.

    Raises:
        TypeError: x or y is no tensor, or is bool.
        ValueError: the axis is not of size 3, or the dtypes or ranks differ.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.cross(paddle.to_tensor([1, 0, 0]), paddle.to_tensor([0, 1, 0])).tolist()
        [0, 0, 1]
    """
    x, y = pair("cross", x, y)
    if axis is None or axis == 9:
        axes = [i for i, n in enumerate(x.shape) if n == 3]
        if not axes:
            raise op_error(ValueError, "cross", "a dim of size 3", x.shape)
        k = axes[0]
    else:
        k = axis_of(axis, x.ndim, "cross")
        if not dim.eq(x.shape[k], 3):
            raise op_error(ValueError, "cross", f"size 3 along axis {axis}", x.shape)
    return F.cross(x, y, k)


@public
def trace(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None) -> Tensor:
    """Sum of a diagonal of two axes.

    Args:
        x: integer, floating or complex tensor of rank 2 or more.
        offset: the diagonal: 0 is the main one, 1 the one above it, -1 the one below.
        axis1: the axis of rows, negative counted from the end.
        axis2: the axis of columns, likewise.

    Returns:
        Tensor of x's dtype, without the two axes.

    Raises:
        TypeError: x is no tensor, or is bool.
        ValueError: the two axes are the same.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1, 2], [3, 4]])
        >>> int(paddle.trace(x)), int(paddle.trace(x, offset=1))
        (5, 2)
    """
    need_tensor(x, "trace")
    return F.trace(x, axis_of(axis1, x.ndim, "trace"), axis_of(axis2, x.ndim, "trace"), offset)


@public
def tensordot(x: Tensor, y: Tensor, axes: Any = 2, name: str | None = None) -> Tensor:
    """Sums of products over pairs of axes of two tensors.

    Args:
        x: integer, floating or complex tensor.
        y: tensor of x's dtype.
        axes: how many of the last axes of x are paired with the first of y; or a list of axes that holds for both; or
            two lists, one for each, of which the shorter goes on as the longer does. An axis of size 1 broadcasts to
            its partner.

    Returns:
        Tensor of their dtype: the axes of x that are not paired, then those of y.

    Raises:
        TypeError: x or y is no tensor, or is bool.
        ValueError: sizes of a pair differ, there are fewer axes, or the dtypes differ.
        IndexError: a tensor has no such axis.

    Example:
        >>> import paddle
        >>> x, y = paddle.ones([2, 3, 4]), paddle.ones([3, 4, 5])
        >>> paddle.tensordot(x, y, 2).shape, paddle.tensordot(x, y, [[1], [0]]).shape
        (paddle.Size([2, 5]), paddle.Size([2, 4, 4, 5]))
    """
    op = "tensordot"
    x, y = pair(op, x, y)
    if isinstance(axes, Tensor):
        axes = axes.tolist()
    if not hasattr(axes, "__iter__"):
        axes = integer(axes, op, "axes")
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
    """Matrix product added to a matrix: ``beta * input + alpha * (x @ y)``.

    Args:
        input: tensor whose shape broadcasts to ``[m, n]``; it is cast to x's dtype.
        x: integer, floating or complex tensor ``[m, k]``.
        y: tensor ``[k, n]`` of x's dtype.
        beta: factor of the input, a number.
        alpha: factor of the product, a number.

    Returns:
        Tensor ``[m, n]`` of x's dtype.

    Raises:
        TypeError: an operand is no tensor, or x is bool.
        ValueError: x or y is not of rank 2, the shapes do not fit, or the dtypes differ.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> paddle.addmm(paddle.ones([2]), x, x, beta=10.0).tolist()
        [[17.0, 20.0], [25.0, 32.0]]
    """
    x, y = pair("addmm", x, y)
    if x.ndim != 2 or y.ndim != 2:
        raise op_error(ValueError, "addmm", "matrices", f"{list(x.shape)} and {list(y.shape)}")
    return _added("addmm", input, x, y, beta, alpha)


addmm_ = inplace(addmm)


@public(usual=False)
def baddbmm(
    input: Tensor, x: Tensor, y: Tensor, beta: float = 1.0, alpha: float = 1.0, name: str | None = None
) -> Tensor:
    """Matrix products of batches, added to another: ``beta * input + alpha * (x @ y)``.

    Args:
        input: tensor whose shape broadcasts to ``[b, m, n]``; it is cast to x's dtype.
        x: integer, floating or complex tensor ``[b, m, k]``.
        y: tensor ``[b, k, n]`` of x's dtype.
        beta: factor of the input, a number.
        alpha: factor of the product, a number.

    Returns:
        Tensor ``[b, m, n]`` of x's dtype.

    Raises:
        TypeError: an operand is no tensor, or x is bool.
        ValueError: x or y is not of rank 3, the shapes do not fit, or the dtypes differ.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[[1.0, 2.0], [3.0, 4.0]]])
        >>> paddle.baddbmm(paddle.ones([1, 2, 2]), x, x, alpha=2.0).tolist()
        [[[15.0, 21.0], [31.0, 45.0]]]
    """
    x, y = pair("baddbmm", x, y)
    if x.ndim != 3 or y.ndim != 3:
        raise op_error(ValueError, "baddbmm", "tensors of rank 3", f"{list(x.shape)} and {list(y.shape)}")
    return _added("baddbmm", input, x, y, beta, alpha)


baddbmm_ = inplace(baddbmm)


def _added(op: str, input: Any, x: Tensor, y: Tensor, beta: Any, alpha: Any) -> Tensor:
    first = cast(need_tensor(input, op, "input"), x.dtype)
    return F.addmm(first, x, y, real_number(beta, op, "beta"), real_number(alpha, op, "alpha"))


@public("paddle.tensor paddle.linalg Tensor", aliases={"tensors": "x"}, usual=False)
def multi_dot(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """Product of several matrices, in the order that takes the fewest multiplications; from the left for open sizes.

    Args:
        x: list of two integer, floating or complex tensors or more, of one dtype and rank 2; the first and the last may
            be vectors.

    Returns:
        Tensor of their dtype: ``[m, n]``, without m or n where that end is a vector.

    Raises:
        TypeError: an element of the list is no tensor, or is bool.
        ValueError: there are fewer than two, a tensor is no matrix, sizes do not fit, or the dtypes differ.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1, 2], [3, 4]])
        >>> paddle.linalg.multi_dot([x, x, paddle.to_tensor([10, 1])]).tolist()
        [80, 172]
    """
    xs = list(x)
    if len(xs) < 2:
        raise op_error(ValueError, "multi_dot", "at least two tensors", len(xs))
    first, last = need_tensor(xs[0], "multi_dot").ndim == 1, need_tensor(xs[-1], "multi_dot").ndim == 1
    if first:
        xs[0] = F.reshape(xs[0], (1, xs[0]._count))
    if last:
        xs[-1] = F.reshape(xs[-1], (xs[-1]._count, 1))
    for m in xs:
        if m.ndim != 2:
            raise op_error(ValueError, "multi_dot", "matrices, with vectors only at the ends", m.shape)
    sizes = [xs[0].shape[0], *(m.shape[1] for m in xs)]
    n = len(xs)
    if any(dim.known(size) is None for size in sizes):
        sizes = [1] * (n + 1)
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
    """Sums of ``conj(x) * y`` along an axis; the other axes broadcast.

    Args:
        x: integer, floating or complex tensor.
        y: tensor; floating dtypes that differ are promoted, others must be x's.
        axis: the axis of the broadcast shape, negative counted from the end.

    Returns:
        Tensor of their common dtype and the broadcast shape without the axis.

    Raises:
        TypeError: x or y is no tensor or is bool, or the dtypes cannot be promoted.
        ValueError: the shapes do not broadcast.
        IndexError: there is no such axis.

    Example:
        >>> import paddle
        >>> paddle.linalg.vecdot(paddle.to_tensor([[1, 2], [3, 4]]), paddle.to_tensor([10, 1])).tolist()
        [12, 34]
    """
    x, y = same_dtype("mul", need_tensor(x, "vecdot"), need_tensor(y, "vecdot", "y"))
    product = F.mul(F.conj(x) if x.dtype.is_complex else x, y)
    return F.sum(product, (axis_of(axis, product.ndim, "vecdot"),) if product.ndim else reduced_axes(axis, 0, "vecdot"))
