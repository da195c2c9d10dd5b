"""Values of an expression of places for keys at some of the queries."""

from __future__ import annotations

from typing import Any

from umiak import ops as F
from umiak.compiler.passes.fusion import tensor
from umiak.compiler.passes.mask_reader import AXES, Call, Entry, Half, Node, Number, Place, Vector
from umiak.compiler.passes.mask_sums import Sum
from umiak.compiler.passes.spelled_mask import SpelledMask
from umiak.core import dtype as dt
from umiak.ir import sym as dim


class Places:
    """Places of a mask: its keys, and queries that the caller names."""

    def __init__(self, mask: SpelledMask) -> None:
        self.mask = mask
        self.shape = (mask.batch, mask.heads)
        self.is_one = all(type(n) is int and n == 1 for n in self.shape)  # for all batch entries and heads
        self.queries, self.keys = mask.sizes[2:]
        self.key = F.reshape(counted(self.keys), shape=(1, 1, self.keys, 1))
        self.all_queries = F.reshape(counted(self.queries), shape=(1, 1, 1, self.queries))
        self.rows: dict[int, Any] = {}

    def at(self, node: Node, query: Any) -> Any:
        """Return what a tree is for keys at queries: ``[batch, heads, keys, n]``, or with dims of 1."""
        if isinstance(node, Number):
            return node.value if node.dtype is None else F.full(node.value, dtype=node.dtype, shape=(1, 1, 1, 1))
        if isinstance(node, Place):
            place = query if node.axis == "i" else self.key
            return F.add(F.mul(F.cast(place, dtype=node.dtype), node.step), node.start)
        if isinstance(node, Vector):
            return self._row(node, query) if node.by_query else self._spread(node)
        if isinstance(node, Half):
            down, across = (query if a == "i" else self.key for a in (node.down, node.across))
            side = F.sub(F.sub(across, down), node.diagonal)
            zero = F.full(0, dtype=node.dtype, shape=(1, 1, 1, 1))
            return F.where((F.ge if node.upper else F.le)(side, 0), self.at(node.x, query), zero)
        if isinstance(node, Entry):
            return F.take(tensor(node.table.value), self.at(node.index, query), axis=0)
        assert isinstance(node, Call)
        args = [None if x is None else self.at(x, query) for x in node.args]
        return node.operation.op(*args, *node.operation.params)

    def _spread(self, node: Vector) -> Any:
        """A vector, with a dim for each of the axes."""
        axes = [i for a in AXES for i, own in enumerate(node.of) if own == a]
        rest = [i for i, own in enumerate(node.of) if own is None]
        x = tensor(node.value)
        if (perm := (*rest, *axes)) != tuple(range(len(perm))):
            x = F.permute(x, perm=perm)
        full = dict(zip(AXES, self.mask.sizes, strict=True))
        own = {a: n for n, a in zip(node.value.meta.shape, node.of, strict=True) if a is not None}
        if not all(dim.same(n, full[a]) for a, n in own.items()):
            x = F.broadcast_to(x, shape=(*(1 for _ in rest), *(full[a] for a in AXES if a in own)))
        shape = tuple(full[a] if a in own else 1 for a in AXES)
        shape = (*shape[:2], shape[3], 1) if not node.by_query else (*shape[:2], 1, shape[2])
        return F.reshape(x, shape=shape)

    def _row(self, node: Vector, query: Any) -> Any:
        """The elements of a vector of queries at some of them."""
        if query is self.all_queries:
            return self._spread(node)
        if id(node) not in self.rows:
            self.rows[id(node)] = F.reshape(
                F.broadcast_to(self._spread(node), shape=(*self.shape, 1, self.queries)),
                shape=(*self.shape, self.queries),
            )
        x, (keys, n) = self.rows[id(node)], query.shape[2:]
        if not positive(self.queries):  # a clipped place is read, also of no queries
            x = F.concat([x, F.full(0, dtype=x.dtype, shape=(*self.shape, 1))], axis=2)
        if self.is_one:
            return F.take(F.reshape(x, shape=(x.shape[2],)), query, axis=0)
        places = F.reshape(F.broadcast_to(query, shape=(*self.shape, keys, n)), shape=(*self.shape, keys * n))
        return F.reshape(F.take_along(x, places, axis=2), shape=(*self.shape, keys, n))

    def sum(self, total: Sum, query: Any) -> Any:
        """The value of a sum, of int64."""
        out = F.full(total.number, dtype=dt.int64, shape=(1, 1, 1, 1))
        for by, place in ((total.i, query), (total.j, self.key)):
            if by:
                out = F.add(out, F.mul(place, by))
        for by, node in total.terms:
            out = F.add(out, F.mul(F.cast(self.at(node, query), dtype=dt.int64), by))
        return out


def positive(n: Any) -> bool:
    """Return whether a size is known to be no 0."""
    if type(n) is int:
        return n >= 1
    scope = dim.get_scope()
    return n.lo >= 1 or (scope is not None and scope.decide(n >= 1) is True)


def counted(n: Any) -> Any:
    """Places 0, 1 … n - 1."""
    return F.iota(0, 1, dtype=dt.int64, size=n)
