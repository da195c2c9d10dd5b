"""From the layouts of some tensors of a call to those of all: what it requires of its operands, and what it gives.

Along each mesh axis a call cuts one factor, or passes partial values through, or does the same on all ranks. Which of
these, its operands say (forward) or the results that are wanted (backward). Where they disagree, the choice that moves
the fewest bytes is taken: those of operands brought into the layouts required, and of results brought into those
wanted, where partial results that nobody wants count as if they had to be added up. Of equal ones that is taken which
changes the fewest layouts, then the first in the order of operands and of their dims. An axis that cuts something, and
may, is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from umiak.ir.meta import Meta
from umiak.ops import Op
from umiak.spmd.placement import Layout, moved
from umiak.spmd.rule import FIXED, SAME, WHOLE, Call

# The property of an op that lets partial values through, and how they combine.
PASSES = {"sum": "linear", "avg": "linear", "max": "monotone", "min": "monotone"}


@dataclass(frozen=True)
class Through:
    """Partial values of ``operands``, numbered, pass: what the op gives on parts combines in the same way."""

    kind: str
    operands: tuple[int, ...]


Choice = str | Through | None  # what a mesh axis is used for: a factor, partial values, nothing


@dataclass(frozen=True)
class Propagation:
    """The layouts that a call requires of its operands (None for numbers and absent ones) and those of its results;
    and what each mesh axis is used for."""

    operands: tuple[Layout | None, ...]
    results: tuple[Layout, ...]
    choices: tuple[Choice, ...]


def groups(op: Op, kind: str, operands: Sequence[Meta | None]) -> Iterator[tuple[int, ...]]:
    """The operands, by number, of which partial values pass together while the others are held.

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
        found = [i for n in ((one,) if isinstance(one, str) else one) for i in numbers[n] if operands[i] is not None]
        # A number would be added by every rank.
        if found and all(operands[i].weak is None for i in found):  # type: ignore[union-attr]
            yield tuple(found)


def forward(call: Call, layouts: Sequence[Layout | None], mesh: Sequence[int]) -> Propagation:
    """What a call does with operands in these layouts."""
    return _solve(call, tuple(layouts), None, mesh)


def backward(call: Call, wanted: Sequence[Layout | None], mesh: Sequence[int]) -> Propagation:
    """What a call needs in order to give results in the layouts ``wanted``, or near them; None where any will do."""
    return _solve(call, None, tuple(wanted), mesh)


def _solve(call: Call, given: tuple | None, wanted: tuple | None, mesh: Sequence[int]) -> Propagation:
    best: Propagation | None = None
    least: tuple = ()
    options = [_choices(call, given, wanted, axis) for axis in range(len(mesh))]
    for picks in product(*options):
        if not _allowed(call, picks, mesh):
            continue
        found = applied(call, picks)
        idle = sum(c is None and len(o) > 1 for c, o in zip(picks, options, strict=True))
        cost = (idle, *_moved(call, given, wanted, found, mesh))
        if best is None or cost < least:
            best, least = found, cost
    assert best is not None, "to cut nothing is always allowed"
    return best


def _choices(call: Call, given: tuple | None, wanted: tuple | None, axis: int) -> list[Choice]:
    found: dict[Choice, None] = {}
    lists, layouts = (call.rule.operands, given) if given is not None else (call.rule.results, wanted)
    for names, layout in zip(lists, layouts or (), strict=True):
        if layout is None:
            continue
        d, kind = layout.dim(axis), layout.kind(axis)
        if d is not None and names[d] != FIXED and call.rule.factors[names[d]].how != WHOLE:
            found[names[d]] = None
        if kind is not None and wanted is not None:
            found.update(dict.fromkeys(f.name for f in call.rule.factors.values() if f.how == kind))
        if kind is not None:
            found.update(dict.fromkeys(Through(kind, g) for g in groups(call.op, kind, call.operands)))
    if given is not None:
        # Only what is partial now passes.
        held = [g is not None and g.kind(axis) is not None for g in given]
        found = {c: None for c in found if not isinstance(c, Through) or any(held[i] for i in c.operands)}
    return [*found, None]


def _allowed(call: Call, picks: Sequence[Choice], mesh: Sequence[int]) -> bool:
    cuts: dict[str, list[int]] = {}
    for axis, choice in enumerate(picks):
        if isinstance(choice, str):
            cuts.setdefault(choice, []).append(mesh[axis])
    if not all(call.allows(f, *parts) for f, parts in cuts.items()):
        return False
    # What combines in one way along one axis and in another along the next has a whole only in one order.
    ways: set[str | None] = {c.kind for c in picks if isinstance(c, Through)}
    ways |= {call.rule.factors[f].how for f in cuts} - {None, SAME}
    return len(ways) < 2 or not any(isinstance(c, Through) for c in picks)


def applied(call: Call, picks: tuple[Choice, ...]) -> Propagation:
    """The layouts that follow when each mesh axis is used as ``picks`` says."""
    cuts: dict[str, tuple[int, ...]] = {}
    for axis, choice in enumerate(picks):
        if isinstance(choice, str):
            cuts[choice] = (*cuts.get(choice, ()), axis)
    through = [(a, c) for a, c in enumerate(picks) if isinstance(c, Through)]

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
            how = call.rule.factors[f].how
            if how not in (None, SAME) and f not in names:
                partial += [(a, how) for a in axes]
        results.append(layout(names, partial))
    return Propagation(tuple(operands), tuple(results), picks)


def size_of(m: Any) -> float:
    """The bytes of a tensor; of sizes that are not known, as if they were 1."""
    total = 1.0 if m.dtype is None else float(m.dtype.itemsize)
    for n in m.shape:
        total *= n if isinstance(n, int) else 1
    return total


def _moved(
    call: Call, given: tuple | None, wanted: tuple | None, found: Propagation, mesh: Sequence[int]
) -> tuple[float, int]:
    """The bytes that a rank receives around a call, and how many layouts change."""
    changes = [
        (m, layout, required)
        for m, layout, required in zip(call.operands, given or (), found.operands, strict=False)
        if m is not None and layout is not None and required is not None
    ]
    targets = wanted or (None,) * len(found.results)
    changes += [
        (m, layout, target or Layout(layout.dims))
        for m, layout, target in zip(call.results, found.results, targets, strict=True)
    ]
    total = sum(moved(source, target, size_of(m), mesh) for m, source, target in changes)
    return total, sum(source != target for _, source, target in changes)
