"""Results that are put together from regions, each of which is a plain copy.

In the middle of a group such an op chooses at every element where it comes from. On its own, and a concatenation at the
end of a group, it is better off with a nest per region, whose loops move straight through memory, or with one nest that
stores at several positions at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.lower.builder import Index
from umiak.compiler.lower.movement import dim_mod, padded_from
from umiak.compiler.lower.terminal import LaunchBuilder
from umiak.compiler.nest import Chain, Nest
from umiak.ir.meta import identical
from umiak.ir.program import Operation, Value
from umiak.ops import movement

MANY = 4  # parts that are worth a kernel each

Regions = Callable[[LaunchBuilder, Operation], "Nest | Chain | None"]
PIECES: dict[type, Regions] = {}


def pieces(cls: type) -> Callable[[Regions], Regions]:
    """Register the decorated function for an op class; it gives None for calls that are better without."""

    def enter(fn: Regions) -> Regions:
        PIECES[cls] = fn
        return fn

    return enter


def copied(launch: LaunchBuilder, o: Operation, x: Any, sizes: Any, position: Any, source: Any) -> Nest:
    """A nest over ``sizes``: ``position(b, at)`` of the result becomes ``source(b, at)`` of the operand."""
    b = launch.builder()
    at = b.open(sizes)
    b.stages += launch.stores(b, o.results[0], position(b, at), b.read(x, source(b, at)))
    return b.finish()


def moved(at: Index, axis: int, to: Node) -> Index:
    return (*at[:axis], to, *at[axis + 1 :])


def shifted(axis: int, start: Any) -> Callable[[Any, Index], Index]:
    """Positions that lie ``start`` further along an axis."""
    return lambda b, at: moved(at, axis, n.add(at[axis], b.leaf(start)))


def same(b: Any, at: Index) -> Index:
    return at


def resized(shape: Any, axis: int, size: Any) -> tuple:
    return (*shape[:axis], size, *shape[axis + 1 :])


@pieces(movement.Concat)
def concat(launch: LaunchBuilder, o: Operation) -> Nest | Chain | None:
    """Parts of one shape in one nest: what they are computed from is then read once."""
    fills = list(_parts(launch, o, same))
    if len(fills) > MANY:
        return None
    nests: list[Nest] = []
    while fills:
        shape = fills[0][0].meta.shape
        alike = [f for f in fills if identical(f[0].meta.shape, shape)]
        fills = [f for f in fills if f not in alike]
        b = launch.builder()
        at = b.open(shape)
        for x, position in alike:
            b.stages += launch.stores(b, o.results[0], position(b, at), b.read(x, at))
        nests.append(b.finish())
    return launch.chain(nests)


def _parts(launch: LaunchBuilder, o: Operation, position: Callable[[Any, Index], Index]) -> Iterator[tuple[Value, Any]]:
    """(value, positions in the whole) of the operands, and of those of a concatenation among them."""
    start: Any = 0
    operands: Any = o.operands
    for x in operands:
        inner = _composed(position, shifted(o.op.axis, start))
        producer = x.operation
        if producer is not None and type(producer.op) is movement.Concat and not any(x is v for v, _ in launch.inputs):
            yield from _parts(launch, producer, inner)
        else:
            yield x, inner
        start = start + x.meta.shape[o.op.axis]


def _composed(
    outer: Callable[[Any, Index], Index], inner: Callable[[Any, Index], Index]
) -> Callable[[Any, Index], Index]:
    return lambda b, at: outer(b, inner(b, at))


@pieces(movement.Stack)
def stack(launch: LaunchBuilder, o: Operation) -> Nest | Chain | None:
    if len(o.operands) > MANY:
        return None
    b, axis = launch.builder(), o.op.axis
    at = b.open(o.operands[0].meta.shape)
    for j, x in enumerate(o.operands):
        b.stages += launch.stores(b, o.results[0], (*at[:axis], n.i64(j), *at[axis:]), b.read(x, at))
    return b.finish()


@pieces(movement.Roll)
def roll(launch: LaunchBuilder, o: Operation) -> Nest | Chain | None:
    if len(o.op.axes) != 1:
        return None
    (axis,), x = o.op.axes, o.operands[0]
    shape = x.meta.shape
    head = dim_mod(o.params[0][0], shape[axis])
    rest = shape[axis] - head
    return launch.chain(
        [
            copied(launch, o, x, resized(shape, axis, rest), shifted(axis, head), same),
            copied(launch, o, x, resized(shape, axis, head), same, shifted(axis, rest)),
        ]
    )


@pieces(movement.Tile)
def tile(launch: LaunchBuilder, o: Operation) -> Nest | Chain | None:
    x, repeats = o.operands[0], o.params[0]
    lead = len(repeats) - len(x.meta.shape)
    b = launch.builder()
    position: list[Node] = []
    source: list[Node] = []
    for d, r in enumerate(repeats):
        if d < lead:
            position += b.open((r,))
            continue
        size = x.meta.shape[d - lead]
        copy, i = b.open((r, size))
        position.append(n.add(n.mul(copy, b.leaf(size)), i))
        source.append(i)
    b.stages += launch.stores(b, o.results[0], tuple(position), b.read(x, tuple(source)))
    return b.finish()


@pieces(movement.Pad)
def pad(launch: LaunchBuilder, o: Operation) -> Nest | Chain | None:
    """Modes that repeat elements: the last dim as its middle and its two edges, along which all is affine."""
    x = o.operands[0]
    shape, last = x.meta.shape, len(x.meta.shape) - 1
    each = {axis: (lo, hi) for axis, lo, hi in o.op.each(len(shape), *o.params)}
    if o.op.mode == "constant" or last not in each:
        return None
    lo, hi = each[last]
    full_shape, size = o.results[0].meta.shape, shape[last]

    def source(along: Callable[[Any, Node], Node]) -> Callable[[Any, Index], Index]:
        def index(b: Any, at: Index) -> Index:
            others = (
                padded_from(o.op.mode, n.sub(i, b.leaf(each[d][0])), b.leaf(shape[d])) if d in each else i
                for d, i in enumerate(at[:-1])
            )
            return (*others, along(b, at[-1]))

        return index

    edges: dict[str, tuple[Callable[[Any, Node], Node], Callable[[Any, Node], Node]]] = {
        "reflect": (lambda b, i: n.sub(b.leaf(lo), i), lambda b, i: n.sub(b.leaf(size - 2), i)),
        "circular": (lambda b, i: n.add(i, b.leaf(size - lo)), lambda b, i: i),
        "replicate": (lambda b, i: n.i64(0), lambda b, i: b.leaf(size - 1)),
    }
    before, behind = edges[o.op.mode]
    return launch.chain(
        [
            copied(launch, o, x, resized(full_shape, last, size), shifted(last, lo), source(lambda b, i: i)),
            copied(launch, o, x, resized(full_shape, last, lo), same, source(before)),
            copied(launch, o, x, resized(full_shape, last, hi), shifted(last, lo + size), source(behind)),
        ]
    )
