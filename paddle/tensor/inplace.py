"""Functions that write into a tensor and are no in-place form of another one. (Those are declared beside it.)"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paddle._public import become, public
from paddle.tensor import diagonals, search, views
from paddle.tensor._args import made_on, need_tensor, op_error, write_part
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.dispatch import assign, call_apart
from umiak.core.tensor import Tensor


@public(usual=False)
def where_(condition: Tensor, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """``where``, written into ``x``.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, -1.0])
        >>> paddle.where_(x > 0, x, paddle.zeros([2])).tolist()
        [1.0, 0.0]
    """

    def where(x: Tensor) -> Tensor:
        return search.where(condition, x, y)

    return become(need_tensor(x, "where_"), call_apart(where, x, (), {}))


@public("Tensor", usual=False)
def fill_(x: Tensor, value: Any) -> Tensor:
    """Set every element to a number or the value of a 0-d tensor.

    Example:
        >>> import paddle
        >>> paddle.zeros([2]).fill_(3).tolist()
        [3.0, 3.0]
    """
    need_tensor(x, "fill_")
    value = F.reshape(value, ()) if isinstance(value, Tensor) else value
    return assign(x, made_on(x.place, F.full, value, x.dtype, tuple(x.shape)))


@public("Tensor", usual=False)
def zero_(x: Tensor) -> Tensor:
    """Set every element to 0.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).zero_().tolist()
        [0.0, 0.0]
    """
    return fill_(x, 0)


@public("Tensor", usual=False)
def fill_diagonal_(x: Tensor, value: Any, offset: int = 0, wrap: bool = False, name: str | None = None) -> Tensor:
    """Set the main diagonal (of a matrix, one ``offset`` above it) to ``value``.

    ``wrap``: of a matrix with more rows than columns, begin again below. Tensors of rank 3 and more must have equal
    sizes.

    Example:
        >>> import paddle
        >>> paddle.zeros([2, 2]).fill_diagonal_(1).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    op = "fill_diagonal_"
    if need_tensor(x, op).ndim < 2:
        raise op_error(ValueError, op, "a tensor of rank 2 or more", x.shape)
    if x.ndim > 2:
        if len(set(x.shape)) > 1:
            raise op_error(ValueError, op, "equal sizes", x.shape)
        i = made_on(x.place, F.iota, 0, 1, dt.int64, x.shape[0])
        values = made_on(x.place, F.full, value, x.dtype, (x.shape[0],))
        return assign(x, F.index_put(x, values, [i] * x.ndim))
    rows, columns = x.shape

    def write(line: Callable[[Tensor], Tensor]) -> None:
        write_part(x, line, made_on(x.place, F.full, value, x.dtype, tuple(line(x).shape)))

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
    """Set the diagonal of dims ``dim1`` and ``dim2`` to ``y``."""
    return assign(x, diagonals.fill_diagonal_tensor(x, y, offset, dim1, dim2))


@public("Tensor", usual=False)
def copy_(x: Tensor, other: Tensor, blocking: bool = True) -> Tensor:
    """Write the elements of ``other``, which broadcast, cast to the dtype of x.

    Example:
        >>> import paddle
        >>> paddle.zeros([2]).copy_(paddle.ones([2])).tolist()
        [1.0, 1.0]
    """
    value = F.cast(need_tensor(other, "copy_", "other"), dtype=x.dtype) if other.dtype is not x.dtype else other
    if value.place is not x.place:
        value = value.to(x.place)
    return assign(x, value if value.shape == x.shape else F.broadcast_to(value, tuple(x.shape)))


@public("paddle.tensor Tensor", usual=False)
def set_(
    x: Tensor,
    source: Tensor | None = None,
    shape: Any = None,
    stride: Any = None,
    offset: int = 0,
    name: str | None = None,
) -> Tensor:
    """Become the memory of ``source`` (without one, an empty tensor) under a shape, strides and an offset in elements.

    Example:
        >>> import paddle
        >>> paddle.zeros([3]).set_(paddle.ones([2])).tolist()
        [1.0, 1.0]
    """
    if source is None:
        source = made_on(x.place, F.full, 0, x.dtype, (0,))
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
    """Take another shape: the elements in row-major order, what is beyond them not set, or 0 with ``fill_zero``.

    Example:
        >>> import paddle
        >>> paddle.ones([3]).resize_([2]).tolist()
        [1.0, 1.0]
    """
    sizes = tuple(int(n) for n in shape)
    count = 1
    for n in sizes:
        count *= n
    flat = F.reshape(x.detach(), (x.size,))
    if count <= x.size:
        flat = F.slice(flat, (0,), (0,), (count,), (1,))
    else:
        flat = F.pad(flat, 0, axes=(0,), lo=(0,), hi=(count - x.size,))
    x._share(F.reshape(flat, sizes))
    return x


@public("Tensor", usual=False)
def apply_(x: Tensor, func: Callable) -> Tensor:
    """Write ``func(x)`` into x; only outside gradients."""
    if not x.stop_gradient:
        raise RuntimeError("[apply_] requires a tensor with stop_gradient=True, got one with stop_gradient=False")
    return become(x, func(x))


@public("Tensor", usual=False)
def set_value(x: Tensor, value: Any) -> None:
    """Replace the elements by those of an array or tensor of the same shape and dtype; no gradient is recorded.

    Raises AssertionError where shape or dtype differ, as the reference framework does.

    Example:
        >>> import paddle, numpy as np
        >>> x = paddle.zeros([2])
        >>> x.set_value(np.ones(2, "float32"))
        >>> x.tolist()
        [1.0, 1.0]
    """
    import numpy as np

    if isinstance(value, np.ndarray):
        value = from_numpy(
            value if value.dtype != np.uint16 or x.dtype is not dt.bfloat16 else value.view(dt.bfloat16.numpy), x.place
        )
    elif not isinstance(value, Tensor):
        raise op_error(AssertionError, "set_value", "a Tensor or an array", type(value).__name__)
    if value.shape != x.shape:
        raise op_error(AssertionError, "set_value", f"shape {x.shape}", value.shape)
    if value.dtype is not x.dtype:
        raise op_error(AssertionError, "set_value", f"dtype {x.dtype.name}", value.dtype.name)
    from umiak.core.context import no_grad_guard

    with no_grad_guard():
        assign(x, value.detach())
