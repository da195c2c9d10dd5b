"""Passes that hold for every program: dead code, common subexpressions, known sizes. They work in place."""

from __future__ import annotations

from collections.abc import Container

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
    call_identity,
    is_pure,
    map_operand,
    order_class,
    walk,
)
from umiak.ir.scope import Scope


def remove_dead(program: Program) -> Program:
    """Drop operations whose results nothing needs. What has an effect stays."""
    live = {id(w.value) for w in program.effects}
    _sweep_dead(program.body, live)
    return program.renumber()


def _sweep_dead(block: Block, live: set[int]) -> None:
    live.update(id(x) for x in block.outputs)
    kept = []
    for operation in reversed(block.operations):
        if is_pure(operation) and not any(id(r) in live for r in operation.results):
            continue
        for region in operation.regions:
            _sweep_dead(region, live)
        live.update(id(x) for x in operation.operands)
        kept.append(operation)
    block.operations = kept[::-1]


def merge_common(program: Program) -> Program:
    """Compute equal calls once. Random draws and calls with an effect are never merged, even with equal operands, and
    outputs remain values of their own, as each is a tensor of its own for the caller."""
    replaced: dict[int, Operand] = {}
    _sweep_common(program.body, {}, replaced, {id(x) for x in program.outputs})
    program.effects = [Write(w.target, _current(w.value, replaced)) for w in program.effects]
    return program.renumber()


def _current(x: Operand, replaced: dict[int, Operand]) -> Operand:
    return map_operand(x, lambda v: replaced.get(id(v), v))


def _sweep_common(
    block: Block, outer: dict[tuple, Operation], replaced: dict[int, Operand], outputs: Container[int]
) -> None:
    # A region sees the calls made before it; the calls made inside stay inside.
    seen = dict(outer)
    kept = []
    for operation in block.operations:
        operation.operands = tuple(_current(x, replaced) for x in operation.operands)
        if operation.regions:
            for region in operation.regions:
                _sweep_common(region, seen, replaced, outputs)
        elif not operation.op.random and order_class(operation.op) is None:
            first = seen.setdefault(call_identity(operation), operation)
            if first is not operation and not any(id(r) in outputs for r in operation.results):
                for old, new in zip(operation.results, first.results, strict=True):
                    replaced[id(old)] = new
                continue
        kept.append(operation)
    block.operations = kept
    block.outputs = [_current(x, replaced) for x in block.outputs]


def fold_sizes(program: Program) -> Program:
    """Put in what guards and checks say about sizes, in metas, params and number operands."""
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
