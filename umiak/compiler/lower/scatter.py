"""Scatters: chains of nests, of which the first fills the result with the base and others put updates into it.

Updates of a narrow float are combined in f32 memory and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from umiak.compiler.loop import monoid as m
from umiak.compiler.loop import node as n
from umiak.compiler.loop.monoid import Monoid
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import F64, I64
from umiak.compiler.lower.builder import Builder, Element, Index, NotANest, compute_type, storage_type
from umiak.compiler.lower.terminal import LaunchBuilder, terminal
from umiak.compiler.nest import Chain, FailStage, Nest, ReduceStage, ScanStage, ScatterStage, StoreStage
from umiak.core.dtype import DType
from umiak.ir import sym as dim
from umiak.ir.meta import dense
from umiak.ir.program import Operation, Value
from umiak.ops import index, movement

COMBINE = {"add": m.SUM, "mul": m.PROD, "min": m.MIN, "max": m.MAX}
ON_BOOLS = {"add": m.ANY, "mul": m.ALL, "min": m.ALL, "max": m.ANY}

# Opens the axes; where an update goes, and what gives it.
Checks = Callable[[Builder], None]
Positions = Callable[[Builder], "tuple[Index, Callable[[], Element]]"]


def combination(mode: str, dtype: DType) -> Monoid | None:
    """Return the monoid that combines updates in a mode; None for "set", where an update replaces."""
    if mode == "set":
        return None
    if dtype.is_bool:
        return ON_BOOLS[mode]
    if dtype.is_complex:
        return {"add": COMPLEX_SUM, "mul": m.COMPLEX_PROD}[mode]
    return COMBINE[mode]


def _complex_sum(a: m.Values, b: m.Values) -> m.Values:
    return n.add(a[0], b[0]), n.add(a[1], b[1])


COMPLEX_SUM = Monoid("complex_sum", 2, lambda ts: tuple(n.const(-0.0, t) for t in ts), _complex_sum)


class Scatter:
    """The nests of one scatter into ``out``, which are run in the order in which they are asked for."""

    def __init__(self, launch: LaunchBuilder, out: Value, rounds: bool) -> None:
        """``rounds``: several updates of one element may meet, and are rounded together."""
        self.launch, self.out = launch, out
        self.dtype: DType = out.meta.dtype  # type: ignore[assignment]
        self.shape = tuple(out.meta.shape)
        self.kind = storage_type(self.dtype)
        self.own = ""
        if rounds and self.kind.is_storage:
            self.kind = compute_type(self.dtype)
            self.own = launch.temporary(self.kind, dim.product(self.shape))
        self.nests: list[Nest] = []
        self.where: Node | None = None  # which updates count

    def builder(self) -> Builder:
        return self.launch.builder(range(len(self.launch.temporaries)))

    def buffer(self) -> str:
        return self.own or self.launch.place[id(self.out)]

    def address(self, b: Builder, at: Index) -> Node:
        return b.address(self.buffer(), at, dense(self.shape).strides, 2 if self.dtype.is_complex else 1)

    def values(self, x: Element) -> tuple[Node, ...]:
        return tuple(n.cast(p, self.kind) for p in _parts(x, self.dtype))

    def fill(self, pull: Callable[[Builder, Index], Element]) -> Scatter:
        """Every element."""
        b = self.builder()
        at = b.open(self.shape)
        value = self.values(pull(b, at))
        address = self.address(b, at)
        b.stages += [StoreStage(self.buffer(), n.add(address, k), v, False) for k, v in enumerate(value)]
        self.nests.append(b.finish())
        return self

    def put(self, positions: Positions, monoid: Monoid | None) -> Scatter:
        """Updates where they go."""
        b = self.builder()
        at, pull = positions(b)
        if not b.reduced:
            b.reduced.append((n.axis("r0"), 1))
        address = self.address(b, at)
        values = self.values(pull())
        if any(isinstance(s, (ReduceStage, ScanStage)) for s in b.stages):
            raise NotANest("updates that are reduced in one nest with their scatter")
        b.stages.append(ScatterStage(self.buffer(), address, values, monoid, self.where))
        self.nests.append(b.finish())
        return self

    def finish(self, base: Any = None, checks: Checks | None = None) -> Nest | Chain:
        """All of it. Updates of the operand ``base`` may be made in its memory, after ``checks`` of where they go."""
        if self.own:
            b = self.launch.builder()
            at = b.open(self.shape)
            value = n.load(self.own, self.kind, self.address(b, at))
            b.stages += self.launch.stores(b, self.out, at, value)
            self.nests.append(b.finish())
        operand = next((i for i, (x, _) in enumerate(self.launch.inputs) if x is base), None)
        if self.own or checks is None or operand is None:
            return self.launch.chain(self.nests)
        b = self.launch.builder()
        checks(b)
        buffers = self.nests[0].buffers
        return self.launch.chain(self.nests, into=(buffers[operand].name, self.buffer()), checks=b.finish())


def _parts(x: Element, dtype: DType) -> tuple[Node, ...]:
    if isinstance(x, tuple):
        return x
    return (x, n.const(0.0, x.type)) if dtype.is_complex else (x,)


def update(b: Builder, o: Operation, k: int, at: Index) -> Element:
    """Operand ``k``, a tensor of the shape of what is selected or a number."""
    x, dtype = o.operands[k], o.results[0].meta.dtype
    if type(x) is Value:
        return b.read(x, at)
    type_ = compute_type(dtype)
    if isinstance(x, complex):
        return n.const(x.real, type_), n.const(x.imag, type_)
    return b.number(x, type_)


def checked(b: Builder, o: Operation, k: int, at: Index, size: Any) -> Node:
    """An element of an index, not negative; the launch fails before it is used if it lies outside."""
    i = n.cast(b.read(o.operands[k], at), I64)
    return b.checked(i, size)[0]


def scattered_into_copy(
    launch: LaunchBuilder, o: Operation, positions: Positions, checks: Checks, mode: str
) -> Nest | Chain:  # fmt: skip
    """Updates into a copy of operand 0, or into its memory."""
    scatter = Scatter(launch, o.results[0], mode != "set")
    scatter.fill(lambda b, at: b.read(o.operands[0], at))
    return scatter.put(positions, combination(mode, scatter.dtype)).finish(o.operands[0], checks)


@terminal(index.Put)
def put(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    shape, a = o.operands[0].meta.shape, o.op.axis

    def positions(b: Builder) -> tuple[Index, Callable[[], Element]]:
        others = b.open((*shape[:a], *shape[a + 1 :]))
        each = b.open(o.operands[1].meta.shape, reduced=True)
        i = checked(b, o, 1, each, shape[a])
        return (*others[:a], i, *others[a:]), lambda: update(b, o, 2, (*others[:a], *each, *others[a:]))

    def checks(b: Builder) -> None:
        checked(b, o, 1, b.open(o.operands[1].meta.shape), shape[a])

    return scattered_into_copy(launch, o, positions, checks, o.op.mode)


@terminal(index.ScatterAlong)
def scatter_along(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    shape, a, mode = o.operands[0].meta.shape, o.op.axis, o.op.mode

    def positions(b: Builder) -> tuple[Index, Callable[[], Element]]:
        others = b.open((*shape[:a], *shape[a + 1 :]))
        (each,) = b.open((o.operands[1].meta.shape[a],), reduced=True)
        at = (*others[:a], each, *others[a:])
        i = checked(b, o, 1, at, shape[a])
        return (*others[:a], i, *others[a:]), lambda: update(b, o, 2, at)

    def checks(b: Builder) -> None:
        checked(b, o, 1, b.open(o.operands[1].meta.shape), shape[a])

    if o.op.include_self or mode == "set":
        return scattered_into_copy(launch, o, positions, checks, mode)
    scatter = Scatter(launch, o.results[0], True)
    monoid = combination(mode, scatter.dtype)
    assert monoid is not None

    def identity(b: Builder) -> tuple[Index, Callable[[], Element]]:
        """Return the identity of the combination: where an update goes nothing is left of the base."""
        at, _ = positions(b)
        neutral = monoid.identity((scatter.kind,) * monoid.size)
        zero = tuple(n.const(0, v.type) if monoid in (m.SUM, COMPLEX_SUM) else v for v in neutral)
        return at, lambda: zero if len(zero) > 1 else zero[0]  # type: ignore[return-value]

    scatter.fill(lambda b, at: b.read(o.operands[0], at))
    return scatter.put(identity, None).put(positions, monoid).finish()


@terminal(index.ScatterNd)
def scatter_nd(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    shape, depth = o.operands[0].meta.shape, o.op.depth

    def positions(b: Builder) -> tuple[Index, Callable[[], Element]]:
        others = b.open(shape[depth:])
        each = b.open(o.operands[1].meta.shape[:-1], reduced=True)
        at = [checked(b, o, 1, (*each, n.i64(d)), shape[d]) for d in range(depth)]
        return (*at, *others), lambda: update(b, o, 2, (*each, *others))

    def checks(b: Builder) -> None:
        each = b.open(o.operands[1].meta.shape[:-1])
        for d in range(depth):
            checked(b, o, 1, (*each, n.i64(d)), shape[d])

    return scattered_into_copy(launch, o, positions, checks, o.op.mode)


@terminal(movement.PadFold)
def pad_fold(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    """Every position of a padded dim goes to the element that it repeats."""
    x = o.operands[0]
    padded = {a: (lo, size) for (a, lo, _), size in _padded(o)}

    def positions(b: Builder) -> tuple[Index, Callable[[], Element]]:
        others = iter(b.open(size for d, size in enumerate(x.meta.shape) if d not in padded))
        folded = iter(b.open((x.meta.shape[d] for d in sorted(padded)), reduced=True))
        source = tuple(next(folded) if d in padded else next(others) for d in range(len(x.meta.shape)))
        at = list(source)
        for d, (lo, size) in padded.items():
            at[d] = repeated(b, o.op.mode, n.sub(source[d], b.leaf(lo)), size)
        return tuple(at), lambda: b.read(x, source)

    scatter = Scatter(launch, o.results[0], True)
    zero = n.const(0, compute_type(scatter.dtype))
    scatter.fill(lambda b, at: (zero, zero) if scatter.dtype.is_complex else zero)
    return scatter.put(positions, combination("add", scatter.dtype)).finish()


def _padded(o: Operation) -> list[tuple[tuple, Any]]:
    """The padded dims with their pads, and their sizes in the result."""
    shape = o.results[0].meta.shape
    return [(each, shape[each[0]]) for each in o.op.each(len(shape), *o.params)]


def repeated(b: Builder, mode: str, i: Node, size: Any) -> Node:
    """The element of a dim that position ``i`` repeats, counted from the first element."""
    last = b.leaf(size - 1)
    if mode == "circular":
        return n.select(n.lt(i, 0), n.add(i, b.leaf(size)), n.select(n.lt(last, i), n.sub(i, b.leaf(size)), i))
    if mode == "replicate":
        return n.maximum(n.minimum(i, last), 0)
    return n.sub(last, n.call("abs", n.sub(last, n.call("abs", i))))


def counted(
    launch: LaunchBuilder, o: Operation, where: Callable[[Builder, Index], tuple[Node, Node | None]]
) -> Nest | Chain:  # fmt: skip
    """Ones, or the weights of operand 1, summed where ``where`` says (and unless it says no)."""
    x, weights = o.operands
    scatter = Scatter(launch, o.results[0], True)
    zero = n.const(0, compute_type(scatter.dtype))
    scatter.fill(lambda b, at: (zero, zero) if scatter.dtype.is_complex else zero)

    def positions(b: Builder) -> tuple[Index, Callable[[], Element]]:
        at = b.open(x.meta.shape, reduced=True)
        i, scatter.where = where(b, at)
        return (i,), lambda: n.i64(1) if weights is None else b.read(weights, at)

    return scatter.put(positions, combination("add", scatter.dtype)).finish()


@terminal(index.BincountSized)
def bincount(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    (count,) = o.params
    return counted(launch, o, lambda b, at: (checked(b, o, 0, at, count), None))


@terminal(index.Histogram)
def histogram(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    """As NumPy has it: a bin by division, corrected by one where the edges, which are rounded, say otherwise."""
    bins, lo, hi = o.params

    def position(b: Builder, at: Index) -> tuple[Node, Node | None]:
        x = b.read(o.operands[0], at)
        assert isinstance(x, Node)
        type_ = x.type if x.type.is_float else F64
        x = n.cast(x, type_)
        first, end = b.number(lo, F64), b.number(hi, F64)
        ranged = n.call("and", n.le(first, end), n.lt(n.call("abs", n.sub(end, first)), math.inf))
        b.stages.append(FailStage(1, n.call("not", ranged)))
        point = n.eq(first, end)
        first, end = n.select(point, n.sub(first, 0.5), first), n.select(point, n.add(end, 0.5), end)
        count = b.leaf(bins)
        inside = n.call("and", n.le(n.cast(first, type_), x), n.le(x, n.cast(end, type_)))
        wide = n.cast(n.sub(end, first), type_)
        share = n.mul(n.div(n.sub(x, n.cast(first, type_)), wide), n.cast(count, type_))
        i = n.minimum(n.cast(n.select(inside, share, n.const(0.0, type_)), I64), n.sub(count, 1))
        step = n.div(n.sub(end, first), n.cast(count, F64))

        def edge(k: Node) -> Node:
            return n.cast(n.add(n.mul(n.cast(k, F64), step), first), type_)

        less = n.cast(n.lt(x, edge(i)), I64)
        top = n.lt(i, n.sub(count, 1))
        more = n.cast(n.call("and", n.le(edge(n.add(i, 1)), x), top), I64)
        return n.maximum(n.sub(n.add(i, more), less), 0), inside

    return counted(launch, o, position)
