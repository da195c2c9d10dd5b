"""Nests that scatter: COLUMN and STRIP run lanes along columns that lie side by side, ROW one point at a time.

Every element has one owner, the point of P that it belongs to, and its updates come in the order of R: results depend
on neither lanes nor threads.
"""

from __future__ import annotations

from collections.abc import Sequence

from umiak.compiler.codes import COLUMN_BLOCKS, STRIP_WIDTH
from umiak.compiler.loop.node import Node, add, div, i64, load, minimum, mul, rem, sub, var
from umiak.compiler.loop.tree import LANE, SERIAL, Axis, Loop, Reduce, Statement, Store
from umiak.compiler.nest import FailStage, Phase, ScatterStage, Stage
from umiak.compiler.schedule.frame import Frame, product, unflatten
from umiak.compiler.schedule.points import LANE_INDEX, POINT, loops, over_columns, over_rows, reduced_axes

AT_ONCE = 4  # updates of a step where one is a few instructions


def scatter_row(f: Frame) -> list[Phase]:
    """ROW: the points of P in parts, each through all its updates."""
    *around, last = _axes(f)
    end = sub(last.hi, rem(last.hi, AT_ONCE))

    def walk(points: list[Node]) -> tuple[Statement, ...]:
        both = []
        for count, lo, hi in ((AT_ONCE, last.lo, end), (1, end, last.hi)):
            indices = [[*(a.index for a in around), add(last.index, k)] for k in range(count)]
            body = [x for k, at in enumerate(indices) for x in _updates(f, f.nest.stages, points, at, f"{count}_{k}")]
            both.append(Loop(Axis(last.index, hi, lo, SERIAL, count), tuple(body)))
        return loops(around, both)

    body, counts = over_rows(f, walk)
    return [Phase(f.kernel("", body), counts)]


def scatter_column(f: Frame) -> list[Phase]:
    """COLUMN: few updates, so each vector of columns takes them all."""
    body, counts = over_columns(f, lambda points: loops(_axes(f), _updates(f, f.nest.stages, points, _reduced(f))))
    return [Phase(f.kernel("", body), counts)]


def scatter_strip(f: Frame) -> list[Phase]:
    """STRIP: an update of all columns of a strip, then the next one."""
    outer, columns = f.p_sizes[:-1], f.p_sizes[-1]
    count = div(add(columns, STRIP_WIDTH - 1), STRIP_WIDTH)
    here = div(POINT, count) if outer else i64(0)
    start = mul(sub(POINT, mul(here, count)), STRIP_WIDTH)
    points = [*unflatten(here, outer), add(start, LANE_INDEX)]
    lanes = Axis(LANE_INDEX, minimum(i64(STRIP_WIDTH), sub(columns, start)), kind=LANE)
    # What is the same for all columns is checked once.
    alone: list[Stage] = [s for s in f.nest.stages if isinstance(s, FailStage) and not _along_lanes(f, s, points)]
    across = _updates(f, [s for s in f.nest.stages if s not in alone], points, _reduced(f))
    walk = loops(_axes(f), [*_updates(f, alone, points, _reduced(f)), Loop(lanes, tuple(across))])
    parallel = Loop(Axis(POINT, mul(product(outer), count)), walk, parallel=True)
    return [Phase(f.kernel("", (parallel,)), COLUMN_BLOCKS, STRIP_WIDTH)]


def _axes(f: Frame) -> tuple[Axis, ...]:
    return reduced_axes(f, SERIAL)


def _reduced(f: Frame) -> list[Node]:
    return [a.index for a in _axes(f)]


def _along_lanes(f: Frame, s: FailStage, points: Sequence[Node]) -> bool:
    return LANE_INDEX in f.at(s.where, points, _reduced(f)).axes


def _updates(
    f: Frame, stages: Sequence[Stage], points: Sequence[Node], reduced: Sequence[Node], number: str = ""
) -> list[Statement]:  # fmt: skip
    """The stages at one point of P and R; ``number`` tells apart points of one body."""
    body: list[Statement] = []
    for s in stages:
        if isinstance(s, FailStage):
            body.append(f.fail(s, points, reduced))
        elif isinstance(s, ScatterStage):
            body.extend(_update(f, s, points, reduced, f"{number}_{len(body)}"))
        else:
            raise ValueError(
                f"[{f.nest.name}] requires a nest that scatters and fails alone, got a {type(s).__name__}"
            )  # fmt: skip
    return body


def _update(
    f: Frame, s: ScatterStage, points: Sequence[Node], reduced: Sequence[Node], number: str
) -> list[Statement]:  # fmt: skip
    where = None if s.where is None else f.at(s.where, points, reduced)
    index = f.at(s.index, points, reduced)
    values = tuple(f.at(v, points, reduced) for v in s.values)
    positions = [add(index, k) if k else index for k in range(len(values))]
    if s.monoid is None:
        return [Store(s.buffer, i, v, where) for i, v in zip(positions, values)]
    other = s.monoid.identity(tuple(v.type for v in values))
    before = tuple(load(s.buffer, v.type, i, where, o) for i, v, o in zip(positions, values, other))
    if len(values) == 1:
        return [Store(s.buffer, positions[0], s.monoid.combine(before, values)[0], where)]
    # In variables: the first store changes what the second one would load.
    results = tuple(var(f"u{number}_{k}", v.type) for k, v in enumerate(values))
    combined = Reduce(results, s.monoid, (), values, before)
    return [combined, *(Store(s.buffer, i, r, where) for i, r in zip(positions, results))]
