"""Programs with control flow as parts: calls that C replays, and operations with regions between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from umiak.compiler.calls import call_program, scalars_in
from umiak.core.call_program import CallProgram
from umiak.ir.expr import Sym
from umiak.ir.program import Block, Operation, Value


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
    """An operation with regions. ``makes``: -1 for results that nothing reads."""

    operation: Operation
    regions: tuple[Any, ...]  # what `ControlFlow` is to a region: something `runtime.control.run` takes
    reads: tuple[int, ...]
    makes: tuple[int, ...]


@dataclass(frozen=True)
class ControlFlow:
    """Parts over numbered slots: the inputs, then what parts make. ``drops``: slots that nothing reads after a part."""

    parts: tuple[BasicBlock | ControlOperation, ...]
    drops: tuple[tuple[int, ...], ...]
    slots: int
    outputs: tuple[int, ...]  # -1 for none


def control_flow(
    operations: Sequence[Operation],
    inputs: Sequence[Value],
    results: Sequence[Value | None],
    donate: Mapping[int, Value | None],
    lower: Callable[[Block], Any],
) -> ControlFlow:
    """``donate``: as for ``call_program``; ``lower`` gives what stands for a region."""
    runs: list[list[Operation]] = [[]]
    for o in operations:
        if o.regions:
            runs += [[o], []]
        else:
            runs[-1].append(o)
    runs = [r for r in runs if r]
    reads = [_reads(r) for r in runs]
    last: dict[int, int] = {}
    for at, values in enumerate(reads):
        last.update(dict.fromkeys(map(id, values), at))
    result_ids = {id(v) for v in results if v is not None}
    slot = {id(v): i for i, v in enumerate(inputs)}
    given = {id(inputs[i]): v for i, v in donate.items()}
    parts: list[BasicBlock | ControlOperation] = []
    drops: list[tuple[int, ...]] = []
    for at, run in enumerate(runs):
        mine = tuple(slot[id(v)] for v in reads[at])
        wanted = [r for o in run for r in o.results if id(r) in result_ids or last.get(id(r), -1) > at]
        slot.update({id(r): len(slot) + i for i, r in enumerate(wanted)})
        makes = tuple(slot.get(id(r), -1) for o in run for r in o.results)
        if run[0].regions:
            parts.append(ControlOperation(run[0], tuple(map(lower, run[0].regions)), mine, makes))
        else:
            parts.append(_basic_block(run, reads[at], wanted, slot, {
                i: given[id(v)] for i, v in enumerate(reads[at])
                if id(v) in given and last[id(v)] == at and id(v) not in result_ids
                and (given[id(v)] is None or any(given[id(v)] is w for w in wanted))
            }))  # fmt: skip
        drops.append(tuple(slot[id(v)] for v in reads[at] if last[id(v)] == at and id(v) not in result_ids))
    return ControlFlow(tuple(parts), tuple(drops), len(slot), tuple(-1 if v is None else slot[id(v)] for v in results))


def _reads(run: Sequence[Operation]) -> list[Value]:
    """Return the values that the operations read from before them, in order; of one with regions all operands as they
    stand."""
    if run[0].regions:
        return list(run[0].values)
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
    places = tuple(slot[id(v)] for v in reads)
    gives = tuple(p if i in donate else -1 for i, p in enumerate(places))
    return BasicBlock(calls, tuple(symbols), places, tuple(slot[id(v)] for v in wanted), gives)
