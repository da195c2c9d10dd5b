"""Appends operations to a program; each result's meta comes from the op's own ``infer``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from umiak.ir.meta import Meta, meta_of
from umiak.ir.program import Block, Operand, Operation, Program, Value, Write, copy_operation, order_class
from umiak.ir.scope import Scope
from umiak.util.errors import Line


def infer(op: Any, operands: Iterable[Operand], params: tuple, regions: tuple[Block, ...] = ()) -> tuple[Meta, ...]:
    """The metas of an op's results. An op with regions is told what they take and yield."""
    metas = [meta_of(x) for x in operands]
    if regions:
        signatures = tuple((tuple(a.meta for a in r.arguments), tuple(map(meta_of, r.outputs))) for r in regions)
        metas_out = op.infer(*metas, *params, regions=signatures)
    else:
        metas_out = op.infer(*metas, *params)
    return tuple(metas_out) if isinstance(metas_out, tuple) else (metas_out,)


class Builder:
    """Writes one program. ``block`` is where operations go now; regions are built inside :meth:`region`."""

    def __init__(self, program: Program | None = None, scope: Scope | None = None) -> None:
        self.program = program if program is not None else Program()
        self.scope = scope if scope is not None else scope_of(self.program)
        self.block = self.program.body
        self.outer: list[Block] = []  # the blocks around it, the program's first
        self._next = 1 + max((v.id for v in _numbered(self.program)), default=-1)
        self.recompute = 0  # the region to be recomputed that calls belong to now
        self.locate: Callable[[], Line | None] | None = None  # says where the user's source is, if the scope does not
        self._orders: dict[str, int] = {}
        for operation in self.program.walk():
            cls = order_class(operation.op)
            if cls is not None:
                self._orders[cls] = max(self._orders.get(cls, 0), operation.order + 1)

    def input(self, meta: Meta, constant: str | None = None) -> Value:
        """A new input; with ``constant``, one that a captured tensor of that name is bound to."""
        value = self.number(self.program.body.argument(meta))
        if constant is not None:
            if constant in self.program.constants:
                raise ValueError(f"the program has a constant {constant!r} already")
            self.program.constants[constant] = value
        return value

    def append(
        self, op: Any, operands: Iterable[Operand], params: Iterable[Any] = (), regions: Iterable[Block] = ()
    ) -> tuple[Value, ...]:
        """Add a call of ``op`` and return its results."""
        operation = self.make(op, operands, params, regions)
        self.block.operations.append(operation)
        return operation.results

    def make(
        self, op: Any, operands: Iterable[Operand], params: Iterable[Any] = (), regions: Iterable[Block] = ()
    ) -> Operation:
        """A call that is not in any block yet."""
        operands, params, regions = tuple(operands), tuple(params), tuple(regions)
        with self.scope:
            metas = infer(op, operands, params, regions)
        operation = Operation(op, operands, params, metas, regions)
        operation.recompute = self.recompute
        locate = self.locate or self.scope.locate
        if locate is not None:
            operation.line = locate()
        for value in operation.results:
            self.number(value)
        cls = order_class(op)
        if cls is not None:
            operation.order = self._orders.get(cls, 0)
            self._orders[cls] = operation.order + 1
        return operation

    def copy(self, operation: Operation, table: dict[int, Value]) -> Operation:
        """Append the same call over what ``table`` has for its values; the table is told of its results."""
        copied = copy_operation(operation, table)
        for value in copied.results:
            self.number(value)
        self.block.operations.append(copied)
        return copied

    @contextmanager
    def region(self, metas: Iterable[Meta] = ()) -> Iterator[Block]:
        """A block for a region: ``with builder.region(metas) as block:`` and set ``block.outputs``."""
        outer, block = self.block, Block(metas)
        for value in block.arguments:
            self.number(value)
        self.block = block
        self.outer.append(outer)
        try:
            yield block
        finally:
            self.block = self.outer.pop()

    def write(self, target: Value, value: Operand) -> None:
        """Note that the input's storage ends as ``value``; a later write to it replaces an earlier one."""
        self.program.effects = [w for w in self.program.effects if w.target is not target]
        self.program.effects.append(Write(target, value))

    def finish(self, outputs: Iterable[Operand]) -> Program:
        """Set the outputs, take over what the scope recorded, and number the values."""
        program = self.program
        program.outputs = outputs
        known = set(program.symbols)
        program.symbols += [s for s in self.scope.symbols if s not in known]
        program.guards = list(self.scope.guards)
        program.checks = list(self.scope.checks)
        return program.renumber()

    def number(self, value: Value) -> Value:
        """Give a new value its number."""
        value.id = self._next
        self._next += 1
        return value


def _numbered(program: Program) -> Iterator[Value]:
    yield from program.inputs
    for operation in program.walk():
        yield from operation.results
        for region in operation.regions:
            yield from region.arguments


def scope_of(program: Program) -> Scope:
    """A scope that knows what the program has recorded."""
    scope = Scope()
    scope.narrows = True  # as where it was recorded by example: what was known there is no check of the program
    scope.symbols = list(program.symbols)
    for guard in program.guards:
        scope.assume_guard(guard)
    for check in program.checks:
        scope.assume_check(check)
    return scope
