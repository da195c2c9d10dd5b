"""Reductions side by side: those that do not use each other's results read R once, as a tuple of all their values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from umiak.compiler.loop.monoid import Monoid, Values
from umiak.compiler.loop.node import Node, walk
from umiak.compiler.loop.types import ScalarType
from umiak.compiler.nest import ReduceStage, Stage
from umiak.compiler.schedule.cache import element_expressions
from umiak.compiler.schedule.frame import masked


@lru_cache(maxsize=256)
def side_by_side(monoids: tuple[Monoid, ...]) -> Monoid:
    """The monoid of their tuples, one after the other."""
    if len(monoids) == 1:
        return monoids[0]
    ends = [sum(m.size for m in monoids[: k + 1]) for k in range(len(monoids))]
    parts = [slice(end - m.size, end) for m, end in zip(monoids, ends)]

    def identity(types: tuple[ScalarType, ...]) -> Values:
        return tuple(x for m, part in zip(monoids, parts) for x in m.identity(types[part]))

    def combine(a: Values, b: Values) -> Values:
        return tuple(x for m, part in zip(monoids, parts) for x in m.combine(a[part], b[part]))

    name = "+".join(m.name for m in monoids)
    return Monoid(name, ends[-1], identity, combine, all(m.commutative for m in monoids), monoids)


def merged(stages: Sequence[Stage]) -> list[Stage]:
    """Neighbouring reductions as one, where they can be."""
    result: list[Stage] = []
    together: list[ReduceStage] = []

    def flush() -> None:
        if together:
            result.append(_join(together))
            together.clear()

    for s in stages:
        if isinstance(s, ReduceStage):
            made: set[Node] = {r for t in together for r in t.results}
            if together and (
                s.monoid.commutative != together[0].monoid.commutative
                or any(x in made for x in walk(element_expressions(s)))
            ):
                flush()
            together.append(s)
        else:
            flush()
            result.append(s)
    flush()
    return result


def _join(stages: Sequence[ReduceStage]) -> ReduceStage:
    if len(stages) == 1:
        return stages[0]
    same = all(s.where is stages[0].where for s in stages)
    values = tuple(x for s in stages for x in (s.values if same else masked(s)))
    results = tuple(r for s in stages for r in s.results)
    where, end = (stages[0].where, stages[0].end) if same else (None, None)
    return ReduceStage(results, side_by_side(tuple(s.monoid for s in stages)), values, where, end)
