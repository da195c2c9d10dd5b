"""Tensors with some elements replaced."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.shapes import (
    arange,
    concat,
    expand,
    known,
    numbers,
    reduce,
    reshape,
    scalar,
    shape,
    size,
    slices,
    transpose,
    unsqueeze,
    vector,
)
from paddle.onnx.table import Call, rule

_REDUCTIONS = {"add": "add", "mul": "mul", "multiply": "mul", "amax": "max", "amin": "min"}


def scatter_nd(g: Builder, x: Value, index: Value, value: Value, reduction: str | None = None) -> Value:
    """x with slices at indices replaced or, by a reduction, combined (add, mul; from opset 18 max, min)."""
    if reduction in ("max", "min") and g.opset < 18:
        raise Unsayable(f"reduction {reduction} of ONNX operator ScatterND", 18)
    return known(g.node("ScatterND", x, g.cast(index, "int64"), value, reduction=reduction), x.shape)


@rule("scatter")
def scatter(g: Builder, o: Call) -> Value:
    x, index, value = o[0], reshape(g, o[1], [-1, 1]), o[2]
    if o("overwrite", True):
        return scatter_nd(g, x, index, value)
    # Rows that are named lose what they had, then all that is said of them is added.
    cleared = scatter_nd(g, x, index, value * 0)
    return scatter_nd(g, cleared, index, value, "add")


@rule("scatter_nd_add")
def scatter_nd_add(g: Builder, o: Call) -> Value:
    return scatter_nd(g, o[0], o[1], o[2], "add")


@rule("index_add")
def index_add(g: Builder, o: Call) -> Value:
    x, index, value, axis = o[0], unsqueeze(g, o[1], [-1]), o[2], o("axis", 0) % o[0].rank
    order = [axis] + [i for i in range(x.rank) if i != axis]
    made = scatter_nd(g, transpose(g, x, order), index, transpose(g, value, order), "add")
    return transpose(g, made, [order.index(i) for i in range(x.rank)])


@rule("index_put")
def index_put(g: Builder, o: Call) -> Value:
    x, value = o[0], o[2]
    columns: list[Value] = []
    for i in o[1]:
        if i.dtype == "bool":
            at = transpose(g, known(g.node("NonZero", i, made="int64"), [i.rank, -1]), [1, 0])
            columns += [reshape(g, slices(g, at, [1], [k], [k + 1]), [-1]) for k in range(i.rank)]
        else:
            columns.append(g.cast(i, "int64"))
    columns = together(g, columns)
    index = concat(g, [unsqueeze(g, c, [-1]) for c in columns], -1)
    rest = slices(g, shape(g, x), [0], [len(columns)], [2**31])
    value = expand(g, value, concat(g, [shape(g, columns[0]), rest]))
    return scatter_nd(g, x, index, value, "add" if o("accumulate", False) else None)


def together(g: Builder, xs: Sequence[Value]) -> list[Value]:
    """Values broadcast to one shape."""
    if len(xs) == 1:
        return list(xs)
    rank = max(x.rank for x in xs)
    target = g.node("Max", *[concat(g, [g.ints([1] * (rank - x.rank)), shape(g, x)]) for x in xs])
    return [known(expand(g, x, known(target, [rank])), [-1] * rank) for x in xs]


@rule("put_along_axis")
def put_along_axis(g: Builder, o: Call) -> Value:
    x, index, value = o[0], g.cast(o[1], "int64"), o[2]
    axis, kind = o("axis", 0) % x.rank, o("reduce", "assign")
    value = expand(g, g.cast(value, x.dtype), shape(g, index))
    if kind == "assign":
        return known(g.node("ScatterElements", x, index, value, axis=axis), x.shape)
    if kind not in _REDUCTIONS:
        raise Unsayable(f"reduce={kind} of put_along_axis")
    reduction = _REDUCTIONS[kind]
    if not o("include_self", True):
        neutral = {"add": 0.0, "mul": 1.0, "max": -np.inf, "min": np.inf}[reduction]
        x = g.node("ScatterElements", x, index, expand(g, g.constant(neutral, x.dtype), shape(g, index)), axis=axis)
    if reduction in ("max", "min") and g.opset < 18:
        raise Unsayable(f"reduction {reduction} of ONNX operator ScatterElements", 18)
    return known(g.node("ScatterElements", x, index, value, axis=axis, reduction=reduction), x.shape)


# --- assignment to slices ---------------------------------------------------------------------------------------------


@rule("set_value")
def set_value(g: Builder, o: Call) -> Value:
    dtype = o[0].dtype
    value = g.constant(np.array(o("values")).reshape(o("shape", [1])), dtype)
    return _assigned(g, o, value, 1)


@rule("set_value_with_tensor")
def set_value_with_tensor(g: Builder, o: Call) -> Value:
    return _assigned(g, o, g.cast(o[1], o[0].dtype), 2)


def _assigned(g: Builder, o: Call, value: Value, first: int) -> Value:
    """Every element has a number; those of the slices are replaced in the flat tensor."""
    x, axes = o[0], o("axes", [])
    bounds = [o[first + i] if o[first + i] is not None else o(n) for i, n in enumerate(("starts", "ends", "steps"))]
    sizes = [size(g, x, a) for a in range(x.rank)]
    total = shape(g, x)
    places, region = g.constant(0, "int64"), []
    for axis in range(x.rank):
        line = arange(g, scalar(g, sizes[axis]))
        if axis in axes:
            i = axes.index(axis)
            start, end, step = (_one(g, b, i) for b in bounds)
            line = slices(g, line, [0], start, end, step)
        line = known(line, [-1])
        stride = reduce(g, "Prod", g.cast(slices(g, total, [0], [axis + 1], [2**31]), "int64"), [0])
        region.append(g.node("Shape", line, made="int64"))
        places = places + reshape(g, line, [-1] + [1] * (x.rank - axis - 1)) * stride
    gone, added = o("decrease_axes", []), o("none_axes", [])
    target = [r for i, r in enumerate(region) if i not in gone]
    for a in added:
        target.insert(a, g.ints([1]))
    wide = expand(g, value, concat(g, target)) if target else value
    flat = g.node("ScatterElements", reshape(g, x, [-1]), reshape(g, places, [-1]), reshape(g, wide, [-1]), axis=0)
    return known(g.node("Reshape", flat, total), x.shape)


def _one(g: Builder, bounds: object, i: int) -> Value:
    found = numbers(bounds)
    if found is not None:
        return g.ints([found[i]])
    return slices(g, vector(g, bounds), [0], [i], [i + 1])


@rule("fill")
def fill(g: Builder, o: Call) -> Value:
    value = o.number(1, "value", 0.0)
    y = g.cast(scalar(g, value), o[0].dtype) if isinstance(value, Value) else g.constant(value, o[0].dtype)
    return expand(g, y, shape(g, o[0]))
