"""Shapes, parts of tensors, and tensors of parts."""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle
from paddle.static.formats.operators.known import Known, known_elements, tensor_of
from paddle.static.formats.operators.table import (
    Number,
    Raw,
    Sizes,
    Tensors,
    as_sizes,
    bounded,
    integer_of,
    known,
    operator,
    small,
    unary,
)
from umiak import ops as F
from umiak.core.context import capture_of
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.expr import Sym
from umiak.ir.scope import failure


@operator("assign", "assign_array")
def assign(x: Raw) -> Any:
    """A copy of a tensor, or of a list of tensors."""
    return list(x) if isinstance(x, list) else paddle.assign(tensor_of(x))


unary(paddle.assign, "share_data", "share_data_sr", "memcpy", "memcpy_d2h", "memcpy_h2d", "npu_identity")
unary(lambda x: x, "nop", "print", "sync_calc_stream", "shadow_feed")


@operator("depend")
def depend(x: Tensor, dep: Raw | None = None) -> Any:
    return x


@operator("select_input")
def select_input(mask: Raw, *xs: Tensor) -> Any:
    found = known_elements(mask)
    if found is not None:
        return xs[int(found[0])]
    y = xs[0]
    for i, x in enumerate(xs[1:], 1):
        y = paddle.where(paddle.equal(tensor_of(mask).reshape([]), i), x, y)
    return y


_MOST_SHOWN = 20  # numbers beside a condition that does not hold


def _may_be_passed_by(conditions: Any) -> bool:
    """Are these conditions on sizes in a branch or loop on data, where a run need not come?"""
    tracer = capture_of()
    if tracer is None or len(tracer.frames) == len(tracer.scope.ways):
        return False
    return not any(type(x) is Sym and tracer.from_data(x) for x in conditions)


@operator("assert")
def assert_(
    condition: Raw, data: Raw | None = None, *, summarize: int = -1, message: str = "", op_callstack: Any = ()
) -> Any:
    message = message or "requires that a condition of the model holds"
    found = known_elements(condition)
    if found is None or _may_be_passed_by(found):
        F.require(tensor_of(condition), kind="ValueError", args=(f"[assert] {failure(message, (), op_callstack)}",))
    elif not all(dim.settle(x, message, op_callstack) for x in found):
        seen = [] if data is None else (known_elements(data) or [])[:_MOST_SHOWN]
        got = [str(x.hint if type(x) is Sym else x) for x in seen]
        raise ValueError(f"[assert] {failure(message, got, op_callstack)}")
    return ()


@operator("view_slice")
def view_slice(input: Tensor, *, begin_idx: int, end_idx: int) -> Any:
    return input[begin_idx:end_idx]


def _sizes(x: Tensor, dtype: str) -> Known:
    return Known(np.array([*x.shape, None], dtype=object)[:-1], dtype)


@operator("shape", "shape_sr")
def shape(input: Tensor) -> Any:
    return _sizes(input, "int32")


@operator("shape64", "shape64_sr")
def shape64(input: Tensor) -> Any:
    return _sizes(input, "int64")


@operator("reshape", "legacy_reshape")
def reshape(x: Tensor, shape: Raw) -> Any:
    sizes = as_sizes(shape)
    none = type(x._count) is int and not x._count
    if none and not _is_literal(shape) and not any(type(n) is int and n < 0 for n in sizes):
        return F.reshape(x, shape=tuple(sizes)), None  # sizes that came to 0 are no places
    return paddle.reshape(x, sizes), None


def _is_literal(shape: Any) -> bool:
    """Has the file a shape as numbers, rather than computes its sizes?"""
    if isinstance(shape, Known):
        return shape.literal
    return isinstance(shape, (list, tuple)) and all(type(n) is int for n in shape)


@operator("view_shape")
def view_shape(input: Tensor, *, dims: Any) -> Any:
    return paddle.reshape(input, dims)


@operator("flatten")
def flatten(x: Tensor, *, start_axis: int = 1, stop_axis: int = 1) -> Any:
    return paddle.flatten(x, start_axis, stop_axis), None


@operator("squeeze")
def squeeze(x: Tensor, axis: Sizes = ()) -> Any:  # type: ignore[assignment]
    for a in axis:  # a size that is not known is taken to be 1, as the program that was written had it
        n = x.shape[a] if -x.ndim <= a < x.ndim else 1
        if type(n) is Sym and n.hint is None:
            dim.require(dim.eq(n, 1), f"[squeeze] requires a size of 1 along axis {a}, got {n}")
    return paddle.squeeze(x, list(axis) or None), None


@operator("unsqueeze")
def unsqueeze(x: Tensor, axis: Sizes) -> Any:
    return paddle.unsqueeze(x, axis), None


@operator("transpose", "trans_layout")
def transpose(x: Tensor, *, perm: Any) -> Any:
    return paddle.transpose(x, perm)


@operator("concat")
def concat(x: Tensors, axis: Number = 0) -> Any:
    return paddle.concat(x, int(axis))


@operator("stack")
def stack(x: Tensors, *, axis: int = 0) -> Any:
    return paddle.stack(x, axis)


@operator("split")
def split(x: Tensor, sections: Sizes, axis: Number) -> Any:
    return paddle.split(x, sections, int(axis))


@operator("split_with_num")
def split_with_num(x: Tensor, axis: Number, *, num: int) -> Any:
    return paddle.split(x, bounded(num), int(axis))


@operator("unbind")
def unbind(input: Tensor, *, axis: int = 0) -> Any:
    bounded(input.shape[axis])
    return paddle.unbind(input, axis)


@operator("unstack")
def unstack(x: Tensor, *, axis: int = 0, num: int = 0) -> Any:
    bounded(x.shape[axis])
    return paddle.unstack(x, axis, num or None)


@operator("meshgrid")
def meshgrid(inputs: Tensors) -> Any:
    return list(paddle.meshgrid(*inputs))


@operator("broadcast_tensors")
def broadcast_tensors(input: Tensors) -> Any:
    return list(paddle.broadcast_tensors(input))


@operator("expand")
def expand(x: Tensor, shape: Sizes) -> Any:
    return paddle.expand(x, shape)


@operator("expand_as")
def expand_as(x: Tensor, y: Tensor | None = None, *, target_shape: Any = ()) -> Any:
    return paddle.expand(x, list(target_shape)) if y is None else paddle.expand_as(x, y)


@operator("tile")
def tile(x: Tensor, repeat_times: Sizes) -> Any:
    once = all(type(n) is int and n == 1 for n in repeat_times) and len(repeat_times) <= len(x.shape)
    return paddle.assign(x) if once else paddle.tile(x, repeat_times)  # `in_place.py` writes copies so


@operator("repeat_interleave")
def repeat_interleave(x: Tensor, *, repeats: int, axis: int, output_size: int = -1) -> Any:
    return paddle.repeat_interleave(x, repeats, axis)


@operator("repeat_interleave_with_tensor_index")
def repeat_interleave_by(x: Tensor, repeats: Tensor, *, axis: int, output_size: int = -1) -> Any:
    return paddle.repeat_interleave(x, repeats, axis)


@operator("flip")
def flip(x: Tensor, *, axis: Any) -> Any:
    return paddle.flip(x, axis)


@operator("reverse")
def reverse(x: Tensor, axis: Sizes) -> Any:
    return paddle.flip(x, axis)


@operator("roll")
def roll(x: Tensor, shifts: Sizes, *, axis: Any = ()) -> Any:
    return paddle.roll(x, shifts, list(axis) or None)


@operator("tril")
def tril(x: Tensor, *, diagonal: int = 0) -> Any:
    return paddle.tril(x, diagonal)


@operator("triu")
def triu(x: Tensor, *, diagonal: int = 0) -> Any:
    return paddle.triu(x, diagonal)


@operator("diag")
def diag(x: Tensor, *, offset: int = 0, padding_value: Any = 0.0) -> Any:
    return paddle.diag(x, offset, padding_value)


@operator("diag_embed")
def diag_embed(input: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    return paddle.diag_embed(input, offset, dim1, dim2)


@operator("diagonal")
def diagonal(x: Tensor, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return paddle.diagonal(x, offset, axis1, axis2)


@operator("as_strided")
def as_strided(input: Tensor, *, dims: Any, stride: Any, offset: int = 0) -> Any:
    if offset % input.dtype.itemsize:
        raise ValueError(f"[as_strided] requires an offset of whole elements of {input.dtype.name}, got {offset} bytes")
    return paddle.as_strided(input, dims, stride, offset // input.dtype.itemsize)


@operator("crop")
def crop(x: Tensor, shape: Sizes, offsets: Sizes) -> Any:
    return paddle.crop(x, shape, offsets)


# --- slices ----------------------------------------------------------------------------------------------------------


def index_of(ndim: int, axes: Any, starts: Any, ends: Any, strides: Any, dropped: Any = ()) -> tuple[Any, ...]:
    """A Python index for slices along some axes; those of ``dropped`` are not kept."""
    index: list[Any] = [slice(None)] * ndim
    for axis, a, b, s in zip(axes, starts, ends, strides, strict=True):
        # An end of -1 behind a start of -1 is no element before the last in Python, and means the last one here.
        index[axis % ndim] = a if axis in dropped else slice(_end(a), _end(b), _end(s))
    return tuple(index)


def _end(n: Any) -> Any:
    """A place in a slice: beyond 2^31 no axis ends, and Python has no number for before the first."""
    return integer_of(n)


@operator("slice")
def slice_(input: Raw, starts: Sizes, ends: Sizes, *, axes: Any, infer_flags: Any = (), decrease_axis: Any = ()) -> Any:
    if isinstance(input, Known):
        input = input.tensor()
    return input[index_of(input.ndim, axes, starts, ends, [1] * len(axes), decrease_axis)]


@operator("strided_slice")
def strided_slice(x: Tensor, starts: Sizes, ends: Sizes, strides: Sizes, *, axes: Any) -> Any:
    if all(type(x.shape[a]) is not Sym for a in axes):
        return paddle.strided_slice(x, axes, starts, ends, strides)
    return x[index_of(x.ndim, axes, starts, ends, strides)]


def _written(x: Tensor, values: Any, index: tuple[Any, ...]) -> Tensor:
    y = x.clone()
    y[index] = values
    return y


def _place(x: Tensor, axes: Any, starts: Any, ends: Any, steps: Any, decrease_axes: Any, none_axes: Any) -> tuple:
    index = list(index_of(x.ndim, axes, starts, ends, steps, decrease_axes))
    for axis in sorted(none_axes):
        index.insert(axis, None)
    return tuple(index)


@operator("set_value")
def set_value(
    x: Tensor, starts: Sizes, ends: Sizes, steps: Sizes, *, axes: Any, decrease_axes: Any = (), none_axes: Any = (),
    shape: Any = (), values: Any = (),
) -> Any:  # fmt: skip
    place = _place(x, axes, starts, ends, steps, decrease_axes, none_axes)
    data = np.asarray(values).reshape(list(shape) if len(values) > 1 else [])
    return _written(x, paddle.to_tensor(data).astype(x.dtype), place)


@operator("set_value_with_tensor")
def set_value_with_tensor(
    x: Tensor, values: Tensor, starts: Sizes, ends: Sizes, steps: Sizes, *, axes: Any, decrease_axes: Any = (),
    none_axes: Any = (),
) -> Any:  # fmt: skip
    return _written(x, values.astype(x.dtype), _place(x, axes, starts, ends, steps, decrease_axes, none_axes))


# --- lists -----------------------------------------------------------------------------------------------------------


@operator("create_array")
def create_array(*, dtype: str = "float32") -> Any:
    return []


@operator("create_array_like")
def create_array_like(input: Raw, *, val: float = 0.0) -> Any:
    return [paddle.full_like(x, val) for x in input]


@operator("array_length")
def array_length(x: Raw) -> Any:
    return Known(np.array(len(x), dtype=object), "int64")


@operator("array_read")
def array_read(array: Raw, i: Number) -> Any:
    at = int(i)
    if not -len(array) <= at < len(array):
        raise IndexError(f"[array_read] requires a place below {len(array)}, the length of the list, got {at}")
    return array[at]


@operator("array_write")
def array_write(array: Raw, x: Tensor, i: Number) -> Any:
    at = int(i)
    if not 0 <= at <= len(array):
        raise ValueError(f"a place of at most {len(array)} in the list is required, got {at}")
    return [*array[:at], x, *array[at + 1 :]]


@operator("array_to_tensor")
def array_to_tensor(x: Raw, *, axis: int, use_stack: bool = False) -> Any:
    joined = paddle.stack(x, axis) if use_stack else paddle.concat(x, axis)
    sizes = [1 if use_stack else y.shape[axis] for y in x]
    return joined, Known(sizes, "int32")


@operator("slice_array")
def slice_array(input: Raw, starts: Sizes, ends: Sizes) -> Any:
    return input[slice(int(starts[0]), int(ends[0]))]


@operator("slice_array_dense")
def slice_array_dense(input: Raw, starts: Sizes) -> Any:
    return input[int(starts[0])]


@operator("add_n_array")
def add_n_array(inputs: Raw) -> Any:
    return [paddle.add_n(list(xs)) for xs in zip(*inputs, strict=True)]


# --- of numbers that are known ---------------------------------------------------------------------------------------


@known("slice")
def known_slice(
    input: Known, starts: Known, ends: Known, *, axes: Any, infer_flags: Any = (), decrease_axis: Any = ()
) -> Known | None:
    first, last = starts.elements(), ends.elements()
    if any(type(n) is Sym for n in (*first, *last)) or not input.array.ndim:
        return None
    index = index_of(input.array.ndim, axes, first, last, [1] * len(axes), decrease_axis)
    return small(np.array(input.array[index], dtype=object), input.dtype)


@known("strided_slice")
def known_strided_slice(x: Known, starts: Known, ends: Known, strides: Known, *, axes: Any) -> Known | None:
    places = [k.elements() for k in (starts, ends, strides)]
    if any(type(n) is Sym for p in places for n in p):
        return None
    return small(x.array[index_of(x.array.ndim, axes, *places)], x.dtype)


def _joined(join: Any, x: Any, axis: int) -> Known | None:
    if not isinstance(x, list):
        return x
    return small(join([k.array for k in x], axis), x[0].dtype)


@known("concat")
def known_concat(x: Any, axis: Known | None = None) -> Known | None:
    return _joined(np.concatenate, x, 0 if axis is None else axis.elements()[0])


@known("stack")
def known_stack(x: Any, *, axis: int = 0) -> Known | None:
    return _joined(np.stack, x, axis)


@known("reshape")
def known_reshape(x: Known, shape: Known) -> Any:
    sizes = shape.elements()
    if any(type(n) is Sym for n in sizes) or 0 in sizes:
        return None
    return Known(x.array.reshape(sizes), x.dtype), None


@known("flatten")
def known_flatten(x: Known, *, start_axis: int = 1, stop_axis: int = 1) -> Any:
    return (Known(x.array.reshape(-1), x.dtype), None) if x.array.ndim <= 1 else None


@known("squeeze")
def known_squeeze(x: Known, axis: Known | None = None) -> Any:
    axes = tuple(axis.elements()) if axis is not None and axis.elements() else None
    return Known(np.squeeze(x.array, axes), x.dtype), None


@known("unsqueeze")
def known_unsqueeze(x: Known, axis: Known) -> Any:
    return Known(np.expand_dims(x.array, tuple(axis.elements())), x.dtype), None


@known("assign", "share_data", "memcpy", "memcpy_d2h", "memcpy_h2d")
def known_assign(x: Known) -> Known:
    return x


@known("tile")
def known_tile(x: Known, repeat_times: Known) -> Known | None:
    times = repeat_times.elements()
    if any(type(n) is Sym or n > 64 for n in times):
        return None
    return small(np.tile(x.array, times), x.dtype)


@known("expand")
def known_expand(x: Known, shape: Known) -> Known | None:
    sizes = shape.elements()
    if any(type(n) is Sym or not 0 < n <= 64 for n in sizes):
        return None
    return small(np.array(np.broadcast_to(x.array, sizes), dtype=object), x.dtype)


@known("unbind")
def known_unbind(input: Known, *, axis: int = 0) -> Any:
    return [Known(np.array(part, dtype=object), input.dtype) for part in np.moveaxis(input.array, axis, 0)]


@known("unstack")
def known_unstack(x: Known, *, axis: int = 0, num: int = 0) -> Any:
    return known_unbind(x, axis=axis)


@known("split_with_num")
def known_split(x: Known, axis: Known, *, num: int) -> Any:
    return [Known(part, x.dtype) for part in np.split(x.array, num, int(axis.elements()[0]))]


@known("flip")
def known_flip(x: Known, *, axis: Any) -> Known:
    return Known(np.flip(x.array, tuple(axis)), x.dtype)
