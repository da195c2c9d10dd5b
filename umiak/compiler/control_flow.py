"""Programs with control flow as parts: calls that C replays, and between them operations with regions, such that read
numbers from data, and such that have what a loop carries grow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from umiak.compiler.appends import is_append
from umiak.compiler.calls import call_program, scalars_in
from umiak.core.call_program import CallProgram
from umiak.ir.expr import Sym
from umiak.ir.program import Block, Operation, Program, Value, bound, bound_within, way_condition
from umiak.ir.scope import Check, symbols_of


@dataclass(frozen=True)
class BasicBlock:
    """Calls in a row. ``given``: a byte for each operand, as ``CallProgram.run`` takes it; the inputs whose memory a
    result may take are in it by their place among those of the whole."""

    calls: CallProgram
    symbols: tuple[Sym, ...]
    reads: tuple[int, ...]
    makes: tuple[int, ...]
    gives: tuple[int, ...]  # for each operand the input that it is, if it may be given up here; else -1


@dataclass(frozen=True)
class ControlOperation:
    """An operation with regions, or another that Python does. ``makes``: -1 for results that nothing reads;
    ``checks``: what is required of numbers that are known when it has run; ``condition``: of a branch that sizes
    decide, which does not read its flag."""

    operation: Operation
    regions: tuple[Any, ...]  # what `ControlFlow` is to a region: something `runtime.control.run` takes
    reads: tuple[int, ...]
    makes: tuple[int, ...]
    checks: tuple[Check, ...] = ()
    condition: Sym | None = None


@dataclass(frozen=True)
class Piece:
    """Operations between two that read numbers from data, lowered for themselves: nothing of them comes before what
    they read is known. ``flow`` stands for them where the ``conditions`` hold, else what ``plain()`` gives."""

    flow: ControlFlow
    plain: Callable[[], ControlFlow]
    conditions: tuple[Sym, ...]
    reads: tuple[int, ...]
    makes: tuple[int, ...]
    gives: tuple[int, ...]  # as of a `BasicBlock`
    checks: tuple[Check, ...]  # as of a `ControlOperation`


Part: TypeAlias = BasicBlock | ControlOperation | Piece


class Checks:
    """The checks of a program whose numbers operations give their values to: who runs what gives the last of these
    tests them. Operations are named in order."""

    def __init__(self, program: Program) -> None:
        self.unknown = bound_within(program.ops) - {s for s, at in program.sources().items() if at is not None}
        self.waiting = [c for c in program.checks if not self.unknown.isdisjoint(symbols_of(c.condition))]

    def due(self, operations: Sequence[Operation]) -> tuple[Check, ...]:
        """Those whose numbers are all known when these operations have run."""
        self.unknown -= bound_within(operations)
        known = [c for c in self.waiting if self.unknown.isdisjoint(symbols_of(c.condition))]
        self.waiting = [c for c in self.waiting if not any(c is k for k in known)]
        return tuple(known)


@dataclass(frozen=True)
class ControlFlow:
    """Parts over numbered slots: the inputs, then what parts make. ``drops``: slots that nothing reads after a part."""

    parts: tuple[Part, ...]
    drops: tuple[tuple[int, ...], ...]
    slots: int
    outputs: tuple[int, ...]  # -1 for none


def _may_refuse(o: Operation) -> bool:
    """May a run end at an operation, by a check of the numbers that it gives or by an error of the user's text?"""
    return bool(o.regions or bound(o) or o.op.effect)


def control_flow(
    operations: Sequence[Operation],
    inputs: Sequence[Value],
    results: Sequence[Value | None],
    donate: Mapping[int, Value | None],
    lower: Callable[[Block, Any], Any],
    due: Callable[[Sequence[Operation]], tuple[Check, ...]] = lambda operations: (),
) -> ControlFlow:
    """``donate``: as for ``call_program``; ``lower`` gives what stands for a region, which runs under a condition on
    sizes or None, ``due`` what is to be tested behind operations (:class:`Checks`)."""

    def alone(o: Operation) -> bool:
        return bool(o.regions or bound(o) or is_append(o))

    return parted(operations, inputs, results, donate, alone, _basic_block, lower, due)


def parted(
    operations: Sequence[Operation],
    inputs: Sequence[Value],
    results: Sequence[Value | None],
    donate: Mapping[int, Value | None],
    alone: Callable[[Operation], bool],
    part: Callable[..., BasicBlock | Piece],
    lower: Callable[[Block, Any], Any] | None,
    due: Callable[[Sequence[Operation]], tuple[Check, ...]],
) -> ControlFlow:
    """Operations as parts: each that is ``alone``; of those between ``part(run, reads, wanted, slot, donate)`` makes
    one, and of one with regions where ``lower`` is None."""
    runs: list[tuple[bool, list[Operation]]] = [(False, [])]
    for o in _without_flags(operations, results, lower):
        if alone(o):
            runs += [(not o.regions or lower is not None, [o]), (False, [])]
        else:
            runs[-1][1].append(o)
    runs = [r for r in runs if r[1]]
    reads = [_reads(*r, lower) for r in runs]
    last: dict[int, int] = {}
    for at, values in enumerate(reads):
        last.update(dict.fromkeys(map(id, values), at))
    result_ids = {id(v) for v in results if v is not None}
    slot = {id(v): i for i, v in enumerate(inputs)}
    given = {id(inputs[i]): v for i, v in donate.items()}
    refuses = max((at for at, (_, run) in enumerate(runs) if any(map(_may_refuse, run))), default=-1)

    def may_take(at: int, v: Value, wanted: Sequence[Value]) -> bool:
        """May one of ``wanted`` take the memory of ``v`` in a part? What is written to an input may not before all is
        known to hold: a run that is refused has written nothing."""
        if id(v) not in given or last[id(v)] != at or id(v) in result_ids:
            return False
        target = given[id(v)]
        if target is None:
            return True
        holds = at > refuses or (at == refuses and not bound_within(runs[at][1]))
        return holds and any(target is w for w in wanted)

    parts: list[Part] = []
    drops: list[tuple[int, ...]] = []
    for at, (is_alone, run) in enumerate(runs):
        mine = tuple(slot[id(v)] for v in reads[at])
        wanted = [r for o in run for r in o.results if id(r) in result_ids or last.get(id(r), -1) > at]
        slot.update({id(r): len(slot) + i for i, r in enumerate(wanted)})
        makes = tuple(slot.get(id(r), -1) for o in run for r in o.results)
        if is_alone:
            o = run[0]
            those = enumerate(o.regions) if lower is not None else ()
            regions = tuple(lower(r, way_condition(o, k)) for k, r in those)  # type: ignore[misc]
            parts.append(ControlOperation(o, regions, mine, makes, due(run), _decided(o, lower)))
        else:
            parts.append(part(run, reads[at], wanted, slot, {
                i: given[id(v)] for i, v in enumerate(reads[at]) if may_take(at, v, wanted)
            }))  # fmt: skip
        drops.append(tuple(slot[id(v)] for v in reads[at] if last[id(v)] == at and id(v) not in result_ids))
    return ControlFlow(tuple(parts), tuple(drops), len(slot), tuple(-1 if v is None else slot[id(v)] for v in results))


def _decided(o: Operation, lower: Any) -> Any:
    """The condition on sizes that a run asks in place of the flag of a branch; None for the flag."""
    return way_condition(o, 0) if lower is not None else None


def _without_flags(operations: Sequence[Operation], results: Sequence[Value | None], lower: Any) -> list[Operation]:
    """The operations without those that only make flags of branches which sizes decide."""
    flags = {id(o.operands[0]) for o in operations if _decided(o, lower) is not None}
    if not flags:
        return list(operations)
    read = {id(v) for v in results if v is not None}
    for o in operations:
        read.update(id(v) for v in (o.values[1:] if _decided(o, lower) is not None else o.values))
    return [o for o in operations if not (o.name == "full" and id(o.results[0]) in flags - read)]


def _reads(alone: bool, run: Sequence[Operation], lower: Any) -> list[Value]:
    """Return the values that the operations read from before them, in order; of one alone all operands as they
    stand, but for the flag of a branch that sizes decide."""
    if alone:
        return list(run[0].values)[_decided(run[0], lower) is not None :]
    own = {id(r) for o in run for r in o.results}
    return list({id(v): v for o in run for v in o.values if id(v) not in own}.values())


def _basic_block(
    run: Sequence[Operation],
    reads: Sequence[Value],
    wanted: Sequence[Value],
    slot: Mapping[int, int],
    donate: Mapping[int, Value | None],
) -> BasicBlock:
    symbols = scalars_in(run)
    calls = call_program(run, reads, wanted, symbols, [(0, 0)] * len(symbols), donate)
    return BasicBlock(calls, tuple(symbols), *places(reads, wanted, slot, donate))


def places(
    reads: Sequence[Value], wanted: Sequence[Value], slot: Mapping[int, int], donate: Mapping[int, Value | None]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """(``reads``, ``makes``, ``gives``) of a part."""
    at = tuple(slot[id(v)] for v in reads)
    return at, tuple(slot[id(v)] for v in wanted), tuple(p if i in donate else -1 for i, p in enumerate(at))
