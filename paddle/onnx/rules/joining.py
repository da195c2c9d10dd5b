"""Tensors joined and parted."""

from __future__ import annotations

from typing import Any

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.shapes import concat, known, numbers, slices, squeeze, unsqueeze, vector
from paddle.onnx.table import Call, rule


@rule("concat")
def concat_(g: Builder, o: Call) -> Value:
    xs, (axis,) = o[0], o.ints(1, "axis", 0)
    xs = [x for x in xs if not (x.shape == (0,) and xs[0].rank != 1)] or xs
    if len(xs) == 1:
        return g.node("Identity", xs[0])
    if xs[0].complex:
        joined = g.node("Concat", *xs, axis=axis % xs[0].rank)
        return Value(g, joined.name, xs[0].dtype)
    return concat(g, xs, axis % xs[0].rank)


@rule("stack")
def stack(g: Builder, o: Call) -> Value:
    xs, axis = o[0], o("axis", 0)
    axis %= xs[0].rank + 1
    return concat(g, [unsqueeze(g, x, [axis]) for x in xs], axis)


def split_into(g: Builder, x: Value, axis: int, lengths: list[int]) -> list[Value]:
    """Parts of these lengths along an axis."""
    if len(lengths) == 1:
        return [g.node("Identity", x)]
    if g.opset >= 13:
        made = g.node("Split", x, g.ints(lengths), outputs=len(lengths), axis=axis)
    else:
        made = g.node("Split", x, outputs=len(lengths), axis=axis, split=lengths)
    if x.shape is None:
        return list(made)
    return [
        known(y, [n if i == axis else m for i, m in enumerate(x.shape)]) for y, n in zip(made, lengths, strict=True)
    ]


@rule("split")
def split(g: Builder, o: Call) -> list[Value]:
    x, (axis,) = o[0], o.ints(2, "axis", 0)
    axis %= x.rank
    lengths = numbers(o[1] if o[1] is not None else o("sections", o("num")))
    if lengths is None:
        if g.opset < 13:
            raise Unsayable("parts of split whose lengths do not depend on what is fed", 13)
        count = len(o.operation.results[0].type or ())
        return list(g.node("Split", x, vector(g, o[1]), outputs=count, axis=axis))
    if -1 in lengths:
        length = x.sizes[axis]
        if length < 0:
            return _open_split(g, x, axis, lengths)
        lengths = [length - sum(lengths) - 1 if n == -1 else n for n in lengths]
    return split_into(g, x, axis, lengths)


def _open_split(g: Builder, x: Value, axis: int, lengths: list[int]) -> list[Value]:
    """Parts of which one has what is left of an unknown size: the others count from either end."""
    at, made = lengths.index(-1), []
    for i, n in enumerate(lengths):
        before, after = sum(lengths[:i]), sum(lengths[i + 1 :])
        if i < at:
            made.append(slices(g, x, [axis], [before], [before + n]))
        elif i == at:
            made.append(slices(g, x, [axis], [before], [-after if after else 2**62]))
        else:
            made.append(slices(g, x, [axis], [-after - n], [-after if after else 2**62]))
    return made


@rule("split_with_num")
def split_with_num(g: Builder, o: Call) -> list[Value]:
    x, count, (axis,) = o[0], o("num"), o.ints(1, "axis", 0)
    axis %= x.rank
    if count == 1:
        return [g.node("Identity", x)]
    if x.sizes[axis] >= 0:
        return split_into(g, x, axis, [x.sizes[axis] // count] * count)
    attributes: dict[str, Any] = {"num_outputs": count} if g.opset >= 18 else {}
    return list(g.node("Split", x, outputs=count, axis=axis, **attributes))


@rule("unbind", "unstack")
def unbind(g: Builder, o: Call) -> list[Value]:
    x, axis = o[0], o("axis", 0) % o[0].rank
    count = len(o.operation.results[0].type or ())
    parts = split_into(g, x, axis, [1] * count)
    return [squeeze(g, known(p, [1 if i == axis else n for i, n in enumerate(x.sizes)]), [axis]) for p in parts]


@rule("partial_concat", "partial_sum")
def partial(g: Builder, o: Call) -> Value:
    start, length = o("start_index", 0), o("length", -1)
    end = 2**62 if length < 0 else start + length
    parts = [slices(g, x, [1], [start], [end]) for x in o[0]]
    return g.node("Concat", *parts, axis=1) if o.name == "partial_concat" else g.node("Sum", *parts)
