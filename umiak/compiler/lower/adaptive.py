"""Adaptive windows: region i of m over n places is [i n / m, (i + 1) n / m), rounded outwards.

The sums over regions are their own transpose. They are made one dim after the other, so that most of the work runs
along rows of memory. Where regions start, and how long they are, is computed once.
"""

from __future__ import annotations

from typing import Any

from umiak.compiler.loop import monoid as m
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import I64
from umiak.compiler.lower.builder import Builder, Element, Index, compute_type
from umiak.compiler.lower.reduce import axes_over
from umiak.compiler.lower.terminal import Site, terminal
from umiak.compiler.nest import Chain, Nest, StoreStage
from umiak.ir import sym as dim
from umiak.ir.meta import dense
from umiak.ir.program import Operation
from umiak.ops import window


def longest(size: Any, count: Any) -> Any:
    """The length that none of ``count`` regions over ``size`` places exceeds."""
    over = dim.maximum(count, 1)
    return dim.minimum((size + over - 1) // over + dim.minimum(size % over, 1), size)


class Regions:
    """The regions along one dim, as tables: where each starts and its length."""

    def __init__(self, site: Site, size: Any, count: Any) -> None:
        self.site, self.size, self.count = site, size, count
        self.first = len(site.temporaries)
        self.starts, self.lengths = (site.temporary(I64, count) for _ in range(2))

    def nest(self) -> Nest:
        b = self.site.builder((self.first, self.first + 1))
        (i,) = b.open((self.count,))
        size, count = b.leaf(self.size), b.leaf(self.count)
        start = n.div(n.mul(i, size), count)
        stop = n.div(n.sub(n.add(n.mul(n.add(i, 1), size), count), 1), count)
        for name, value in ((self.starts, start), (self.lengths, n.sub(stop, start))):
            b.stages.append(StoreStage(name, b.address(name, (i,), (1,)), value, False))
        return b.finish()

    def place(self, b: Builder, i: Node, inner: Node) -> tuple[Node, Node]:
        """Place ``inner`` of region ``i``, and whether there is one."""
        start, length = (n.load(name, I64, b.address(name, (i,), (1,))) for name in (self.starts, self.lengths))
        return n.add(start, inner), n.lt(inner, length)


@terminal(window.AdaptiveSum, window.AdaptiveSpread)
def adaptive_sum(site: Site, o: Operation) -> Nest | Chain:
    x, y = o.operands[0], o.results[0]
    shape, out = tuple(x.meta.shape), tuple(y.meta.shape)
    dtype = y.meta.dtype
    assert dtype is not None
    kind, pair = compute_type(dtype), 2 if dtype.is_complex else 1
    lead = len(shape) - o.op.n
    dims = range(lead, len(shape))
    tables = [Regions(site, shape[d], out[d]) for d in dims]
    shapes = [(*out[: d + 1], *shape[d + 1 :]) for d in dims]  # after each step
    between = [site.temporary(kind, dim.product(s) * pair) for s in shapes[:-1]]
    first = len(site.temporaries) - len(between)
    nests = [t.nest() for t in tables]
    for k, d in enumerate(dims):
        last = k == len(dims) - 1
        b = site.builder(() if last else (first + k,))
        at = b.open(shapes[k])
        (inner,) = axes_over(b, [longest(shape[d], out[d])])
        i, inside = tables[k].place(b, at[d], inner)
        source = (*at[:d], i, *at[d + 1 :])
        if k == 0:
            value = b.guarded(inside, lambda: b.read(x, source))  # noqa: B023
            values = value if isinstance(value, tuple) else (value,)
        else:
            place = b.address(between[k - 1], source, dense(shapes[k - 1]).strides, pair)
            values = tuple(n.load(between[k - 1], kind, n.add(place, p), inside) for p in range(pair))
        sums = [b.reduce(m.SUM, (v,), inside)[0] for v in values]
        if last:
            found: Element = sums[0] if pair == 1 else (sums[0], sums[1])
            b.stages += site.stores(b, y, at, found)
        else:
            place = b.address(between[k], at, dense(shapes[k]).strides, pair)
            b.stages += [StoreStage(between[k], n.add(place, p), v, False) for p, v in enumerate(sums)]
        nests.append(b.finish())
    return site.chain(nests)


@terminal(window.AdaptiveMaxPool)
def adaptive_max_pool(site: Site, o: Operation) -> Nest | Chain:
    """The largest of each region, and its flat place in the windowed dims."""
    x = o.operands[0]
    shape, out = tuple(x.meta.shape), tuple(o.results[0].meta.shape)
    lead = len(shape) - o.op.n
    dims = range(lead, len(shape))
    tables = [Regions(site, shape[d], out[d]) for d in dims]
    b = site.builder()
    at = b.open(out)
    inner = axes_over(b, [longest(shape[d], out[d]) for d in dims])
    source: Index = at[:lead]
    inside: Node | None = None
    flat = n.i64(0)
    for d, table, r in zip(dims, tables, inner, strict=True):
        i, here = table.place(b, at[d], r)
        source, inside = (*source, i), n.both(inside, here)
        flat = n.add(n.mul(flat, b.leaf(shape[d])), i)
    assert inside is not None
    value = b.guarded(inside, lambda: b.read(x, source))
    assert isinstance(value, Node)
    best, where = b.reduce(m.ARGMAX, (value, flat), inside)
    kind = compute_type(o.results[1].meta.dtype)  # type: ignore[arg-type]
    for v, found, wanted in zip(o.results, (best, n.cast(where, kind)), site.wanted(o), strict=True):
        if wanted:
            b.stages += site.stores(b, v, at, found)
    return site.chain([*(t.nest() for t in tables), b.finish()])
