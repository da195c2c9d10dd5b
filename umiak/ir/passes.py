"""Passes that hold for every program: dead code, common subexpressions, known sizes. They work in place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from umiak.ir.builder import scope_of
from umiak.ir.expr import Sym
from umiak.ir.meta import Meta
from umiak.ir.program import (
    Block,
    Operand,
    Operation,
    Program,
    Value,
    Write,
    bound,
    bound_within,
    call_identity,
    is_closed,
    is_pure,
    order_class,
    scalars_of,
    walk,
    with_bases,
)
from umiak.ir.rewrite import Sweep
from umiak.ir.scope import Scope, symbols_of


def remove_dead(program: Program) -> Program:
    """Drop operations whose results, and scalars, nothing needs. What has an effect stays."""
    live = {id(w.value) for w in program.effects}
    scalars: set[Sym] | None = None
    if any(o.regions or bound(o) for o in program.ops):
        scalars = set(symbols_of([x for x in program.outputs if type(x) is Sym]))
        scalars.update(symbols_of([c.condition for c in program.checks]))
    _sweep_dead(program.body, live, scalars)
    return program.renumber()


def _sweep_dead(block: Block, live: set[int], scalars: set[Sym] | None) -> None:
    """``scalars``: the symbols that are read behind, where operations may bind some, or those of their regions."""
    live.update(id(x) for x in block.outputs)
    kept = []
    for operation in reversed(block.operations):
        read = any(id(r) in live for r in operation.results) or not is_pure(operation)
        if not (read or (scalars is not None and not scalars.isdisjoint(bound_within([operation])))):
            continue
        for region in operation.regions:
            _sweep_dead(region, live, scalars)
        live.update(id(x) for x in operation.operands)
        if scalars is not None:
            scalars.update(scalars_of(operation))
        kept.append(operation)
    block.operations = kept[::-1]


def merge_common(program: Program, stands: dict[int, Any] | None = None, given: Iterable[Operand] = ()) -> Program:
    """Compute equal calls once. Random draws and calls with an effect are never merged, even with equal operands, and
    outputs remain values of their own, as each is a tensor of its own for the caller.

    ``stands`` is told what stands for values that are gone, by their ids. ``given``: outputs that the caller may write
    to before a gradient is computed, which stand for no other value.
    """
    sweep = _Common(program, with_bases(given))
    sweep.program(program)
    if stands is not None:
        stands.update(sweep.table)
    return program.renumber()


class _Common(Sweep):
    in_place = True

    def __init__(self, program: Program, given: set[int]) -> None:
        super().__init__()
        self.outputs, self.given = with_bases(program.outputs), given
        self.seen: dict[tuple, Operation] = {}

    def block(self, block: Block) -> None:
        # The calls made inside of a region stay inside.
        outer, self.seen = self.seen, dict(self.seen)
        super().block(block)
        self.seen = outer

    def visit(self, o: Operation) -> None:
        outer = self.seen
        if is_closed(o):  # others see the calls made before them
            self.seen = {}
        self.keep(o)
        self.seen = outer
        if o.regions or o.op.random or order_class(o.op) is not None:
            return
        if any(id(r) in self.given for r in o.results):
            return
        first = self.seen.setdefault(call_identity(o), o)
        if first is not o and not any(id(r) in self.outputs for r in o.results):
            self.out.pop()
            self.stand(o.results, first.results)


def fold_sizes(program: Program) -> Program:
    """Put in what guards and checks say about sizes, in metas, params and scalar operands."""
    scope = scope_of(program)
    for value in _values(program):
        if value.producer is not program.body:
            value.meta = Meta(scope.simplify(value.meta.shape), value.meta.dtype, value.meta.weak)
    for operation in walk(program.body):
        operation.operands = tuple(_folded(x, scope) for x in operation.operands)
        operation.params = scope.simplify(operation.params)
    program.outputs = [_folded(x, scope) for x in program.outputs]
    program.effects = [Write(w.target, _folded(w.value, scope)) for w in program.effects]
    return program


def _folded(x: Operand, scope: Scope) -> Operand:
    return scope.simplify(x) if type(x) is Sym else x


def _values(program: Program) -> list[Value]:
    return [r for operation in walk(program.body) for r in operation.results]


def tidy(program: Program) -> Program:
    """The passes in the order in which they help one another."""
    return remove_dead(merge_common(fold_sizes(program)))
