"""Ops that select by data: masks, counts, repeats. They walk their operands in row-major order and count on the way."""

from __future__ import annotations

from umiak.compiler.loop import monoid as m
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import I64
from umiak.compiler.lower.builder import Builder, Element, Index, NotANest, rule
from umiak.compiler.lower.pointwise import parts, truth
from umiak.compiler.lower.reduce import axes_over, outside
from umiak.compiler.lower.terminal import LaunchBuilder, terminal
from umiak.compiler.nest import Chain, FailStage, Nest, ReduceStage, ScanStage, ScatterStage, StoreStage
from umiak.ir import sym as dim
from umiak.ir.program import Operation
from umiak.ops import index, movement

COUNT = n.var("count", I64)


def chosen(b: Builder, o: Operation, k: int, at: Index) -> Node:
    """Return whether element ``at`` of operand ``k`` is not zero."""
    where: Node | None = None
    for p in parts(b.read(o.operands[k], at), False):
        where = truth(p) if where is None else n.call("or", where, truth(p))
    assert where is not None
    return where


@rule(index.CountTrue)
def count_true(b: Builder, o: Operation, k: int, at: Index) -> Element:
    outside(b, at)
    inner = axes_over(b, o.operands[0].meta.shape)
    return b.reduce(m.SUM, (n.cast(chosen(b, o, 0, inner), I64),))[0]


def along(b: Builder, o: Operation) -> Index:
    """Axes over all of operand 0, in order."""
    return axes_over(b, o.operands[0].meta.shape)


def packed(
    launch: LaunchBuilder, o: Operation, b: Builder, where: Node, at: Index, values: list[tuple[Index, Element]]
) -> Nest:
    """Values of the points where ``where`` holds, one after the other.

    Each point writes to the next free position and only those that hold take it: no branch depends on data. Where the
    result is full nothing may be written, and nothing is left to be.
    """
    room = n.lt(COUNT, b.leaf(o.results[0].meta.shape[0]))
    stores = [s for to, x in values for s in launch.stores(b, o.results[0], to, x)]
    stores = [StoreStage(s.buffer, s.index, s.value, True, room) for s in stores]
    held = n.cast(where, I64)
    b.stages.append(ScanStage((COUNT,), m.SUM, (held,), tuple(stores), True, True))
    return b.finish()


@terminal(index.NonzeroSized)
def nonzero(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    b = launch.builder()
    at = along(b, o)
    where = chosen(b, o, 0, at)
    coordinates = [i if i.op == "const" else b.affine(i) for i in at]
    values = [((COUNT, n.i64(d)), i) for d, i in enumerate(coordinates)]
    return packed(launch, o, b, where, at, values)


@terminal(index.MaskedSelectSized)
def masked_select(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    b = launch.builder()
    at = along(b, o)
    where = chosen(b, o, 1, at)
    return packed(launch, o, b, where, at, [((COUNT,), b.read(o.operands[0], at))])


@terminal(index.MaskedScatter)
def masked_scatter(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    """The values that there are must be enough: they are counted first."""
    x, _, values = o.operands
    b = launch.builder()
    at = along(b, o)
    where = chosen(b, o, 1, at)
    held = n.cast(where, I64)
    need = n.var("need", I64)
    b.stages.append(ReduceStage((need,), m.SUM, (held,)))
    size = b.leaf(dim.product(values.meta.shape))
    b.stages.append(FailStage(1, n.lt(size, need)))
    flat = _flat(b, o, 2)
    stages = len(b.stages)
    element = b.guarded(n.conjunction(where, n.lt(COUNT, size)), lambda: b.read(values, flat))
    if len(b.stages) > stages:  # they would come before the count that they need
        raise NotANest("values that are checked or reduced are computed by a launch of their own")
    was = b.read(x, at)
    if isinstance(was, tuple):
        value: Element = tuple(n.select(where, p, q) for p, q in zip(parts(element), was, strict=True))  # type: ignore[assignment]
    else:
        value = n.select(where, element, was)
    stores = tuple(StoreStage(s.buffer, s.index, s.value, True) for s in launch.stores(b, o.results[0], at, value))
    b.stages.append(ScanStage((COUNT,), m.SUM, (held,), stores, True))
    return b.finish()


def _flat(b: Builder, o: Operation, k: int) -> Index:
    """The index of element number ``COUNT`` of an operand."""
    shape = o.operands[k].meta.shape
    position, coordinates = COUNT, []
    for size in reversed(shape[1:]):
        outer = n.div(position, b.leaf(size))
        coordinates.append(n.sub(position, n.mul(outer, b.leaf(size))))
        position = outer
    return (position, *reversed(coordinates)) if shape else ()


@terminal(movement.RepeatInterleaveSized)
def repeat_interleave(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    """Find the start of each element's repeats, then the element at each position, then gather."""
    x, repeats = o.operands
    axis, (count,) = o.op.axis, o.params
    size = repeats.meta.shape[0]
    starts = launch.temporary(I64, size)
    source = launch.temporary(I64, count)

    b = launch.builder((0,))
    (i,) = axes_over(b, (size,))
    each = n.cast(b.read(repeats, (i,)), I64)
    total = n.var("total", I64)
    b.stages.append(ReduceStage((total,), m.SUM, (each,)))
    least = n.var("least", I64)
    b.stages.append(ReduceStage((least,), m.MIN, (each,)))
    wrong = n.call("or", n.ne(total, b.leaf(count)), n.lt(least, 0))
    b.stages.append(FailStage(1, wrong))
    ends = n.var("ends", I64)
    store = StoreStage(starts, b.address(starts, (i,), (1,)), ends, True)
    b.stages.append(ScanStage((ends,), m.SUM, (each,), (store,)))
    nests = [b.finish()]

    b = launch.builder((1,))
    (j,) = b.open((count,))
    b.stages.append(StoreStage(source, b.address(source, (j,), (1,)), n.i64(0), False))
    nests.append(b.finish())

    b = launch.builder((1,))
    (i,) = b.open((size,), reduced=True)
    if not b.reduced:
        b.reduced.append((n.axis("r0"), 1))
    end = n.load(starts, I64, b.address(starts, (i,), (1,)))
    address = b.address(source, (end,), (1,))
    b.stages.append(ScatterStage(source, address, (n.i64(1),), m.SUM, n.lt(end, b.leaf(count))))
    nests.append(b.finish())

    b = launch.builder((1,))
    (j,) = b.open((count,), reduced=True)
    address = b.address(source, (j,), (1,))
    before = n.var("before", I64)
    b.stages.append(
        ScanStage((before,), m.SUM, (n.load(source, I64, address),), (StoreStage(source, address, before, True),))
    )
    nests.append(b.finish())

    b = launch.builder()
    at = b.open(o.results[0].meta.shape)
    i = n.load(source, I64, b.address(source, (at[axis],), (1,)))
    value = b.read(x, (*at[:axis], i, *at[axis + 1 :]))
    b.stages += launch.stores(b, o.results[0], at, value)
    nests.append(b.finish())
    return launch.chain(nests)
