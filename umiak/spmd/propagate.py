"""Propagation of layouts through a call: the layouts it requires of its operands and those of its results.

Along each mesh axis a call shards one factor, passes partial values through, or is replicated. The layouts of the
operands (forward) or the wanted layouts of the results (backward) give the candidates. Where they disagree, the choice
that moves the fewest bytes is taken. Counted are the reshards of operands into the required layouts, and of results
into the wanted ones; a partial result that was not asked for counts as an all-reduce. Among equal choices, the one that
changes the fewest layouts is taken, then the first in the order of operands and of their dims. A mesh axis that may
shard something is always used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from umiak.ir.meta import Meta
from umiak.ops import Op
from umiak.spmd.placement import Layout, bytes_moved
from umiak.spmd.rule import FIXED, REPLICATED, SAME, Call

# The property of an op that lets partial values through, and how they combine.
PASSES = {"sum": "linear", "avg": "linear", "max": "monotone", "min": "monotone"}


@dataclass(frozen=True)
class PassPartial:
    """Partial values of ``operands`` (indices) pass through: the local results are partial with the same reduction."""

    kind: str
    operands: tuple[int, ...]


Choice = str | PassPartial | None  # what a mesh axis is used for: a factor, partial values, nothing


@dataclass(frozen=True)
class Propagation:
    """The layouts that a call requires of its operands (None for scalars and absent ones), the layouts of its results,
    and the choice for each mesh axis."""

    operands: tuple[Layout | None, ...]
    results: tuple[Layout, ...]
    choices: tuple[Choice, ...]


def groups(op: Op, kind: str, operands: Sequence[Meta | None]) -> Iterator[tuple[int, ...]]:
    """Iterate over groups of operands (indices) whose partial values pass together while the others are held.

    ``linear = True``, or ``monotone``, speaks of all operands together; otherwise names, or tuples of them, are groups.
    """
    declared = getattr(op, PASSES.get(kind, ""), False)
    if declared is False:
        return
    names = [name.strip("?*") for name in op.inputs]
    numbers = {n: [i] for i, n in enumerate(names)}
    if op.inputs and op.inputs[-1].startswith("*"):
        numbers[names[-1]] = list(range(len(names) - 1, len(operands)))
    for one in (tuple(names),) if declared is True else declared:
        members = [i for n in ((one,) if isinstance(one, str) else one) for i in numbers[n] if operands[i] is not None]
        # Every rank would add a scalar.
        if members and all(operands[i].weak is None for i in members):  # type: ignore[union-attr]
            yield tuple(members)


def forward(call: Call, layouts: Sequence[Layout | None], mesh: Sequence[int]) -> Propagation:
    """Propagate the layouts of the operands to the results."""
    return _solve(call, tuple(layouts), None, mesh)


def backward(call: Call, wanted: Sequence[Layout | None], mesh: Sequence[int]) -> Propagation:
    """Propagate the layouts ``wanted`` of the results (None where any will do) back to the operands."""
    return _solve(call, None, tuple(wanted), mesh)


def _solve(call: Call, layouts: tuple | None, wanted: tuple | None, mesh: Sequence[int]) -> Propagation:
    best: Propagation | None = None
    least: tuple = ()
    options = [_choices(call, layouts, wanted, axis) for axis in range(len(mesh))]
    for picks in product(*options):
        if not _allowed(call, picks, mesh):
            continue
        propagation = applied(call, picks)
        idle = sum(c is None and len(o) > 1 for c, o in zip(picks, options, strict=True))
        cost = (idle, *_cost(call, layouts, wanted, propagation, mesh))
        if best is None or cost < least:
            best, least = propagation, cost
    assert best is not None, "replicating along every axis is always allowed"
    return best


def _choices(call: Call, given: tuple | None, wanted: tuple | None, axis: int) -> list[Choice]:
    choices: dict[Choice, None] = {}
    lists, layouts = (call.rule.operands, given) if given is not None else (call.rule.results, wanted)
    for names, layout in zip(lists, layouts or (), strict=True):
        if layout is None:
            continue
        d, kind = layout.dim(axis), layout.kind(axis)
        if d is not None and names[d] != FIXED and call.rule.factors[names[d]].reduction != REPLICATED:
            choices[names[d]] = None
        if kind is not None and wanted is not None:
            choices.update(dict.fromkeys(f.name for f in call.rule.factors.values() if f.reduction == kind))
        if kind is not None:
            choices.update(dict.fromkeys(PassPartial(kind, g) for g in groups(call.op, kind, call.operands)))
    if given is not None:
        # Only what is partial now passes.
        held = [g is not None and g.kind(axis) is not None for g in given]
        choices = {c: None for c in choices if not isinstance(c, PassPartial) or any(held[i] for i in c.operands)}
    return [*choices, None]


def _allowed(call: Call, picks: Sequence[Choice], mesh: Sequence[int]) -> bool:
    cuts: dict[str, list[int]] = {}
    for axis, choice in enumerate(picks):
        if isinstance(choice, str):
            cuts.setdefault(choice, []).append(mesh[axis])
    if not all(call.allows(f, *parts) for f, parts in cuts.items()):
        return False
    # Different reductions along two axes do not commute.
    reductions: set[str | None] = {c.kind for c in picks if isinstance(c, PassPartial)}
    reductions |= {call.rule.factors[f].reduction for f in cuts} - {None, SAME}
    return len(reductions) < 2 or not any(isinstance(c, PassPartial) for c in picks)


def applied(call: Call, picks: tuple[Choice, ...]) -> Propagation:
    """Return the layouts that follow from one choice per mesh axis."""
    cuts: dict[str, tuple[int, ...]] = {}
    for axis, choice in enumerate(picks):
        if isinstance(choice, str):
            cuts[choice] = (*cuts.get(choice, ()), axis)
    through = [(a, c) for a, c in enumerate(picks) if isinstance(c, PassPartial)]

    def layout(names: Sequence[str], partial: list[tuple[int, str]]) -> Layout:
        return Layout(tuple(cuts.get(n, ()) for n in names), tuple(sorted(partial)))

    operands = [
        None if m is None or m.weak is not None else layout(names, [(a, c.kind) for a, c in through if i in c.operands])
        for i, (names, m) in enumerate(zip(call.rule.operands, call.operands, strict=True))
    ]
    results = []
    for names in call.rule.results:
        partial = [(a, c.kind) for a, c in through]
        for f, axes in cuts.items():
            reduction = call.rule.factors[f].reduction
            if reduction not in (None, SAME) and f not in names:
                partial += [(a, reduction) for a in axes]
        results.append(layout(names, partial))
    return Propagation(tuple(operands), tuple(results), picks)


def size_of(m: Any) -> float:
    """Return the bytes of a tensor; unknown sizes count as 1."""
    total = 1.0 if m.dtype is None else float(m.dtype.itemsize)
    for n in m.shape:
        total *= n if isinstance(n, int) else 1
    return total


def _cost(
    call: Call, layouts: tuple | None, wanted: tuple | None, propagation: Propagation, mesh: Sequence[int]
) -> tuple[float, int]:
    """Return the bytes that a rank receives around a call, and the number of layouts that change."""
    changes = [
        (m, layout, required)
        for m, layout, required in zip(call.operands, layouts or (), propagation.operands, strict=False)
        if m is not None and layout is not None and required is not None
    ]
    targets = wanted or (None,) * len(propagation.results)
    changes += [
        (m, layout, target or Layout(layout.dims))
        for m, layout, target in zip(call.results, propagation.results, targets, strict=True)
    ]
    total = sum(bytes_moved(source, target, size_of(m), mesh) for m, source, target in changes)
    return total, sum(source != target for _, source, target in changes)
