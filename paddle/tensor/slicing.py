"""Slices, and tensors of which a slice is replaced."""

from __future__ import annotations

import builtins
from typing import Any

from paddle._public import public
from paddle.tensor._args import (
    axis_of,
    integer,
    integers,
    need_tensor,
    op_error,
    shape_of,
    write_part,
)
from paddle.tensor._args import cast as _cast_to
from paddle.tensor.indexing import range_of
from umiak import ops as F
from umiak.core.tensor import Tensor


def _sliced(op: str, x: Tensor, axes: Any, starts: Any, ends: Any, strides: Any) -> Tensor:
    need_tensor(x, op)
    ks = [axis_of(a, x.ndim, op) for a in integers(axes, op, "axes")]
    given = [integers(v, op, w) for v, w in ((starts, "starts"), (ends, "ends"))]
    steps = (1,) * len(ks) if strides is None else integers(strides, op, "strides")
    if not len(ks) == len(given[0]) == len(given[1]) == len(steps):
        raise op_error(
            ValueError,
            op,
            "a start, an end and a stride for each axis",
            f"{len(ks)} axes, {len(given[0])} starts, {len(given[1])} ends",
        )
    begin, sizes, by = [], [], []
    for k, a, b, s in zip(ks, *given, steps, strict=True):
        if s == 0:
            raise op_error(ValueError, op, "strides other than 0", list(steps))
        first, count, step = range_of(builtins.slice(a, b, s), x.shape[k])
        begin.append(first)
        sizes.append(count)
        by.append(step)
    return F.slice(x, tuple(ks), tuple(begin), tuple(sizes), tuple(by))


@public(aliases={"x": "input"})
def slice(input: Tensor, axes: Any, starts: Any, ends: Any) -> Tensor:
    """Slice along several dims, ``input[..., start:end, ...]``; a view, which shares the memory of ``input``.

    Args:
        input: tensor of any shape and dtype.
        axes: the dims to slice, a sequence of ints; negative counts from the end.
        starts: for each of them the first element; negative counts from the end.
        ends: for each of them the element after the last; negative counts from the end, a number beyond the end stands
            for the end.

    Returns:
        Tensor of input's dtype and rank.

    Raises:
        TypeError: input is not a tensor.
        IndexError: input has no such dim.
        ValueError: ``axes``, ``starts`` and ``ends`` differ in length.

    Example:
        >>> import paddle
        >>> paddle.slice(paddle.arange(5), [0], [1], [-1]).tolist()
        [1, 2, 3]
    """
    return _sliced("slice", input, axes, starts, ends, None)


@public
def strided_slice(x: Tensor, axes: Any, starts: Any, ends: Any, strides: Any, name: str | None = None) -> Tensor:
    """Slice with strides along several dims, ``x[..., start:end:stride, ...]``; a view of the memory of ``x``.

    Args:
        x: tensor of any shape and dtype.
        axes: the dims to slice, a sequence of ints; negative counts from the end.
        starts: for each of them the first element; negative counts from the end.
        ends: for each of them the element that is no longer taken; negative counts from the end.
        strides: for each of them the step; negative runs towards the front.

    Returns:
        Tensor of x's dtype and rank.

    Raises:
        TypeError: x is not a tensor.
        IndexError: x has no such dim.
        ValueError: the lists differ in length, or a stride is 0.

    Example:
        >>> import paddle
        >>> paddle.strided_slice(paddle.arange(5), [0], [4], [0], [-2]).tolist()
        [4, 2]
    """
    return _sliced("strided_slice", x, axes, starts, ends, strides)


@public(aliases={"x": "input"})
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """Range of elements along a dim; a view, which shares the memory of ``input``.

    Args:
        input: tensor of rank 1 or more, of any dtype.
        dim: the dim; negative counts from the end.
        start: the first element, an int or a 0-d tensor; negative counts from the end.
        length: how many elements.

    Returns:
        Tensor of input's dtype and rank.

    Raises:
        TypeError: input is not a tensor.
        IndexError: input has no such dim.
        ValueError: the range leaves the dim.

    Example:
        >>> import paddle
        >>> paddle.narrow(paddle.arange(5), 0, 1, 2).tolist()
        [1, 2]
    """
    k = axis_of(dim, need_tensor(input, "narrow", "input").ndim, "narrow")
    n, a = input.shape[k], integer(start, "narrow", "start")
    a = a + n if a < 0 else a
    if not (0 <= a <= n and 0 <= length <= n - a):
        raise op_error(ValueError, "narrow", f"a range within {n} elements", f"start {start}, length {length}")
    return F.slice(input, (k,), (a,), (length,), (1,))


@public
def crop(x: Tensor, shape: Any = None, offsets: Any = None, name: str | None = None) -> Tensor:
    """Cut a box out of ``x``.

    Args:
        x: tensor of any shape and dtype.
        shape: a size for each dim; -1 reaches to the end of x. By default the shape of x.
        offsets: for each dim the first element, by default 0.

    Returns:
        Tensor of x's dtype and of shape ``shape``, in memory of its own.

    Raises:
        TypeError: x is not a tensor.
        ValueError: sizes or offsets are not as many as dims, or the box leaves x.

    Example:
        >>> import paddle
        >>> paddle.crop(paddle.arange(6).reshape([2, 3]), [1, 2], [1, 1]).tolist()
        [[4, 5]]
    """
    need_tensor(x, "crop")
    starts = (0,) * x.ndim if offsets is None else integers(offsets, "crop", "offsets")
    sizes = tuple(x.shape) if shape is None else shape_of(shape, "crop")
    if len(starts) != x.ndim or len(sizes) != x.ndim:
        raise op_error(ValueError, "crop", f"{x.ndim} sizes and offsets", f"{len(sizes)} and {len(starts)}")
    sizes = tuple(n - a if s == -1 else s for s, a, n in zip(sizes, starts, x.shape, strict=True))
    if any(a < 0 or s < 0 or a + s > n for a, s, n in zip(starts, sizes, x.shape, strict=True)):
        raise op_error(ValueError, "crop", f"a box within {list(x.shape)}", f"shape {list(sizes)} at {list(starts)}")
    return F.copy(F.slice(x, tuple(range(x.ndim)), starts, sizes, (1,) * x.ndim))


@public(usual=False)
def slice_scatter(
    x: Tensor, value: Tensor, axes: Any, starts: Any, ends: Any, strides: Any, name: str | None = None
) -> Tensor:
    """Copy of ``x`` with a slice replaced.

    Args:
        x: tensor of any shape and dtype.
        value: tensor that broadcasts to the shape of the slice; it is cast to x's dtype.
        axes: the dims to slice, a sequence of ints; negative counts from the end.
        starts: for each of them the first element; negative counts from the end.
        ends: for each of them the element that is no longer taken; negative counts from the end.
        strides: for each of them the step; negative runs towards the front.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x or value is not a tensor.
        IndexError: x has no such dim.
        ValueError: the lists differ in length, a stride is 0, or the value does not fit the slice.

    Example:
        >>> import paddle
        >>> paddle.slice_scatter(paddle.zeros([5]), paddle.ones([2]), [0], [1], [5], [2]).tolist()
        [0.0, 1.0, 0.0, 1.0, 0.0]
    """

    def region(x: Tensor) -> Tensor:
        return _sliced("slice_scatter", x, axes, starts, ends, strides)

    shape = tuple(region(need_tensor(x, "slice_scatter")).shape)
    value = F.broadcast_to(_cast_to(need_tensor(value, "slice_scatter", "value"), x.dtype), shape)
    return write_part(F.copy(x), region, value)


@public(usual=False)
def select_scatter(x: Tensor, values: Tensor, axis: int, index: int, name: str | None = None) -> Tensor:
    """Copy of ``x`` with one slice along a dim replaced.

    Args:
        x: tensor of rank 1 or more, of any dtype.
        values: tensor of x's shape without the dim ``axis``; it is cast to x's dtype.
        axis: the dim; negative counts from the end.
        index: the slice, from 0; negative counts from the end.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x or values is not a tensor.
        IndexError: x has no such dim, or the dim no such slice.
        ValueError: ``values`` has another shape.

    Example:
        >>> import paddle
        >>> paddle.select_scatter(paddle.zeros([2, 2]), paddle.ones([2]), 0, 1).tolist()
        [[0.0, 0.0], [1.0, 1.0]]
    """
    k = axis_of(axis, need_tensor(x, "select_scatter").ndim, "select_scatter")
    n, i = x.shape[k], integer(index, "select_scatter", "index")
    if not -n <= i < n:
        raise op_error(IndexError, "select_scatter", f"an index within {n} slices", i)
    i = i + n if i < 0 else i
    want = [n for j, n in enumerate(x.shape) if j != k]
    if need_tensor(values, "select_scatter", "values").shape != want:
        raise op_error(ValueError, "select_scatter", f"values of shape {want}", values.shape)
    value = F.unsqueeze(_cast_to(values, x.dtype), (k,))
    return write_part(F.copy(x), lambda x: F.slice(x, (k,), (i,), (1,), (1,)), value)
