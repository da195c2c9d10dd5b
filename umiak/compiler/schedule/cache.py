"""The row cache: what is costly and needed by several stages at each point of R is computed once and kept.

It is kept in an output that a later stage overwrites, if one has the right type, else in a local buffer where the
schedule has one. Loads and cheap arithmetic are recomputed: that is faster than memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace as changed

from umiak.compiler.loop.node import OPS, Node, load, replace, var, walk
from umiak.compiler.loop.types import I64, ScalarType
from umiak.compiler.nest import FailStage, Nest, ReduceStage, ScanStage, Stage, StoreStage

CACHE_INDEX = var("@row", I64)  # the number of a point of R within its row
COSTS = {
    **dict.fromkeys(OPS, 1), **dict.fromkeys(list(OPS)[list(OPS).index("exp") :], 12),
    **dict.fromkeys(("const", "dim", "word", "axis", "var", "bitcast"), 0),
    "rsqrt": 6, "sqrt": 5, "div": 5, "rem": 8, "mulhi": 3, "nextafter": 8,
}  # fmt: skip
WORTH_KEEPING = 10


def cost(x: Node, varies: Callable[[Node], bool]) -> int:
    """Operations per point of R."""
    return sum(COSTS[y.op] for y in walk([x]) if varies(y))


def element_expressions(s: Stage) -> list[Node]:
    """Return the expressions of a stage that are computed at each point of R."""
    if isinstance(s, ReduceStage):
        return [*s.values, *([] if s.where is None else [s.where])]
    if isinstance(s, ScanStage):
        return [*s.values, *(x for b in s.body for x in element_expressions(b))]
    if isinstance(s, StoreStage):
        return [s.index, s.value, *([] if s.where is None else [s.where])] if s.each else []
    assert isinstance(s, FailStage), "scatters have schedules of their own"
    return [s.where]


def exchange(s: Stage, table: dict[Node, Node]) -> Stage:
    """A stage with nodes exchanged."""

    def one(x: Node) -> Node:
        return replace([x], table)[0]

    def maybe(x: Node | None) -> Node | None:
        return None if x is None else one(x)

    if isinstance(s, ReduceStage):
        return changed(s, values=tuple(map(one, s.values)), where=maybe(s.where), end=maybe(s.end))
    if isinstance(s, ScanStage):
        body = tuple(changed(b, index=one(b.index), value=one(b.value), where=maybe(b.where)) for b in s.body)
        return changed(s, values=tuple(map(one, s.values)), body=body)
    if isinstance(s, StoreStage):
        return changed(s, index=one(s.index), value=one(s.value), where=maybe(s.where))
    assert isinstance(s, FailStage), "scatters have schedules of their own"
    return changed(s, where=one(s.where))


def with_cache(
    nest: Nest, varies: Callable[[Node], bool], local: bool
) -> tuple[list[Stage], list[tuple[str, ScalarType]]]:
    """Stages with stores into caches and loads from them, and the local caches (``cache0``, …) they need."""
    stages, caches = list(nest.stages), []  # type: ignore[var-annotated]
    k = 0
    while k < len(stages):
        shared = next((x for x in _shared(stages, k, varies) if varies(x)), None) if _is_pass(stages[k]) else None
        slot = None if shared is None else _output(nest, stages, k, shared, varies)
        if shared is not None and slot is None and local:
            name = f"cache{len(caches)}"
            caches.append((name, shared.type))
            slot = (name, CACHE_INDEX)
        if shared is None or slot is None:
            k += 1
            continue
        table = {shared: load(slot[0], shared.type, slot[1])}
        stages[k:] = [StoreStage(slot[0], slot[1], shared, True), *(exchange(s, table) for s in stages[k:])]
        k += 1  # the same stage again: it may share more
    return stages, caches


def _is_pass(s: Stage) -> bool:
    return isinstance(s, ReduceStage)


def _shared(stages: Sequence[Stage], k: int, varies: Callable[[Node], bool]) -> list[Node]:
    """Costly expressions of stage ``k`` that later ones use too, none inside of another."""
    later = {x for s in stages[k + 1 :] for x in walk(element_expressions(s))}
    both = [x for x in walk(element_expressions(stages[k])) if x in later and x.op not in ("load", "var")]
    costly = [x for x in both if varies(x) and cost(x, varies) >= WORTH_KEEPING]
    inside = {y for x in costly for y in walk(x.args)}
    return [x for x in costly if x not in inside]


def _output(
    nest: Nest, stages: Sequence[Stage], k: int, shared: Node, varies: Callable[[Node], bool]
) -> tuple[str, Node] | None:
    """An output, and the index in it, where ``shared`` may wait."""
    outputs = {b.name for b in nest.buffers if b.output}
    loaded = {x.attr for s in stages for y in element_expressions(s) for x in walk([y]) if x.op == "load"}
    for j in range(k + 1, len(stages)):
        s = stages[j]
        if not isinstance(s, StoreStage) or not s.each or s.where is not None or s.buffer not in outputs:
            continue
        b = next(b for b in nest.buffers if b.name == s.buffer)
        others = [x for x in stages if x is not s and s.buffer in _written(x)]
        if b.type is not shared.type or others or s.buffer in loaded or s.index.op != "var":
            continue
        # The output may be the memory of an input of its type: nothing that is still to be read may be lost.
        after = [exchange(x, {shared: load(s.buffer, shared.type, s.index)}) for x in stages[k:]]
        reads = [y for x in after for y in walk(element_expressions(x)) if y.op == "load" and varies(y)]
        if any(y.attr != s.buffer and y.type.bits == shared.type.bits for y in reads):
            continue
        if any(shared in set(walk(element_expressions(x))) for x in stages[j + 1 :]):
            continue
        return s.buffer, s.index
    return None


def _written(s: Stage) -> list[str]:
    if isinstance(s, StoreStage):
        return [s.buffer]
    return [b.buffer for b in s.body] if isinstance(s, ScanStage) else []
