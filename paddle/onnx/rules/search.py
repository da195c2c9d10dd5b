"""Sorting, and where something is."""

from __future__ import annotations

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.rules.elementwise import at_most
from paddle.onnx.shapes import known, numbers, reduce, reshape, scalar, size, squeeze, transpose, unsqueeze, vector
from paddle.onnx.table import Call, rule


@rule("argmax", "argmin")
def argmax(g: Builder, o: Call) -> Value:
    x, keepdims = o[0], o("keepdims", False)
    kind = "ArgMax" if o.name == "argmax" else "ArgMin"
    if o("flatten", False) or x.shape == ():
        y = squeeze(g, known(g.node(kind, reshape(g, x, [-1]), axis=0, keepdims=1), [1]), [0])
        if keepdims:
            y = reshape(g, y, [1] * x.rank)
    else:
        (axis,) = o.ints(1, "axis", -1)
        y = g.node(kind, x, axis=axis % x.rank, keepdims=int(keepdims))
    return g.cast(y, o("dtype", "int64"))


def top(g: Builder, x: Value, k: Value, axis: int, largest: bool, ordered: bool = True) -> tuple[Value, Value]:
    """The k largest or smallest along an axis, and where they are."""
    value, index = g.node("TopK", x, k, outputs=2, axis=axis % x.rank, largest=int(largest), sorted=int(ordered))
    return value, index


@rule("topk")
def topk(g: Builder, o: Call) -> tuple[Value, Value]:
    return top(
        g, o[0], vector(g, o[1] if o[1] is not None else o("k")), o("axis", -1), o("largest", True), o("sorted", True)
    )


@rule("argsort")
def argsort(g: Builder, o: Call) -> tuple[Value, Value]:
    x = o[0]
    if x.shape == ():
        return g.node("Identity", x), g.constant(0, "int64")
    axis = o("axis", -1) % x.rank
    # Of equal elements TopK gives the first first, which is the stable order.
    value, index = top(g, x, size(g, x, axis), axis, o("descending", False))
    return known(value, x.shape), known(index, x.shape)


@rule("kthvalue")
def kthvalue(g: Builder, o: Call) -> tuple[Value, Value]:
    x, k, axis = o[0], o("k", 1), o("axis", -1) % o[0].rank
    value, index = top(g, x, g.ints([k]), axis, False)
    value, index = (g.node("Gather", v, g.ints([k - 1]), axis=axis) for v in (value, index))
    if o("keepdim", False):
        return value, index
    return squeeze(g, known(value, [-1] * x.rank), [axis]), squeeze(g, known(index, [-1] * x.rank), [axis])


@rule("mode")
def mode(g: Builder, o: Call) -> tuple[Value, Value]:
    x, axis = o[0], o("axis", -1) % o[0].rank
    order = [i for i in range(x.rank) if i != axis] + [axis]
    line = transpose(g, x, order)
    # How often each element is there; of equally frequent ones the smallest, of equal ones the last.
    same = g.node("Equal", unsqueeze(g, line, [-1]), unsqueeze(g, line, [-2]))
    often = reduce(g, "Sum", g.cast(same, "int64"), [-1])
    most = g.node("Equal", often, reduce(g, "Max", often, [-1], True))
    high = reduce(g, "Max", line, [-1], True)
    value = reduce(g, "Min", g.node("Where", most, line, high), [-1], True)
    at = g.node("Equal", line, value)
    index = g.node("ArgMax", g.cast(at, "int32"), axis=x.rank - 1, keepdims=1, select_last_index=1)
    if o("keepdim", False):
        back = [order.index(i) for i in range(x.rank)]
        return transpose(g, known(value, [-1] * x.rank), back), transpose(g, known(index, [-1] * x.rank), back)
    return squeeze(g, known(value, [-1] * x.rank), [-1]), squeeze(g, known(index, [-1] * x.rank), [-1])


@rule("nonzero")
def nonzero(g: Builder, o: Call) -> Value:
    y = g.node("NonZero", o[0], made="int64")
    return known(transpose(g, known(y, [o[0].rank, -1]), [1, 0]), [-1, o[0].rank])


@rule("unique")
def unique(g: Builder, o: Call) -> tuple[Value, Value, Value, Value]:
    x = o[0]
    axes = numbers(o("axis", [])) or []
    if not axes:
        x = reshape(g, x, [-1])
    axis = axes[0] if axes else None
    value, first, inverse, count = g.node("Unique", x, outputs=4, axis=axis, sorted=1, made=x.dtype)
    index = o("dtype", "int64")
    rest = [g.cast(Value(g, v.name, "int64", (-1,)), index) for v in (first, inverse, count)]
    return known(value, [-1]) if not axes else value, rest[0], rest[1], rest[2]


@rule("unique_consecutive")
def unique_consecutive(g: Builder, o: Call) -> tuple[Value, Value, Value]:
    if numbers(o("axis", [])):
        raise Unsayable("unique_consecutive of all elements, without an axis")
    x = reshape(g, o[0], [-1])
    x = known(x, [-1])
    from_second = g.node("Slice", x, g.ints([1]), g.ints([2**31]), g.ints([0]))
    to_last = g.node("Slice", x, g.ints([0]), g.ints([-1]), g.ints([0]))
    changes = ~g.node("Equal", from_second, to_last)
    one = g.node("Slice", g.node("Equal", x, x), g.ints([0]), g.ints([1]), g.ints([0]))
    begins = g.node("Concat", g.node("Or", one, ~one), changes, axis=0)
    value = known(g.node("Compress", x, begins, axis=0), [-1])
    inverse = g.node("CumSum", g.cast(begins, "int64"), 0) - 1
    start = reshape(g, g.node("NonZero", begins, made="int64"), [-1])
    end = g.node("Concat", g.node("Slice", start, g.ints([1]), g.ints([2**31]), g.ints([0])), size(g, x, 0), axis=0)
    index = o("dtype", "int64")
    return value, g.cast(known(inverse, [-1]), index), g.cast(known(end - start, [-1]), index)


@rule("searchsorted")
def searchsorted(g: Builder, o: Call) -> Value:
    return _insertion(g, o, o[0], o[1])


@rule("bucketize")
def bucketize(g: Builder, o: Call) -> Value:
    return _insertion(g, o, o[1], o[0])


def _insertion(g: Builder, o: Call, ordered: Value, x: Value) -> Value:
    """Count the elements of a sorted line that are below each of x. All are compared, which takes as much memory."""
    wide = unsqueeze(g, x, [-1])
    if ordered.rank > 1:
        ordered = unsqueeze(g, ordered, [-2])
    below = at_most(g, ordered, wide) if o("right", False) else g.node("Less", ordered, wide)
    count = reduce(g, "Sum", known(g.cast(below, "int64"), [-1] * (x.rank + 1)), [-1])
    return g.cast(count, "int32" if o("out_int32", False) else "int64")


@rule("bincount")
def bincount(g: Builder, o: Call) -> Value:
    x, weights = g.cast(o[0], "int64"), o[1]
    least = vector(g, o[2] if o[2] is not None else o("minlength", 0))
    count = g.node("Max", reduce(g, "Max", x, [0], True) + 1, least)
    row = g.node("Range", 0, scalar(g, known(count, [-1])), 1)
    hit = g.node("Equal", unsqueeze(g, x, [0]), unsqueeze(g, known(row, [-1]), [1]))
    if weights is None:
        return reduce(g, "Sum", g.cast(known(hit, [-1, -1]), "int64"), [1])
    return reduce(g, "Sum", known(g.cast(hit, weights.dtype) * unsqueeze(g, weights, [0]), [-1, -1]), [1])


@rule("histogram")
def histogram(g: Builder, o: Call) -> Value:
    x, bins, low, high = reshape(g, o[0], [-1]), o("bins", 100), o("min", 0.0), o("max", 0.0)
    if o[1] is not None or o("density", False) or low == high:
        raise Unsayable("a histogram between stated ends, of counts without weights")
    inside = at_most(g, g.constant(low, x.dtype), x) & at_most(g, x, high)
    place = g.cast(g.node("Floor", (x - low) * (bins / (high - low))), "int64")
    place = g.node("Where", inside, g.node("Min", place, g.ints([bins - 1])), g.ints([-1]))
    hit = g.node("Equal", unsqueeze(g, known(place, [-1]), [0]), g.constant([[i] for i in range(bins)], "int64"))
    return reduce(g, "Sum", g.cast(known(hit, [bins, -1]), "int64"), [1])


@rule("accuracy")
def accuracy(g: Builder, o: Call) -> tuple[Value, Value, Value]:
    indices, label = o[1], o[2]
    hit = reduce(g, "Max", g.cast(g.node("Equal", g.cast(indices, "int64"), g.cast(label, "int64")), "int32"), [-1])
    correct = reduce(g, "Sum", hit, None)
    total = g.cast(reshape(g, size(g, indices, 0), []), "int32")
    return g.cast(correct, "float32") / g.cast(total, "float32"), correct, total
