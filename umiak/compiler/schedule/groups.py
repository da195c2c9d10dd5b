"""Stages that may run together in one walk over R: none of them uses what another one reduces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from umiak.compiler.loop.node import Node, var, walk
from umiak.compiler.nest import BodyStage, ReduceStage, ScanStage, ScatterStage, Stage, StoreStage
from umiak.compiler.schedule.cache import element_expressions


@dataclass
class StageGroup:
    """``stages`` of one walk; ``needed``: reductions before them whose results they use; ``starts``: per scan, the
    reduction of its values, which gives a block what came before it."""

    stages: list[Stage] = field(default_factory=list)
    needed: list[ReduceStage] = field(default_factory=list)
    starts: dict[ScanStage, ReduceStage] = field(default_factory=dict)

    @property
    def reductions(self) -> list[ReduceStage]:
        return [s for s in self.stages if isinstance(s, ReduceStage)]


def all_expressions(s: Stage) -> list[Node]:
    if isinstance(s, StoreStage):
        return [s.index, s.value, *([] if s.where is None else [s.where])]
    return element_expressions(s)


def group(
    stages: Sequence[Stage], varies: Callable[[Node], bool], split: bool = False
) -> tuple[list[StageGroup], list[Stage], list[ReduceStage]]:
    """Groups in order; stages at points of P alone; the reductions that the latter need.

    ``split``: R is run in blocks, so a scan needs the blocks' totals from a group before its own.
    """
    stage_of: dict[Node, ReduceStage] = {}
    groups: list[StageGroup] = [StageGroup()]
    points: list[Stage] = []

    def needs(s: Stage) -> list[ReduceStage]:
        used = [stage_of[x] for x in walk(all_expressions(s)) if x in stage_of]
        return [r for n, r in enumerate(used) if r not in used[:n]]

    def place(s: Stage, before: list[ReduceStage]) -> StageGroup:
        if any(r in groups[-1].stages for r in before):
            groups.append(StageGroup())
        last = groups[-1]
        last.stages.append(s)
        last.needed.extend(r for r in before if r not in last.needed)
        return last

    for s in stages:
        assert not isinstance(s, (ScatterStage, BodyStage)), "scatters and bodies have schedules of their own"
        if isinstance(s, StoreStage) and not s.each:
            points.append(s)
        elif isinstance(s, ReduceStage):
            place(s, needs(s))
            stage_of.update(dict.fromkeys(s.results, s))
        elif isinstance(s, ScanStage) and split:
            totals = tuple(var(f"{r.attr}_total", r.type) for r in s.results)
            total = ReduceStage(totals, s.monoid, s.values)
            place(total, needs(s))
            if total in groups[-1].stages:
                groups.append(StageGroup())
            place(s, needs(s)).starts[s] = total
        elif isinstance(s, (ScanStage, StoreStage)) or varies(s.where):
            place(s, needs(s))
        else:
            points.append(s)
    wanted: list[ReduceStage] = []
    for s in points:
        wanted.extend(r for r in needs(s) if r not in wanted)
    return [g for g in groups if g.stages], points, wanted
