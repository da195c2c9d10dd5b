"""Tensors that are made of numbers, and random ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.elements import INTEGERS, NUMBERS, NUMPY, PARTS
from paddle.onnx.shapes import arange as line_of
from paddle.onnx.shapes import expand, known, mixed, numbers, reshape, scalar, shape, size, unsqueeze, vector
from paddle.onnx.table import Call, rule

MOST_CONSTANT = 1024  # elements of a constant; a larger tensor of one number is made when the model runs


def filled(g: Builder, sizes: Any, value: Any, dtype: str) -> Value:
    """A tensor of one number."""
    found = numbers(sizes)
    if dtype in PARTS:
        if found is None:
            raise Unsayable("known sizes of a tensor of complex numbers")
        pair = [complex(value).real, complex(value).imag]
        made = g.constant(np.broadcast_to(np.array(pair), [*found, 2]), PARTS[dtype])
        return Value(g, made.name, dtype, tuple(found))
    value = _number(value, dtype)
    if found is not None and math.prod(found) <= MOST_CONSTANT and min(found, default=0) >= 0:
        return g.constant(np.full(found, value), dtype)
    y = expand(g, g.constant(value, dtype), vector(g, sizes))
    return known(y, found) if found is not None else y


def _number(value: Any, dtype: str) -> Any:
    return int(value) if dtype in INTEGERS else bool(value) if dtype == "bool" else float(value)


@rule("full")
def full(g: Builder, o: Call) -> Value:
    sizes = o[0] if o[0] is not None else o("shape", [])
    return filled(g, sizes, o("value", 0.0), o("dtype", "float32"))


@rule("full_int_array")
def full_int_array(g: Builder, o: Call) -> Value:
    return g.constant(o("value", []), o("dtype", "int64"))


@rule("full_with_tensor")
def full_with_tensor(g: Builder, o: Call) -> Value:
    value, sizes = o[0], o[1] if o[1] is not None else o("shape", [])
    dtype = o("dtype", value.dtype)
    return expand(g, g.cast(scalar(g, value), PARTS.get(dtype, dtype)), vector(g, sizes))


def _like(o: Call) -> str:
    """The type that is asked for, else that of x."""
    dtype: str = o("dtype", "")
    return dtype if dtype in NUMBERS else o[0].dtype


@rule("full_like")
def full_like(g: Builder, o: Call) -> Value:
    value, dtype = o.number(1, "value", 0.0), _like(o)
    if isinstance(value, Value):
        return expand(g, g.cast(scalar(g, value), dtype), shape(g, o[0]))
    return filled(g, shape(g, o[0]), value, dtype)


@rule("zeros_like", "ones_like")
def zeros_like(g: Builder, o: Call) -> Value:
    return filled(g, shape(g, o[0]), int(o.name == "ones_like"), _like(o))


@rule("zeros", "ones", "empty")
def zeros(g: Builder, o: Call) -> Value:
    sizes = o[0] if o[0] is not None else o("shape", [])
    return filled(g, sizes, int(o.name == "ones"), o("dtype", "float32"))


@rule("empty_like")
def empty_like(g: Builder, o: Call) -> Value:
    return filled(g, shape(g, o[0]), 0, _like(o))


@rule("full_batch_size_like")
def full_batch_size_like(g: Builder, o: Call) -> Value:
    parts: list[Any] = list(o("shape"))
    parts[o("output_dim_idx", 0)] = size(g, o[0], o("input_dim_idx", 0))
    return filled(g, mixed(g, parts), o("value", 0.0), o("dtype", "float32"))


@rule("assign_value")
def assign_value(g: Builder, o: Call) -> Value:
    dtype = o("dtype", "float32")
    return g.constant(np.array(o("values")).astype(NUMPY[dtype]).reshape(o("shape")), dtype)


@rule("arange", "range_v2")
def arange(g: Builder, o: Call) -> Value:
    dtype = o("dtype", "int64")
    bounds = [o.number(i, name, default) for i, (name, default) in enumerate((("start", 0), ("end", 0), ("step", 1)))]
    if not any(isinstance(b, Value) for b in bounds):
        made = np.arange(*(_number(b, dtype) for b in bounds), dtype=NUMPY[dtype])
        if made.size <= MOST_CONSTANT:
            return g.constant(made)
    ends = [g.cast(scalar(g, b), dtype) if isinstance(b, Value) else g.constant(b, dtype) for b in bounds]
    return known(g.node("Range", *ends), [-1])


@rule("linspace")
def linspace(g: Builder, o: Call) -> Value:
    dtype = o("dtype", "float32")
    first, last, line, count = _even(g, o, dtype)
    step = (last - first) / g.node("Max", count - 1.0, g.constant(1.0, count.dtype))
    return g.cast(first + line * step, dtype)


def _even(g: Builder, o: Call, dtype: str) -> tuple[Value, Value, Value, Value]:
    number = o.number(2, "number", o("num", 1))
    exact = "float64" if dtype == "float64" else "float32"
    first, last = (
        g.cast(scalar(g, b), exact) if isinstance(b, Value) else g.constant(b, exact)
        for b in (o.number(0, "start"), o.number(1, "stop"))
    )
    if isinstance(number, Value):
        count = scalar(g, g.cast(number, "int64"))
        return first, last, g.cast(line_of(g, count), exact), g.cast(count, exact)
    return first, last, g.constant(np.arange(number), exact), g.constant(number, exact)


@rule("logspace")
def logspace(g: Builder, o: Call) -> Value:
    dtype = o("dtype", "float32")
    first, last, line, count = _even(g, o, dtype)
    step = (last - first) / g.node("Max", count - 1.0, g.constant(1.0, count.dtype))
    base = o.number(3, "base", 10.0)
    base = g.cast(scalar(g, base), first.dtype) if isinstance(base, Value) else g.constant(base, first.dtype)
    return g.cast(g.node("Pow", base, first + line * step), dtype)


@rule("eye")
def eye(g: Builder, o: Call) -> Value:
    rows, columns, dtype = o.number(0, "num_rows"), o.number(1, "num_columns", -1), o("dtype", "float32")
    if not isinstance(columns, Value) and columns < 0:
        columns = rows
    if not isinstance(rows, Value) and not isinstance(columns, Value) and rows * columns <= MOST_CONSTANT:
        return g.constant(np.eye(int(rows), int(columns)), dtype)
    row, column = (
        line_of(g, scalar(g, g.cast(n, "int64")) if isinstance(n, Value) else g.constant(n, "int64"))
        for n in (rows, columns)
    )
    return g.cast(g.node("Equal", unsqueeze(g, row, [1]), unsqueeze(g, column, [0])), dtype)


@rule("tril_indices", "triu_indices")
def tril_indices(g: Builder, o: Call) -> Value:
    rows, columns = o("rows", o("row")), o("cols", o("col"))
    found = np.tril_indices if o.name == "tril_indices" else np.triu_indices
    return g.constant(np.stack(found(rows, o("offset", 0), columns)), o("dtype", "int64"))


# --- random ----------------------------------------------------------------------------------------------------------


def drawn(g: Builder, kind: str, sizes: Any, dtype: str, **attributes: Any) -> Value:
    """Random numbers of a shape (``Uniform``, ``Normal``)."""
    exact = dtype if dtype in ("float16", "float32", "float64") else "float32"
    found = numbers(sizes)
    if found is not None:
        return known(
            g.cast(g.node(f"Random{kind}", shape=found, dtype=NUMBERS[exact], made=exact, **attributes), dtype), found
        )
    like = filled(g, sizes, 0, exact)
    return g.cast(g.node(f"Random{kind}Like", like, dtype=NUMBERS[exact], made=exact, **attributes), dtype)


@rule("uniform")
def uniform(g: Builder, o: Call) -> Value:
    low, high = o.number(1, "min", -1.0), o.number(2, "max", 1.0)
    dtype = o("dtype", "float32")
    y = drawn(g, "Uniform", o[0] if o[0] is not None else o("shape"), dtype)
    low, high = (g.cast(scalar(g, b), dtype) if isinstance(b, Value) else g.constant(b, dtype) for b in (low, high))
    return low + y * (high - low)


@rule("gaussian", "truncated_gaussian_random")
def gaussian(g: Builder, o: Call) -> Value:
    if o.name != "gaussian":
        raise Unsayable("draws of a normal distribution that is not truncated")
    sizes = o[0] if o[0] is not None else o("shape")
    return drawn(g, "Normal", sizes, o("dtype", "float32")) * o("std", 1.0) + o("mean", 0.0)


@rule("uniform_random_batch_size_like", "uniform_random_batch_size_like_sr")
def uniform_random_batch_size_like(g: Builder, o: Call) -> Value:
    parts: list[Any] = list(o("shape"))
    parts[o("output_dim_idx", 0)] = size(g, o[0], o("input_dim_idx", 0))
    return drawn(g, "Uniform", mixed(g, parts), o("dtype", "float32"), low=o("min", -1.0), high=o("max", 1.0))


@rule("uniform_inplace")
def uniform_inplace(g: Builder, o: Call) -> Value:
    return g.node("RandomUniformLike", o[0], low=o("min", -1.0), high=o("max", 1.0), made=o[0].dtype)


@rule("gaussian_inplace")
def gaussian_inplace(g: Builder, o: Call) -> Value:
    return g.node("RandomNormalLike", o[0], mean=o("mean", 0.0), scale=o("std", 1.0), made=o[0].dtype)


@rule("exponential")
def exponential(g: Builder, o: Call) -> Value:
    x = o[0]
    return -g.node("Log", g.node("RandomUniformLike", x, low=1e-12, high=1.0, made=x.dtype)) / o("lam", 1.0)


@rule("randint")
def randint(g: Builder, o: Call) -> Value:
    low, high = o("low", 0), o("high", 0)
    sizes = o[0] if o[0] is not None else o("shape")
    return g.cast(
        g.node("Floor", drawn(g, "Uniform", sizes, "float32", low=float(low), high=float(high))), o("dtype", "int64")
    )


@rule("randperm")
def randperm(g: Builder, o: Call) -> Value:
    n = o("n")
    _, index = g.node("TopK", drawn(g, "Uniform", [n], "float32"), g.ints([n]), outputs=2, axis=0)
    return g.cast(known(index, [n]), o("dtype", "int64"))


@rule("bernoulli")
def bernoulli(g: Builder, o: Call) -> Value:
    # ONNX's Bernoulli has a function as its meaning that draws 1 with probability 1 - x, which runtimes expand.
    x = o[0]
    return g.cast(g.node("RandomUniformLike", x, low=0.0, high=1.0, made=x.dtype) < x, x.dtype)


@rule("multinomial")
def multinomial(g: Builder, o: Call) -> Value:
    x, count = o[0], vector(g, o[1] if o[1] is not None else o("num_samples", 1))
    logits = g.node("Log", x)
    if o("replacement", False):
        wide = numbers(count)
        if wide is None:
            raise Unsayable("a known number of samples of multinomial")
        rows = logits if x.rank == 2 else unsqueeze(g, logits, [0])
        y = known(g.node("Multinomial", rows, sample_size=wide[0], dtype=NUMBERS["int64"], made="int64"), [-1, wide[0]])
        return y if x.rank == 2 else reshape(g, y, [-1])
    # The largest of logits with Gumbel noise are a draw without replacement.
    noise = g.node("RandomUniformLike", x, low=1e-12, high=1.0, made=x.dtype)
    _, index = g.node("TopK", logits - g.node("Log", -g.node("Log", noise)), count, outputs=2, axis=x.rank - 1)
    return index
