"""Functions that write into a tensor and are no in-place form of another one. (Those are declared beside it.)"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from paddle._public import public, rebind
from paddle.tensor import diagonals, views
from paddle.tensor._args import cast, create_on, equal_shapes, need_tensor, op_error, refuse_leaf, shape_of, write_part
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.inplace import assign, overwrite
from umiak.core.tensor import Tensor
from umiak.util.errors import OperandError


@public("Tensor", usual=False)
def fill_(x: Tensor, value: Any) -> Tensor:
    """Set every element to one value.

    Args:
        x: tensor, which is written.
        value: number, or tensor of one element, which is cast to x's dtype.

    Returns:
        The tensor x.

    Raises:
        TypeError: x is no tensor, or the value no number.
        ValueError: the value is a tensor of another number of elements than one.
        OverflowError: x's dtype cannot hold the number.
        RuntimeError: x is a leaf with ``stop_gradient=False``, outside ``no_grad``.

    Example:
        >>> import paddle
        >>> paddle.zeros([2]).fill_(3).tolist()
        [3.0, 3.0]
    """
    need_tensor(x, "fill_")
    if isinstance(value, Tensor):
        if value._count != 1:
            raise op_error(OperandError, "fill_", "a value of one element", value.shape)
        value = F.reshape(value, ())
    return overwrite(_full_like, x, (value,), {})


def _full_like(x: Tensor, value: Any) -> Tensor:
    return create_on(x.place, F.full, value, x.dtype, tuple(x.shape))


@public("Tensor", usual=False)
def zero_(x: Tensor) -> Tensor:
    """Set every element to 0.

    Args:
        x: tensor, which is written.

    Returns:
        The tensor x.

    Raises:
        TypeError: x is no tensor.
        RuntimeError: x is a leaf with ``stop_gradient=False``, outside ``no_grad``.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).zero_().tolist()
        [0.0, 0.0]
    """
    return fill_(x, 0)


@public("Tensor", usual=False)
def fill_diagonal_(x: Tensor, value: Any, offset: int = 0, wrap: bool = False, name: str | None = None) -> Tensor:
    """Set the elements of a diagonal to one value.

    Args:
        x: tensor of rank 2 or more, which is written; of rank 3 and more all sizes must be equal.
        value: number.
        offset: the diagonal of a matrix: 0 is the main one, 1 the one above it, -1 the one below.
        wrap: whether the diagonal of a matrix with more rows than columns begins again below, after a row without it.

    Returns:
        The tensor x.

    Raises:
        TypeError: x is no tensor.
        ValueError: x is of rank 0 or 1, or of rank 3 or more with sizes that differ.
        RuntimeError: x is a leaf with ``stop_gradient=False``, outside ``no_grad``.

    Example:
        >>> import paddle
        >>> paddle.zeros([3, 3]).fill_diagonal_(7).tolist()
        [[7.0, 0.0, 0.0], [0.0, 7.0, 0.0], [0.0, 0.0, 7.0]]
    """
    op = "fill_diagonal_"
    if need_tensor(x, op).ndim < 2:
        raise op_error(ValueError, op, "a tensor of rank 2 or more", x.shape)
    refuse_leaf(x, op)
    if x.ndim > 2:
        if len(set(x.shape)) > 1:
            raise op_error(ValueError, op, "equal sizes", x.shape)
        i = create_on(x.place, F.iota, 0, 1, dt.int64, x.shape[0])
        values = create_on(x.place, F.full, value, x.dtype, (x.shape[0],))
        return assign(x, F.index_put(x, values, [i] * x.ndim))
    rows, columns = x.shape

    def write(line: Callable[[Tensor], Tensor]) -> None:
        write_part(x, line, create_on(x.place, F.full, value, x.dtype, tuple(line(x).shape)))

    write(lambda x: F.diagonal(x, 0, 1, offset))
    if wrap and rows > columns:
        for start in range(columns + 1, rows, columns + 1):
            size = min(columns, rows - start)
            write(lambda x, at=start, n=size: F.diagonal(F.slice(x, (0,), (at,), (n,), (1,)), 0, 1, offset))  # type: ignore[misc]
    return x


@public("Tensor", usual=False)
def fill_diagonal_tensor_(
    x: Tensor, y: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, name: str | None = None
) -> Tensor:
    """Set the elements of a diagonal of two axes to those of a tensor.

    Args:
        x: tensor of rank 2 or more, which is written.
        y: tensor of x's shape without the two axes, followed by the length of the diagonal.
        offset: the diagonal: 0 is the main one, 1 the one above it, -1 the one below.
        dim1: the axis of rows, negative counted from the end.
        dim2: the axis of columns, likewise.

    Returns:
        The tensor x.

    Raises:
        TypeError: x or y is no tensor.
        ValueError: y has another shape, or the two axes are the same.
        IndexError: x has no such axis.
        RuntimeError: x is a leaf with ``stop_gradient=False``, outside ``no_grad``.

    Example:
        >>> import paddle
        >>> paddle.zeros([2, 2]).fill_diagonal_tensor_(paddle.to_tensor([1.0, 2.0])).tolist()
        [[1.0, 0.0], [0.0, 2.0]]
    """
    return assign(x, diagonals.fill_diagonal_tensor(x, y, offset, dim1, dim2))


@public("Tensor", usual=False)
def copy_(x: Tensor, other: Tensor, blocking: bool = True, non_blocking: bool = False) -> Tensor:
    """Write the elements of another tensor.

    Args:
        x: tensor, which is written. A leaf that wants a gradient stays one, and a frozen parameter stays frozen:
            no gradient is recorded, as in :meth:`set_value`. Other tensors get the history of ``other``, as in
            every write.
        other: tensor of any dtype, which is cast, on any place, whose shape broadcasts to x's.
        blocking: without effect, as each copy is ordered with the work before and after it.
        non_blocking: without effect, too.

    Returns:
        The tensor x.

    Raises:
        TypeError: other is no tensor.
        ValueError: other's shape does not broadcast to x's.

    Example:
        >>> import paddle
        >>> paddle.zeros([2]).copy_(paddle.to_tensor([1, 2])).tolist()
        [1.0, 2.0]
    """
    value = cast(need_tensor(other, "copy_", "other"), x.dtype)
    if value.place is not x.place:
        value = value.to(x.place)
    value = value if equal_shapes(value.shape, x.shape) else F.broadcast_to(value, tuple(x.shape))
    if x.stop_gradient:
        if not value.stop_gradient and x.persistable and x.is_leaf:
            value = value.detach()
    elif x.is_leaf:
        from umiak.core.context import no_grad_guard

        with no_grad_guard():
            return assign(x, value.detach())
    return assign(x, value)


@public("paddle.tensor Tensor", usual=False)
def set_(
    x: Tensor,
    source: Tensor | None = None,
    shape: Any = None,
    stride: Any = None,
    offset: int = 0,
    name: str | None = None,
) -> Tensor:
    """Share the memory of another tensor.

    Args:
        x: tensor, which gets other memory and loses its history.
        source: tensor, cast to x's dtype, which takes a copy where the dtypes differ; None means one of no elements.
        shape: shape of the view; None means that of the source.
        stride: strides of the view in elements; None means those of the shape in row-major order.
        offset: offset of the view in elements.

    Returns:
        The tensor x.

    Raises:
        TypeError: the source is no tensor.
        ValueError: the view goes beyond the memory of the source.

    Example:
        >>> import paddle
        >>> x, source = paddle.zeros([3]), paddle.to_tensor([1.0, 2.0])
        >>> x.set_(source).tolist()
        [1.0, 2.0]
        >>> source[0] = 5.0
        >>> x.tolist()
        [5.0, 2.0]
    """
    if source is None:
        source = create_on(x.place, F.full, 0, x.dtype, (0,))
    elif need_tensor(source, "set_", "source").dtype is not x.dtype:
        source = F.cast(source, dtype=x.dtype)
    if shape is not None or stride is not None or offset:
        shape = list(source.shape) if shape is None else shape
        if stride is None:
            stride, step = [], 1
            for n in reversed(list(shape)):
                stride.insert(0, step)
                step *= n
        source = views.as_strided(source, shape, stride, offset)
    x._share(source.detach())
    return x


@public("paddle.tensor Tensor", usual=False)
def resize_(x: Tensor, shape: Any, fill_zero: bool = False, name: str | None = None) -> Tensor:
    """Take another shape, in new memory and without history.

    Args:
        x: tensor: its elements in row-major order are the first ones of the result.
        shape: sizes, a list or one integer.
        fill_zero: whether elements beyond those of x are 0; they are in any case.

    Returns:
        The tensor x.

    Raises:
        TypeError: a size is no integer.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.to_tensor([1.0, 2.0, 3.0]).resize_([2, 2], fill_zero=True).tolist()
        [[1.0, 2.0], [3.0, 0.0]]
    """
    sizes = shape_of(shape, "resize_")
    if any(n < 0 for n in sizes):
        raise op_error(ValueError, "resize_", "sizes of 0 or more", sizes)
    count = math.prod(sizes)
    flat = F.reshape(x.detach(), (x._count,))
    if count <= x._count:
        flat = F.slice(flat, (0,), (0,), (count,), (1,))
    else:
        flat = F.pad(flat, 0, axes=(0,), lo=(0,), hi=(count - x._count,))
    x._share(F.reshape(flat, sizes))
    return x


@public("Tensor", usual=False)
def apply_(self: Tensor, func: Callable) -> Tensor:
    """Write the result of a Python function of the tensor.

    Args:
        func: function that takes the tensor and returns a tensor; this one takes its shape and dtype.

    Returns:
        The tensor.

    Raises:
        TypeError: the function returns no tensor.
        RuntimeError: the tensor has ``stop_gradient=False``.

    Example:
        >>> import paddle
        >>> paddle.to_tensor([1.0, 2.0]).apply_(lambda x: x * 10).tolist()
        [10.0, 20.0]
    """
    if not self.stop_gradient:
        raise RuntimeError("[apply_] requires a tensor with stop_gradient=True, got one with stop_gradient=False")
    return rebind(self, need_tensor(func(self), "apply_", "the result of func"))


@public("Tensor", usual=False)
def set_value(self: Tensor, value: Any, scope: Any = None) -> None:
    """Replace the elements by those of an array or a tensor; no gradient is recorded.

    Args:
        value: tensor or array of this tensor's shape and dtype; an array of uint16 holds the bits of bfloat16.
        scope: of a program's parameter in static mode, where its value is; None: the global scope.

    Raises:
        AssertionError: the value is neither a tensor nor an array, or of another shape or dtype, as in the reference
            framework.

    Example:
        >>> import paddle
        >>> weight = paddle.nn.Linear(2, 1).weight
        >>> weight.set_value(paddle.to_tensor([[1.0], [2.0]]))
        >>> weight.tolist()
        [[1.0], [2.0]]
    """
    import numpy as np

    if isinstance(value, np.ndarray):
        value = from_numpy(
            value if value.dtype != np.uint16 or self.dtype is not dt.bfloat16 else value.view(dt.bfloat16.numpy),
            self.place,
        )
    elif not isinstance(value, Tensor):
        raise op_error(AssertionError, "set_value", "a Tensor or an array", type(value).__name__)
    if value.shape != self.shape:
        raise op_error(AssertionError, "set_value", f"shape {list(self.shape)}", value.shape)
    if value.dtype is not self.dtype:
        raise op_error(AssertionError, "set_value", f"dtype {self.dtype.name}", value.dtype.name)
    from umiak.core.context import no_grad_guard

    if getattr(self, "_managed", False):
        from paddle.static.scope import global_scope

        (global_scope() if scope is None else scope)._hold(self, value, True)
        return
    with no_grad_guard():
        assign(self, value.detach())
