"""Adaptive windows: region i of m over n positions is [i n / m, (i + 1) n / m), rounded outwards.

The sums over regions are their own transpose. One dim is reduced after the other, so that most of the work runs along
rows of memory. Where regions start, and how long they are, is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak.compiler.loop import monoid as m
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import I64, ScalarType
from umiak.compiler.lower.builder import Builder, Element, Index, compute_type
from umiak.compiler.lower.reduce import axes_over
from umiak.compiler.lower.terminal import LaunchBuilder, terminal
from umiak.compiler.nest import Chain, Nest, StoreStage
from umiak.ir import sym as dim
from umiak.ir.meta import dense
from umiak.ir.program import Operation
from umiak.ops import window


def longest(size: Any, count: Any) -> Any:
    """The length that none of ``count`` regions over ``size`` positions exceeds."""
    over = dim.maximum(count, 1)
    return dim.minimum((size + over - 1) // over + dim.minimum(size % over, 1), size)


class Regions:
    """The regions along one dim, as tables: where each starts and its length."""

    def __init__(self, launch: LaunchBuilder, size: Any, count: Any) -> None:
        self.launch, self.size, self.count = launch, size, count
        self.first = len(launch.temporaries)
        self.starts, self.lengths = (launch.temporary(I64, count) for _ in range(2))

    def nest(self) -> Nest:
        b = self.launch.builder((self.first, self.first + 1))
        (i,) = b.open((self.count,))
        size, count = b.leaf(self.size), b.leaf(self.count)
        start = n.div(n.mul(i, size), count)
        stop = n.div(n.sub(n.add(n.mul(n.add(i, 1), size), count), 1), count)
        for name, value in ((self.starts, start), (self.lengths, n.sub(stop, start))):
            b.stages.append(StoreStage(name, b.address(name, (i,), (1,)), value, False))
        return b.finish()

    def position(self, b: Builder, i: Node, inner: Node) -> tuple[Node, Node, Node]:
        """Position ``inner`` of region ``i``, whether there is one, and how many there are."""
        start, length = (n.load(name, I64, b.address(name, (i,), (1,))) for name in (self.starts, self.lengths))
        return n.add(start, inner), n.lt(inner, length), length


class Steps:
    """One dim after the other is reduced, into temporaries and at last into the results.

    ``kinds``: what is carried from step to step.
    """

    def __init__(self, launch: LaunchBuilder, o: Operation, kinds: tuple[ScalarType, ...]) -> None:
        x, y = o.operands[0].meta, o.results[0].meta
        self.launch, self.x, self.shape, out = launch, o.operands[0], tuple(x.shape), tuple(y.shape)
        self.kinds = kinds
        self.dims = range(len(self.shape) - o.op.n, len(self.shape))
        self.tables = [Regions(launch, self.shape[d], out[d]) for d in self.dims]
        self.out = out
        self.after = [(*out[: d + 1], *self.shape[d + 1 :]) for d in self.dims]
        self.first = len(launch.temporaries)
        self.carried = [[launch.temporary(t, dim.product(s)) for t in kinds] for s in self.after[:-1]]

    def step(self, k: int) -> tuple[Builder, Index, Index, Node, Node, list[Node]]:
        """A builder, the index of what step ``k`` makes, the index of what it reads, whether there is anything, up to
        where, and (after the first step) what was carried."""
        d, count = self.dims[k], len(self.kinds)
        writes = range(self.first + k * count, self.first + k * count + count) if k < len(self.carried) else ()
        b = self.launch.builder(writes)
        at = b.open(self.after[k])
        (inner,) = axes_over(b, [longest(self.shape[d], self.out[d])])
        i, inside, length = self.tables[k].position(b, at[d], inner)
        source = (*at[:d], i, *at[d + 1 :])
        partial_sums = []
        if k:
            for name, kind in zip(self.carried[k - 1], self.kinds, strict=True):
                address = b.address(name, source, dense(self.after[k - 1]).strides)
                partial_sums.append(n.load(name, kind, address, inside))
        return b, at, source, inside, length, partial_sums

    def carry(self, b: Builder, k: int, at: Index, values: Sequence[Node]) -> None:
        for name, v in zip(self.carried[k], values, strict=True):
            b.stages.append(StoreStage(name, b.address(name, at, dense(self.after[k]).strides), v, False))


@terminal(window.AdaptiveSum, window.AdaptiveSpread)
def adaptive_sum(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    dtype = o.results[0].meta.dtype
    assert dtype is not None
    steps = Steps(launch, o, (compute_type(dtype),) * (2 if dtype.is_complex else 1))
    nests = [t.nest() for t in steps.tables]
    for k in range(len(steps.dims)):
        b, at, source, inside, length, values = steps.step(k)
        if k == 0:
            x = b.guarded(inside, lambda: b.read(steps.x, source))  # noqa: B023
            values = [*x] if isinstance(x, tuple) else [x]
        sums = [b.reduce(m.SUM, (v,), inside, length)[0] for v in values]
        if k < len(steps.carried):
            steps.carry(b, k, at, sums)
        else:
            total: Element = sums[0] if len(sums) == 1 else (sums[0], sums[1])
            b.stages += launch.stores(b, o.results[0], at, total)
        nests.append(b.finish())
    return launch.chain(nests)


@terminal(window.AdaptiveMaxPool)
def adaptive_max_pool(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    """The largest of each region, and its flat index over the windowed dims; of equals, the first."""
    y, where = o.results
    steps = Steps(launch, o, (compute_type(y.meta.dtype), I64))
    nests = [t.nest() for t in steps.tables]
    for k, d in enumerate(steps.dims):
        b, at, source, inside, length, values = steps.step(k)
        if k == 0:
            values = [b.guarded(inside, lambda: b.read(steps.x, source)), n.i64(0)]  # type: ignore[list-item] # noqa: B023
        flat = n.add(values[1], n.mul(source[d], b.leaf(dim.product(steps.shape[d + 1 :]))))
        best = b.reduce(m.ARGMAX, (values[0], flat), inside, length)
        if k < len(steps.carried):
            steps.carry(b, k, at, best)
        else:
            kind = compute_type(where.meta.dtype)
            for v, x, wanted in zip((y, where), (best[0], n.cast(best[1], kind)), launch.wanted(o), strict=True):
                if wanted:
                    b.stages += launch.stores(b, v, at, x)
        nests.append(b.finish())
    return launch.chain(nests)
