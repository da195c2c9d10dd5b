"""Blocked compensated sums of floats: long reduced axes are summed in chunks, and the chunks with compensation.

Each addition to an accumulator may lose half an ulp of its present value, so the error of a plain sum grows with its
length. Here a chunk is summed into vectors of accumulators, and the sums of chunks join a compensated total: a pair of
the sum and of its rounding errors (Knuth's two-sum). So the error does not grow with the number of chunks. Reductions
beside the sum (a maximum) have totals of their own, which are not pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from umiak.compiler.codes import CHUNK_COLUMN, CHUNK_POINTS, CHUNK_ROWS
from umiak.compiler.loop.monoid import COMPENSATED_SUM, SUM, Monoid, Values
from umiak.compiler.loop.node import (
    Node,
    add,
    axis,
    call,
    const,
    div,
    i64,
    load,
    lt,
    maximum,
    minimum,
    mul,
    select,
    sub,
    var,
)
from umiak.compiler.loop.tree import LOCAL, SERIAL, Axis, Buffer, Loop, Reduce, Statement, Store
from umiak.compiler.loop.types import ScalarType
from umiak.compiler.nest import ReduceStage, ScanStage
from umiak.compiler.schedule.frame import Frame, product, unflatten
from umiak.compiler.schedule.merge import side_by_side


def sums_floats(monoid: Monoid, results: Sequence[Node]) -> bool:
    """Return whether one of the results of a reduction is a sum of floats."""
    return any(part is SUM and r.type.is_float for part, (r, *_) in parts_of(monoid, results))


def parts_of(monoid: Monoid, items: Sequence[Node]) -> list[tuple[Monoid, tuple[Node, ...]]]:
    """Return the component monoids of a product monoid, each with its part of ``items``."""
    parts, at = [], 0
    for part in monoid.parts or (monoid,):
        parts.append((part, tuple(items[at : at + part.size])))
        at += part.size
    return parts


@dataclass(frozen=True)
class Compensated:
    """A reduction whose sums of floats are pairs: the sum and its error."""

    monoid: Monoid
    types: tuple[ScalarType, ...]
    lift: Callable[[Sequence[Node]], Values]  # from values of the plain reduction to those of this one
    lower: Callable[[Sequence[Node]], Values]  # and back


def compensated(monoid: Monoid, results: Sequence[Node]) -> Compensated:
    """Return the reduction that keeps a compensation term beside each sum of floats in ``monoid``.

    ``results`` have the types of the monoid's results; other reductions in it stay as they are.
    """
    parts = parts_of(monoid, results)
    wide = [part is SUM and of[0].type.is_float for part, of in parts]
    types = tuple(r.type for (_, of), w in zip(parts, wide) for r in (of * 2 if w else of))

    def lift(values: Sequence[Node]) -> Values:
        lifted: list[Node] = []
        for (_, items), w in zip(parts_of(monoid, values), wide):
            lifted += [items[0], const(-0.0, items[0].type)] if w else items
        return tuple(lifted)

    def lower(values: Sequence[Node]) -> Values:
        lowered, rest = [], list(values)
        for (part, _), w in zip(parts, wide):
            if w:
                total, lost = rest[:2]
                # The error of an infinite sum is NaN, and zeros keep their sign.
                lowered.append(select(lt(0.0, call("abs", lost)), add(total, lost), total))
                del rest[:2]
            else:
                lowered += rest[: part.size]
                del rest[: part.size]
        return tuple(lowered)

    return Compensated(
        side_by_side(tuple(COMPENSATED_SUM if w else part for (part, _), w in zip(parts, wide))), types, lift, lower
    )


def with_compensation(s: Reduce) -> list[Statement]:
    """A reduction of numbers one after the other, without chunks: for few of them, or where memory is what takes
    time."""
    if not sums_floats(s.monoid, s.results):
        return [s]
    compensation = compensated(s.monoid, s.results)
    wide = tuple(var(f"{s.results[0].attr}_wide{k}", t) for k, t in enumerate(compensation.types))
    init = None if s.init is None else compensation.lift(s.init)
    return [
        Reduce(wide, compensation.monoid, s.axes, compensation.lift(s.values), init, s.where),
        Reduce(s.results, s.monoid, (), compensation.lower(wide)),
    ]


class Totals:
    """Running totals of the chunks of a reduction, in local buffers of ``size``, at ``index``."""

    def __init__(self, f: Frame, s: ReduceStage | ScanStage, size: Node, index: Node) -> None:
        self.s, self.index, self.joined = s, index, 0
        self.compensation = compensated(s.monoid, s.results)
        self.buffers = [
            Buffer(f"{s.results[0].attr}_total{k}", t, LOCAL, size) for k, t in enumerate(self.compensation.types)
        ]
        f.local.extend(self.buffers)

    def loads(self) -> Values:
        return tuple(load(b.name, b.type, self.index) for b in self.buffers)

    def begin(self) -> list[Statement]:
        return [
            Store(b.name, self.index, x)
            for b, x in zip(self.buffers, self.compensation.monoid.identity(self.compensation.types))
        ]

    def join(self, values: Sequence[Node]) -> list[Statement]:
        """Add the result of a chunk to its total."""
        now = tuple(var(f"{b.name}_{self.joined}", b.type) for b in self.buffers)
        self.joined += 1
        joined = Reduce(now, self.compensation.monoid, (), self.compensation.lift(values), self.loads())
        return [joined, *(Store(b.name, self.index, x) for b, x in zip(self.buffers, now))]

    def end(self) -> Values:
        return self.compensation.lower(self.loads())


@dataclass(frozen=True)
class Chunks:
    """Loops over chunks, the axes within one (at most two), and the indices of R there."""

    around: tuple[Axis, ...]
    axes: tuple[Axis, ...]
    indices: tuple[Node, ...]

    def over(self, body: Sequence[Statement]) -> Statement:
        result = tuple(body)
        for a in reversed(self.around):
            result = (Loop(a, result),)
        return result[0]


def chunks(f: Frame, axes: Sequence[Axis], columns: bool = False) -> Chunks:
    """Cut R into chunks: parts of the last axis, or some rows of it where they are shorter. ``columns``: lanes run
    along those.

    Several axes around the last one become one.
    """
    points, rows = (CHUNK_COLUMN, CHUNK_COLUMN) if columns else (CHUNK_POINTS, CHUNK_ROWS)
    *outer, last = axes
    chunk = axis("chunk")
    within = Axis(last.index, minimum(add(chunk, points), last.hi), chunk, last.kind)
    along = Axis(chunk, last.hi, last.lo, SERIAL, points)
    if not outer:
        return Chunks((along,), (within,), (last.index,))
    sizes = f.r_sizes[: len(outer)]
    others = product(sizes[1:])
    lo, hi = mul(outer[0].lo, others), mul(outer[0].hi, others)
    length = minimum(i64(rows), maximum(i64(1), div(i64(points), maximum(i64(1), last.hi))))
    number, row = axis("rows"), axis("row")
    start = add(lo, mul(number, length))
    count = div(add(sub(hi, lo), sub(length, 1)), length)
    return Chunks(
        (Axis(number, count), along),
        (Axis(row, minimum(add(start, length), hi), start), within),
        (*unflatten(row, sizes), last.index),
    )
