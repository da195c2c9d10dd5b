"""Masks of the same scores as they are spelt out, read: what their columns are computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from umiak.compiler.passes.mask_changes import Changes, distinct
from umiak.compiler.passes.mask_needs import needs
from umiak.compiler.passes.mask_reader import (
    AXES,
    Call,
    Entry,
    GradientReach,
    Half,
    Node,
    Number,
    Reader,
    Unreadable,
    vectors,
)
from umiak.compiler.passes.mask_sums import Sum
from umiak.ir import sym as dim
from umiak.ir.expr import Sym
from umiak.ir.program import Value

MOST_CHANGES = (
    16  # of a mask, by query; beyond that a key is hidden from more than two intervals of queries, or nearly so
)


@dataclass(frozen=True, eq=False)
class Part:
    """One of several masks of the same scores.

    ``kind``: ``"visible"`` or ``"hidden"`` (flags, with ``fill``, a number or a value of one element, in place of the
    scores that are hidden), or ``"added"``.
    """

    kind: str
    mask: Value
    fill: Any = float("-inf")

    @property
    def key(self) -> tuple:
        return self.kind, id(self.mask), id(self.fill) if isinstance(self.fill, Value) else self.fill


@dataclass(frozen=True, eq=False)
class ReadPart:
    """A part whose mask is read."""

    kind: str
    node: Node
    fill: Any

    @property
    def has_fill(self) -> bool:
        """Tell whether a number that may be finite stands in the place of hidden scores."""
        return self.kind != "added" and (isinstance(self.fill, Value) or self.fill != float("-inf"))

    @property
    def is_finite(self) -> bool:
        """Tell whether hidden scores may be finite."""
        if self.kind != "added":
            return self.has_fill
        return any(n not in (0, 1, float("-inf")) for n in _floats(self.node))


class SpelledMask:
    """Masks of scores ``[batch, heads, queries, keys]``, read.

    ``strict``: a query that sees nothing is no zero then, so that it has to see something. ``causal``: whether a
    query sees no key behind it, be it by these masks or otherwise.

    ``flow``: where gradients go.

    Raises:
        Unreadable: they are not made of places and vectors, or change too often.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        rank: int,
        sizes: Sequence[Any],
        strict: bool,
        causal: bool,
        flow: GradientReach,
    ) -> None:
        axes = AXES if rank == 4 else "bij"
        reader = Reader(sizes, flow)
        self.sizes = tuple(sizes)
        queries, keys = self.sizes[2:]
        self.parts = [_flags(p, reader.read(p.mask, tuple(axes[rank - p.mask.meta.ndim :]))) for p in parts]
        fills = [p.fill for p in self.parts if isinstance(p.fill, Value)]
        if any(map(flow.reaches, fills)):
            raise Unreadable("a gradient may flow to a fill")
        nodes = [p.node for p in self.parts]
        conditions = [needs(p.node, p.kind == "visible") for p in self.parts]
        # What is added is looked at where the mask changes: all of its changes count.
        is_added = any(p.kind == "added" for p in self.parts)
        common = () if is_added else tuple(x for c in conditions for x in c.common)
        finder = Changes(self.sizes, common)
        self.changes = distinct(c for node in nodes for c in finder.of(node))
        self.sums = finder.sums
        if len(self.changes) > MOST_CHANGES:
            raise Unreadable("too many changes")
        self.vectors = list({id(v): v for v in (*fills, *(x.value for x in vectors(*nodes)))}.values())
        used = frozenset().union(*(n.axes for n in nodes))
        self.batch = self.sizes[0] if "b" in used else 1
        self.heads = self.sizes[1] if "h" in used else 1
        self.looks_up = any(map(_looks_up, nodes))
        self.bounded = any(p.is_finite for p in self.parts)
        self.strict = strict or self.bounded
        behind = Sum(1, -1, keys - queries)
        sums = [s for c in conditions for s in c.sums]
        self.causal = causal or any(s.same(behind) for s in sums)
        # Nothing but causal, so that no columns are needed.
        exact = all(c.exact for c in conditions) and all(s.same(behind) for s in sums) and not self.sums
        self.plain = self.causal and exact and not self.bounded and (not self.strict or dim.same(queries, keys))
        self.is_constant = not self.vectors and not self.bounded and not any(map(_has_symbols, nodes))
        self.is_constant &= all(type(n) is int for n in self.sizes)
        self.proven = self.plain  # that the columns are the mask


def _looks_up(node: Node) -> bool:
    """Return whether a tree has the entry of a table at a place that depends on the query."""
    return (isinstance(node, Entry) and "i" in node.axes) or any(map(_looks_up, node.operands))


def _has_symbols(node: Node) -> bool:
    """Return whether a number in a tree is only known when the program runs."""
    own = [getattr(node, name, None) for name in ("value", "start", "step", "diagonal")]
    if isinstance(node, Call):
        own += node.operation.params
    return any(type(x) is Sym for x in own) or any(map(_has_symbols, node.operands))


def _flags(part: Part, node: Node) -> ReadPart:
    """A part that is read; of 0 and another number added, as the flags that choose between them."""
    kind, fill = part.kind, part.fill
    if kind == "added" and isinstance(node, Call) and node.name == "where":
        condition, *values = node.operands
        a, b = (x.value if isinstance(x, Number) else None for x in values)
        zero: Any
        other: Any
        for zero, other, of in ((a, b, "visible"), (b, a, "hidden")):
            if type(zero) in (int, float) and zero == 0 and type(other) in (int, float) and other < 0:
                return ReadPart(of, condition, float(other))
    return ReadPart(kind, node, fill)


def _floats(node: Node) -> list[Any]:
    """Return what numbers, and values of the program, of a floating type a tree is made of."""
    if node.dtype is not None and not node.dtype.is_floating:
        return []
    if isinstance(node, Number):
        return [node.value]
    if isinstance(node, Call | Half):
        return [n for x in node.operands for n in _floats(x)]
    return [node]
