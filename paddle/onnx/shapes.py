"""Shapes, slices and reductions as nodes, in the form that an opset has for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle.onnx.builder import Builder, Value

INT64 = np.iinfo(np.int64)


def shape(g: Builder, x: Value) -> Value:
    """The sizes of x as a vector of 64-bit integers."""
    if x.shape is not None and min(x.shape, default=0) >= 0:
        return g.ints(x.shape)
    return known(g.node("Shape", x, made="int64"), None if x.shape is None else (len(x.shape),))


def known(x: Value, shape: Sequence[int] | None) -> Value:
    """The value, of which a shape is known."""
    return Value(x.builder, x.name, x.dtype, None if shape is None else tuple(shape), x.constant, x.sequence)


def size(g: Builder, x: Value, axis: int) -> Value:
    """One size as a vector of one integer."""
    axis %= x.rank
    if x.sizes[axis] >= 0:
        return g.ints([x.sizes[axis]])
    return slices(g, shape(g, x), [0], [axis], [axis + 1])


def reshape(g: Builder, x: Value, sizes: Sequence[int] | Value) -> Value:
    """x in another shape; one size may be -1."""
    if not isinstance(sizes, Value):
        if x.constant is not None:
            return g.constant(x.constant.reshape(sizes))
        if x.shape is not None and x.shape == tuple(sizes) and -1 not in x.shape:
            return x
        return known(g.node("Reshape", x, g.ints(sizes)), sizes)
    if x.constant is not None and sizes.constant is not None:
        return g.constant(x.constant.reshape(sizes.constant))
    return g.node("Reshape", x, sizes)


def _with_axes(g: Builder, kind: str, x: Value, axes: Sequence[int]) -> Value:
    made: Value
    if g.opset >= 13:
        made = g.node(kind, x, g.ints(axes))
    else:
        made = g.node(kind, x, axes=list(axes))
    return made


def squeeze(g: Builder, x: Value, axes: Sequence[int]) -> Value:
    """x without axes of size 1."""
    if x.constant is not None:
        return g.constant(x.constant.squeeze(tuple(axes)))
    if not axes:
        return x
    made = _with_axes(g, "Squeeze", x, axes)
    if x.shape is None:
        return made
    gone = {a % x.rank for a in axes}
    return known(made, [n for i, n in enumerate(x.shape) if i not in gone])


def unsqueeze(g: Builder, x: Value, axes: Sequence[int]) -> Value:
    """x with axes of size 1 at these places of the result."""
    if x.constant is not None:
        return g.constant(np.expand_dims(x.constant, tuple(axes)))
    if not axes:
        return x
    made = _with_axes(g, "Unsqueeze", x, axes)
    if x.shape is None:
        return made
    sizes = list(x.shape)
    for a in sorted(a % (x.rank + len(axes)) for a in axes):
        sizes.insert(a, 1)
    return known(made, sizes)


def concat(g: Builder, xs: Sequence[Value], axis: int = 0) -> Value:
    """Values joined along an axis."""
    if len(xs) == 1:
        return xs[0]
    if all(x.constant is not None for x in xs):
        return g.constant(np.concatenate([x.constant for x in xs if x.constant is not None], axis))
    return g.node("Concat", *xs, axis=axis)


def slices(
    g: Builder,
    x: Value,
    axes: Sequence[int],
    starts: Sequence[int] | Value,
    ends: Sequence[int] | Value,
    steps: Sequence[int] | Value | None = None,
) -> Value:
    """``x[start:end:step]`` along axes."""
    parts = [p if isinstance(p, Value) or p is None else g.ints(p) for p in (starts, ends)]
    stride = steps if isinstance(steps, Value) or steps is None else g.ints(steps)
    if x.constant is not None and not any(p.constant is None for p in (*parts, stride) if p is not None):
        index: list[Any] = [slice(None)] * x.constant.ndim
        said = [p.constant.tolist() for p in (*parts, stride) if p is not None]  # type: ignore[union-attr]
        for i, axis in enumerate(axes):
            index[axis] = slice(said[0][i], None if said[1][i] == INT64.min else said[1][i], *(s[i] for s in said[2:]))
        return g.constant(x.constant[tuple(index)])
    return g.node("Slice", x, *parts, g.ints(axes), stride)


def transpose(g: Builder, x: Value, order: Sequence[int]) -> Value:
    """x with its axes in another order."""
    if list(order) == list(range(len(order))):
        return x
    if x.constant is not None:
        return g.constant(x.constant.transpose(order))
    made = g.node("Transpose", x, perm=list(order))
    return made if x.shape is None else known(made, [x.shape[a] for a in order])


_AXES_ARE_INPUTS = {"ReduceSum": 13}  # from this opset; the other reductions from 18


def reduce(g: Builder, kind: str, x: Value, axes: Sequence[int] | None, keepdims: bool = False) -> Value:
    """A reduction (``Sum``, ``Max``, …) along axes, all if None or none are given."""
    kind = f"Reduce{kind}"
    rank = None if x.shape is None else x.rank
    if rank is not None and axes:
        axes = sorted(a % rank for a in axes)
    if rank == 0:
        return x
    axes = list(axes) if axes else None
    if g.opset >= _AXES_ARE_INPUTS.get(kind, 18):
        made = g.node(kind, x, None if axes is None else g.ints(axes), keepdims=int(keepdims))
    else:
        made = g.node(kind, x, axes=axes, keepdims=int(keepdims))
    if x.shape is None:
        return made
    gone = set(range(x.rank)) if axes is None else set(axes)
    kept = [1 if i in gone else n for i, n in enumerate(x.shape) if keepdims or i not in gone]
    return known(made, kept)


def expand(g: Builder, x: Value, sizes: Sequence[int] | Value) -> Value:
    """x repeated along axes of size 1."""
    if not isinstance(sizes, Value):
        if x.shape == tuple(sizes):
            return x
        return known(g.node("Expand", x, g.ints(sizes)), sizes)
    return g.node("Expand", x, sizes)


def vector(g: Builder, x: Any) -> Value:
    """Integers that may come as attribute, tensor or list of scalars, as one vector of 64-bit integers."""
    if isinstance(x, (list, tuple)):
        if all(isinstance(v, int) for v in x):
            return g.ints(x)
        return concat(g, [vector(g, v) for v in x])
    if isinstance(x, int):
        return g.ints([x])
    x = g.cast(x, "int64")
    return x if x.shape is not None and len(x.shape) == 1 else reshape(g, x, [-1])


def numbers(x: Any) -> list[int] | None:
    """The same as Python's integers, where they are known."""
    if isinstance(x, int):
        return [x]
    if isinstance(x, (list, tuple)):
        parts = [numbers(v) for v in x]
        return None if None in parts else [n for p in parts if p is not None for n in p]
    return None if x is None or x.constant is None else [int(n) for n in x.constant.reshape(-1)]


def scalar(g: Builder, x: Value) -> Value:
    """A value of one element without axes."""
    return x if x.shape == () else reshape(g, x, [])


def arange(g: Builder, count: Value) -> Value:
    """0, 1, … below a scalar of 64-bit integers."""
    return known(g.node("Range", 0, count, 1), [-1])


def mixed(g: Builder, parts: Sequence[int | Value]) -> Value:
    """Sizes, some of them known, as one vector."""
    return concat(g, [g.ints([p]) if isinstance(p, int) else p for p in parts])


def sizes_of(g: Builder, x: Value) -> list[int | Value]:
    """The sizes of x: those that are known as numbers, the others as vectors of one."""
    return [n if n >= 0 else size(g, x, i) for i, n in enumerate(x.sizes)]


def resized(g: Builder, x: Value, parts: Sequence[int | Value]) -> Value:
    """x in a shape that is given size by size. The product of several unknown ones must be that of x's elements."""
    unknown = [i for i, p in enumerate(parts) if isinstance(p, Value) and p.constant is None]
    if len(unknown) == 1 and -1 not in parts:
        parts = [-1 if i == unknown[0] else p for i, p in enumerate(parts)]
    y = reshape(g, x, mixed(g, parts))
    return known(y, [p if isinstance(p, int) else -1 for p in parts])


def moved(order_from: Sequence[int], rank: int) -> tuple[list[int], list[int]]:
    """The order that puts axes last, and the one that undoes it."""
    last = [a % rank for a in order_from]
    order = [i for i in range(rank) if i not in last] + last
    return order, [order.index(i) for i in range(rank)]
