"""Shapes: other ones, axes that come and go, parts that are taken, copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.elements import FLOATS
from paddle.onnx.rules.creation import filled
from paddle.onnx.rules.elementwise import real
from paddle.onnx.shapes import (
    INT64,
    arange,
    concat,
    expand,
    known,
    mixed,
    moved,
    numbers,
    reduce,
    reshape,
    scalar,
    shape,
    size,
    sizes_of,
    slices,
    squeeze,
    transpose,
    unsqueeze,
    vector,
)
from paddle.onnx.table import Call, rule


@rule(
    "assign", "share_data", "share_data_sr", "memcpy", "memcpy_d2h", "memcpy_h2d", "copy_to", "npu_identity", "depend"
)
def assign(g: Builder, o: Call) -> Value:
    return g.node("Identity", o[0]) if not o[0].sequence else o[0]


@rule("assign_out")
def assign_out(g: Builder, o: Call) -> Value:
    return g.node("Identity", o[0])


@rule("shape", "shape64", "shape_sr")
def shape_(g: Builder, o: Call) -> Value:
    return g.cast(shape(g, o[0]), "int64" if o.name == "shape64" else "int32")


@rule("reshape", "legacy_reshape", "view_shape")
def reshape_(g: Builder, o: Call) -> Value:
    x = o[0]
    target = o[1] if o[1] is not None else o("shape", o("dims"))
    sizes = numbers(target)
    if 0 in o.type().shape and not x.complex:  # where ONNX takes 0 for the size of x
        return filled(g, o.type().shape if -1 not in o.type().shape else target, 0, x.dtype)
    if sizes is None:
        return reshape(g, x, vector(g, target))
    y = reshape(g, x, g.ints(sizes)) if 0 in sizes else reshape(g, x, sizes)
    return g.node("Identity", y) if y is x else y


@rule("transpose")
def transpose_(g: Builder, o: Call) -> Value:
    x = o[0]
    order = [a % x.rank for a in o("perm")]
    if x.complex:
        y = g.node("Transpose", x, perm=[*order, x.rank])
        return Value(g, y.name, x.dtype, tuple(x.shape[a] for a in order))
    return transpose(g, x, order) if order != sorted(order) else g.node("Identity", x)


@rule("trans_layout")
def trans_layout(g: Builder, o: Call) -> Value:
    return transpose(g, o[0], o("perm"))


@rule("flatten")
def flatten(g: Builder, o: Call) -> Value:
    x = o[0]
    if x.shape == ():
        return reshape(g, x, [1])
    first, last = o("start_axis", 1) % x.rank, o("stop_axis", -1) % x.rank
    sizes: list[Any] = sizes_of(g, x)
    return resized_flat(g, x, sizes, first, last)


def resized_flat(g: Builder, x: Value, sizes: list[Any], first: int, last: int) -> Value:
    """x with the axes from one to another as one. What is before it is copied (0), what is behind it must be said."""
    target = [n if isinstance(n, int) else 0 for n in sizes[:first]] + [-1] + sizes[last + 1 :]
    if 0 in target[:first] and all(isinstance(n, int) for n in target):
        return known(g.node("Reshape", x, g.ints(target)), [n or -1 for n in target])
    return known(g.node("Reshape", x, mixed(g, target)), [n or -1 if isinstance(n, int) else -1 for n in target])


@rule("squeeze")
def squeeze_(g: Builder, o: Call) -> Value:
    x = o[0]
    axes = [a % x.rank for a in o.ints(1, "axis", [])] if x.rank else []
    if axes:
        gone = [a for a in axes if x.sizes[a] == 1]
        unknown = [a for a in axes if x.sizes[a] == -1]
        gone += unknown[: x.rank - len(o.type().shape) - len(gone)]
    else:
        gone = [a for a, n in enumerate(x.sizes) if n == 1]
    return squeeze(g, x, sorted(gone)) if gone else g.node("Identity", x)


@rule("unsqueeze")
def unsqueeze_(g: Builder, o: Call) -> Value:
    x, axes = o[0], o.ints(1, "axis", [])
    rank = x.rank + len(axes)
    # Axes are inserted one by one, each counted in the result so far.
    places: list[int] = []
    for i, a in enumerate(axes):
        a = a if a >= 0 else a + x.rank + i + 1
        places = [p + (p >= a) for p in places] + [a]
    return unsqueeze(g, x, sorted(p % rank for p in places))


@rule("tile")
def tile(g: Builder, o: Call) -> Value:
    x = o[0]
    times = o[1] if o[1] is not None else o("repeat_times")
    repeats = vector(g, times)
    known_times = numbers(times)
    count = len(known_times) if known_times is not None else (repeats.shape or (x.rank,))[0]
    if count < 0:
        raise Unsayable("a known number of repeats in tile")
    if count < x.rank:
        repeats = concat(g, [g.ints([1] * (x.rank - count)), repeats])
    if count > x.rank:
        x = unsqueeze(g, x, range(count - x.rank))
    return g.node("Tile", x, repeats)


@rule("expand")
def expand_(g: Builder, o: Call) -> Value:
    x = o[0]
    target = o[1] if o[1] is not None else o("shape")
    sizes = numbers(target)
    if sizes is not None:
        return expand(g, x, g.ints([1 if n == -1 else n for n in sizes]))
    wanted = vector(g, target)
    return expand(g, x, g.node("Where", g.node("Equal", wanted, g.ints([-1])), g.ints([1]), wanted))


@rule("expand_as")
def expand_as(g: Builder, o: Call) -> Value:
    if o[1] is None:
        return expand(g, o[0], g.ints([1 if n == -1 else n for n in o("target_shape")]))
    return expand(g, o[0], shape(g, o[1]))


@rule("broadcast_tensors")
def broadcast_tensors(g: Builder, o: Call) -> list[Value]:
    xs = o[0]
    rank = max(x.rank for x in xs)
    together = g.node("Max", *[concat(g, [g.ints([1] * (rank - x.rank)), shape(g, x)]) for x in xs])
    return [expand(g, x, together) for x in xs]


@rule("meshgrid")
def meshgrid(g: Builder, o: Call) -> list[Value]:
    xs = o[0]
    target = concat(g, [size(g, x, 0) if x.rank else g.ints([1]) for x in xs])
    made = []
    for i, x in enumerate(xs):
        line = [1] * len(xs)
        line[i] = -1
        made.append(expand(g, reshape(g, x, line), target))
    return made


# --- parts -----------------------------------------------------------------------------------------------------------


@rule("slice")
def slice_(g: Builder, o: Call) -> Value:
    x, axes = o[0], o("axes")
    starts = o[1] if o[1] is not None else o("starts")
    ends = o[2] if o[2] is not None else o("ends")
    if isinstance(x, list):  # of a tensor array
        raise Unsayable("a slice of a list")
    gone = o("decrease_axis", [])
    if x.complex:
        y = slices(g, Value(g, x.name, real(x)), axes, vector(g, starts), vector(g, ends))
        y = squeeze(g, known(y, [1 if i in gone else -1 for i in range(x.rank + 1)]), gone)
        return Value(g, y.name, x.dtype, (-1,) * (x.rank - len(gone)))
    y = slices(g, x, axes, vector(g, starts), vector(g, ends))
    return (
        squeeze(g, known(y, [1 if i in gone else -1 for i in range(x.rank)]) if y.constant is None else y, gone)
        if gone
        else y
    )


@rule("strided_slice")
def strided_slice(g: Builder, o: Call) -> Value:
    x, axes = o[0], o("axes")
    bounds = [vector(g, o[i] if o[i] is not None else o(n)) for i, n in enumerate(("starts", "ends", "strides"), 1)]
    return slices(g, x, axes, *bounds)


@rule("crop")
def crop(g: Builder, o: Call) -> Value:
    x = o[0]
    wanted, offsets = o[1] if o[1] is not None else o("shape"), o[2] if o[2] is not None else o("offsets")
    start, length = vector(g, offsets), vector(g, wanted)
    end = g.node("Where", g.node("Equal", length, g.ints([-1])), shape(g, x), start + length)
    return slices(g, x, range(x.rank), start, end)


@rule("flip", "reverse")
def flip(g: Builder, o: Call) -> Value:
    axes = [a % o[0].rank for a in o.ints(1, "axis")]
    if not axes:
        return g.node("Identity", o[0])
    return slices(g, o[0], axes, [-1] * len(axes), [INT64.min] * len(axes), [-1] * len(axes))


@rule("roll")
def roll(g: Builder, o: Call) -> Value:
    x, axes = o[0], o("axis", [])
    shifts = o[1] if o[1] is not None else o("shifts")
    by = vector(g, shifts)
    flat = not axes
    y = reshape(g, x, [-1]) if flat else x
    for i, axis in enumerate([0] if flat else axes):
        axis %= y.rank
        count = size(g, y, axis)
        at = count - g.node("Mod", slices(g, by, [0], [i], [i + 1]), count)
        tail, head = slices(g, y, [axis], at, g.ints([INT64.max])), slices(g, y, [axis], g.ints([0]), at)
        y = known(g.node("Concat", tail, head, axis=axis), y.shape)
    return reshape(g, y, shape(g, x)) if flat else y


# --- padding ---------------------------------------------------------------------------------------------------------


@rule("pad")
def pad(g: Builder, o: Call) -> Value:
    pairs = o("paddings")
    return padded(g, o[0], pairs[::2], pairs[1::2], o.number(1, "pad_value", 0.0))


def padded(
    g: Builder, x: Value, before: list[int], after: list[int], value: Any = 0.0, mode: str = "constant"
) -> Value:
    """x with so many elements more on each side of each axis."""
    pads = g.ints([*before, *after])
    filler = g.cast(value, x.dtype) if isinstance(value, Value) else g.constant(value, x.dtype)
    if isinstance(value, Value):
        filler = scalar(g, filler)
    y = g.node("Pad", x, pads, filler if mode == "constant" else None, mode=mode)
    if x.shape is None:
        return y
    return known(y, [n if n < 0 else n + a + b for n, a, b in zip(x.shape, before, after, strict=True)])


_NO_PADDING = 6  # where a zero lies behind the six paddings


@rule("pad3d")
def pad3d(g: Builder, o: Call) -> Value:
    x = o[0]
    channels_last = o("data_format", "NCDHW") == "NDHWC"
    space = list(range(1, 4)) if channels_last else list(range(2, 5))
    mode = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[
        o("mode", "constant")
    ]
    if mode != "wrap" and o[1] is not None and numbers(o[1]) is None:
        first, last = [_NO_PADDING] * 5, [_NO_PADDING] * 5
        for i, axis in enumerate(reversed(space)):
            first[axis], last[axis] = 2 * i, 2 * i + 1
        sides = g.node("Gather", concat(g, [vector(g, o[1]), g.ints([0])]), g.ints([*first, *last]), axis=0)
        filler = g.constant(o("pad_value", o("value", 0.0)), x.dtype)
        return g.node("Pad", x, sides, filler if mode == "constant" else None, mode=mode)
    sides = o.ints(1, "paddings")
    before, after = [0] * 5, [0] * 5
    for i, axis in enumerate(reversed(space)):
        before[axis], after[axis] = sides[2 * i], sides[2 * i + 1]
    if mode == "wrap":
        return _wrapped(g, x, before, after)
    return padded(g, x, before, after, o("pad_value", o("value", 0.0)), mode)


def _wrapped(g: Builder, x: Value, before: list[int], after: list[int]) -> Value:
    """Padding from the other side, which Pad knows from opset 19 on alone."""
    for axis, (a, b) in enumerate(zip(before, after, strict=True)):
        parts = [x]
        if a:
            parts.insert(0, slices(g, x, [axis], [-a], [INT64.max]))
        if b:
            parts.append(slices(g, x, [axis], [0], [b]))
        if len(parts) > 1:
            x = g.node("Concat", *parts, axis=axis)
    return x


# --- channels and space ----------------------------------------------------------------------------------------------


def _channels_first(g: Builder, x: Value, format: str) -> Value:
    return transpose(g, x, [0, 3, 1, 2]) if format == "NHWC" else x


def _as_given(g: Builder, x: Value, format: str) -> Value:
    return transpose(g, x, [0, 2, 3, 1]) if format == "NHWC" else x


@rule("pixel_shuffle")
def pixel_shuffle(g: Builder, o: Call) -> Value:
    form = o("data_format", "NCHW")
    x = _channels_first(g, o[0], form)
    return _as_given(g, known(g.node("DepthToSpace", x, blocksize=o("upscale_factor"), mode="CRD"), [-1] * 4), form)


@rule("pixel_unshuffle")
def pixel_unshuffle(g: Builder, o: Call) -> Value:
    form, r = o("data_format", "NCHW"), o("downscale_factor")
    x = _channels_first(g, o[0], form)
    n, c, h, w = sizes_of(g, x)
    low = [v // r if isinstance(v, int) else v / g.ints([r]) for v in (h, w)]
    y = known(g.node("Reshape", x, mixed(g, [n, c, low[0], r, low[1], r])), [-1] * 6)
    y = transpose(g, y, [0, 1, 3, 5, 2, 4])
    depth = c * r * r if isinstance(c, int) else c * g.ints([r * r])
    y = known(g.node("Reshape", y, mixed(g, [n, depth, *low])), [-1] * 4)
    return _as_given(g, y, form)


@rule("channel_shuffle", "shuffle_channel")
def channel_shuffle(g: Builder, o: Call) -> Value:
    form, groups = o("data_format", "NCHW"), o("groups", o("group", 1))
    x = _channels_first(g, o[0], form)
    n, c, h, w = sizes_of(g, x)
    part = c // groups if isinstance(c, int) else c / g.ints([groups])
    y = known(g.node("Reshape", x, mixed(g, [n, groups, part, h, w])), [-1] * 5)
    y = known(g.node("Reshape", transpose(g, y, [0, 2, 1, 3, 4]), mixed(g, [n, c, h, w])), x.shape)
    return _as_given(g, y, form)


@rule("temporal_shift")
def temporal_shift(g: Builder, o: Call) -> Value:
    form, count, ratio = o("data_format", "NCHW"), o("seg_num"), o("shift_ratio", 0.25)
    x = _channels_first(g, o[0], form)
    n, c, h, w = sizes_of(g, x)
    if not isinstance(c, int):
        raise Unsayable("a known number of channels in temporal_shift")
    y = known(g.node("Reshape", x, mixed(g, [-1, count, c, h, w])), [-1, count, c, -1, -1])
    first, second = int(c * ratio), int(c * 2 * ratio)
    back, on, rest = (slices(g, y, [2], [a], [b]) for a, b in ((0, first), (first, second), (second, c)))
    back = padded(g, known(slices(g, back, [1], [0], [count - 1]), [-1] * 5), [0, 1, 0, 0, 0], [0] * 5)
    on = padded(g, known(slices(g, on, [1], [1], [count]), [-1] * 5), [0] * 5, [0, 1, 0, 0, 0])
    y = g.node("Concat", back, on, rest, axis=2)
    return _as_given(g, known(g.node("Reshape", y, mixed(g, [n, c, h, w])), x.shape), form)


# --- triangles and diagonals -----------------------------------------------------------------------------------------


@rule("tril", "triu")
def tril(g: Builder, o: Call) -> Value:
    return triangle(g, o[0], o("diagonal", 0), upper=o.name == "triu")


@rule("tril_triu")
def tril_triu(g: Builder, o: Call) -> Value:
    return triangle(g, o[0], o("diagonal", 0), upper=not o("lower", True))


def triangle(g: Builder, x: Value, diagonal: int, upper: bool) -> Value:
    """x with zeros above or below a diagonal."""
    if g.opset >= 14:
        return g.node("Trilu", x, g.constant(diagonal, "int64"), upper=int(upper))
    row, column = _rows_columns(g, x)
    outside = column < row + diagonal if upper else column > row + diagonal
    return known(g.node("Where", outside, 0, x), x.shape)


def _rows_columns(g: Builder, x: Value) -> tuple[Value, Value]:
    """Indices of rows and columns of the last two axes."""
    row, column = (arange(g, scalar(g, size(g, x, a))) for a in (-2, -1))
    return unsqueeze(g, row, [1]), unsqueeze(g, column, [0])


@rule("diag")
def diag(g: Builder, o: Call) -> Value:
    x, offset, filler = o[0], o("offset", 0), o("padding_value", 0.0)
    return embedded(g, x, offset, filler) if x.rank == 1 else diagonal_of(g, x, offset, 0, 1)


@rule("diag_embed")
def diag_embed(g: Builder, o: Call) -> Value:
    x = o[0]
    y = embedded(g, x, o("offset", 0), 0)
    rank = x.rank + 1
    _, back = moved([o("dim1", -2), o("dim2", -1)], rank)
    return transpose(g, known(y, [-1] * rank), back)


def embedded(g: Builder, x: Value, offset: int, filler: float) -> Value:
    """The last axis of x as a diagonal of matrices."""
    x = known(
        padded(g, x, [0] * (x.rank - 1) + [max(-offset, 0)], [0] * (x.rank - 1) + [max(offset, 0)]), [-1] * x.rank
    )
    line = arange(g, scalar(g, size(g, x, -1)))
    on = g.node("Equal", unsqueeze(g, line, [0]), unsqueeze(g, line, [1]) + offset)
    value = g.constant(filler, x.dtype)
    return g.node("Where", on, unsqueeze(g, x, [-1]), value)


@rule("diagonal")
def diagonal(g: Builder, o: Call) -> Value:
    return diagonal_of(g, o[0], o("offset", 0), o("axis1", 0), o("axis2", 1))


def diagonal_of(g: Builder, x: Value, offset: int, axis1: int, axis2: int) -> Value:
    """A diagonal of two axes, as the last axis."""
    order, _ = moved([axis1, axis2], x.rank)
    y = transpose(g, x, order)
    rows, columns = size(g, y, -2), size(g, y, -1)
    count = g.node("Min", rows + min(offset, 0), columns - max(offset, 0))
    line = arange(g, scalar(g, g.node("Max", count, g.ints([0]))))
    start = g.ints([offset]) if offset >= 0 else columns * g.ints([-offset])
    places = line * (columns + 1) + start
    front = sizes_of(g, known(y, [x.shape[a] for a in order] if x.shape else None))[:-2]
    flat = g.node("Reshape", y, mixed(g, [*front, -1]))
    return known(g.node("Gather", flat, places, axis=x.rank - 2), [-1] * (x.rank - 1))


@rule("trace")
def trace(g: Builder, o: Call) -> Value:
    return reduce(g, "Sum", diagonal_of(g, o[0], o("offset", 0), o("axis1", 0), o("axis2", 1)), [-1])


@rule("fill_diagonal")
def fill_diagonal(g: Builder, o: Call) -> Value:
    x, offset, value = o[0], o("offset", 0), g.constant(o("value", 0), o[0].dtype)
    if x.rank != 2:  # of cubes
        lines = [arange(g, scalar(g, size(g, x, a))) for a in range(x.rank)]
        lines = [reshape(g, line, [-1] + [1] * (x.rank - i - 1)) for i, line in enumerate(lines)]
        on = g.node("Equal", lines[0], lines[1])
        for line in lines[2:]:
            on = on & g.node("Equal", lines[0], line)
        return g.node("Where", on, value, x)
    row, column = _rows_columns(g, x)
    if o("wrap", False):  # the diagonal goes on below a row that is left out
        count = size(g, x, 1)
        place = row * count + column - offset
        return g.node("Where", g.node("Equal", g.node("Mod", place, count + 1), 0) & ~(place < 0), value, x)
    return g.node("Where", g.node("Equal", row + offset, column), value, x)


@rule("fill_diagonal_tensor")
def fill_diagonal_tensor(g: Builder, o: Call) -> Value:
    x, y = o[0], o[1]
    order, back = moved([o("dim1", 0), o("dim2", 1)], x.rank)
    base = transpose(g, x, order)
    offset = o("offset", 0)
    row, column = _rows_columns(g, base)
    # A diagonal has an element in each of its rows, which begin behind those of a negative offset.
    before = max(-offset, 0)
    extra = size(g, base, -2) - size(g, y, -1) - before
    pads = concat(g, [g.ints([0] * (y.rank - 1) + [before] + [0] * (y.rank - 1)), extra])
    line = known(g.node("Pad", y, pads, g.constant(0, y.dtype)), [-1] * y.rank)
    made = g.node("Where", g.node("Equal", row + offset, column), unsqueeze(g, line, [-1]), base)
    return transpose(g, known(made, base.shape), back)


# --- repetition ------------------------------------------------------------------------------------------------------


@rule("kron")
def kron(g: Builder, o: Call) -> Value:
    x, y = o[0], o[1]
    rank = max(x.rank, y.rank)
    x, y = (unsqueeze(g, v, range(rank - v.rank)) for v in (x, y))
    product = unsqueeze(g, x, range(1, 2 * rank, 2)) * unsqueeze(g, y, range(0, 2 * rank, 2))
    return g.node("Reshape", product, shape(g, x) * shape(g, y))


@rule("repeat_interleave")
def repeat_interleave(g: Builder, o: Call) -> Value:
    x, times, axis = o[0], o("repeats"), o("axis", 0) % o[0].rank
    if not times:
        return slices(g, x, [axis], [0], [0])
    parts: list[Any] = sizes_of(g, x)
    wide = unsqueeze(g, x, [axis + 1])
    many = [1] * (x.rank + 1)
    many[axis + 1] = times
    y = expand(g, wide, g.ints(many))
    parts[axis] = parts[axis] * times if isinstance(parts[axis], int) else parts[axis] * g.ints([times])
    return known(g.node("Reshape", y, mixed(g, parts)), [-1] * x.rank)


@rule("repeat_interleave_with_tensor_index")
def repeat_interleave_with_tensor_index(g: Builder, o: Call) -> Value:
    x, times, axis = o[0], g.cast(o[1], "int64"), o("axis", 0) % o[0].rank
    ends = g.node("CumSum", times, 0)
    total = reduce(g, "Sum", times, None)
    line = unsqueeze(g, arange(g, scalar(g, known(total, []))), [1])
    behind = ~(line < unsqueeze(g, known(ends, [-1]), [0]))
    index = reduce(g, "Sum", known(g.cast(behind, "int64"), [-1, -1]), [1])
    return known(g.node("Gather", x, index, axis=axis), [-1] * x.rank)


@rule("as_strided")
def as_strided(g: Builder, o: Call) -> Value:
    x, dims, strides = o[0], o("dims", o("shape")), o("stride", o("strides"))
    itemsize = np.dtype("float32" if x.dtype in FLOATS else x.dtype).itemsize
    places = np.full(dims, o("offset", 0) // itemsize)
    for axis, (n, step) in enumerate(zip(dims, strides, strict=True)):
        places = places + np.arange(n).reshape([-1] + [1] * (len(dims) - axis - 1)) * step
    return g.node("Gather", reshape(g, x, [-1]), g.constant(places, "int64"), axis=0)


@rule("tensor_unfold")
def tensor_unfold(g: Builder, o: Call) -> Value:
    return framed(g, o[0], o("axis", 0) % o[0].rank, o("size"), o("step"))


def framed(g: Builder, x: Value, axis: int, length: int, step: int) -> Value:
    """Windows along an axis; their elements are an added last axis."""
    count = (size(g, x, axis) - length) / g.ints([step]) + 1
    starts = unsqueeze(g, arange(g, scalar(g, count)) * step, [1])
    index = starts + g.ints(range(length))
    y = known(g.node("Gather", x, known(index, [-1, length]), axis=axis), [-1] * (x.rank + 1))
    order = [i for i in range(x.rank + 1) if i != axis + 1] + [axis + 1]
    return transpose(g, y, order)
