"""Kernels of a variant for machines of many threads, from the same nests and variants as those for processors.

Points of P are dealt out to threads where a point is little work (MAP, COLUMN, STRIP), squares of them to blocks where
accesses cross (TILE), and rows to blocks whose threads share them (ROW, SPLIT_ROW). Neighbouring threads have
neighbouring points of the innermost axis, so that their accesses are neighbours in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from umiak.compiler.codes import LOOP_END
from umiak.compiler.loop.node import Node, add, axis, div, minimum, mul, sub, var
from umiak.compiler.loop.tree import (
    BLOCK,
    LANE,
    LOCAL,
    SERIAL,
    SHARED,
    TILE,
    Axis,
    Buffer,
    Kernel,
    Loop,
    Statement,
    Store,
    with_expressions,
)
from umiak.compiler.nest import COLUMN, MAP, ROW, SPLIT_COLUMN, SPLIT_ROW, STRIP, BodyStage, Nest, Phase, Variant
from umiak.compiler.nest import TILE as TILE_SCHEDULE
from umiak.compiler.schedule import points
from umiak.compiler.schedule.blocks import PART, Partials, block_axis, split_row
from umiak.compiler.schedule.cache import with_cache
from umiak.compiler.schedule.frame import Frame, product, unflatten, without_axes
from umiak.compiler.schedule.groups import group
from umiak.compiler.schedule.points import LANE_INDEX, POINT, at_point

EDGE = 32  # of the squares of TILE
STRIP_POINTS = 256  # of SPLIT_COLUMN: a thread each


def kernels(nest: Nest, variant: Variant, short: bool = False, streaming: bool = False) -> list[Phase]:
    """The phases of a launch, in order.

    ``short``: what a row keeps from one stage to the next fits into shared memory (bytes: ``render.spmd.resources``).
    ``streaming``: nobody reads the outputs soon.
    """
    frame = Frame(nest, variant, streaming)
    if any(isinstance(s, BodyStage) for s in nest.stages):
        return bodies(frame)
    make = SCHEDULE.get(variant.schedule)
    if make is None:
        raise ValueError(f"[{nest.name}] requires a schedule of {', '.join(SCHEDULE)}, got {variant.schedule!r}")
    frame.chunked = False
    phases = make(frame)
    return [Phase(in_shared(p.kernel) if short else p.kernel, LOOP_END) for p in phases]


def in_shared(kernel: Kernel) -> Kernel:
    """A kernel whose local buffers lie in shared memory."""
    buffers = tuple(Buffer(b.name, b.type, SHARED, b.size) if b.space == LOCAL else b for b in kernel.buffers)
    return replace(kernel, buffers=buffers)


def each_point(f: Frame, body: Callable[[list[Node]], list[Statement]]) -> Loop:
    """Threads over all points of P."""
    return Loop(Axis(POINT, product(f.p_sizes), kind=LANE), tuple(body(unflatten(POINT, f.p_sizes))), parallel=True)


def bodies(f: Frame) -> list[Phase]:
    """Bodies, whatever the schedule: a thread, or a block, for each point of P."""
    points = unflatten(POINT, f.p_sizes)
    body: list[Statement] = []
    together = False
    for s in f.nest.stages:
        if not isinstance(s, BodyStage):
            raise ValueError(f"[{f.nest.name}] requires no stages beside bodies, got {type(s).__name__}")
        body += with_expressions(s.body, lambda x: f.at(x, points))
        together |= s.together
    axis = Axis(POINT, product(f.p_sizes), kind=BLOCK if together else SERIAL)
    return [Phase(f.kernel("_body", (Loop(axis, tuple(body), parallel=True),)), LOOP_END)]


def pointwise(f: Frame) -> list[Phase]:
    """MAP, and what is to be done at a point where there is no R."""
    if f.r:
        raise ValueError(f"[{f.nest.name}] requires a nest without R for map, got {f.r} axes of R")
    stages = without_axes(f.nest.stages)
    loop = each_point(f, lambda at: at_point(f, stages, at, SERIAL))
    return [Phase(f.kernel("", (loop,)), LOOP_END)]


def column(f: Frame) -> list[Phase]:
    """COLUMN and STRIP: a thread per point of P, R one after the other."""
    if not f.p or not f.r:
        raise ValueError(f"[{f.nest.name}] requires axes of P and R for column, got {f.p} and {f.r}")
    stages, _ = with_cache(f.nest, f.varies, local=False)
    loop = each_point(f, lambda at: at_point(f, stages, at, SERIAL))
    return [Phase(f.kernel("", (loop,)), LOOP_END)]


def tile(f: Frame) -> list[Phase]:
    """A block per square of the tile axis and the innermost one."""
    k = f.variant.tile
    if f.r or not 0 <= k < f.p - 1:
        raise ValueError(f"[{f.nest.name}] requires an outer axis of P as tile and no R, got {k} of {f.p}, R {f.r}")
    others = [s for n, s in enumerate(f.p_sizes[:-1]) if n != k]
    counts = [div(add(s, EDGE - 1), EDGE) for s in (f.p_sizes[k], f.p_sizes[-1])]
    *outer, i, j = unflatten(POINT, [*others, *counts])
    row = axis("t")
    starts = mul(i, EDGE), mul(j, EDGE)
    body = at_point(f, without_axes(f.nest.stages), [*outer[:k], row, *outer[k:], LANE_INDEX], SERIAL)
    ends = [minimum(add(start, EDGE), size) for start, size in zip(starts, (f.p_sizes[k], f.p_sizes[-1]))]
    lanes = Loop(Axis(LANE_INDEX, ends[1], starts[1], LANE), tuple(body))
    square = Loop(Axis(row, ends[0], starts[0], TILE), (lanes,))
    parallel = Loop(Axis(POINT, product([*others, *counts])), (square,), parallel=True)
    return [Phase(f.kernel("", (parallel,)), LOOP_END)]


def split_column(f: Frame) -> list[Phase]:
    """A block of threads per strip of points of P and block of R, then a thread per point for what is left."""
    if not f.p or not f.r:
        raise ValueError(f"[{f.nest.name}] requires axes of P and R for split_column, got {f.p} and {f.r}")
    stages, _ = with_cache(f.nest, f.varies, local=False)
    groups, alone, wanted = group(stages, f.varies, split=True)
    count = product(f.p_sizes)
    parts = Partials(groups, mul(count, f.blocks))
    strips = div(add(count, STRIP_POINTS - 1), STRIP_POINTS)
    block = div(POINT, strips)
    start = mul(sub(POINT, mul(block, strips)), STRIP_POINTS)
    strip = Axis(LANE_INDEX, minimum(add(start, STRIP_POINTS), count), start, LANE)

    def of(point: Node) -> Node:
        """Return the index of block ``PART`` of a point: neighbours in memory are neighbouring points."""
        return add(mul(PART, count), point)

    phases: list[Phase] = []
    for g in groups:
        body: list[Statement] = [x for s in g.needed for x in parts.combine(s, of(LANE_INDEX), f.blocks, SERIAL)]
        starts = {}
        for scan, total in g.starts.items():
            before = tuple(var(f"{r.attr}_before", r.type) for r in scan.results)
            body.extend(parts.combine(total, of(LANE_INDEX), block, SERIAL, before))
            starts[scan.results[0]] = before
        body += at_point(f, g.stages, unflatten(LANE_INDEX, f.p_sizes), SERIAL, block_axis(f, block), starts)
        mine = add(mul(block, count), LANE_INDEX)
        body += [Store(parts.names[r], mine, r) for s in g.reductions for r in s.results]
        loop = Loop(Axis(POINT, mul(strips, f.blocks)), (Loop(strip, tuple(body)),), parallel=True)
        phases.append(Phase(f.kernel(f"_{len(phases)}", (loop,), parts.buffers), LOOP_END))
    if alone:
        results = [x for s in wanted for x in parts.combine(s, of(POINT), f.blocks, SERIAL)]
        loop = each_point(f, lambda at: [*results, *at_point(f, alone, at, SERIAL)])
        phases.append(Phase(f.kernel(f"_{len(phases)}", (loop,), parts.buffers), LOOP_END))
    return phases


SCHEDULE: dict[str, Callable[[Frame], list[Phase]]] = {
    MAP: pointwise, TILE_SCHEDULE: tile, ROW: points.row, COLUMN: column, STRIP: column, SPLIT_ROW: split_row,
    SPLIT_COLUMN: split_column,
}  # fmt: skip
