"""Nests of few points, all of whose sizes and strides are known: no loops but lanes.

Every point of the outer axes of P stands by itself, and every reduction is one expression over the points of R. As
equal expressions are one node, what several points read is read once. Integers of the call are not asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from umiak.compiler.loop import monoid as m
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import RARE, Node, axis, i64
from umiak.compiler.loop.tree import IN, LANE, OUT, Axis, Buffer, Kernel, Loop, Store
from umiak.compiler.nest import Nest, ReduceStage, StoreStage, position

LANE_INDEX = axis("c")
LONG = 32  # points of R: from so many on, rows are added side by side
MOST_POINTS = 4096  # of P and R together
MOST_NODES = 1500  # of a kernel, each an instruction or more


def unrolled_kernel(nest: Nest, lanes: int) -> Kernel | None:
    """The nest as one loop over lanes, of which a vector has ``lanes``; None where it has to be another kernel."""
    numbers = [*nest.sizes, *nest.extras, *(s for a in nest.accesses for s in a.strides)]
    if not nest.n_parallel or any(type(x) is not int for x in numbers) or min(nest.sizes) < 1:
        return None
    stores = [s for s in nest.stages if isinstance(s, StoreStage)]
    if not stores or len({s.buffer for s in stores}) < len(stores) or any(s.where is not None for s in stores):
        return None
    reduces = [s for s in nest.stages if isinstance(s, ReduceStage)]
    if len(stores) + len(reduces) < len(nest.stages) or (nest.n_reduced and any(s.each for s in stores)):
        return None
    roots = [x for s in reduces for x in s.values] + [s.value for s in stores]
    if any(x.op == "philox" or x.attr is RARE or (x.op == "load" and len(x.args) > 1) for x in n.walk(roots)):
        return None
    axes = _merged(nest, _Axes(nest))
    if not all(_in_order(nest, axes, s) for s in reduces):
        return None
    points = axes.count()
    if points > MOST_POINTS:
        return None
    outer, columns = axes.parallel[:-1], axes.parallel[-1]
    if any(axes.along(s.index, columns) != 1 for s in stores):
        return None
    vectors = -(-columns.size // lanes)
    if points // columns.size * vectors * len(list(n.walk(roots))) > 4 * MOST_NODES:
        return None
    body: list[Store] = []
    reduced = [tuple(zip(axes.reduced, at, strict=True)) for at in product(*(range(a.size) for a in axes.reduced))]
    for at in product(*(range(a.size) for a in outer)):
        point: list[tuple[_Axis, int | Node]] = [*zip(outer, at, strict=True), (columns, LANE_INDEX)]
        here = axes.table(point)
        for s in reduces:
            here.update(zip(s.results, _total(axes, s, point, reduced, here), strict=True))
        for store in stores:
            index, value = n.replace([store.index, store.value], here)
            body.append(Store(store.buffer, index, value))
    read = [x.args[0] for x in n.walk(s.value for s in body) if x.op == "load"]
    if not all(map(_is_known, [*read, *(s.index for s in body)])):
        return None
    if sum(_instructions(x, lanes) for x in n.walk(s.value for s in body)) * vectors > MOST_NODES:
        return None
    buffers = tuple(Buffer(b.name, b.type, OUT if b.output else IN) for b in nest.buffers)
    loop = Loop(Axis(LANE_INDEX, i64(columns.size), kind=LANE), tuple(body), parallel=True)
    return Kernel(f"{nest.name}_unrolled", buffers, 0, (loop,))


def rows(body: Sequence[Store]) -> Iterator[list[Store]]:
    """The stores of one point after the other."""
    part: list[Store] = []
    for s in body:
        if part and part[0].buffer == s.buffer:
            yield part
            part = []
        part.append(s)
    yield part


class _Axis:
    """``strides`` of all accesses along it."""

    def __init__(self, size: int, strides: list[int]) -> None:
        self.size = size
        self.strides = strides


class _Axes:
    """The axes of a nest that have more than one point."""

    def __init__(self, nest: Nest) -> None:
        loops = [_Axis(size, [a.strides[k] for a in nest.accesses]) for k, size in enumerate(nest.sizes)]
        self.extras = nest.extras
        self.accesses = len(nest.accesses)
        self.parallel = [a for a in loops[: nest.n_parallel] if a.size > 1] or loops[:1]
        self.reduced = [a for a in loops[nest.n_parallel :] if a.size > 1]

    def count(self) -> int:
        total = 1
        for a in (*self.parallel, *self.reduced):
            total *= a.size
        return total

    def along(self, index: Node, a: _Axis) -> int | None:
        """Return the stride of an index along an axis; None where no access alone says so."""
        steps = {a.strides[k] for k in range(self.accesses) if position(k).axes <= index.axes}
        return steps.pop() if len(steps) == 1 else None

    def table(self, point: Sequence[tuple[_Axis, int | Node]]) -> dict[Node, Node]:
        """Return the values of positions and integers at a point."""
        replaced: dict[Node, Node] = {n.dim(k): i64(x) for k, x in enumerate(self.extras)}
        for k in range(self.accesses):
            at = sum(i * a.strides[k] for a, i in point if type(i) is int)
            total = i64(at)
            for a, i in point:
                if isinstance(i, Node):
                    total = n.add(n.mul(i, i64(a.strides[k])), total)
            replaced[position(k)] = total
        return replaced


def _merged(nest: Nest, axes: _Axes) -> _Axes:
    """Axes of P that are one: each step of the outer one is as many of the inner one as that is long."""
    first = next(s for s in nest.stages if isinstance(s, StoreStage))
    ordered = sorted(axes.parallel, key=lambda a: -(axes.along(first.index, a) or 0))
    merged = ordered[:1]
    for a in ordered[1:]:
        last = merged[-1]
        if all(s == a.size * t for s, t in zip(last.strides, a.strides, strict=True)):
            merged[-1] = _Axis(last.size * a.size, a.strides)
        else:
            merged.append(a)
    axes.parallel = merged
    return axes


def _total(
    axes: _Axes, s: ReduceStage, point: Sequence[tuple], reduced: Sequence[tuple], known: dict[Node, Node]
) -> tuple[Node, ...]:
    """The results of a reduction at a point, in order."""
    total = s.monoid.identity(tuple(v.type for v in s.values))
    for at in reduced:
        table = {**known, **axes.table((*point, *at))}
        values = n.replace([*s.values, *(() if s.where is None else (s.where,))], table)
        where = None if s.where is None else values.pop()
        if s.monoid is m.SUM and n.is_exact_product(values[0]):
            total = (n.fma(*values[0].args[:2], total[0] if at is not reduced[0] else n.const(0.0, values[0].type)),)
            continue
        new = s.monoid.combine(total, tuple(values))
        total = new if where is None else tuple(n.select(where, x, y) for x, y in zip(new, total, strict=True))
    return total


def _in_order(nest: Nest, axes: _Axes, s: ReduceStage) -> bool:
    """Return whether other kernels of the nest reduce in the same order, so that results have the same bits: where
    lanes run along columns, of which each adds one row after the other."""
    if s.monoid is m.SUM and n.is_exact_product(s.values[0]):
        return True
    columns, count = axes.parallel[-1], 1
    for a in axes.reduced:
        count *= a.size
    moving = [
        k for k, a in enumerate(nest.accesses) if a.buffer is not None and any(r.strides[k] for r in axes.reduced)
    ]
    return columns.size >= 4 and count < LONG and all(columns.strides[k] == 1 for k in moving)


def _is_known(index: Node) -> bool:
    """Return whether the position of each lane is a number: data may be indices, or the index goes round at an end."""
    form = n.linear(index, LANE_INDEX)
    return form is not None and form[0].op == form[1].op == "const"


def _instructions(x: Node, lanes: int) -> int:
    """About how many instructions a node takes."""
    if x.op in ("const", "axis"):
        return 0
    if x.op != "load":
        return 1
    form = n.linear(x.args[0], LANE_INDEX)
    assert form is not None
    return 1 if form[0].attr in (0, 1) else lanes
