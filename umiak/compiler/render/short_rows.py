"""Rows that fit one vector: no loops over their elements, and nothing is read that has just been stored."""

from __future__ import annotations

from collections.abc import Sequence

from umiak.compiler.loop.node import Node, is_const, walk
from umiak.compiler.loop.tree import LANE, Axis, Loop, Reduce, Statement, Store, expressions, walk_statements
from umiak.compiler.render.expressions import Lanes, Value
from umiak.compiler.render.operations import constant
from umiak.compiler.render.plan import Survey
from umiak.compiler.render.tile import Tiles


def row_axis(body: Sequence[Statement]) -> Axis | None:
    """The one LANE axis over which all statements of a row run, if there is one."""
    row: Axis | None = None
    for s in body:
        if isinstance(s, Store):
            continue
        if isinstance(s, Reduce) and len(s.axes) == 1 and s.monoid.commutative:
            axis = s.axes[0]
        elif isinstance(s, Loop) and all(isinstance(x, Store) for x in s.body):
            axis = s.axis
        else:
            return None
        row = row or axis
        if axis.kind != LANE or axis.step != 1 or not is_const(axis.lo, 0) or axis.hi.axes:
            return None
        if axis.index is not row.index or axis.hi is not row.hi:
            return None
    return row


def overwritten(body: Sequence[Statement]) -> set[int]:
    """Ids of stores to what is stored again, in buffers that are read and written at one index alone."""
    stores = [s for s in walk_statements(body) if isinstance(s, Store)]
    indices: dict[str, set[Node]] = {}
    for s in stores:
        indices.setdefault(s.buffer, set()).add(s.index)
    for x in walk(x for s in walk_statements(body) for x in expressions(s)):
        if x.op == "load" and x.attr in indices:
            indices[x.attr].add(x.args[0])
    last = {s.buffer: s for s in stores}
    plain = {name for name, accesses in indices.items() if len(accesses) == 1}
    return {
        id(s)
        for s in stores
        if s.buffer in plain and s is not last[s.buffer] and s.where is None and last[s.buffer].where is None
    }


class ShortRows(Tiles):
    """Writes a loop over rows twice: for rows that fit one vector, and for all others."""

    def short_width(self, axis: Axis, body: Sequence[Statement]) -> int | None:
        """Lanes of a vector that may hold a row."""
        survey = Survey(axis.index, self.buffers)
        for s in body:
            survey.statements([s])
        return survey.width(self.target) if survey.masked(self.target) and not survey.draws else None

    def rows(self, s: Loop, lo: str, hi: str) -> bool:
        """Writes the loop, unless its rows are of another kind."""
        axis = row_axis(s.body)
        width = None if axis is None else self.short_width(axis, s.body)
        if axis is None or width is None:
            return False
        size = self.scalar(axis.hi)
        self.at = self.here()
        few, many = (self.emit(f"icmp {comparison} i64 {size}, {width}") for comparison in ("sle", "sgt"))

        def short() -> list[str]:
            self.at = self.here()
            lanes = Lanes(axis.index, self.here(), width, 1, "0", None, self.first_lanes(size, width))
            return self.counted(
                s.axis.index, lo, hi, s.axis.step, (), lambda _: self.in_lanes(lanes, lambda: self.short_row(s.body))
            )

        self.guarded(few, short)
        self.forget()
        self.guarded(many, lambda: self.counted(s.axis.index, lo, hi, s.axis.step, (), lambda _: self.body(s.body)))
        return True

    def short_row(self, body: Sequence[Statement]) -> list[str]:
        stored: dict[str, tuple[Store, Value]] = {}
        later = overwritten(body)
        for s in body:
            if isinstance(s, Reduce):
                self.short_reduce(s)
            for x in s.body if isinstance(s, Loop) else (s,):
                if isinstance(x, Store):
                    v = self.value(x.value)
                    if id(x) not in later:
                        self.store(x)
                    self.forget()
                    stored.pop(x.buffer, None)
                    if x.where is None:
                        stored[x.buffer] = (x, v)
                    for pair in stored.values():
                        self.known(*pair)
        return []

    def short_reduce(self, s: Reduce) -> None:
        lanes, combination = self.lanes, self.combination(s)
        assert lanes is not None
        none = [constant(x.attr, t, lanes.width) for x, t in zip(combination.identity, combination.types)]
        reduced = self.horizontal(combination, self.step(s, combination, none), lanes.width)
        if s.init is not None:
            reduced = self.combined(combination, [self.scalar(x) for x in s.init], reduced, 0)
        for r, text in zip(s.results, reduced):
            self.bind(r, Value(self.here(), text))
