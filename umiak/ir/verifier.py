"""Checks that a program is well formed; run after every pass in tests, so that a fault shows at its pass."""

from __future__ import annotations

from typing import Any

from umiak.ir import sym as dim
from umiak.ir.builder import infer, scope_of
from umiak.ir.expr import Sym
from umiak.ir.meta import Meta
from umiak.ir.program import (
    Block,
    Operation,
    Program,
    Value,
    bound,
    bound_within,
    defined,
    is_closed,
    order_class,
)
from umiak.ir.scope import symbols_of


class VerifyError(AssertionError):
    """A program that breaks the rules: a fault of ours, not of the user."""


class _Verifier:
    def __init__(self, program: Program, types: bool) -> None:
        self.program = program
        self.types = types
        self.scope = scope_of(program)
        self.symbols = set(program.symbols)
        self.visible: set[int] = set()
        self.unknown: set[Sym] = set()  # numbers whose values operations give that do not come until later
        self.orders: dict[str, int] = {}

    def fail(self, message: str, operation: Operation | None = None) -> None:
        where = f" in\n  {operation!r}" if operation is not None else ""
        raise VerifyError(f"{message}{where}\nof\n{self.program!r}")

    def run(self) -> None:
        seen: set[int] = set()
        for value in defined(self.program.body):
            if id(value) in seen:
                self.fail(f"{value} is defined twice")
            seen.add(id(value))
        inputs = {id(v) for v in self.program.inputs}
        for name, value in self.program.constants.items():
            if id(value) not in inputs:
                self.fail(f"constant {name!r} is bound to {value}, which is not an input")
        for condition in (*self.program.guards, *(c.condition for c in self.program.checks)):
            self.number(condition, None)
        self.unknown = bound_within(self.program.ops)
        self.unknown.difference_update(s for s, at in self.program.sources().items() if at is not None)
        self.block(self.program.body, None)
        self.writes(inputs)

    def writes(self, inputs: set[int]) -> None:
        targets: set[int] = set()
        for write in self.program.effects:
            if id(write.target) not in inputs:
                self.fail(f"a write to {write.target}, which is not an input")
            if id(write.target) in targets:
                self.fail(f"two writes to {write.target}")
            targets.add(id(write.target))
            self.operand(write.value, None)
            if type(write.value) is Value and not self.agree(write.target.meta, write.value.meta):
                self.fail(f"a write of {write.value} to {write.target}")

    def block(self, block: Block, owner: Operation | None) -> None:
        for value in block.arguments:
            if value.producer is not block:
                self.fail(f"argument {value} does not name its block", owner)
            self.number(value.meta.shape, owner)
            self.visible.add(id(value))
        for operation in block.operations:
            self.operation(operation)
        for x in block.outputs:
            self.operand(x, owner)

    def operation(self, operation: Operation) -> None:
        for x in operation.operands:
            self.operand(x, operation)
        self.unknown.difference_update(bound(operation))
        self.number(operation.params, operation)
        for region in operation.regions:
            # What a region defines is not visible after it, nor what is outside within a closed one.
            outer = set(self.visible)
            if is_closed(operation):
                self.visible = set()
            self.block(region, operation)
            self.visible = outer
        cls = order_class(operation.op)
        if cls is not None:
            if operation.order <= self.orders.get(cls, -1):
                self.fail(f"operations of order class {cls!r} changed places", operation)
            self.orders[cls] = operation.order
        for i, value in enumerate(operation.results):
            if value.producer is not operation or value.index != i:
                self.fail(f"result {value} does not name its operation", operation)
            self.number(value.meta.shape, operation)
            self.visible.add(id(value))
        if self.types:
            self.type(operation)

    def operand(self, x: Any, owner: Operation | None) -> None:
        if type(x) is Value:
            if id(x) not in self.visible:
                self.fail(f"{x} is used where it is not defined", owner)
        else:
            self.number(x, owner)

    def number(self, x: Any, owner: Operation | None) -> None:
        for symbol in symbols_of(x):
            if symbol not in self.symbols:
                self.fail(f"symbol {symbol} is not declared", owner)
            if symbol in self.unknown:
                self.fail(f"number {symbol} is read before an operation gives it a value", owner)

    def type(self, operation: Operation) -> None:
        with self.scope:
            try:
                metas = infer(operation.op, operation.operands, operation.params, operation.regions)
            except Exception as error:
                raise VerifyError(f"infer refuses\n  {operation!r}\nof\n{self.program!r}") from error
        if len(metas) != len(operation.results):
            self.fail(f"infer gives {len(metas)} results, there are {len(operation.results)}", operation)
        for meta, value in zip(metas, operation.results, strict=True):
            if not self.agree(meta, value.meta):
                self.fail(f"infer gives {meta}, recorded is {value}", operation)

    def agree(self, a: Meta, b: Meta) -> bool:
        if a.dtype is not b.dtype or a.weak != b.weak or len(a.shape) != len(b.shape):
            return False
        with self.scope:
            return all(dim.same(m, n) for m, n in zip(a.shape, b.shape, strict=True))


def verify(program: Program, types: bool = True) -> Program:
    """Raise :class:`VerifyError` on a malformed program; returns it. ``types`` also runs every ``infer`` again."""
    _Verifier(program, types).run()
    return program
