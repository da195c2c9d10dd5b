"""Pooling of regions of interest. An element of the result is one thread's; of the transposes, where it lies in the
images, it looks at every bin of every region of its image."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from umiak.compiler.algorithms.number import Number, maximum, where
from umiak.compiler.algorithms.writer import Writer, algorithm
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import I64, ScalarType
from umiak.compiler.lower.builder import compute_type
from umiak.ops import roi


def floor(x: Number) -> Number:
    return Number(n.call("floor", x.re))


def ceil(x: Number) -> Number:
    return Number(n.call("ceil", x.re))


def as_index(x: Number) -> Node:
    return n.cast(x.re, I64)


def number(i: Node, type_: ScalarType) -> Number:
    return Number(n.cast(i, type_))


def rounded(x: Number) -> Number:
    """The nearest integer, halves away from 0."""
    return Number(n.call("copysign", floor(x.size() + 0.5).re, x.re))


class Regions:
    """Boxes and their numbers, refused as the ops refuse them."""

    def __init__(self, w: Writer) -> None:
        self.writer = w
        self.boxes, self.counts = w.operand(1, ()), w.operand(2, ())
        self.total, self.images = w.shape(1)[0], w.shape(2)[0]
        self.type = compute_type(w.operation.operands[0].meta.dtype)
        self.bins = tuple(map(w.integer, w.operation.params[0]))
        self.scale = w.number(w.operation.params[1], self.type)

    def check(self, ratio: Any = None) -> None:
        """The launch fails for boxes that their op refuses."""
        w = self.writer

        def count(i: Node, total: Node, least: Node) -> tuple[Node, Node]:
            x = n.cast(self.counts[i].re, I64)
            return n.add(total, x), n.minimum(least, x)

        total, least = w.fold(self.images, (n.i64(0), n.i64(0)), count)
        w.fail(n.call("or", n.lt(least, 0), n.ne(total, w.integer(self.total))))
        with w.loop(self.total) as r:
            box = [self.coordinate(r, k) for k in range(4)]
            for x in box:
                w.fail(n.call("not", n.lt(n.call("abs", x.re), math.inf)))
            if ratio is not None and w.op.aligned:
                empty = n.call("or", box[2] < box[0], box[3] < box[1])
                w.fail(n.call("and", empty, n.le(w.integer(ratio), 0)))

    def coordinate(self, r: Node, k: int) -> Number:
        return self.boxes[r, k].cast(self.type)

    def image_of(self, r: Node) -> Node:
        """The image of a region: the number of images whose regions all come before."""

        def step(i: Node, end: Node, image: Node) -> tuple[Node, Node]:
            end = n.add(end, n.cast(self.counts[i].re, I64))
            return end, n.add(image, n.cast(n.le(end, r), I64))

        _, image = self.writer.fold(self.images, (n.i64(0), n.i64(0)), step)
        # What the checks refuse leads nowhere else.
        return self.writer.let(n.maximum(n.minimum(image, n.sub(self.writer.integer(self.images), 1)), n.i64(0)))


def aligned_edges(w: Writer, regions: Regions, r: Node, axis: int) -> tuple[Number, Number, Node]:
    """Of RoI align along a dim (0: rows): the low edge of a region, the width of a bin, and its samples."""
    offset = 0.5 if w.op.aligned else 0.0
    low, high = (regions.coordinate(r, k) * regions.scale - offset for k in (1 - axis, 3 - axis))
    extent = high - low
    if not w.op.aligned:
        extent = maximum(extent, 1.0)
    step = extent / number(regions.bins[axis], regions.type)
    ratio = w.integer(w.operation.params[-1])
    samples = n.select(n.lt(0, ratio), ratio, n.maximum(as_index(ceil(step)), n.i64(0)))
    return w.let(low, step, samples)


def bilinear(at: Number, size: Node) -> tuple[Node, Node, Number]:
    """The place of a sample along a dim: two elements, and the share of the second; a NaN-free ``at``."""
    last = n.sub(size, 1)
    at = maximum(at, 0.0)
    first = n.minimum(as_index(at), last)
    share = where(n.lt(first, last), at - number(first, at.type), 0.0)
    return first, n.minimum(n.add(first, 1), last), share


def sample_at(low: Number, step: Number, samples: Node, bin_: Node, k: Node, size: Node) -> tuple[Number, Node]:
    """The place of sample ``k`` of a bin, and whether it counts."""
    type_ = low.type
    at = low + number(bin_, type_) * step + (number(k, type_) + 0.5) * step / number(samples, type_)
    there = n.call("and", n.le(n.const(-1.0, type_), at.re), n.le(at.re, number(size, type_).re))
    return at, there


@algorithm(roi.RoiAlign)
def roi_align(w: Writer) -> None:
    r, c, i, j = w.points(*w.operation.results[0].meta.shape)
    regions, x = Regions(w), w.operand(0, ())
    regions.check(w.operation.params[-1])
    image = regions.image_of(r)
    sizes = tuple(map(w.integer, w.shape(0)[2:]))
    (top, height, rows), (left, width, columns) = (aligned_edges(w, regions, r, axis) for axis in (0, 1))

    def term(s: Node) -> Number:
        y, row_counts = sample_at(top, height, rows, i, n.div(s, columns), sizes[0])
        z, column_counts = sample_at(left, width, columns, j, n.rem(s, columns), sizes[1])
        y0, y1, down = bilinear(where(row_counts, y, 0.0), sizes[0])
        z0, z1, right = bilinear(where(column_counts, z, 0.0), sizes[1])
        upper = x[image, c, y0, z0] * (1.0 - right) + x[image, c, y0, z1] * right
        lower = x[image, c, y1, z0] * (1.0 - right) + x[image, c, y1, z1] * right
        value = upper * (1.0 - down) + lower * down
        return where(n.call("and", row_counts, column_counts), value, 0.0)

    count = n.mul(rows, columns)
    total = w.sum(count, term, Number(n.const(0.0, regions.type)))
    w.result(0)[()] = total / number(n.maximum(count, n.i64(1)), regions.type)


def share_of(w: Writer, low: Number, step: Number, samples: Node, bin_: Node, size: Node, at: Node) -> Number:
    """The weight of an element in a bin along a dim, not divided by the number of samples."""

    def term(k: Node) -> Number:
        place, there = sample_at(low, step, samples, bin_, k, size)
        first, second, share = bilinear(where(there, place, 0.0), size)
        weight = where(n.eq(first, at), 1.0 - share, 0.0) + where(n.eq(second, at), share, 0.0)
        return where(there, weight, 0.0)

    return w.sum(samples, term, low.like(0.0))


def spread(w: Writer, add: Callable[[Regions, Node, Any], None]) -> None:
    """The sum over the regions of an element's image; ``add(regions, r, total)`` adds what a region gives."""
    at = w.points(*w.operation.results[0].meta.shape)
    regions = Regions(w)
    total = w.memory(regions.type)
    total[()] = Number(n.const(0.0, regions.type))
    with w.loop(regions.total) as r:
        image = regions.image_of(r)
        with w.when(n.eq(image, at[0])):
            add(regions, r, total)
    w.result(0)[()] = total[()]


@algorithm(roi.RoiAlignSpread)
def roi_align_spread(w: Writer) -> None:
    def add(regions: Regions, r: Node, total: Any) -> None:
        _, c, y, z = w.lead
        height, width = map(w.integer, w.operation.results[0].meta.shape[2:])
        rows, columns = (aligned_edges(w, regions, r, axis) for axis in (0, 1))
        count = number(n.maximum(n.mul(rows[2], columns[2]), n.i64(1)), regions.type)
        g = w.operand(0, ())
        with w.loop(regions.bins[0]) as i:
            down = share_of(w, *rows, i, height, y)
            with w.when(n.call("not", down.is_zero())), w.loop(regions.bins[1]) as j:
                right = share_of(w, *columns, j, width, z)
                total[()] = total[()] + g[r, c, i, j] * down * right / count

    spread(w, add)


def bin_span(low: Number, step: Number, bin_: Node, size: Node, outside: bool) -> tuple[Node, Node]:
    """First element and end of a bin within an image. ``outside``: the low edge is added after rounding."""
    type_ = low.type
    first, last = number(bin_, type_) * step, (number(bin_, type_) + 1.0) * step
    if outside:
        first, last = floor(first) + low, ceil(last) + low
    else:
        first, last = floor(first + low), ceil(last + low)
    top = number(size, type_)

    def clipped(x: Number) -> Node:
        return as_index(Number(n.minimum(n.maximum(x.re, n.const(0.0, type_)), top.re)))

    return clipped(first), clipped(last)


def sensitive_edges(regions: Regions, r: Node, axis: int) -> tuple[Number, Number]:
    low = rounded(regions.coordinate(r, 1 - axis)) * regions.scale
    high = (rounded(regions.coordinate(r, 3 - axis)) + 1.0) * regions.scale
    return regions.writer.let(low, maximum(high - low, 0.1) / number(regions.bins[axis], regions.type))


@algorithm(roi.PsroiPool)
def psroi_pool(w: Writer) -> None:
    r, c, i, j = w.points(*w.operation.results[0].meta.shape)
    regions, x = Regions(w), w.operand(0, ())
    regions.check()
    image = regions.image_of(r)
    spans = [
        w.let(*bin_span(*sensitive_edges(regions, r, axis), at, w.integer(w.shape(0)[2 + axis]), False))
        for axis, at in ((0, i), (1, j))
    ]
    (top, bottom), (left, right) = spans
    channel = n.add(n.mul(n.add(n.mul(c, regions.bins[0]), i), regions.bins[1]), j)
    height, width = n.maximum(n.sub(bottom, top), n.i64(0)), n.maximum(n.sub(right, left), n.i64(0))
    count = n.mul(height, width)

    def term(s: Node) -> Number:
        return x[image, channel, n.add(top, n.div(s, width)), n.add(left, n.rem(s, width))]

    total = w.sum(count, term, Number(n.const(0.0, regions.type)))
    w.result(0)[()] = total / number(n.maximum(count, n.i64(1)), regions.type)


@algorithm(roi.PsroiPoolSpread)
def psroi_pool_spread(w: Writer) -> None:
    def add(regions: Regions, r: Node, total: Any) -> None:
        _, channel, y, z = w.lead
        each = n.mul(regions.bins[0], regions.bins[1])
        c, bin_ = n.div(channel, each), n.rem(channel, each)
        i, j = n.div(bin_, regions.bins[1]), n.rem(bin_, regions.bins[1])
        shape = w.operation.results[0].meta.shape
        (top, bottom), (left, right) = (
            w.let(*bin_span(*sensitive_edges(regions, r, axis), at, w.integer(shape[2 + axis]), False))
            for axis, at in ((0, i), (1, j))
        )
        inside = [n.le(top, y), n.lt(y, bottom), n.le(left, z), n.lt(z, right)]
        there = inside[0]
        for condition in inside[1:]:
            there = n.call("and", there, condition)
        count = number(n.mul(n.sub(bottom, top), n.sub(right, left)), regions.type)
        with w.when(there):
            total[()] = total[()] + w.operand(0, ())[r, c, i, j] / count

    spread(w, add)


@algorithm(roi.RoiMaxIndex)
def roi_max_index(w: Writer) -> None:
    r, c, i, j = w.points(*w.operation.results[0].meta.shape)
    regions, x = Regions(w), w.operand(0, ())
    regions.check()
    image = regions.image_of(r)
    _, channels, height, width = map(w.integer, w.shape(0))

    def span(axis: int, at: Node, size: Node) -> Any:
        low, high = (rounded(regions.coordinate(r, k) * regions.scale) for k in (1 - axis, 3 - axis))
        step = maximum(high - low + 1.0, 1.0) / number(regions.bins[axis], regions.type)
        return w.let(*bin_span(low, step, at, size, True))

    (top, bottom), (left, right) = span(0, i, height), span(1, j, width)
    rows, columns = n.maximum(n.sub(bottom, top), n.i64(0)), n.maximum(n.sub(right, left), n.i64(0))
    plane = n.mul(n.add(n.mul(image, channels), c), n.mul(height, width))

    def larger(s: Node, best: Number, at: Node) -> tuple[Number, Node]:
        y, z = n.add(top, n.div(s, columns)), n.add(left, n.rem(s, columns))
        value = x[image, c, y, z]
        # The first of all, then only what is larger; a NaN stays.
        take = n.call("or", n.lt(at, 0), n.call("or", best < value, n.ne(value.re, value.re)))
        take = n.call("and", take, n.eq(best.re, best.re))
        place = n.add(plane, n.add(n.mul(y, width), z))
        return where(take, value, best), n.select(take, place, at)

    _, found = w.fold(n.mul(rows, columns), (Number(n.const(-math.inf, regions.type)), n.i64(-1)), larger)
    w.result(0)[()] = found
