"""Sums, means, extremes and norms along axes, and running ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from paddle.onnx.builder import Builder, Graph, Unsayable, Value, graph_proto
from paddle.onnx.elements import FLOATS, INTEGERS
from paddle.onnx.rules.elementwise import everywhere, somewhere
from paddle.onnx.shapes import (
    arange,
    expand,
    known,
    mixed,
    reduce,
    reshape,
    shape,
    size,
    sizes_of,
    slices,
    squeeze,
    transpose,
    unsqueeze,
)
from paddle.onnx.table import Call, rule


def _axes(o: Call) -> list[int] | None:
    """The axes that are reduced, None for all."""
    if o("reduce_all", False):
        return None
    axes = o.ints(1, "axis", [])
    return axes or None


@rule("sum")
def sum_(g: Builder, o: Call) -> Value:
    x, dtype = o[0], o("dtype", "")
    if dtype in ("float16", "bfloat16", "float32", "float64", "int32", "int64"):
        x = g.cast(x, dtype)
    elif x.dtype in ("bool", *INTEGERS):
        x = g.cast(x, "int64")
    return reduce(g, "Sum", x, _axes(o), o("keepdim", False))


@rule("mean")
def mean(g: Builder, o: Call) -> Value:
    return reduce(g, "Mean", o[0], _axes(o), o("keepdim", False))


@rule("mean_all")
def mean_all(g: Builder, o: Call) -> Value:
    return reduce(g, "Mean", o[0], None)


@rule("max", "amax", "min", "amin")
def extreme(g: Builder, o: Call) -> Value:
    return reduce(g, "Max" if o.name.endswith("max") else "Min", o[0], _axes(o), o("keepdim", False))


@rule("prod")
def prod(g: Builder, o: Call) -> Value:
    x = o[0]
    return reduce(g, "Prod", x if x.dtype in FLOATS else g.cast(x, "int64"), _axes(o), o("keepdim", False))


@rule("all", "any")
def all_(g: Builder, o: Call) -> Value:
    x = g.cast(o[0], "bool")
    return (everywhere if o.name == "all" else somewhere)(g, x, _axes(o), o("keepdim", False))


@rule("logsumexp")
def logsumexp(g: Builder, o: Call) -> Value:
    return reduce(g, "LogSumExp", o[0], _axes(o), o("keepdim", False))


@rule("p_norm")
def p_norm(g: Builder, o: Call) -> Value:
    x = o[0]
    axes = None if o("asvector", False) or x.shape == () else [o("axis", -1)]
    return norm_of(g, x, o("porder", 2.0), axes, o("keepdim", False))


def norm_of(g: Builder, x: Value, order: float, axes: list[int] | None, keepdim: bool = False) -> Value:
    """The norm of an order along axes."""
    if order == 0:
        return reduce(g, "Sum", g.cast(~g.node("Equal", x, 0.0), x.dtype), axes, keepdim)
    if order == 1:
        return reduce(g, "L1", x, axes, keepdim)
    if order == 2:
        return reduce(g, "L2", x, axes, keepdim)
    if math.isinf(order):
        return reduce(g, "Max" if order > 0 else "Min", g.node("Abs", x), axes, keepdim)
    powers = reduce(g, "Sum", g.node("Pow", g.node("Abs", x), order), axes, keepdim)
    return g.node("Pow", powers, 1 / order)


@rule("frobenius_norm")
def frobenius_norm(g: Builder, o: Call) -> Value:
    return reduce(g, "L2", o[0], _axes(o), o("keepdim", o("keep_dim", False)))


@rule("l1_norm")
def l1_norm(g: Builder, o: Call) -> Value:
    return reduce(g, "L1", o[0], None)


@rule("squared_l2_norm")
def squared_l2_norm(g: Builder, o: Call) -> Value:
    return reshape(g, reduce(g, "SumSquare", o[0], None), [1])


@rule("norm")
def norm(g: Builder, o: Call) -> tuple[Value, Value]:
    x = o[0]
    length = g.node("Sqrt", reduce(g, "SumSquare", x, [o("axis", -1)], True) + o("epsilon", 1e-10))
    return x / length, length


@rule("dist")
def dist(g: Builder, o: Call) -> Value:
    return norm_of(g, o[0] - o[1], o("p", 2.0), None)


@rule("reduce_as")
def reduce_as(g: Builder, o: Call) -> Value:
    x, y = o[0], o[1]
    front = x.rank - y.rank
    inner = [front + i for i, n in enumerate(y.sizes) if n == 1 and x.sizes[front + i] != 1]
    if any(n < 0 for n in y.sizes):
        if g.opset < 13:
            raise Unsayable("known sizes of the target of reduce_as", 13)
        own = slices(g, shape(g, x), [0], [front], [x.rank]) if front else shape(g, x)
        axes = g.node("NonZero", g.node("Not", g.node("Equal", own, shape(g, y))), made="int64")
        axes = reshape(g, axes, [-1]) + g.constant(front, "int64")
        summed = g.node("ReduceSum", x, axes, keepdims=1, noop_with_empty_axes=1)
        summed = known(summed, [*x.sizes[:front], *y.sizes])
        return known(reduce(g, "Sum", summed, list(range(front))) if front else summed, y.sizes)
    summed = reduce(g, "Sum", x, inner, True) if inner else x
    summed = reduce(g, "Sum", summed, list(range(front))) if front else summed
    return known(g.node("Identity", summed) if summed is x else summed, y.sizes)


@rule("std", "var", "variance")
def spread(g: Builder, o: Call) -> Value:
    x, axes = o[0], _axes(o)
    off = x - reduce(g, "Mean", x, axes, True)
    total = reduce(g, "Sum", off * off, axes, o("keepdim", False))
    count = g.cast(elements(g, x, axes), x.dtype) - o("correction", float(o("unbiased", True)))
    y = total / count
    return g.node("Sqrt", y) if o.name == "std" else y


def elements(g: Builder, x: Value, axes: list[int] | None) -> Value:
    """Count of the elements that x has along axes, as a scalar of 64-bit integers."""
    if axes is None:
        return g.node("Size", x, made="int64")
    count = size(g, x, axes[0])
    for a in axes[1:]:
        count = count * size(g, x, a)
    return reshape(g, count, [])


@rule("numel")
def numel(g: Builder, o: Call) -> Value:
    return known(g.node("Size", o[0], made="int64"), [])


@rule("is_empty")
def is_empty(g: Builder, o: Call) -> Value:
    return g.node("Equal", g.node("Size", o[0], made="int64"), 0)


@rule("nansum")
def nansum(g: Builder, o: Call) -> Value:
    x = o[0]
    return reduce(g, "Sum", g.node("Where", g.node("IsNaN", x), 0.0, x), _axes(o), o("keepdim", False))


# --- running along an axis -------------------------------------------------------------------------------------------


@rule("cumsum")
def cumsum(g: Builder, o: Call) -> Value:
    x, axis = _running(g, o)
    flags: dict[str, Any] = {"exclusive": int(o("exclusive", False)), "reverse": int(o("reverse", False))}
    return known(g.node("CumSum", x, axis, **flags), x.shape)


def _running(g: Builder, o: Call) -> tuple[Value, int]:
    x = o[0]
    if o("flatten", False):
        return reshape(g, x, [-1]), 0
    axis = o.ints(1, "axis", -1)[0]
    if x.shape == ():
        return reshape(g, x, [1]), 0
    return x, axis % x.rank


@rule("cumprod")
def cumprod(g: Builder, o: Call) -> Value:
    x, axis = o[0], o("dim", -1) % o[0].rank
    first = reduce(g, "Sum", x * 0, [axis]) + 1
    with g.graph([_like(g, x, axis), _like(g, x, axis)]) as body:
        state, part = body.inputs
        y = state * part
        given = g.node("Identity", state) if o("exclusive", False) else y
    return scanned(g, body, [first], [x], [y], [given], axis, reverse=o("reverse", False))[-1]


def _like(g: Builder, x: Value, axis: int, dtype: str | None = None) -> Value:
    sizes = [n for i, n in enumerate(x.sizes) if i != axis]
    return Value(g, g.fresh("state"), dtype or x.dtype, tuple(sizes))


def scanned(
    g: Builder,
    body: Graph,
    states: list[Value],
    xs: list[Value],
    after: list[Value],
    given: list[Value],
    axis: int,
    reverse: bool = False,
) -> tuple[Value, ...]:
    """Scan: the body meets the slices of xs one by one; the states after the last one, and what it gives, joined."""
    proto = graph_proto(body, g.fresh("body"), [*after, *given])
    outputs = len(after) + len(given)
    made = g.node(
        "Scan", *states, *xs, outputs=outputs, made=xs[0].dtype, body=proto, num_scan_inputs=len(xs),
        scan_input_axes=[axis] * len(xs), scan_output_axes=[axis] * len(given),
        scan_input_directions=[int(reverse)] * len(xs), scan_output_directions=[int(reverse)] * len(given),
    )  # fmt: skip
    values = made if isinstance(made, tuple) else (made,)
    return tuple(Value(g, v.name, y.dtype) for v, y in zip(values, [*after, *given], strict=True))


@rule("cummax", "cummin")
def cummax(g: Builder, o: Call) -> tuple[Value, Value]:
    x, axis = o[0], o("axis", -1) % o[0].rank
    worst = (-math.inf if o.name == "cummax" else math.inf) if x.dtype in FLOATS else _end(x.dtype, o.name == "cummin")
    first = expand(g, g.constant(worst, x.dtype), shape(g, reduce(g, "Sum", x, [axis])))
    places = g.cast(_places(g, x, axis), "int64") + g.cast(x * 0, "int64")
    start = reduce(g, "Sum", places * 0, [axis])
    with g.graph(
        [_like(g, x, axis), _like(g, x, axis, "int64"), _like(g, x, axis), _like(g, x, axis, "int64")]
    ) as body:
        best, at, part, place = body.inputs
        # Of equal ones the last counts.
        over = part < best if o.name == "cummax" else best < part
        y, z = g.node("Where", over, best, part), g.node("Where", over, at, place)
    _, _, value, index = scanned(g, body, [first, start], [x, places], [y, z], [y, z], axis)
    return value, g.cast(index, o("dtype", "int64"))


def _end(dtype: str, largest: bool) -> int:
    info = np.iinfo(dtype)
    return int(info.max if largest else info.min)


def _places(g: Builder, x: Value, axis: int) -> Value:
    """The index along an axis, in a shape that broadcasts over x."""
    line = arange(g, reshape(g, size(g, x, axis), []))
    sizes = [1] * x.rank
    sizes[axis] = -1
    return reshape(g, line, sizes)


@rule("logcumsumexp")
def logcumsumexp(g: Builder, o: Call) -> Value:
    x, axis = _running(g, o)
    none = g.constant(-math.inf, x.dtype)
    first = expand(g, none, shape(g, reduce(g, "Sum", x, [axis])))
    with g.graph([_like(g, x, axis), _like(g, x, axis)]) as body:
        state, part = body.inputs
        # One by one, since the exponentials of a whole line differ by more than a number can hold.
        apart = g.node("Log", g.node("Exp", -g.node("Abs", state - part)) + 1.0)
        apart = g.node("Where", g.node("Equal", state, part), g.constant(math.log(2), x.dtype), apart)
        y = g.node("Max", state, part) + apart
        given = g.node("Identity", state) if o("exclusive", False) else y
    made = scanned(g, body, [first], [x], [y], [given], axis, reverse=o("reverse", False))[-1]
    return known(made, x.shape)


# --- medians ---------------------------------------------------------------------------------------------------------


@rule("median", "nanmedian")
def median(g: Builder, o: Call) -> Value:
    x, axes = o[0], o.ints(1, "axis", []) if o("axis") is not None else []
    keepdim = o("keepdim", False)
    rank = x.rank
    axes = sorted(a % rank for a in axes) or list(range(rank))
    kept = [i for i in range(rank) if i not in axes]
    if len(axes) == 1:
        line, axis = x, axes[0]
    else:
        sizes = sizes_of(g, x)
        parts = mixed(g, [*(sizes[i] for i in kept), -1])
        line = known(g.node("Reshape", transpose(g, x, [*kept, *axes]), parts), [-1] * (len(kept) + 1))
        axis = len(kept)
    nan = g.node("IsNaN", line)
    # NaN goes to the end of the order; the middle is counted among the others.
    filled = g.node("Where", nan, math.inf, line)
    length = size(g, line, axis)
    ordered, _ = g.node("TopK", filled, length, outputs=2, axis=axis, largest=0, made=x.dtype)
    valid = reduce(g, "Sum", g.cast(~nan, "int64"), [axis], True)
    last = g.node("Max", valid - 1, g.ints([0]))
    half = g.ints([2])
    low, high = _at(g, ordered, last / half, axis), _at(g, ordered, valid / half, axis)
    y = low if o("mode", "avg") == "min" else (low + high) * 0.5
    absent = g.node("Equal", valid, 0) if o.name == "nanmedian" else somewhere(g, nan, [axis], True)
    y = g.node("Where", absent, g.constant(math.nan, x.dtype), y)
    if len(axes) == 1 and keepdim:
        return y
    y = squeeze(g, known(y, [-1] * line.rank), [axis])
    return unsqueeze(g, known(y, [-1] * len(kept)), axes) if keepdim else y


def _at(g: Builder, x: Value, index: Value, axis: int) -> Value:
    """Elements at places of an axis, the last one for those beyond it."""
    last = reshape(g, g.node("Gather", g.node("Shape", x, made="int64"), g.ints([axis]), axis=0), [1]) - 1
    return g.node("GatherElements", x, g.node("Min", index, last), axis=axis)
