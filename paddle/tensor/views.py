"""The memory of a tensor seen in another way."""

from __future__ import annotations

import math
from typing import Any

from paddle._public import public
from paddle.tensor._args import (
    axis_of,
    dtype_of,
    integer,
    integers,
    need_tensor,
    op_error,
    shape_of,
)
from paddle.tensor.shapes import reshape
from umiak import ops as F
from umiak.core.array import from_numpy as _from_numpy
from umiak.core.array import to_numpy as _to_numpy
from umiak.core.tensor import Tensor


@public(aliases={"size": "shape_or_dtype", "dtype": "shape_or_dtype"}, ints_from=1)
def view(x: Tensor, shape_or_dtype: Any, name: str | None = None) -> Tensor:
    """Memory of ``x`` under another shape, or its bits as another dtype; elements are never copied for a shape.

    Args:
        x: tensor of any shape and dtype.
        shape_or_dtype: the new sizes, as for :func:`reshape`, or a dtype. Under a dtype of another width the last dim
            shrinks or grows with the elements.

    Returns:
        Tensor of x's dtype and the new shape, or of the new dtype. Gradients pass through a shape, not through a dtype.

    Raises:
        TypeError: x is not a tensor, or its elements or those of the new dtype do not take whole bytes.
        ValueError: the strides of x do not allow the shape, its last dim does not fit the width of the dtype, or a
            dtype is asked for in a program.

    Example:
        >>> import paddle
        >>> paddle.ones([4]).view([2, 2]).shape
        paddle.Size([2, 2])
        >>> paddle.ones([4]).view("uint8").shape
        paddle.Size([16])
    """
    need_tensor(x, "view")
    if isinstance(shape_or_dtype, (list, tuple, int, Tensor)) and not isinstance(shape_or_dtype, bool):
        out = reshape(x, shape_or_dtype)
        if out.storage is not x.storage:
            raise op_error(
                ValueError,
                "view",
                "a shape that fits the strides",
                f"{list(out.shape)} for strides {x.strides}",
                "Use reshape.",
            )
        return out
    return bits(x, dtype_of(shape_or_dtype))


def bits(x: Tensor, d: Any) -> Tensor:
    """The memory of ``x`` read as another dtype; no gradient passes."""
    if d is x.dtype:
        return x
    if d.is_packed or x.dtype.is_packed:
        raise op_error(TypeError, "view", "dtypes of whole bytes", f"{x.dtype.name} as {d.name}", "Cast instead.")
    if x.ndim == 0 and d.itemsize != x.dtype.itemsize:
        raise op_error(ValueError, "view", "a rank of 1 or more to change the width of elements", "a 0-d tensor")
    if x.storage is None:
        raise op_error(
            ValueError, "view", "a tensor with data to read its bits as another dtype", f"{x!r} of a program",
            "Take the view of the program's result.",
        )  # fmt: skip
    data = _to_numpy(x.detach())
    try:
        return _from_numpy(data.view(d.numpy), x.place, False)
    except ValueError as error:
        raise op_error(
            ValueError,
            "view",
            f"a last dim that fits elements of {d.itemsize} bytes",
            f"{list(x.shape)} of {x.dtype.name}",
        ) from error


@public
def view_as(x: Tensor, other: Tensor, name: str | None = None) -> Tensor:
    """Memory of ``x`` under the shape of ``other``; elements are never copied.

    Args:
        x: tensor of any shape and dtype.
        other: tensor with as many elements, whose shape is taken.

    Returns:
        Tensor of x's dtype and the shape of ``other``.

    Raises:
        TypeError: x or other is not a tensor.
        ValueError: the strides of x do not allow the shape, or it has another number of elements.

    Example:
        >>> import paddle
        >>> paddle.ones([4]).view_as(paddle.zeros([2, 2])).shape
        paddle.Size([2, 2])
    """
    return view(x, list(need_tensor(other, "view_as", "other").shape))


@public(usual=False)
def as_strided(x: Tensor, shape: Any, stride: Any, offset: int = 0, name: str | None = None) -> Tensor:
    """Memory of ``x`` at given strides and offset; a view.

    Elements of x may occur several times in it; their gradients add up. Of a view, the memory is that of the tensor
    that it was taken of, from its first element on. Where elements are not in row-major order in memory, they are
    copied first.

    Args:
        x: tensor of any shape and dtype.
        shape: sizes of the result.
        stride: for each size, the step between neighbours, in elements; may be negative or 0.
        offset: the first element.

    Returns:
        Tensor of x's dtype and of shape ``shape``.

    Raises:
        TypeError: x is not a tensor.
        ValueError: sizes and strides differ in number, or lead outside the memory of x.

    Example:
        >>> import paddle
        >>> x = paddle.arange(4)
        >>> paddle.as_strided(x, [3, 2], [1, 1]).tolist()
        [[0, 1], [1, 2], [2, 3]]
        >>> _ = x.as_strided([2], [3]).fill_(9)
        >>> x.tolist()
        [9, 1, 2, 9]
    """
    need_tensor(x, "as_strided")
    sizes, steps = shape_of(shape, "as_strided"), integers(stride, "as_strided", "stride")
    if len(sizes) != len(steps):
        raise op_error(ValueError, "as_strided", "a stride for each size", f"{list(sizes)} and {list(steps)}")
    while x._base is not None:
        x = x._base
    count = x._count
    low = offset + sum((n - 1) * s for n, s in zip(sizes, steps, strict=True) if s < 0)
    high = offset + sum((n - 1) * s for n, s in zip(sizes, steps, strict=True) if s > 0)
    flat = F.reshape(x, (count,))
    if not math.prod(sizes):
        return F.reshape(F.slice(flat, axes=(0,), starts=(0,), sizes=(0,), steps=(1,)), tuple(sizes))
    if low < 0 or high >= count:
        raise op_error(ValueError, "as_strided", f"places within {count} elements", f"{low} to {high}")
    part = F.slice(flat, axes=(0,), starts=(low,), sizes=(high - low + 1,), steps=(1,))
    return _strided(part, high - low + 1, tuple(sizes), tuple(steps))


def _strided(x: Tensor, rest: Any, sizes: tuple, steps: tuple) -> Tensor:
    """A view of all ``rest`` elements of a flat tensor: windows of windows, those of the widest step outside, so that
    none overlap where no element is seen twice.
    """
    order = sorted(range(len(sizes)), key=lambda i: (steps[i] != 0, -abs(steps[i])))
    repeated = tuple(sizes[i] for i in order if steps[i] == 0)
    if repeated:
        x = F.broadcast_to(x, (*repeated, rest))
    for depth, i in enumerate(order[len(repeated) :], len(repeated)):
        rest = rest - (sizes[i] - 1) * abs(steps[i])
        x = F.unfold(x, axis=depth, size=rest, step=abs(steps[i]))
        if steps[i] < 0:
            x = F.slice(x, axes=(depth,), starts=(sizes[i] - 1,), sizes=(sizes[i],), steps=(-1,))
    x = F.squeeze(x, axes=(len(sizes),))
    return F.permute(x, perm=tuple(order.index(i) for i in range(len(order))))


@public(aliases={"dimension": "axis"})
def unfold(x: Tensor, axis: int, size: int, step: int, name: str | None = None) -> Tensor:
    """Windows that slide along a dim; a view, in which windows that overlap share elements.

    Args:
        x: tensor of rank 1 or more, of any dtype.
        axis: the dim; negative counts from the end.
        size: elements in a window.
        step: elements from one window to the next.

    Returns:
        Tensor of x's dtype. The dim ``axis`` counts the windows, a new last dim the elements of each.

    Raises:
        TypeError: x is not a tensor.
        IndexError: x has no such dim.
        ValueError: ``size`` is negative or above the size of the dim, or ``step`` is below 1.

    Example:
        >>> import paddle
        >>> paddle.arange(5).unfold(0, 3, 2).tolist()
        [[0, 1, 2], [2, 3, 4]]
    """
    return F.unfold(
        need_tensor(x, "unfold"),
        axis_of(axis, x.ndim, "unfold"),
        integer(size, "unfold", "size"),
        integer(step, "unfold", "step"),
    )


@public
def as_complex(x: Tensor, name: str | None = None) -> Tensor:
    """Complex numbers of the pairs in the last dim, in memory of their own.

    Args:
        x: float32 or float64 tensor of shape ``[..., 2]``: real and imaginary parts.

    Returns:
        Tensor of shape ``[...]``, complex64 or complex128.

    Raises:
        TypeError: x is not a tensor, or not of these dtypes.
        ValueError: the last dim is not of size 2.

    Example:
        >>> import paddle
        >>> paddle.as_complex(paddle.to_tensor([[1.0, 2.0]])).tolist()
        [(1+2j)]
    """
    return F.as_complex(need_tensor(x, "as_complex"))


@public
def as_real(x: Tensor, name: str | None = None) -> Tensor:
    """Pairs of real and imaginary parts in a new last dim; a view, which shares the memory of ``x``.

    Args:
        x: complex tensor of any shape.

    Returns:
        Tensor of x's shape and a last dim of size 2, float32 or float64.

    Raises:
        TypeError: x is not a complex tensor.

    Example:
        >>> import paddle
        >>> paddle.as_real(paddle.to_tensor([1 + 2j])).tolist()
        [[1.0, 2.0]]
    """
    return F.as_real(need_tensor(x, "as_real"))


@public(aliases={"x": "input"})
def view_as_complex(input: Tensor) -> Tensor:
    """Complex numbers of the pairs in the last dim, as :func:`as_complex` gives them.

    Args:
        input: float32 or float64 tensor of shape ``[..., 2]``: real and imaginary parts.

    Returns:
        Tensor of shape ``[...]``, complex64 or complex128, in memory of its own.

    Raises:
        TypeError: input is not a tensor, or not of these dtypes.
        ValueError: the last dim is not of size 2.

    Example:
        >>> import paddle
        >>> paddle.view_as_complex(paddle.to_tensor([[1.0, 2.0]])).tolist()
        [(1+2j)]
    """
    return F.as_complex(need_tensor(input, "view_as_complex", "input"))


@public(aliases={"x": "input"})
def view_as_real(input: Tensor) -> Tensor:
    """Pairs of real and imaginary parts in a new last dim, as :func:`as_real` gives them.

    Args:
        input: complex tensor of any shape.

    Returns:
        Tensor of input's shape and a last dim of size 2, float32 or float64; a view.

    Raises:
        TypeError: input is not a complex tensor.

    Example:
        >>> import paddle
        >>> paddle.view_as_real(paddle.to_tensor([1 + 2j])).tolist()
        [[1.0, 2.0]]
    """
    return F.as_real(need_tensor(input, "view_as_real", "input"))
