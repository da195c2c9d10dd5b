"""Tensors joined along a dim, old or new."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import also, public
from paddle.tensor._args import (
    axis_of,
    need_tensor,
    op_error,
)
from paddle.tensor._tensor_array import TensorArray
from paddle.tensor.shapes import atleast_1d, atleast_2d, atleast_3d
from paddle.tensor.splitting import unbind
from umiak import ops as F
from umiak.core.context import current
from umiak.core.eager import apply
from umiak.core.tensor import Tensor


def need_tensors(x: Any, op: str) -> list:
    if isinstance(x, Tensor):
        return unbind(x, 0) if x.ndim else [x]
    if not isinstance(x, (list, tuple)):
        raise op_error(TypeError, op, "a list or tuple of tensors", type(x).__name__)
    if not x:
        raise op_error(ValueError, op, "at least one tensor", "none")
    return x if isinstance(x, list) else list(x)


def need_one_dtype(xs: list, op: str) -> list:
    for v in xs:
        if not isinstance(v, Tensor):
            need_tensor(v, op, "each of x")
        if v.dtype is not xs[0].dtype and not current().amp()[0]:  # mixed precision casts them
            raise op_error(
                ValueError,
                op,
                "tensors of one dtype",
                f"{xs[0].dtype.name} and {v.dtype.name}",
                "Cast one of them first.",
            )
    return xs


_CONCAT: dict[int, Any] = {}
_STACK: dict[int, Any] = {}


@public(aliases={"tensors": "x"})
def concat(x: Sequence[Tensor], axis: Any = 0, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along a dim that they have.

    Args:
        x: a list or tuple of tensors of one dtype, whose shapes agree but for ``axis``. A tensor counts as the list of
            its slices along the first dim.
        axis: the dim to join along; negative counts from the end.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of the dtype of the inputs.

    Raises:
        TypeError: x is not a list or tuple of tensors.
        ValueError: shapes or dtypes do not agree, or there is no tensor.
        IndexError: the tensors have no such dim.

    Example:
        >>> import paddle
        >>> paddle.concat([paddle.to_tensor([[1, 2]]), paddle.to_tensor([[3, 4], [5, 6]])]).tolist()
        [[1, 2], [3, 4], [5, 6]]
    """
    if isinstance(x, TensorArray):
        return x.concat(axis)
    xs = need_one_dtype(need_tensors(x, "concat"), "concat")
    n = xs[0].ndim
    if type(axis) is not int or axis < 0 or axis >= n:
        axis = axis_of(axis, n, "concat")
    op = _CONCAT.get(axis)
    if op is None:
        op = _CONCAT[axis] = F.Concat(axis)
    return apply(op, tuple(xs))


cat = also(concat, "cat", "paddle paddle.tensor")
concatenate = also(concat, "concatenate", "paddle paddle.tensor")


@public(aliases={"tensors": "x"})
def stack(x: Sequence[Tensor], axis: Any = 0, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Join tensors of one shape along a new dim.

    Args:
        x: a list or tuple of tensors of one dtype and shape. A tensor counts as the list of its slices along the first
            dim.
        axis: place of the new dim in the result; negative counts from its end.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of the dtype of the inputs, with one dim more than they have.

    Raises:
        TypeError: x is not a list or tuple of tensors.
        ValueError: shapes or dtypes do not agree, or there is no tensor.
        IndexError: the result has no such dim.

    Example:
        >>> import paddle
        >>> paddle.stack([paddle.ones([2]), paddle.zeros([2])], axis=1).tolist()
        [[1.0, 0.0], [1.0, 0.0]]
    """
    if isinstance(x, TensorArray):
        return x.stack(axis)
    xs = need_one_dtype(need_tensors(x, "stack"), "stack")
    n = xs[0].ndim + 1
    if type(axis) is not int or axis < 0 or axis >= n:
        axis = axis_of(axis, n, "stack")
    op = _STACK.get(axis)
    if op is None:
        op = _STACK[axis] = F.Stack(axis)
    return apply(op, tuple(xs))


@public("paddle paddle.tensor", usual=False)
def hstack(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """Join tensors side by side: along the second dim, those of rank 0 and 1 along the first.

    Args:
        x: a list or tuple of tensors of one dtype and rank.

    Returns:
        Tensor of the dtype of the inputs.

    Raises:
        TypeError: x is not a list or tuple of tensors.
        ValueError: shapes or dtypes do not agree, or there is no tensor.

    Example:
        >>> import paddle
        >>> paddle.hstack([paddle.to_tensor([1, 2]), paddle.to_tensor([3])]).tolist()
        [1, 2, 3]
    """
    xs = [atleast_1d(v) for v in need_tensors(x, "hstack")]
    return concat(xs, 0 if xs[0].ndim == 1 else 1)


@public("paddle paddle.tensor", usual=False)
def vstack(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """Join tensors on top of each other: along the first dim, those of rank 0 and 1 as rows.

    Args:
        x: a list or tuple of tensors of one dtype.

    Returns:
        Tensor of the dtype of the inputs, of rank 2 or more.

    Raises:
        TypeError: x is not a list or tuple of tensors.
        ValueError: shapes or dtypes do not agree, or there is no tensor.

    Example:
        >>> import paddle
        >>> paddle.vstack([paddle.to_tensor([1, 2]), paddle.to_tensor([3, 4])]).tolist()
        [[1, 2], [3, 4]]
    """
    return concat([atleast_2d(v) for v in need_tensors(x, "vstack")], 0)


@public("paddle paddle.tensor", usual=False)
def row_stack(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """Join tensors on top of each other, as :func:`vstack` does.

    Args:
        x: a list or tuple of tensors of one dtype.

    Returns:
        Tensor of the dtype of the inputs, of rank 2 or more.

    Raises:
        TypeError: x is not a list or tuple of tensors.
        ValueError: shapes or dtypes do not agree, or there is no tensor.

    Example:
        >>> import paddle
        >>> paddle.row_stack([paddle.to_tensor([1, 2]), paddle.to_tensor([3, 4])]).tolist()
        [[1, 2], [3, 4]]
    """
    return vstack(x)


@public("paddle paddle.tensor", usual=False)
def dstack(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """Join tensors along the third dim, after :func:`atleast_3d` of each.

    Args:
        x: a list or tuple of tensors of one dtype.

    Returns:
        Tensor of the dtype of the inputs, of rank 3 or more.

    Raises:
        TypeError: x is not a list or tuple of tensors.
        ValueError: shapes or dtypes do not agree, or there is no tensor.

    Example:
        >>> import paddle
        >>> paddle.dstack([paddle.to_tensor([1, 2]), paddle.to_tensor([3, 4])]).tolist()
        [[[1, 3], [2, 4]]]
    """
    return concat([atleast_3d(v) for v in need_tensors(x, "dstack")], 2)


@public("paddle paddle.tensor", usual=False)
def column_stack(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """Join tensors side by side along the second dim, those of rank 0 and 1 as columns.

    Args:
        x: a list or tuple of tensors of one dtype.

    Returns:
        Tensor of the dtype of the inputs, of rank 2 or more.

    Raises:
        TypeError: x is not a list or tuple of tensors.
        ValueError: shapes or dtypes do not agree, or there is no tensor.

    Example:
        >>> import paddle
        >>> paddle.column_stack([paddle.to_tensor([1, 2]), paddle.to_tensor([3, 4])]).tolist()
        [[1, 3], [2, 4]]
    """
    xs = [need_tensor(v, "column_stack", "each of x") for v in need_tensors(x, "column_stack")]
    return concat([F.reshape(v, (v._count, 1)) if v.ndim < 2 else v for v in xs], 1)


@public
def block_diag(inputs: Sequence[Tensor], name: str | None = None) -> Tensor:
    """Matrix with the given matrices along its diagonal and zeros elsewhere.

    Args:
        inputs: a list or tuple of tensors of one dtype and of rank 2 or less; those of rank 0 and 1 count as rows.

    Returns:
        2-d tensor of the dtype of the inputs, with as many rows and columns as all of them have together.

    Raises:
        TypeError: ``inputs`` is not a list or tuple of tensors.
        ValueError: dtypes do not agree, a tensor has a rank above 2, or there is no tensor.

    Example:
        >>> import paddle
        >>> paddle.block_diag([paddle.to_tensor([[1, 2]]), paddle.to_tensor([3])]).tolist()
        [[1, 2, 0], [0, 0, 3]]
    """
    xs = need_one_dtype([atleast_2d(v) for v in need_tensors(inputs, "block_diag")], "block_diag")
    for x in xs:
        if x.ndim != 2:
            raise op_error(ValueError, "block_diag", "tensors of rank 2 or less", f"rank {x.ndim}")
    width = sum(x.shape[1] for x in xs)
    rows, left = [], 0
    for x in xs:
        rows.append(F.pad(x, False if x.dtype.is_bool else 0, axes=(1,), lo=(left,), hi=(width - left - x.shape[1],)))
        left += x.shape[1]
    return F.concat(rows, 0)
