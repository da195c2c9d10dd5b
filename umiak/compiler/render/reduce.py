"""LLVM IR of ``Reduce`` and ``Scan``: serial loops, and vectors of accumulators along a LANE axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from umiak.compiler.loop.monoid import MONOIDS, Monoid
from umiak.compiler.loop.node import Node, make, var, walk
from umiak.compiler.loop.tree import LANE, Axis, Reduce, Scan, Statement, Store
from umiak.compiler.loop.types import ScalarType
from umiak.compiler.render.expressions import Value
from umiak.compiler.render.functions import expanded
from umiak.compiler.render.lanes import Loops
from umiak.compiler.render.operations import constant
from umiak.compiler.render.plan import Plan, Survey
from umiak.compiler.render.text import literal, spell, suffix

Texts = list[str]

# Monoid -> LLVM's reduction of a vector: for signed, unsigned, float and bool elements.
_HORIZONTAL = {
    "sum": ("add", "add", "fadd", ""), "prod": ("mul", "mul", "fmul", ""), "any": ("or", "or", "", "or"),
    "all": ("and", "and", "", "and"), "max": ("smax", "umax", "fmax", "or"), "min": ("smin", "umin", "fmin", "and"),
}  # fmt: skip


class Combination:
    """A monoid's ``combine`` for element types, as a list of operations on placeholders."""

    def __init__(self, monoid: Monoid, types: tuple[ScalarType, ...], native: frozenset[str]) -> None:
        self.monoid = monoid
        self.types = types
        a, b = (tuple(var(f"{side}{k}", t) for k, t in enumerate(types)) for side in "ab")
        self.inputs = a + b
        self.roots = expanded(list(monoid.combine(a, b)), native)
        self.steps = [x for x in walk(self.roots) if x.op != "var"]
        self.identity: tuple[Node, ...] = monoid.identity(types)
        self.cost = len([x for x in self.steps if x.op != "const"])


@lru_cache(maxsize=256)
def combination(monoid: Monoid, types: tuple[ScalarType, ...], native: frozenset[str]) -> Combination:
    return Combination(monoid, types, native)


class Reductions(Loops):
    """Writes ``Reduce`` and ``Scan`` statements."""

    def combined(self, combination: Combination, a: Sequence[str], b: Sequence[str], lanes: int) -> Texts:
        """Write ``combination`` on two tuples of operands and return the names of the results."""
        self.at = self.here()
        known = dict(zip(combination.inputs, (*a, *b)))
        for x in combination.steps:
            if x.op == "const":
                known[x] = constant(x.attr, x.type, lanes)
            else:
                known[x] = self.operate(x, [known[p] for p in x.args], lanes)
        return [known[r] for r in combination.roots]

    def horizontal(self, combination: Combination, v: Texts, lanes: int) -> Texts:
        """All lanes of a tuple combined."""
        self.at = self.here()
        if combination.monoid is MONOIDS.get(combination.monoid.name) and combination.monoid.name in _HORIZONTAL:
            t = combination.types[0]
            name = _HORIZONTAL[combination.monoid.name]["iufb".index(t.kind)]
            full = spell(t, lanes)
            if name in ("fmax", "fmin"):
                # LLVM's reduction that propagates NaN is slow: NaN is looked for apart.
                some = self.any_of([self.emit(f"fcmp uno {full} {v[0]}, {v[0]}")], lanes)
                got = self.call(spell(t), f"llvm.vector.reduce.{name}.{suffix(t, lanes)}", [(full, v[0])], "nnan ")
                return [self.choose(some, literal(math.nan, t), got, t, 0)]
            if name:
                args = [(full, v[0])]
                flags = ""
                if name in ("fadd", "fmul"):
                    args.insert(0, (spell(t), literal(-0.0 if name == "fadd" else 1.0, t)))
                    flags = "reassoc "
                return [self.call(spell(t), f"llvm.vector.reduce.{name}.{suffix(t, lanes)}", args, flags)]
        # Halves, down to a register's least width, then that rotated in itself.
        least = 128 // min(max(t.bits, 8) for t in combination.types)
        while lanes > max(least, 2):
            lanes //= 2
            low = [self.shuffle(x, "poison", spell(t), 2 * lanes, range(lanes)) for x, t in zip(v, combination.types)]
            high = [
                self.shuffle(x, "poison", spell(t), 2 * lanes, range(lanes, 2 * lanes))
                for x, t in zip(v, combination.types)
            ]
            v = self.combined(combination, low, high, lanes)
        apart = lanes // 2
        while apart:
            picks = [(k + apart) % lanes for k in range(lanes)]
            rotated = [self.shuffle(x, "poison", spell(t), lanes, picks) for x, t in zip(v, combination.types)]
            v = self.combined(combination, v, rotated, lanes)
            apart //= 2
        return [self.emit(f"extractelement {spell(t, lanes)} {x}, i64 0") for x, t in zip(v, combination.types)]

    def combination(self, s: Reduce | Scan) -> Combination:
        return combination(s.monoid, tuple(v.type for v in s.values), self.target.native)

    # Reduce
    def reduce(self, s: Reduce, first: tuple[Store, ...] = ()) -> None:
        """Write a reduction and bind its results. ``first``: stores at each index, before the values are read."""
        combination = self.combination(s)
        self.forget()
        last = s.axes[-1] if s.axes else None
        if last is not None and last.kind == LANE and self.lanes is None and last.step == 1 and s.monoid.commutative:
            survey = Survey(last.index, self.buffers).statements(first).add((*s.values, s.where))
            results = self.reduce_lanes(s, combination, last, survey, first)
        else:
            results = self.reduce_serial(s, combination)
        self.forget()
        for r, v in zip(s.results, results):
            self.bind(r, v)

    def nest(self, axes: Sequence[Axis], carried: list[tuple[str, str]], body: Callable[[Texts], Texts]) -> Texts:
        """Write nested serial loops around ``body`` and return the carried values after them."""
        if not axes:
            return body([x for _, x in carried])
        types = [t for t, _ in carried]

        def inner(values: Texts) -> Texts:
            return self.nest(axes[1:], list(zip(types, values)), body)

        return self.serial(axes[0], carried, inner)

    def reduce_serial(self, s: Reduce, combination: Combination) -> list[Value]:
        """Reduce into one accumulator, or into a vector of them per copy inside of an open LANE axis."""
        lanes = self.lanes
        roots = [*s.values, *(s.init or ())] + ([s.where] if s.where is not None else [])
        wide = lanes is not None and any(self.varies(x) for x in roots)
        width = lanes.width if wide and lanes is not None else 0
        copies = lanes.copies if wide and lanes is not None else 1
        types = combination.types
        first = [self.operands_of(x, t, wide) for x, t in zip(s.init or combination.identity, types)]
        carried = [(spell(t, width), first[k][u]) for u in range(copies) for k, t in enumerate(types)]
        size = len(types)

        def step(now: Texts) -> Texts:
            values = [self.operands_of(x, t, wide) for x, t in zip(s.values, types)]
            result: Texts = []
            for u in range(copies):
                result += self.combined(combination, now[u * size : u * size + size], [v[u] for v in values], width)
            return result

        def filtered(now: Texts) -> Texts:
            if s.where is None:
                return step(now)
            where = self.value(s.where)
            if where.vectors is None:
                return self.guarded(where.scalar, lambda: step(now), [(t, x) for (t, _), x in zip(carried, now)])
            result: Texts = []

            def body() -> None:
                got = step(now)
                assert self.condition is not None
                for k, (new, old) in enumerate(zip(got, now)):
                    result.append(self.choose(self.condition[k // size], new, old, types[k % size], width))

            self.under(s.where, body)
            return result

        out = self.nest(s.axes, carried, filtered)
        depth = self.here()
        if not wide:
            return [Value(depth, x) for x in out]
        return [Value(depth, "", out[k::size]) for k in range(size)]

    def operands_of(self, x: Node, t: ScalarType, wide: bool) -> Texts:
        """A value per copy, or the one of all lanes."""
        v = self.value(x)
        return self.vectors(v, t) if wide else [v.scalar]

    def reduce_lanes(
        self, s: Reduce, combination: Combination, axis: Axis, survey: Survey, first: tuple[Store, ...]
    ) -> list[Value]:
        types, size = combination.types, len(combination.types)
        work = survey.operations + combination.cost
        width = survey.width(self.target, work)
        masked = survey.masked(self.target)
        # Several accumulators hide the latency of the combination where there is little else to do.
        copies = 4 if work <= 40 else 2 if work <= 80 else 1
        plan = Plan(width, (copies,), masked)
        one = [literal(x.attr, t) for x, t in zip(combination.identity, types)]
        every = [constant(x.attr, t, width) for x, t in zip(combination.identity, types)]
        carried = [(spell(t, width), x) for _ in range(copies) for t, x in zip(types, every)]
        if not masked:
            carried += [(spell(t), x) for t, x in zip(types, one)]
        vectors = size * copies

        def row(now: Texts) -> Texts:
            lo, hi = self.scalar(axis.lo), self.scalar(axis.hi)
            return self.over_lanes(
                axis.index,
                lo,
                hi,
                plan,
                list(zip([t for t, _ in carried], now)),
                size,
                lambda values: self.step(s, combination, values, first),
            )

        out = self.nest(s.axes[:-1], carried, row)
        parts = [out[u * size : u * size + size] for u in range(copies)]
        while len(parts) > 1:
            parts = [self.combined(combination, p, q, width) for p, q in zip(parts[::2], parts[1::2])]
        total = self.horizontal(combination, parts[0], width)
        if not masked:
            total = self.combined(combination, total, out[vectors:], 0)
        if s.init is not None:
            total = self.combined(combination, [self.scalar(x) for x in s.init], total, 0)
        return [Value(self.here(), x) for x in total]

    def step(self, s: Reduce, combination: Combination, now: Texts, first: tuple[Store, ...] = ()) -> Texts:
        """Combine the open lanes (or the one index) into accumulators."""
        lanes, types, size = self.lanes, combination.types, len(combination.types)
        w, n = (lanes.width, lanes.copies) if lanes is not None else (0, 1)
        firsts = [(x, self.value(x.value)) for x in first]
        for x, v in firsts:
            self.put(x.buffer, x.index, v)
        if firsts:
            self.forget()
        for x, v in firsts:
            self.known(x, v)
        where = None if s.where is None else self.value(s.where)
        result: Texts = []

        def body() -> None:
            if lanes is None:
                values = [[self.scalar(x)] for x in s.values]
            else:
                values = [self.vectors(self.value(x), t) for x, t in zip(s.values, types)]
            masks = [None] if lanes is None else self.masks(None)
            for u in range(n):
                old = now[u * size : u * size + size]
                new = self.combined(combination, old, [v[u] for v in values], w)
                mask = masks[u]
                result.extend(
                    new if mask is None else [self.choose(mask, p, q, t, w) for p, q, t in zip(new, old, types)]
                )

        if where is not None and where.vectors is None:
            kinds = [spell(t, w) for _ in range(n) for t in types]

            def taken() -> Texts:
                body()
                return result

            return self.guarded(where.scalar, taken, list(zip(kinds, now)))
        self.under(s.where, body)
        return result

    def known(self, s: Store, v: Value) -> None:
        """Forward a stored value to later loads, until the buffer changes."""
        read = make("load", self.buffers[s.buffer].type, (s.index,), s.buffer)
        self.volatile.add(self.remember(read, v, self.here()) and read)

    # Scan
    def scan(self, s: Scan) -> None:
        combination = self.combination(s)
        self.forget()
        if s.axis.kind == LANE and self.lanes is None and s.axis.step == 1:
            survey = Survey(s.axis.index, self.buffers)
            survey.moving.update(s.results)
            survey.add(s.values).statements(s.body)
            if not survey.lane_by_lane:
                self.scan_lanes(s, combination, survey)
                self.forget()
                return
        self.scan_serial(s, combination)
        self.forget()

    def scan_serial(self, s: Scan, combination: Combination) -> None:
        lanes, types, size = self.lanes, combination.types, len(combination.types)
        wide = lanes is not None and any(self.varies(x) for x in (*s.values, *(s.init or ())))
        width = lanes.width if wide and lanes is not None else 0
        copies = lanes.copies if wide and lanes is not None else 1
        first = [self.operands_of(x, t, wide) for x, t in zip(s.init or combination.identity, types)]
        carried = [(spell(t, width), first[k][u]) for u in range(copies) for k, t in enumerate(types)]

        def step(now: Texts) -> Texts:
            values = [self.operands_of(x, t, wide) for x, t in zip(s.values, types)]
            new: Texts = []
            for u in range(copies):
                new += self.combined(combination, now[u * size : u * size + size], [v[u] for v in values], width)
            self.bind_results(s, now if s.exclusive else new, wide)
            self.body(s.body)
            return new

        self.serial(s.axis, carried, step)

    def bind_results(self, s: Scan, texts: Texts, wide: bool) -> None:
        size, depth = len(s.results), self.here()
        for k, r in enumerate(s.results):
            self.bind(r, Value(depth, "", texts[k::size]) if wide else Value(depth, texts[k]))

    def scan_lanes(self, s: Scan, combination: Combination, survey: Survey) -> None:
        """In each vector by steps of 1, 2, 4, … lanes; then what came before it is put in front."""
        types = combination.types
        w = survey.width(self.target)
        masked = survey.masked(self.target)
        plan = Plan(w, (2 if combination.cost <= 2 else 1,), masked)
        before = [self.value(x) for x in s.init or combination.identity]
        carried = [(spell(t, w), self.wide(v, t, w)) for v, t in zip(before, types)]
        if not masked:
            carried += [(spell(t), v.scalar) for v, t in zip(before, types)]
        none = [constant(x.attr, t, w) for x, t in zip(combination.identity, types)]

        def step(now: Texts) -> Texts:
            lanes = self.lanes
            values = [self.value(x) for x in s.values]
            if lanes is None:
                new = self.combined(combination, now, [v.scalar for v in values], 0)
                self.bind_results(s, now if s.exclusive else new, False)
                self.body(s.body)
                return new
            self.at = self.here()
            columns = [self.vectors(v, t) for v, t in zip(values, types)]
            results: Texts = []
            for u in range(lanes.copies):
                x = [c[u] for c in columns]
                apart = 1
                while apart < w:
                    picks = [k + w - apart for k in range(w)]
                    moved = [self.shuffle(z, v, spell(t), w, picks) for z, v, t in zip(none, x, types)]
                    x = self.combined(combination, moved, x, w)
                    apart *= 2
                last = [self.shuffle(v, "poison", spell(t), w, [w - 1] * w) for v, t in zip(x, types)]
                full = self.combined(combination, now, x, w)
                if s.exclusive:
                    picks = list(range(w - 1, 2 * w - 1))
                    results += [self.shuffle(c, v, spell(t), w, picks) for c, v, t in zip(now, full, types)]
                else:
                    results += full
                now = self.combined(combination, now, last, w)
            self.bind_results(s, results, True)
            self.body(s.body)
            return now

        lo, hi = self.scalar(s.axis.lo), self.scalar(s.axis.hi)
        self.over_lanes(s.axis.index, lo, hi, plan, carried, 0, step)

    def body(self, statements: Sequence[Statement]) -> Texts:
        raise NotImplementedError
