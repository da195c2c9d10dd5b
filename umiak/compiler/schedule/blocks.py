"""SPLIT_ROW: few long rows. Blocks of R are reduced by themselves, into global buffers; who needs a result combines
what the blocks of its row have found. Blocks follow from the shape, so results depend on nothing else."""

from __future__ import annotations

from umiak.compiler.codes import ROW_BLOCKS
from umiak.compiler.loop.node import Node, add, axis, div, i64, load, minimum, mul, sub, var
from umiak.compiler.loop.tree import GLOBAL, LANE, SERIAL, Axis, Buffer, Loop, Reduce, Statement, Store
from umiak.compiler.nest import Phase, ReduceStage
from umiak.compiler.schedule.cache import with_cache
from umiak.compiler.schedule.chunks import with_compensation
from umiak.compiler.schedule.frame import Frame, product, unflatten
from umiak.compiler.schedule.groups import StageGroup, group
from umiak.compiler.schedule.points import POINT, at_point, over_rows

PART = axis("k")


class Partials:
    """Global buffers with one element per block (and column) for every result of reductions."""

    def __init__(self, groups: list[StageGroup], size: Node) -> None:
        self.names: dict[Node, str] = {}
        self.buffers: list[Buffer] = []
        for g in groups:
            for s in g.reductions:
                for r in s.results:
                    self.names[r] = f"part{len(self.buffers)}"
                    self.buffers.append(Buffer(self.names[r], r.type, GLOBAL, size))

    def combine(
        self, s: ReduceStage, index: Node, count: Node, kind: str, results: tuple[Node, ...] | None = None
    ) -> list[Statement]:
        """The results of ``count`` blocks; ``index``: where block ``PART`` has its part."""
        values = tuple(load(self.names[r], r.type, index) for r in s.results)
        kind = kind if s.monoid.commutative else SERIAL
        reduction = Reduce(results or s.results, s.monoid, (Axis(PART, count, kind=kind),), values)
        return with_compensation(reduction)


def split_row(f: Frame) -> list[Phase]:
    """Schedule a nest with few long rows: one kernel per group of stages, over blocks of R."""
    if not f.r:
        raise ValueError(f"[{f.nest.name}] requires axes of R for split_row, got none")
    stages, _ = with_cache(f.nest, f.varies, local=False)
    groups, at_points, wanted = group(stages, f.varies, split=True)
    parts = Partials(groups, mul(product(f.p_sizes), f.blocks))
    phases: list[Phase] = []
    for g in groups:
        body = _block(f, g, parts)
        loop = Loop(Axis(POINT, mul(product(f.p_sizes), f.blocks)), tuple(body), parallel=True)
        phases.append(Phase(f.kernel(f"_{len(phases)}", (loop,), parts.buffers), ROW_BLOCKS))
    if at_points:
        here = POINT if f.p else i64(0)
        of_row = add(mul(here, f.blocks), PART)
        results = [x for s in wanted for x in parts.combine(s, of_row, f.blocks, LANE)]
        loops, counts = over_rows(f, lambda points: [*results, *at_point(f, at_points, points, SERIAL)])
        phases.append(Phase(f.kernel(f"_{len(phases)}", loops, parts.buffers), counts))
    return phases


def _block(f: Frame, g: StageGroup, parts: Partials) -> list[Statement]:
    """One block of one row."""
    here = div(POINT, f.blocks) if f.p else i64(0)
    first_part = mul(here, f.blocks)
    block = sub(POINT, first_part)
    of_row = add(first_part, PART)
    body: list[Statement] = [x for s in g.needed for x in parts.combine(s, of_row, f.blocks, LANE)]
    starts = {}
    for scan, total in g.starts.items():
        before = tuple(var(f"{r.attr}_before", r.type) for r in scan.results)
        body.extend(parts.combine(total, of_row, block, LANE, before))
        starts[scan.results[0]] = before
    points = unflatten(here, f.p_sizes)
    body.extend(at_point(f, g.stages, points, LANE, block_axis(f, block), starts))
    body.extend(Store(parts.names[r], POINT, r) for s in g.reductions for r in s.results)
    return body


def block_axis(f: Frame, block: Node) -> Axis:
    """A block's part of the outermost axis of R."""
    lo = mul(block, f.block_length)
    return Axis(axis("r0"), minimum(add(lo, f.block_length), f.r_sizes[0]), lo)
