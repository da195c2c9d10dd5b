"""Tensors of given values, and ranges."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import paddle
from paddle.static.formats.operators.known import MOST, Known
from paddle.static.formats.operators.table import Number, Sizes, dtype_of, integer_of, known, operator, small
from umiak import ops as F
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym


def _element(value: Any, dtype: str) -> Any:
    """A scalar, which files have as a float or as text, as an element of a dtype."""
    if isinstance(value, str):
        value = float(value)
    made = convert(dtype)
    if made.is_integer and not isinstance(value, complex):
        return int(value)
    return bool(value) if made.is_bool else value


def _filled(shape: Any, value: Any, dtype: str) -> Any:
    """A tensor of one value: small ones of integers and flags, and single numbers, are known."""
    if isinstance(value, Tensor):
        return paddle.expand(value.reshape([1] * max(len(shape), 1)).astype(dtype), list(shape) or [1]).reshape(shape)
    if type(value) is Sym:
        return F.full(value, dtype=convert(dtype), shape=tuple(shape))
    if type(value) is complex:
        return paddle.full(shape, value, dtype)
    value = _element(value, dtype)
    if all(type(n) is not Sym for n in shape) and prod(shape) <= MOST:
        return Known(np.full(tuple(int(n) for n in shape), value, dtype=object), dtype)
    return paddle.full(shape, value, dtype)


@operator("full")
def full(shape: Sizes = (), value: Number = 0, *, dtype: str = "float32") -> Any:  # type: ignore[assignment]
    return _filled(shape, value, dtype)


@operator("full_int_array")
def full_int_array(*, value: Any, dtype: str = "int64") -> Any:
    if len(value) <= MOST:
        return Known(np.array([*value, None], dtype=object)[:-1], dtype, literal=True)
    return paddle.to_tensor(np.array(value, convert(dtype).numpy))


@operator("full_with_tensor")
def full_with_tensor(value: Number, shape: Sizes, *, dtype: str = "float32") -> Any:
    return _filled(shape, value, dtype)


@operator("full_like")
def full_like(x: Tensor, value: Number, *, dtype: str = "undefined") -> Any:
    name = dtype_of(dtype, x.dtype.name)
    return _filled(list(x.shape), value, name)


@operator("full_batch_size_like")
def full_batch_size_like(
    input: Tensor, *, shape: Any, value: Any, dtype: str = "float32", input_dim_idx: int = 0, output_dim_idx: int = 0
) -> Any:
    sizes = list(shape)
    sizes[output_dim_idx] = input.shape[input_dim_idx]
    return _filled(sizes, value, dtype)


@operator("zeros")
def zeros(shape: Sizes = (), *, dtype: str = "float32") -> Any:  # type: ignore[assignment]
    return _filled(shape, 0, dtype)


@operator("ones")
def ones(shape: Sizes = (), *, dtype: str = "float32") -> Any:  # type: ignore[assignment]
    return _filled(shape, 1, dtype)


@operator("zeros_like")
def zeros_like(x: Tensor, *, dtype: str = "undefined") -> Any:
    return paddle.zeros_like(x, dtype_of(dtype))


@operator("ones_like")
def ones_like(x: Tensor, *, dtype: str = "undefined") -> Any:
    return paddle.ones_like(x, dtype_of(dtype))


# What memory happened to hold is zeros here.
@operator("empty")
def empty(shape: Sizes, *, dtype: str = "float32") -> Any:
    return _filled(shape, 0, dtype)


@operator("empty_like")
def empty_like(x: Tensor, *, dtype: str = "undefined") -> Any:
    return paddle.zeros_like(x, dtype_of(dtype))


@operator("assign_value")
def assign_value(output: Tensor | None = None, *, shape: Any, dtype: str, values: Any) -> Any:
    made = np.array([_element(v, dtype) for v in values], dtype=object).reshape(list(shape))
    return small(made, dtype) or paddle.to_tensor(made.astype(convert(dtype).numpy))


@operator("assign_out")
def assign_out(x: Tensor, output: Tensor) -> Any:
    return paddle.assign(x)


@operator("fill")
def fill(x: Tensor, value: Number) -> Any:
    return _filled(list(x.shape), value, x.dtype.name)


@operator("arange", "range_v2")
def arange(start: Number, end: Number, step: Number, *, dtype: str = "float64") -> Any:
    if any(type(n) is Sym or isinstance(n, Tensor) for n in (start, end, step)):
        return paddle.arange(start, end, step, dtype)
    a, b, s = (_element(n, dtype) for n in (start, end, step))
    made = paddle.arange(a, b, s, dtype)
    if convert(dtype).is_integer and s and len(range(a, b, s)) <= MOST:
        return Known(np.array([*range(a, b, s), None], dtype=object)[:-1], dtype)
    return made


@operator("linspace")
def linspace(start: Number, stop: Number, number: Number, *, dtype: str = "float32") -> Any:
    return paddle.linspace(start, stop, number, dtype)


@operator("logspace")
def logspace(start: Number, stop: Number, num: Number, base: Number, *, dtype: str = "float32") -> Any:
    return paddle.logspace(start, stop, num, base, dtype)


@operator("eye")
def eye(num_rows: Number, num_columns: Number, *, dtype: str = "float32") -> Any:
    columns = integer_of(num_columns)
    return paddle.eye(integer_of(num_rows), None if type(columns) is int and columns < 0 else columns, dtype)


@operator("tril_indices")
def tril_indices(*, rows: int, cols: int, offset: int = 0, dtype: str = "int64") -> Any:
    return paddle.tril_indices(rows, cols, offset, dtype)


@operator("triu_indices")
def triu_indices(*, row: int, col: int, offset: int = 0, dtype: str = "int64") -> Any:
    return paddle.triu_indices(row, col, offset, dtype)


@operator("increment")
def increment(x: Tensor, *, value: float = 1.0) -> Any:
    return x + (int(value) if x.dtype.is_integer else value)


@known("increment")
def known_increment(x: Known, *, value: float = 1.0) -> Known:
    return Known(x.array + (int(value) if convert(x.dtype).is_integer else value), x.dtype)


@known("assign_out")
def known_assign_out(x: Known, output: Known) -> Known:
    return x


@known("full_like")
def known_full_like(x: Known, value: Known, *, dtype: str = "undefined") -> Known:
    name = dtype_of(dtype, x.dtype)
    return Known(np.full(x.array.shape, _element(value.elements()[0], name), dtype=object), name)


@known("zeros_like")
def known_zeros_like(x: Known, *, dtype: str = "undefined") -> Known:
    name = dtype_of(dtype, x.dtype)
    return Known(np.full(x.array.shape, _element(0, name), dtype=object), name)


@known("ones_like")
def known_ones_like(x: Known, *, dtype: str = "undefined") -> Known:
    name = dtype_of(dtype, x.dtype)
    return Known(np.full(x.array.shape, _element(1, name), dtype=object), name)
