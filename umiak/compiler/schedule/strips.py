"""STRIP and SPLIT_COLUMN: lanes along the innermost axis of P, row after row of R, some rows at a time.

Memory is read in the order in which it lies; what is reduced waits in a row of accumulators that stays in cache. STRIP
runs strips of columns, with accumulators in local buffers. SPLIT_COLUMN runs blocks of R over all columns; their
accumulators are global, and who needs a result combines those of its column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from umiak.compiler.codes import COLUMN_BLOCKS, OUTER_BLOCKS, STRIP_WIDTH
from umiak.compiler.loop.monoid import Values
from umiak.compiler.loop.node import Node, add, div, i64, load, minimum, mul, rem, sub, var, walk
from umiak.compiler.loop.tree import LANE, LOCAL, SERIAL, Axis, Buffer, Loop, Reduce, Statement, Store
from umiak.compiler.nest import BodyStage, FailStage, Phase, ReduceStage, ScanStage, ScatterStage, Stage, StoreStage
from umiak.compiler.schedule.blocks import PART, Partials, block_axis
from umiak.compiler.schedule.cache import COSTS, cost, element_expressions, exchange, with_cache
from umiak.compiler.schedule.chunks import Chunks, Totals, chunks, sums_floats
from umiak.compiler.schedule.frame import Frame, identity, masked, product, unflatten
from umiak.compiler.schedule.groups import StageGroup, group
from umiak.compiler.schedule.points import LANE_INDEX, POINT, at_point, ended, loops, over_columns, reduced_axes


def strip(f: Frame) -> list[Phase]:
    """Schedule a reduction over rows in strips of columns: one kernel, parallel over strips."""
    _check(f)
    outer, columns = f.p_sizes[:-1], f.p_sizes[-1]
    count = div(add(columns, STRIP_WIDTH - 1), STRIP_WIDTH)
    here = div(POINT, count) if outer else i64(0)
    start = mul(sub(POINT, mul(here, count)), STRIP_WIDTH)
    walker = _Walker(
        f,
        [*unflatten(here, outer), add(start, LANE_INDEX)],
        minimum(i64(STRIP_WIDTH), sub(columns, start)),
        i64(STRIP_WIDTH),
    )
    stages, _ = with_cache(f.nest, f.varies, local=False)
    groups, at_points, _ = group(stages, f.varies)
    for g in groups:
        walker.group(g, None, walker.local)
    walker.points_alone(at_points)
    parallel = Loop(Axis(POINT, mul(product(outer), count)), tuple(walker.body), parallel=True)
    return [Phase(f.kernel("", (parallel,), walker.scratch), COLUMN_BLOCKS, STRIP_WIDTH)]


def split_column(f: Frame) -> list[Phase]:
    """Schedule a reduction over rows in blocks of R: one kernel per group of stages, parallel over blocks."""
    _check(f)
    outer, columns = f.p_sizes[:-1], f.p_sizes[-1]
    stages, _ = with_cache(f.nest, f.varies, local=False)
    groups, at_points, wanted = group(stages, f.varies, split=True)
    parts = Partials(groups, mul(mul(product(outer), f.blocks), columns))
    here = div(POINT, f.blocks) if outer else i64(0)
    first_part = mul(here, f.blocks)
    block = sub(POINT, first_part)
    phases: list[Phase] = []

    def part(of: Node) -> Node:
        """Return the index of the partial result of a block of this column."""
        return add(mul(of, columns), LANE_INDEX)

    for g in groups:
        walker = _Walker(f, [*unflatten(here, outer), LANE_INDEX], columns, columns)
        for s in g.needed:
            walker.combined(s, parts.combine(s, part(add(first_part, PART)), f.blocks, SERIAL))
        for scan, total in g.starts.items():
            before = tuple(var(f"{r.attr}_before", r.type) for r in scan.results)
            walker.combined(scan, parts.combine(total, part(add(first_part, PART)), block, SERIAL, before))
        walker.group(g, block_axis(f, block), lambda r: (parts.names[r], part(POINT)))
        loop = Loop(Axis(POINT, mul(product(outer), f.blocks)), tuple(walker.body), parallel=True)
        phases.append(Phase(f.kernel(f"_{len(phases)}", (loop,), [*parts.buffers, *walker.scratch]), OUTER_BLOCKS))
    if at_points:
        row = mul(POINT, f.blocks) if outer else i64(0)
        results = [x for s in wanted for x in parts.combine(s, part(add(row, PART)), f.blocks, SERIAL)]
        body, counts = over_columns(f, lambda points: [*results, *at_point(f, at_points, points, SERIAL)])
        phases.append(Phase(f.kernel(f"_{len(phases)}", body, parts.buffers), counts))
    return phases


def _check(f: Frame) -> None:
    if not f.p or not f.r:
        raise ValueError(
            f"[{f.nest.name}] requires axes of P and R for {f.variant.schedule}, got {f.p} and {f.r}"
        )  # fmt: skip


Slot = tuple[str, Node]  # a buffer and an index


class _Walker:
    """Statements that walk rows of R over lanes of ``width`` columns."""

    def __init__(self, f: Frame, points: list[Node], width: Node, size: Node) -> None:
        self.f, self.points = f, points
        self.lanes = Axis(LANE_INDEX, width, kind=LANE)
        self.size = size  # of local buffers
        self.table: dict[Node, Node] = {}  # results and hoisted values -> loads
        self.scratch: list[Buffer] = []
        self.body: list[Statement] = []
        self.before: dict[ScanStage, list[Slot]] = {}  # of scans in chunks: the total before the chunk
        self.vars = 0

    def local(self, x: Node) -> Slot:
        """A slot per column."""
        name = f"column{len(self.scratch)}"
        self.scratch.append(Buffer(name, x.type, LOCAL, self.size))
        return name, LANE_INDEX

    def across(self, body: Sequence[Statement]) -> None:
        if body:
            self.body.append(Loop(self.lanes, tuple(body), brief=True))

    def combined(self, s: ReduceStage | ScanStage, statements: list[Statement]) -> None:
        """Keep what the blocks have found."""
        keep = list(statements)
        assert isinstance(keep[-1], Reduce)
        for r, value in zip(s.results, keep[-1].results):
            name, index = self.local(r)
            keep.append(Store(name, index, value))
            self.table[r] = load(name, r.type, index)
        self.across(keep)

    def points_alone(self, stages: Sequence[Stage]) -> None:
        f = self.f
        self.across([
            f.store(s, self.points, None, self.table) if isinstance(s, StoreStage)
            else f.fail(s, self.points, None, self.table)  # type: ignore[arg-type]
            for s in stages
        ])  # fmt: skip

    def group(self, g: StageGroup, first: Axis | None, slot: Callable[[Node], Slot]) -> None:
        """One walk over the rows (of a block: ``first``)."""
        hoisted = self.hoist(g.stages)
        slots: dict[Node, Slot] = {}
        begin: list[Statement] = list(hoisted)
        for s in g.stages:
            if isinstance(s, (ReduceStage, ScanStage)):
                starts = tuple(self.table[r] for r in s.results) if s in g.starts else identity(s)
                for r, start in zip(s.results, starts):
                    slots[r] = self.local(r) if isinstance(s, ScanStage) else slot(r)
                    begin.append(Store(*slots[r], start))
        self.across(begin)
        *around, last = reduced_axes(self.f, SERIAL, first)
        ends = {(s.end, s.where) for s in g.stages if isinstance(s, ReduceStage)}
        bounded = ended(self.f, g.stages[0], (*around, last), self.points) if len(ends) == 1 else None
        if bounded is not None and len(g.reductions) == len(g.stages):
            (last,), always = bounded
            g = StageGroup([exchange(s, always) for s in g.stages], g.needed, g.starts)
        chunked = Chunks((), (*around, last), tuple(a.index for a in (*around, last)))
        totals: list[Totals] = []
        if self.f.variant.long:
            long = [s for s in g.stages if isinstance(s, (ReduceStage, ScanStage)) and sums_floats(s.monoid, s.results)]
            totals = [Totals(self.f, s, self.size, LANE_INDEX) for s in long]
        if totals:
            chunked = chunks(self.f, chunked.axes, columns=True)
            *around, last = chunked.axes
            for t in totals:
                # The start of the first chunk: identities, or what a scan starts from.
                self.across([*t.begin(), *(self.join(t, slots) if isinstance(t.s, ScanStage) else ())])
        rows = _rows_at_once(self.f, g.stages)
        end = sub(last.hi, rem(sub(last.hi, last.lo), rows)) if rows > 1 else last.lo
        walks: list[Statement] = []
        for count, lo, hi in ((rows, last.lo, end), (1, end, last.hi)):
            if lo is not hi:
                indices = [[*chunked.indices[:-1], add(last.index, q)] for q in range(count)]
                body = [x for s in g.stages for x in self.rows(s, indices, slots)]
                brief = rows > 1 and count == 1  # the rows that are left over
                lanes = Loop(self.lanes, tuple(body), brief=brief)
                walks.append(Loop(Axis(last.index, hi, lo, SERIAL, count), (lanes,)))
        walks = list(loops(around, walks))
        if totals:
            walks.append(Loop(self.lanes, tuple(x for t in totals for x in self.join(t, slots)), brief=True))
            walks = [chunked.over(walks)]
        self.body.extend(walks)
        reduced = [t for t in totals if isinstance(t.s, ReduceStage)]
        self.across([Store(*slots[r], x) for t in reduced for r, x in zip(t.s.results, t.end())])
        for s in g.reductions:
            for r in s.results:
                self.table[r] = load(slots[r][0], r.type, slots[r][1])

    def join(self, t: Totals, slots: dict[Node, Slot]) -> list[Statement]:
        """Add the result of a chunk to its total, and begin the next one: a scan's from what lies before it."""
        of_run = [load(slots[r][0], r.type, slots[r][1]) for r in t.s.results]
        begin = [Store(*slots[r], x) for r, x in zip(t.s.results, identity(t.s))]
        if isinstance(t.s, ScanStage):
            before = self.before.setdefault(t.s, [self.local(r) for r in t.s.results])
            begin += [Store(*slot, x) for slot, x in zip(before, t.end())]
        return [*t.join(of_run), *begin]

    def rows(self, s: Stage, indices: list[list[Node]], slots: dict[Node, Slot]) -> list[Statement]:
        """A stage at some rows at once."""
        assert not isinstance(s, (ScatterStage, BodyStage)), "scatters and bodies have schedules of their own"
        f = self.f
        if isinstance(s, StoreStage):
            return [f.store(s, self.points, at, self.table) for at in indices]
        if isinstance(s, FailStage):
            return [f.fail(s, self.points, at, self.table) for at in indices]
        partial_results = [tuple(f.at(x, self.points, at, self.table) for x in masked(s)) for at in indices]
        total: Values = tuple(load(slots[r][0], r.type, slots[r][1]) for r in s.results)
        result: list[Statement] = []
        if isinstance(s, ScanStage):
            for at, values in zip(indices, partial_results):
                after = self.bind(result, s, total, values)
                here = total if s.exclusive else after
                if s in self.before:
                    loads = tuple(load(slot[0], r.type, slot[1]) for slot, r in zip(self.before[s], s.results))
                    here = s.monoid.combine(loads, here)
                table = {**self.table, **dict(zip(s.results, here))}
                result.extend(f.store(b, self.points, at, table) for b in s.body)
                total = after
        else:
            while len(partial_results) > 1:
                partial_results = [s.monoid.combine(a, b) for a, b in zip(partial_results[::2], partial_results[1::2])]
            total = self.bind(result, s, total, partial_results[0])
        result.extend(Store(*slots[r], x) for r, x in zip(s.results, total))
        return result

    def bind(self, body: list[Statement], s: ReduceStage | ScanStage, a: Values, b: Values) -> Values:
        """The combination. In variables where several stores use it: what it loads is overwritten by the first."""
        if s.monoid.size == 1 and isinstance(s, ReduceStage):
            return s.monoid.combine(a, b)
        results = tuple(var(f"{r.attr}_{self.vars}", r.type) for r in s.results)
        self.vars += 1
        body.append(Reduce(results, s.monoid, (), b, a))
        return results

    def hoist(self, stages: Sequence[Stage]) -> list[Store]:
        """Compute what depends on the column alone and costs something before the loop over rows. (What is the same for
        all columns stands outside of it anyway.)"""
        f = self.f
        loads: list[Node] = []
        pending = [x for s in stages for x in element_expressions(s)]
        seen: set[Node] = set()
        while pending:
            x = pending.pop()
            if x in seen or x in self.table:
                continue
            seen.add(x)
            if f.varies(x):
                pending.extend(x.args)
            elif any(y.op in ("load", "var") for y in walk([x])) and sum(COSTS[y.op] for y in walk([x])) > 4:
                loads.append(x)
        result = []
        hoisted: dict[Node, Node] = {}
        for x in loads:
            value = f.at(x, self.points, None, self.table)
            if LANE_INDEX in value.axes:
                name, index = self.local(x)
                result.append(Store(name, index, value))
                hoisted[x] = load(name, x.type, index)
        self.table.update(hoisted)
        return result


def _rows_at_once(f: Frame, stages: Sequence[Stage]) -> int:
    """As many as hide the accumulators' way through the cache, with code of a decent size."""
    if all(isinstance(s, (StoreStage, FailStage)) for s in stages):
        return 1
    work = sum(cost(x, f.varies) for s in stages for x in element_expressions(s))
    if any(s.monoid.size > 1 for s in stages if isinstance(s, (ReduceStage, ScanStage))):
        work *= 4
    return 8 if work <= 8 else 4 if work <= 40 else 2
