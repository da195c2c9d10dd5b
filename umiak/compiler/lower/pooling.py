"""Sums over windows, and their transpose: kernels of their own, since libraries have them too.

The transpose: every position adds up the windows that hold it. They are few and lie side by side: at most
``ceil(reach / stride)`` along each dim. Which they are depends on one index alone, and finding out takes divisions:
tables, one per dim, are made first.
"""

from __future__ import annotations

from typing import Any

from umiak.compiler.loop import monoid as m
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import I64
from umiak.compiler.lower.builder import Builder, Index, NotANest
from umiak.compiler.lower.reduce import axes_over, window_reduce
from umiak.compiler.lower.terminal import LaunchBuilder, terminal
from umiak.compiler.nest import Chain, Nest, StoreStage
from umiak.ir import sym as dim
from umiak.ir.program import Operation
from umiak.ops import window


def require_materialised(launch: LaunchBuilder, x: Any) -> None:
    """Refuse to fuse the computation of a large operand: each of its elements is read, so computed, several times."""
    if len(x.meta.shape) > 3 and not any(v is x for v, _ in launch.inputs):
        raise NotANest("an operand that several positions read is computed by a launch of its own")


@terminal(window.WindowReduce, when=lambda o: o.op.kind == "sum")
def window_sum(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    """Lower a sum over windows."""
    require_materialised(launch, o.operands[0])
    b = launch.builder()
    at = b.open(tuple(o.results[0].meta.shape))
    b.stages += launch.stores(b, o.results[0], at, window_reduce(b, o, at))
    return launch.chain([b.finish()])


class Windows:
    """A table ``[most, size]`` along one dim: the windows that cover each position, padded with -1."""

    def __init__(
        self, launch: LaunchBuilder, size: Any, count: Any, kernel: Any, stride: Any, lo: Any, dilation: Any
    ) -> None:
        self.launch, self.size, self.count = launch, size, count
        self.stride, self.lo, self.dilation = stride, lo, dilation
        self.reach = dilation * (kernel - 1) + 1
        self.most = dim.minimum((self.reach + stride - 1) // stride, count)
        self.number = len(launch.temporaries)
        self.table = launch.temporary(I64, self.most * size)

    def nest(self) -> Nest:
        b = self.launch.builder((self.number,))
        which, i = b.open((self.most, self.size))
        stride = b.leaf(self.stride)
        first = n.div(n.add(i, b.leaf(self.lo - self.reach + self.stride)), stride)
        q = n.add(n.maximum(first, n.i64(0)), which)
        away = n.sub(n.add(i, b.leaf(self.lo)), n.mul(q, stride))
        holds = n.conjunction(n.le(n.i64(0), away), n.lt(q, b.leaf(self.count)))
        holds = n.conjunction(holds, n.eq(n.rem(away, b.leaf(self.dilation)), 0))
        assert holds is not None
        value = n.select(holds, q, n.i64(-1))
        b.stages.append(StoreStage(self.table, b.address(self.table, (which, i), (self.size, 1)), value, False))
        return b.finish()

    def window(self, b: Builder, which: Node, i: Node) -> Node:
        """Return the window number ``which`` of those over position ``i``, or -1."""
        return n.load(self.table, I64, b.address(self.table, (which, i), (self.size, 1)))


@terminal(window.WindowSpread)
def window_spread(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    """Lower the transpose of a sum over windows: a gather over the windows that hold a position."""
    x, (y,) = o.operands[0], o.results
    require_materialised(launch, x)
    kernel, strides, lo, _, dilations = o.params[:5]
    shape, lead = tuple(y.meta.shape), len(y.meta.shape) - o.op.n
    dims = range(o.op.n)
    tables = [
        Windows(launch, shape[lead + d], x.meta.shape[lead + d], kernel[d], strides[d], lo[d], dilations[d])
        for d in dims
    ]
    nests = [t.nest() for t in tables]
    b = launch.builder()
    at = b.open(shape)
    inner = axes_over(b, [t.most for t in tables])
    # The innermost dim first: lanes run along the table that is read first.
    windows: dict[int, Node] = {d: tables[d].window(b, inner[d], at[lead + d]) for d in reversed(dims)}
    inside = None
    for d in dims:
        inside = n.conjunction(inside, n.le(n.i64(0), windows[d]))
    assert inside is not None
    source: Index = (*at[:lead], *(windows[d] for d in dims))
    value = b.guarded(inside, lambda: b.read(x, source))
    if isinstance(value, tuple):
        parts = tuple(b.reduce(m.SUM, (p,), inside)[0] for p in value)
        b.stages += launch.stores(b, y, at, parts)
    else:
        b.stages += launch.stores(b, y, at, b.reduce(m.SUM, (value,), inside)[0])
    return launch.chain([*nests, b.finish()])
