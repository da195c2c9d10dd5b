"""Whole programs: composites as what they mean, then groups of operations across the program as single calls."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from umiak.compiler.appends import is_append, with_appends
from umiak.compiler.calls import call_program, live, scalars_in
from umiak.compiler.control_flow import Checks, ControlFlow, Piece, control_flow, parted, places
from umiak.compiler.dump import dump
from umiak.compiler.early_writes import early_writes
from umiak.compiler.epilogue import with_epilogues
from umiak.compiler.fuse import fuse
from umiak.compiler.gradient_epilogue import with_gradient_epilogues
from umiak.compiler.layout import Layouts, prefers_channels_last
from umiak.compiler.overlap import overlapped
from umiak.compiler.plan import expander, plain_modes, show_operations
from umiak.compiler.simplify import duplicate_views, simplify
from umiak.core.call_program import CallProgram
from umiak.ir.expr import Sym, disjunction, negate
from umiak.ir.program import Block, Operation, Program, Value, bound, bound_within, extract, reads_number
from umiak.ir.registry import REGISTRY
from umiak.ir.scope import Check, symbols_of
from umiak.ir.sym import evaluate
from umiak.ir.tracer import Retrace, Tracer
from umiak.util.garbage import Paused


@dataclass(frozen=True)
class Lowered:
    """A program as calls, or as a flow where it has regions. ``symbols``: the scalars that calls want, in order;
    ``conditions``: it may only stand for the program where they hold, since composites were expanded under them."""

    calls: CallProgram | ControlFlow
    symbols: tuple[Sym, ...]
    conditions: tuple[Sym, ...] = ()

    def fits(self, env: Mapping[Any, Any]) -> bool:
        return all(evaluate(c, env) for c in self.conditions)


def lower(program: Program, wanted: Sequence[Value | None]) -> Lowered:
    """One call per operation."""
    operations = overlapped(live(with_appends(program.ops), wanted, effects=True), wanted)
    if any(o.regions or bound(o) for o in operations):
        due = Checks(program).due
        return Lowered(control_flow(operations, program.inputs, wanted, {}, _plain, due), ())
    symbols = scalars_in(operations)
    return Lowered(_calls(operations, program.inputs, wanted, symbols), tuple(symbols))


def _plain(region: Block, way: Any = None) -> ControlFlow:
    wanted = [v if type(v) is Value else None for v in region.outputs]
    return control_flow(live(region.operations, wanted, effects=True), region.arguments, wanted, {}, _plain)


@Paused()
def lower_fused(
    program: Program, wanted: Sequence[Value | None], backend: Any, donate: Mapping[int, int | None]
) -> Lowered:
    """Groups of operations as calls, for a backend that has kernels for them; regions are lowered alike.

    ``donate``: inputs whose memory may become that of one of ``wanted``, or of any value (None).
    """
    inside = bound_within(program.ops)
    if any(o.regions for o in program.ops):
        program = _over(program, with_appends(program.ops))
    if any(map(_decides, program.ops)):
        return Lowered(_Pieces(program, backend, inside).flow(wanted, donate), ())
    operations, inputs, results, conditions, donated = _fused(program, wanted, backend, donate)
    if not any(o.regions for o in operations):
        symbols = scalars_in(operations)
        return Lowered(_calls(operations, inputs, results, symbols, donated), tuple(symbols), tuple(conditions))
    region = _Regions(program, backend, inside, conditions).lower
    flow = control_flow(operations, inputs, results, donated, region, Checks(program).due)
    return Lowered(flow, (), tuple(conditions))


def _over(program: Program, operations: list[Operation]) -> Program:
    """The program with these operations, over the same values."""
    body = Block()
    body.arguments, body.operations, body.outputs = program.inputs, operations, program.outputs
    return dataclasses.replace(program, body=body)


def _decides(operation: Operation) -> bool:
    """Return whether an operation stands between two pieces: numbers are known only when it has run, those that it
    reads from data, or the sizes of what the ways of a branch leave; or it has what a loop carries grow."""
    if is_append(operation):
        return True
    if operation.name == "cond":
        return any(o.name == "sized" for r in operation.regions for o in r.operations)
    return reads_number(operation)


class _Regions:
    """The regions of a program, lowered under its conditions; those that they add are tested before it."""

    def __init__(self, program: Program, backend: Any, inside: set[Sym], conditions: list[Sym]) -> None:
        self.program, self.backend = program, backend
        self.inside = inside  # the numbers that are not known before it
        self.conditions = conditions
        self.ways: list[Sym] = []  # the conditions under which the region at hand runs

    def lower(self, block: Block, way: Any = None) -> ControlFlow:
        """``way``: the condition on sizes under which a region runs, or None."""
        before = self.ways
        self.ways = before if way is None else [*before, way]
        try:
            return self._lower(block)
        finally:
            self.ways = before

    def _lower(self, block: Block) -> ControlFlow:
        program = self.program
        wanted = [v if type(v) is Value else None for v in block.outputs]
        known = [*program.guards, *self.conditions, *self.ways]
        body = Program(program.name, block, symbols=program.symbols, guards=known, checks=program.checks)
        if any(map(_decides, block.operations)):
            return _Pieces(body, self.backend, self.inside | bound_within(block.operations), region=True).flow(wanted)
        operations, inputs, results, more, _ = _fused(body, wanted, self.backend, {})
        if any(s in self.inside for s in symbols_of(tuple(more))):  # known too late
            return _plain(block)
        elsewhere = [negate(w) for w in self.ways]
        self.conditions.extend(disjunction(*elsewhere, c) for c in more)  # type: ignore[misc]
        return control_flow(operations, inputs, results, {}, self.lower)


class _Pieces:
    """A program, or a region of one, in pieces: what reads numbers from data, and the operations between.

    ``late``: the numbers that operations give their values to. Those of a region are no matter of the checks outside.
    """

    def __init__(self, program: Program, backend: Any, late: set[Sym], region: bool = False) -> None:
        self.program, self.backend, self.late = program, backend, late
        self.checks = Checks(program)
        if region:
            self.checks.waiting = []
        self.known = [c for c in program.checks if late.isdisjoint(symbols_of(c.condition))]

    def flow(self, wanted: Sequence[Value | None], donate: Mapping[int, int | None] | None = None) -> ControlFlow:
        program = self.program
        operations = live(program.ops, wanted, effects=True)
        donated = {i: None if j is None else wanted[j] for i, j in (donate or {}).items()}
        return parted(operations, program.inputs, wanted, donated, _decides, self.piece, None, self.due)

    def due(self, operations: Sequence[Operation]) -> tuple[Check, ...]:
        found = self.checks.due(operations)
        self.known += found
        return found

    def piece(
        self,
        run: Sequence[Operation],
        reads: Sequence[Value],
        wanted: Sequence[Value],
        slot: Mapping[int, int],
        donate: Mapping[int, Value | None],
    ) -> Piece:
        """The operations of a piece, lowered as a program of their own."""
        body = extract(self.program, run, reads, wanted)
        body.name, body.checks = self.program.name, list(self.known)
        outputs = [v if type(v) is Value else None for v in body.outputs]
        at = {id(v): i for i, v in enumerate(wanted)}
        own = {i: None if v is None else at[id(v)] for i, v in donate.items()}
        operations, inputs, results, conditions, donated = _fused(body, outputs, self.backend, own)
        # Numbers from before it are known when it runs.
        region = _Regions(body, self.backend, bound_within(body.ops), conditions).lower
        flow = control_flow(operations, inputs, results, donated, region)
        plain = cache(lambda: control_flow(live(body.ops, outputs, effects=True), body.inputs, outputs, {}, _plain))
        return Piece(flow, plain, tuple(conditions), *places(reads, wanted, slot, donate), self.due(run))


def _fused(
    program: Program, wanted: Sequence[Value | None], backend: Any, donate: Mapping[int, int | None]
) -> tuple[list[Operation], list[Value], list[Value | None], list[Sym], dict[int, Value | None]]:
    """(operations, inputs, results, conditions, what inputs are given up to) of a block without its regions."""
    operations, results = with_epilogues(program.ops, wanted, backend.fuses_epilogue, backend.adds_bias, backend.opaque)
    operations, results = with_gradient_epilogues(operations, results, backend.fuses_gradient)
    operations, inputs, results, conditions = _expanded(program, operations, results, backend)
    operations, results = simplify(operations, results, backend.lays_out)
    operations, results = _apart(operations, inputs, results, [any(v is x for x in program.inputs) for v in wanted])
    operations, inputs, results, conditions = _laid_out(program, operations, inputs, results, conditions, backend)
    operations, results = fuse(*duplicate_views(operations, results), repeat=True)
    # A view of what is written over would change with it; `sum_to` may give its operand itself.
    seen = {id(v) for o in operations if o.op.view or o.name == "sum_to" for v in o.values}
    donated = {
        i: None if j is None else results[j]
        for i, j in donate.items()
        if j is None or (results[j] is not None and id(inputs[i]) not in seen)
    }
    replaced = {id(results[j]): inputs[i] for i, j in donate.items() if j is not None and results[j] is not None}
    operations = overlapped(early_writes(operations, results, replaced), results)
    dump("operations", program.name or "program", lambda: show_operations(operations, results))
    return operations, inputs, results, conditions, donated


def _apart(
    operations: Sequence[Operation], inputs: Sequence[Value], results: Sequence[Value | None], given: Sequence[bool]
) -> tuple[list[Operation], list[Value | None]]:
    """Copy results that turned out to be inputs, as composites may give their operand itself: they are tensors of their
    own. ``given``: which results are inputs of the program as it was written."""
    made, own = list(operations), list(results)
    for i, v in enumerate(results):
        if v is None or given[i]:
            continue
        if any(v is x for x in inputs) or (v.operation is not None and v.operation.op.name == "sum_to"):
            made.append(Operation(REGISTRY["copy"](), [v], (), [v.meta]))
            own[i] = made[-1].results[0]
    return made, own


def _calls(
    operations: Sequence[Operation],
    inputs: Sequence[Value],
    results: Sequence[Value | None],
    symbols: Sequence[Sym],
    donate: Mapping[int, Value | None] | None = None,
) -> CallProgram:
    # The scalars are handed in by whoever runs it; the sources are not read.
    return call_program(operations, inputs, results, symbols, [(0, 0)] * len(symbols), donate)


def _expanded(program: Program, operations: Sequence[Operation], wanted: Sequence[Value | None], backend: Any) -> tuple:
    """(operations, inputs, results, new conditions) of a program's operations with composites expanded."""
    expand = expander(backend)
    assert expand is not None, "a backend that fuses"
    if not any(expand(o.op) for o in operations):
        return operations, program.inputs, list(wanted), []
    return _retraced(program, operations, program.inputs, wanted, expand, Retrace)


def _laid_out(
    program: Program,
    operations: Sequence[Operation],
    inputs: Sequence[Value],
    wanted: Sequence[Value | None],
    conditions: list[Sym],
    backend: Any,
) -> tuple:
    """The same with images as convolutions like them."""
    if not prefers_channels_last(operations, backend.channels_last):
        return operations, inputs, wanted, conditions

    made = _retraced(program, operations, inputs, wanted, None, lambda t: Layouts(t, backend.channels_last), conditions)
    return *made[:3], [*conditions, *made[3]]


def _retraced(
    program: Program,
    operations: Sequence[Operation],
    inputs: Sequence[Value],
    wanted: Sequence[Value | None],
    expand: Any,
    sweep: Callable[[Tracer], Retrace],
    known: Sequence[Sym] = (),
) -> tuple[list[Operation], list[Value], list[Value | None], list[Sym]]:
    """(operations, inputs, results, new conditions) of operations that are recorded once more.

    The tracer knows the program's guards and checks, and what is ``known`` besides.
    """
    scratch = Program(symbols=list(program.symbols), guards=[*program.guards, *known], checks=list(program.checks))
    tracer = Tracer(program=scratch, expand=expand)
    before = len(tracer.scope.guards), len(tracer.scope.checks)
    with plain_modes(), tracer:
        retrace = sweep(tracer)
        stand_ins = [tracer.input(v.meta) for v in inputs]
        retrace.stand(inputs, stand_ins)
        _, results = retrace.run(operations, wanted)
    scope = tracer.scope
    conditions = [*scope.guards[before[0] :], *(c.condition for c in scope.checks[before[1] :])]
    return (
        tracer.operations,
        [x.value for x in stand_ins],
        [None if x is None else x.value for x in results],
        conditions,
    )
