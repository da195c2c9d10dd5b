"""Pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.rules.convolutions import as_given, channels_first, is_open_same, padding
from paddle.onnx.shapes import concat, expand, known, mixed, numbers, reduce, size, sizes_of, slices
from paddle.onnx.table import Call, rule


@rule("pool2d", "pool3d", "lp_pool2d")
def pool(g: Builder, o: Call) -> Value:
    form = o("data_format", "NCHW")
    x = channels_first(g, o[0], form)
    return as_given(g, _pooled(g, o, x), form, x.rank)


def _kernel(o: Call, space: int) -> list[int]:
    found = numbers(o[1]) if o[1] is not None else numbers(o("kernel_size", o("ksize")))
    if found is None:
        raise Unsayable("a known kernel_size")
    return found if len(found) == space else found * space


def _pooled(g: Builder, o: Call, x: Value) -> Value:
    kind, space = o("pooling_type", "max"), x.rank - 2
    axes = list(range(2, x.rank))
    kernel = _kernel(o, space)
    reduction = {"max": "Max", "avg": "Mean"}.get(kind)
    if reduction and (o("global_pooling", False) or (o("adaptive", False) and set(kernel) == {1})):
        return reduce(g, reduction, x, axes, True)
    if o("adaptive", False):
        if reduction is None:
            raise Unsayable(f"adaptive pooling of another type than {kind}")
        return _adaptive(g, x, kernel, reduction)
    strides = o("strides")
    common: dict[str, Any] = {"kernel_shape": kernel, "strides": strides}
    if is_open_same(o, x, strides) and kind != "lp":
        common["auto_pad"] = "SAME_UPPER"
        return _plain(g, o, x, common)
    pads = padding(o, x, kernel, strides, [1] * space)
    ceil = o("ceil_mode", False)
    if ceil and min(x.sizes[2:]) < 0:
        return _openly_ceiled(g, o, x, kernel, strides, pads, common)
    if ceil:
        pads, kept = _ceiled(x, kernel, strides, pads)
    if kind == "lp":
        return _lp(g, x, o("norm_type"), pads, common)
    if kind != "max" and ceil and any(kept[i] != pads[i] for i in range(2 * space)):
        return _average_of_sums(g, x, o, pads, kept, common)
    # Padding is smaller than every element; what ceil_mode adds is no more.
    return _plain(g, o, x, common | {"pads": pads})


def _plain(g: Builder, o: Call, x: Value, common: dict[str, Any]) -> Value:
    """Maxima or means of windows."""
    if o("pooling_type", "max") == "max":
        return g.node("MaxPool", x, **common)
    return g.node("AveragePool", x, count_include_pad=int(not o("exclusive", True)), **common)


def _openly_ceiled(
    g: Builder, o: Call, x: Value, kernel: list[int], strides: list[int], pads: list[int], common: dict[str, Any]
) -> Value:
    """ceil_mode over open sizes: they are padded as far as the last windows reach."""
    space, kind = len(kernel), o("pooling_type", "max")
    front, back = pads[:space], pads[space:]
    sizes = concat(g, [size(g, x, a) for a in range(2, x.rank)])
    before = g.ints([(s - 1) + a + b - k for s, a, b, k in zip(strides, front, back, kernel, strict=True)])
    steps = (sizes + before) / g.ints(strides) * g.ints(strides)
    added = steps + g.ints([k - a for k, a in zip(kernel, front, strict=True)]) - sizes
    added = g.node("Max", added, g.ints(back))
    sides = concat(g, [g.ints([0, 0, *front, 0, 0]), added])
    filler = g.constant(-np.inf if kind == "max" else 0.0, x.dtype)
    wide = known(g.node("Pad", x, sides, filler), [*x.sizes[:2], *[-1] * space])
    if kind == "max":
        return g.node("MaxPool", wide, **common)
    if kind == "lp":
        return _lp(g, wide, o("norm_type"), [0] * (2 * space), common)
    # Elements of the tensor count, and with exclusive=False those of its padding.
    if o("exclusive", True):
        counted = expand(g, g.constant(1.0, x.dtype), concat(g, [g.ints([1, 1]), sizes]))
        counted = g.node("Pad", counted, sides, g.constant(0.0, x.dtype))
    else:
        area = sizes + g.ints([a + b for a, b in zip(front, back, strict=True)])
        counted = expand(g, g.constant(1.0, x.dtype), concat(g, [g.ints([1, 1]), area]))
        rest = concat(g, [g.ints([0] * (space + 4)), added - g.ints(back)])
        counted = g.node("Pad", counted, rest, g.constant(0.0, x.dtype))
    mean, share = (g.node("AveragePool", v, **common) for v in (wide, counted))
    return mean / share


def _ceiled(x: Value, kernel: list[int], strides: list[int], pads: list[int]) -> tuple[list[int], list[int]]:
    """Paddings that add the last windows of ceil_mode, which runtimes count differently, and those of the call."""
    space, added = len(kernel), list(pads)
    for i, n in enumerate(x.sizes[2:]):
        if n < 0:
            raise Unsayable("known sizes in space for ceil_mode")
        count = -(-(n + pads[i] + pads[i + space] - kernel[i]) // strides[i]) + 1
        added[i + space] = (count - 1) * strides[i] + kernel[i] - n - pads[i]
    added = [max(a, b) if i >= space else a for i, (a, b) in enumerate(zip(added, pads, strict=True))]
    return added, pads


def _average_of_sums(g: Builder, x: Value, o: Call, pads: list[int], kept: list[int], common: dict[str, Any]) -> Value:
    """Sums of windows over how many elements count: those of x, and with exclusive=False those of its padding."""
    space = len(common["kernel_shape"])
    inside = np.ones([1, 1, *x.sizes[2:]], np.float32)
    if not o("exclusive", True):
        front, back = kept[:space], kept[space:]
        inside = np.pad(inside, [(0, 0), (0, 0), *zip(front, back)], constant_values=1.0)
        rest = [0] * space + [a - b for a, b in zip(pads[space:], back)]
    else:
        rest = pads
    ones = g.node("AveragePool", g.constant(inside), pads=rest, count_include_pad=1, **common)
    return g.node("AveragePool", x, pads=pads, count_include_pad=1, **common) / g.cast(ones, x.dtype)


def _lp(g: Builder, x: Value, order: float, pads: list[int], common: dict[str, Any]) -> Value:
    """The reference takes no absolute values: a sum of powers under a root."""
    count = float(np.prod(common["kernel_shape"]))
    mean = g.node("AveragePool", g.node("Pow", x, order), pads=pads, count_include_pad=1, **common)
    return g.node("Pow", mean * count, 1.0 / order)


def _adaptive(g: Builder, x: Value, target: list[int], reduction: str) -> Value:
    """Windows of as equal sizes as can be: one pool where they are equal, else the reduction of each."""
    sizes = x.sizes[2:]
    target = [n if t == -1 else t for n, t in zip(sizes, target, strict=True)]
    if min(sizes) > 0 and all(n % t == 0 for n, t in zip(sizes, target, strict=True)):
        kernel = [n // t for n, t in zip(sizes, target, strict=True)]
        return g.node("MaxPool" if reduction == "Max" else "AveragePool", x, kernel_shape=kernel, strides=kernel)
    for i, (n, t) in enumerate(zip(sizes, target, strict=True)):
        axis = i + 2
        if t < 0:  # an open size that stays
            continue
        if n > 0:
            windows = [slices(g, x, [axis], [k * n // t], [-(-(k + 1) * n // t)]) for k in range(t)]
        else:
            count, parted = size(g, x, axis), g.ints([t])
            windows = [slices(g, x, [axis], count * k / parted, (count * (k + 1) + t - 1) / parted) for k in range(t)]
        parts = [reduce(g, reduction, known(w, [-1] * x.rank), [axis], True) for w in windows]
        x = known(concat(g, parts, axis), [-1] * x.rank)
    return x


@rule("max_pool2d_with_index", "max_pool3d_with_index")
def max_pool_with_index(g: Builder, o: Call) -> tuple[Value, ...]:
    x = o[0]
    space = x.rank - 2
    kernel, strides = _kernel(o, space), o("strides")
    if o("global_pooling", False):
        kernel = list(x.sizes[2:])
        strides = kernel
    elif o("adaptive", False):
        if min(x.sizes[2:]) < 0:
            return (_adaptive(g, x, kernel, "Max"),)  # without indices
        if any(n % t for n, t in zip(x.sizes[2:], kernel, strict=True)):
            return _uneven(g, x, kernel)
        kernel = [n // t for n, t in zip(x.sizes[2:], kernel, strict=True)]
        strides = kernel
    pads = [0] * (2 * space) if o("adaptive", False) or o("global_pooling", False) else [*o("paddings"), *o("paddings")]
    if o("ceil_mode", False):
        pads, _ = _ceiled(x, kernel, strides, pads)
    if o("dilations") is not None and set(o("dilations")) != {1}:
        common = {"dilations": o("dilations")}
    else:
        common = {}
    y, index = g.node("MaxPool", x, outputs=2, kernel_shape=kernel, strides=strides, pads=pads, **common)
    # ONNX counts from the first element of all, the reference within each channel.
    area = size(g, x, 2)
    for axis in range(3, x.rank):
        area = area * size(g, x, axis)
    return y, g.cast(g.node("Mod", index, area), "int32")


def _uneven(g: Builder, x: Value, target: list[int]) -> tuple[Value, Value]:
    """Maxima of windows that differ by one in size, and where they are: shorter ones repeat their last element."""
    n, c, *sizes = sizes_of(g, x)
    widths: list[int] = []
    flat, area = np.zeros([1] * (2 * len(target)), np.int64), 1
    for i, (m, t) in reversed(list(enumerate(zip(x.sizes[2:], target, strict=True)))):
        begin, end = np.arange(t) * m // t, -(-np.arange(1, t + 1) * m // t)
        width = int((end - begin).max())
        index = np.minimum(begin[:, None] + np.arange(width), end[:, None] - 1)
        place = index.reshape(
            [t if a == i else 1 for a in range(len(target))] + [width if a == i else 1 for a in range(len(target))]
        )
        flat, area = flat + place * area, area * m
        widths.insert(0, width)
    front = int(np.prod(target))
    flat = np.broadcast_to(flat, [*target, *widths]).reshape([front, -1])
    lines = known(g.node("Reshape", x, mixed(g, [n, c, area])), [-1, -1, area])
    windows = known(g.node("Gather", lines, g.constant(flat), axis=2), [-1, -1, *flat.shape])
    best = known(g.node("ArgMax", windows, axis=3, keepdims=1), [-1, -1, front, 1])
    y = reduce(g, "Max", windows, [3])
    wide = expand(g, g.constant(flat[None, None]), concat(g, [mixed(g, [n, c]), g.ints(flat.shape)]))
    index = g.node("GatherElements", wide, best, axis=3)
    made = [g.node("Reshape", v, mixed(g, [n, c, *target])) for v in (y, index)]
    return made[0], g.cast(made[1], "int32")


@rule("unpool", "unpool3d")
def unpool(g: Builder, o: Call) -> Value:
    x, index = o[0], g.cast(o[1], "int64")
    target = o[2] if o[2] is not None else o("output_size")
    wanted = numbers(target)
    if wanted is None:
        raise Unsayable("a known output_size of unpool")
    wanted = wanted[-(x.rank - 2) :]
    n, c, *_ = sizes_of(g, x)
    lines = mixed(g, [n, c, -1])
    blank = expand(g, g.constant(0, x.dtype), mixed(g, [n, c, int(np.prod(wanted))]))
    y = g.node("ScatterElements", blank, g.node("Reshape", index, lines), g.node("Reshape", x, lines), axis=2)
    return g.node("Reshape", y, mixed(g, [n, c, *wanted]))
