"""Changes of a mask from query to query.

For a fixed key a mask can only change where one of its comparisons does. That is solved for the query: ``i <= j + 3``
changes at ``j + 4``, ``f(i) <= g(j)`` where ``g(j)`` stands in ``f``, if ``f`` is in order, and ``f(i) == f(j)`` at
the ends of the run of equal ``f`` that ``j`` is in, if no run comes twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from umiak.compiler.passes.mask_reader import Call, Half, Node, Unreadable
from umiak.compiler.passes.mask_sums import Sum, height, integers, mirrored
from umiak.ir import sym as dim

COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


@dataclass(frozen=True, eq=False)
class Change:
    """A mask changes at the queries ``at``, a sum of what a key has."""

    at: Sum

    def same(self, other: Change) -> bool:
        """Return whether both are known to be equal."""
        return type(self) is type(other) and self.at.same(other.at)


@dataclass(frozen=True, eq=False)
class OrderedChange(Change):
    """A mask changes at the first query where ``row`` is ``at``, and behind the last: ``row`` has to be in order, up or
    down."""

    row: Sum

    def same(self, other: Change) -> bool:
        return isinstance(other, OrderedChange) and self.at.same(other.at) and self.row.same(other.row)


@dataclass(frozen=True, eq=False)
class FlagChange(Change):
    """A mask changes where a flag of queries does, for all keys alike: four times at most."""

    flag: Node

    def same(self, other: Change) -> bool:
        return isinstance(other, FlagChange) and self.flag is other.flag


@dataclass(frozen=True, eq=False)
class RunChange(Change):
    """A mask changes where ``rows`` stop to be what they are at the key's own place: no run of equal ones may come
    twice.
    """

    rows: tuple[Sum, ...]

    def same(self, other: Change) -> bool:
        return (
            isinstance(other, RunChange)
            and len(self.rows) == len(other.rows)
            and all(a.same(b) for a, b in zip(self.rows, other.rows, strict=True))
        )


class Changes:
    """Finds where trees change from one query to the next.

    ``sizes``: of the scores. ``common``: sums that are equal for a query and a key that sees it: where they are not,
    nothing else matters. ``sums``: what has to fit the integers that it is computed in.
    """

    def __init__(self, sizes: Sequence[Any], common: tuple[Sum, ...] = ()) -> None:
        self.sizes, self.common = sizes, common
        self.square = dim.same(*sizes[2:])
        self.sums: list[Sum] = []

    def of(self, node: Node) -> list[Change]:
        """Return the changes of a tree.

        Raises:
            Unreadable: it changes elsewhere, too.
        """
        if not node.by_query:
            return []
        if isinstance(node, Half):
            return [*self.of(node.x), *self._where(height(node), "ge" if node.upper else "le")]
        if isinstance(node, Call):
            if node.name in COMPARISONS and (solved := self._comparison(node)) is not None:
                return solved
            try:
                return distinct(c for x in node.operands for c in self.of(x))
            except Unreadable:
                if node.by_both:
                    raise
        if node.by_both or node.dtype is None or not node.dtype.is_bool:
            raise Unreadable("a value that depends on the query otherwise than by comparisons")
        return [FlagChange(Sum(0, 0, 0), node)]

    def _comparison(self, node: Call) -> list[Change] | None:
        a, b = node.operands
        left, right = integers(a), integers(b)
        if left is not None and right is not None:
            self._fit(left, right)
            return self._where(left - right, node.name)
        for x, other in ((a, right), (b, left)):
            inner = integers(x.operands[0]) if isinstance(x, Call) and x.name == "abs" else None
            if inner is not None and other is not None and not other.part(True).terms and not other.i:
                self._fit(inner, other)
                return [*self._where(inner - other, "eq"), *self._where(inner + other, "eq")]
        return None

    def _fit(self, *sums: Sum) -> None:
        known = self.sums
        new = [x for x in sums if x.may_wrap(self.sizes)]
        self.sums += [x for x in new if not any(x.same(y) and x.bits == y.bits for y in known)]

    def _where(self, total: Sum, name: str) -> list[Change]:
        """Return where a comparison of a sum with 0 changes."""
        queries, rest = total.part(True), total.part(False)
        if not queries.terms and queries.i == 0:
            return []
        if queries.terms or abs(queries.i) != 1:
            if name in ("eq", "ne") and self.square and mirrored(queries, rest.times(-1)):
                rows = self.common if any(queries.same(x) for x in self.common) else (*self.common, queries)
                return [RunChange(Sum(0, 0, 0), rows)]
            return [OrderedChange(rest.times(-1), queries)]
        later = ("le", "gt") if queries.i == 1 else ("lt", "ge")  # it holds, or not, for the query itself
        at = rest.times(-queries.i)
        offsets = (0, 1) if name in ("eq", "ne") else (int(name in later),)
        return [Change(at + Sum(0, 0, n)) for n in offsets]


def distinct(several: Iterable[Change]) -> list[Change]:
    """Return changes once each."""
    kept: list[Change] = []
    for c in several:
        if not any(c.same(other) for other in kept):
            kept.append(c)
    return kept
