"""MAP, ROW and COLUMN: everything that happens at a point of P stands together, innermost axes are lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace as changed

from umiak.compiler.codes import INNER, ONE, OUTER, ROWS
from umiak.compiler.loop.node import Node, axis, const, i64, load, minimum, var, walk
from umiak.compiler.loop.tree import LANE, LOCAL, SERIAL, Axis, Buffer, Loop, Reduce, Scan, Statement, Store
from umiak.compiler.loop.types import BOOL
from umiak.compiler.nest import FailStage, Phase, ReduceStage, ScanStage, Stage, StoreStage
from umiak.compiler.schedule.cache import CACHE_INDEX, element_expressions, exchange, with_cache
from umiak.compiler.schedule.chunks import Totals, chunks, sums_floats, with_compensation
from umiak.compiler.schedule.frame import Frame, flatten, identity, product, unflatten, without_axes
from umiak.compiler.schedule.merge import merged

POINT, LANE_INDEX = axis("i"), axis("c")


def pointwise(f: Frame) -> list[Phase]:
    """MAP: no R."""
    if f.r:
        raise ValueError(f"[{f.nest.name}] requires a nest without R for map, got {f.r} axes of R")
    stages = without_axes(f.nest.stages)
    if not f.p:
        return [Phase(f.kernel("", at_point(f, stages, [], SERIAL)), ONE)]
    body, counts = over_columns(f, lambda points: at_point(f, stages, points, SERIAL))
    return [Phase(f.kernel("", body), counts)]


def row(f: Frame) -> list[Phase]:
    """ROW: lanes along the innermost axis of R."""
    if not f.r:
        raise ValueError(f"[{f.nest.name}] requires axes of R for row, got none")
    stages, caches = with_cache(f.nest, f.varies, local=True)
    f.reread.update(x.attr for s in stages for x in walk(element_expressions(s)) if x.op == "load")
    scratch = [*carries(f, stages), *(Buffer(name, t, LOCAL, product(f.r_sizes)) for name, t in caches)]
    body, counts = over_rows(f, lambda points: at_point(f, stages, points, LANE))
    return [Phase(f.kernel("", body, scratch), counts)]


def column(f: Frame) -> list[Phase]:
    """COLUMN: lanes along the innermost axis of P, with the results in registers."""
    if not f.p or not f.r:
        raise ValueError(f"[{f.nest.name}] requires axes of P and R for column, got {f.p} and {f.r}")
    stages, _ = with_cache(f.nest, f.varies, local=False)
    if f.r > 1 and any(isinstance(s, ScanStage) for s in stages):
        raise ValueError(f"[{f.nest.name}] requires one axis of R for a scan along columns, got {f.r}")
    body, counts = over_columns(f, lambda points: at_point(f, stages, points, SERIAL))
    return [Phase(f.kernel("", body), counts)]


def over_rows(f: Frame, body: Callable[[list[Node]], Sequence[Statement]]) -> tuple[tuple[Statement, ...], int]:
    """The parallel loop over all points of P."""
    if not f.p:
        return tuple(body([])), ONE
    points = unflatten(POINT, f.p_sizes)
    return (Loop(Axis(POINT, product(f.p_sizes)), tuple(body(points)), parallel=True),), ROWS


def over_columns(f: Frame, body: Callable[[list[Node]], Sequence[Statement]]) -> tuple[tuple[Statement, ...], int]:
    """The parallel loop over the outer axes of P around lanes along the innermost; lanes alone if there is no other."""
    outer, columns = f.p_sizes[:-1], Axis(LANE_INDEX, f.p_sizes[-1], kind=LANE)
    if not outer:
        return (Loop(columns, tuple(body([LANE_INDEX])), parallel=True),), INNER
    points = [*unflatten(POINT, outer), LANE_INDEX]
    return (Loop(Axis(POINT, product(outer)), (Loop(columns, tuple(body(points))),), parallel=True),), OUTER


def reduced_axes(f: Frame, innermost: str, first: Axis | None = None) -> tuple[Axis, ...]:
    """The axes of R, outermost first; ``first`` (a part of it) in place of the outermost."""
    axes = [Axis(axis(f"r{k}"), size) for k, size in enumerate(f.r_sizes)]
    if first is not None:
        axes[0] = first
    if axes and innermost != SERIAL:
        last = axes[-1]
        axes[-1] = Axis(last.index, last.hi, last.lo, innermost, last.step)
    return tuple(axes)


def loops(axes: Sequence[Axis], body: Sequence[Statement]) -> tuple[Statement, ...]:
    """Loops around a body; none around an empty one."""
    result = tuple(body)
    if not result:
        return ()
    for a in reversed(axes):
        result = (Loop(a, result),)
    return result


def ended(
    f: Frame, s: Stage, axes: Sequence[Axis], points: Sequence[Node]
) -> tuple[tuple[Axis, ...], dict[Node, Node]] | None:  # fmt: skip
    """The axes of a reduction up to its end, and what becomes of its condition then; None where lanes end apart."""
    if not isinstance(s, ReduceStage) or s.end is None or s.where is None or len(axes) != 1:
        return None
    end = f.at(s.end, points)
    if LANE_INDEX in end.axes:
        return None
    a = axes[0]
    return (Axis(a.index, minimum(a.hi, end), a.lo, a.kind, a.step),), {s.where: const(True, BOOL)}


def carried(s: ScanStage) -> list[Buffer]:
    """Local buffers in which a scan over several axes keeps its totals from row to row."""
    return [Buffer(f"{r.attr}_before", r.type, LOCAL, i64(1)) for r in s.results]


def carries(f: Frame, stages: Sequence[Stage]) -> list[Buffer]:
    """Return the carries of all scans."""
    return [b for s in stages if isinstance(s, ScanStage) and f.r > 1 for b in carried(s)]


def each_of(
    f: Frame, stages: Sequence[StoreStage | FailStage], points: Sequence[Node], indices: Sequence[Node],
    table: dict[Node, Node],
) -> list[Statement]:  # fmt: skip
    """Stages at one point of R."""
    return [
        f.store(s, points, indices, table) if isinstance(s, StoreStage) else f.fail(s, points, indices, table)
        for s in stages
    ]


def in_chunks(
    f: Frame, s: ReduceStage, axes: Sequence[Axis], points: Sequence[Node], before: Sequence[StoreStage | FailStage]
) -> list[Statement]:
    """A long reduction, with what happens ``before`` it at each point of R: in the same loops, so that they are one."""
    r = chunks(f, axes)
    table = {CACHE_INDEX: flatten(r.indices, f.r_sizes)}
    totals = Totals(f, s, i64(1), i64(0))

    def at(x: Node) -> Node:
        return f.at(x, points, r.indices, table)

    of_run = tuple(var(f"{x.attr}_run", x.type) for x in s.results)
    where = None if s.where is None else at(s.where)
    body = [
        *loops(r.axes, each_of(f, before, points, r.indices, table)),
        Reduce(of_run, s.monoid, r.axes, tuple(map(at, s.values)), None, where),
        *totals.join(of_run),
    ]
    return [*totals.begin(), r.over(body), Reduce(s.results, s.monoid, (), totals.end())]


def scan_in_chunks(
    f: Frame, s: ScanStage, axes: Sequence[Axis], points: Sequence[Node], start: tuple[Node, ...] | None
) -> list[Statement]:
    """A long scan: each chunk from what lies before it. The total of a chunk is taken first: its numbers may be in the
    memory that the scan writes."""
    r = chunks(f, axes)
    table = {CACHE_INDEX: flatten(r.indices, f.r_sizes)}
    totals = Totals(f, s, i64(1), i64(0))
    before, here, total = (
        tuple(var(f"{x.attr}_{k}", x.type) for x in s.results) for k in ("before_chunk", "chunk", "sum")
    )
    values = tuple(f.at(x, points, r.indices, table) for x in s.values)
    inside = dict(zip(s.results, s.monoid.combine(before, here)))
    stores = tuple(f.store(x, points, r.indices, {**table, **inside}) for x in s.body)
    body = [
        Reduce(before, s.monoid, (), totals.end()),
        Reduce(total, s.monoid, r.axes, values),
        Scan(here, s.monoid, r.axes[0], values, stores, None, s.exclusive),
        *totals.join(total),
    ]
    return [*totals.begin(), *(totals.join(start) if start else ()), r.over(body)]


def at_point(
    f: Frame, stages: Sequence[Stage], points: Sequence[Node], innermost: str, first: Axis | None = None,
    starts: dict[Node, tuple[Node, ...]] | None = None,
) -> list[Statement]:  # fmt: skip
    """The stages at one point of P, the innermost axis of R running as ``innermost``.

    ``first``: the part of the outermost axis of R to run, if not all of it; ``starts``: what scans start from, by their
    first result.
    """
    axes = reduced_axes(f, innermost, first)
    serial = reduced_axes(f, SERIAL, first)
    indices = [a.index for a in axes]
    table = {CACHE_INDEX: flatten(indices, f.r_sizes)}
    body: list[Statement] = []
    together: list[StoreStage | FailStage] = []  # what one loop over R will run

    def flush() -> None:
        if together:
            body.extend(loops(axes, each_of(f, together, points, indices, table)))
            together.clear()

    def at(x: Node) -> Node:
        return f.at(x, points, indices, table)

    for s in merged(stages):
        if isinstance(s, ReduceStage):
            long = f.variant.long and s.monoid.commutative and sums_floats(s.monoid, s.results)
            in_parts = long and f.chunked and innermost != SERIAL
            if not in_parts:
                flush()
            over = axes if s.monoid.commutative else serial
            bounded = ended(f, s, over, points)
            if bounded is not None:
                over, always = bounded
                exchanged = exchange(s, always)
                assert isinstance(exchanged, ReduceStage)
                s = changed(exchanged, where=None, end=None)
            if in_parts:
                body.extend(in_chunks(f, s, over, points, together))
                together.clear()
                continue
            where = None if s.where is None else at(s.where)
            reduction = Reduce(s.results, s.monoid, over, tuple(map(at, s.values)), None, where)
            body.extend(with_compensation(reduction) if long else [reduction])
        elif isinstance(s, ScanStage):
            flush()
            inside = tuple(f.store(x, points, indices, table) for x in s.body)
            start = (starts or {}).get(s.results[0])
            if (
                f.variant.long and innermost != SERIAL and len(axes) == 1 and not s.ordered and s.monoid.commutative
                and sums_floats(s.monoid, s.results)
            ):  # fmt: skip
                body.extend(scan_in_chunks(f, s, axes, points, start))
                continue
            *around, last = serial if s.ordered else axes
            values = tuple(map(at, s.values))
            if not around:
                body.append(Scan(s.results, s.monoid, last, values, inside, start, s.exclusive))
                continue
            # Row after row; what came before a row waits in memory.
            waiting = [(b.name, load(b.name, b.type, i64(0))) for b in carried(s)]
            totals = tuple(var(f"{r.attr}_row", r.type) for r in s.results)
            start = start or identity(s)
            body.extend(Store(name, i64(0), x) for (name, _), x in zip(waiting, start, strict=True))
            before = tuple(x for _, x in waiting)
            total = Reduce(totals, s.monoid, ((axes if s.monoid.commutative else serial)[-1],), values, before)
            row = [Scan(s.results, s.monoid, last, values, inside, before, s.exclusive), total]
            row += [Store(name, i64(0), x) for (name, _), x in zip(waiting, totals, strict=True)]
            body.extend(loops(around, row))
        elif (isinstance(s, StoreStage) and (s.each and axes)) or (isinstance(s, FailStage) and f.varies(s.where)):
            together.append(s)
        else:
            assert isinstance(s, (StoreStage, FailStage)), "scatters have schedules of their own"
            flush()
            body.append(f.store(s, points) if isinstance(s, StoreStage) else f.fail(s, points))
    flush()
    return body
