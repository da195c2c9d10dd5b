"""Masks by columns that need no data to be told: a key is hidden from queries between bounds of its own.

Flags of comparisons with a query's place, put together by ``and``, ``or`` and ``not``, are solved for the query: each
is an interval, and so is what several have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

from umiak import ops as F
from umiak.compiler.passes.mask_changes import COMPARISONS
from umiak.compiler.passes.mask_needs import NEGATED
from umiak.compiler.passes.mask_reader import Call, Node, Number
from umiak.compiler.passes.mask_sums import Sum, integers
from umiak.compiler.passes.mask_values import Places
from umiak.compiler.passes.spelled_mask import SpelledMask
from umiak.core import dtype as dt
from umiak.ir.expr import Sym

MOST_INTERVALS = 8  # on the way; columns have two
MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
ALL_OF = {"logical_and": True, "bitwise_and": True, "logical_or": False, "bitwise_or": False}


@dataclass(frozen=True, eq=False)
class Interval:
    """Queries from the largest of ``begins``, 0 if there are none, to the least of ``ends``, the last if there are
    none; where all flags of keys ``when`` have the truths that stand beside them.
    """

    begins: tuple[Sum, ...] = ()
    ends: tuple[Sum, ...] = ()
    when: tuple[tuple[Node, bool], ...] = ()

    def __and__(self, other: Interval) -> Interval:
        return Interval(self.begins + other.begins, self.ends + other.ends, self.when + other.when)


def hidden_intervals(mask: SpelledMask) -> list[Interval] | None:
    """Return the intervals that hide a key from queries, beyond causal order: two at most, with causal order one.

    None where they are others, or where a query that sees nothing has to be told.
    """
    if mask.strict or mask.bounded or any(p.kind == "added" for p in mask.parts):
        return None
    found: list[Interval] = []
    for part in mask.parts:
        own = _where(part.node, part.kind == "hidden", mask.sizes)
        if own is None:
            return None
        found += own
    if mask.causal:
        queries, keys = mask.sizes[2:]
        behind = Sum(0, 1, queries - keys)
        found = [x for x in found if not any(end.same(behind) for end in x.ends)]
    return found if len(found) <= (1 if mask.causal else 2) else None


def _where(node: Node, truth: bool, sizes: Sequence[Any]) -> list[Interval] | None:
    """The queries at which a tree of flags has a truth; None: not known as intervals."""
    if node.dtype is not None and not node.dtype.is_bool:
        return None
    if isinstance(node, Number):
        return None if type(node.value) is Sym else [Interval()] if bool(node.value) == truth else []
    if not node.by_query:
        return [Interval(when=((node, truth),))]
    if not isinstance(node, Call):
        return None
    if node.name in COMPARISONS:
        a, b = node.operands
        return _of_comparison(node.name if truth else NEGATED[node.name], a, b, sizes)
    if node.name in ("logical_not", "bitwise_not"):
        return _where(node.operands[0], not truth, sizes)
    if node.name in ("cast", "copy"):
        return _where(node.operands[0], truth, sizes)
    if node.name not in ALL_OF:
        return None
    parts = [_where(x, truth, sizes) for x in node.operands]
    known = [p for p in parts if p is not None]
    if len(known) < len(parts):
        return None
    is_common = ALL_OF[node.name] == truth
    made = [reduce(Interval.__and__, xs) for xs in product(*known)] if is_common else [x for p in known for x in p]
    return made if len(made) <= MOST_INTERVALS else None


def _of_comparison(name: str, a: Node, b: Node, sizes: Sequence[Any]) -> list[Interval] | None:
    left, right = integers(a), integers(b)
    if left is None or right is None or left.may_wrap(sizes) or right.may_wrap(sizes):
        return None
    total = left - right
    queries, rest = total.part(True), total.part(False)
    if queries.terms or abs(queries.i) != 1:
        return None
    at, name = rest.times(-queries.i), name if queries.i == 1 else MIRRORED[name]
    behind = at + Sum(0, 0, 1)
    return {
        "lt": [Interval(ends=(at,))],
        "le": [Interval(ends=(behind,))],
        "ge": [Interval(begins=(at,))],
        "gt": [Interval(begins=(behind,))],
        "eq": [Interval((at,), (behind,))],
        "ne": [Interval(ends=(at,)), Interval(begins=(behind,))],
    }[name]


class Intervals(Places):
    """The columns of a mask that hides these intervals: ``indices``, as those of :class:`Columns`."""

    def __init__(self, mask: SpelledMask, hidden: Sequence[Interval]) -> None:
        super().__init__(mask)
        self.of_keys = (*self.shape, self.keys, 1)
        count = 1 if mask.causal else 2
        bounds = [x for h in (*hidden, *(None,) * (count - len(hidden))) for x in self._bounds(h)]
        self.indices = F.cast(F.concat(bounds, axis=3), dtype=dt.int32)

    def _bounds(self, hidden: Interval | None) -> list[Any]:
        """First query that is hidden, and the one behind the last."""
        none, begin, end = (F.full(n, dtype=dt.int64, shape=(1, 1, 1, 1)) for n in (0, 0, self.queries))
        if hidden is None:
            return [F.broadcast_to(none, shape=self.of_keys)] * 2
        begin = reduce(F.maximum, [self.sum(x, None) for x in hidden.begins], begin)
        end = reduce(F.minimum, [self.sum(x, None) for x in hidden.ends], end)
        for flag, truth in hidden.when:
            holds = self.at(flag, None)
            end = F.where(holds if truth else F.logical_not(holds), end, none)
        return [F.broadcast_to(F.minimum(F.maximum(x, 0), self.queries), shape=self.of_keys) for x in (begin, end)]
