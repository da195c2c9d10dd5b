"""Gradients that a user wrote, in programs that are being traced.

A function with a gradient of its own is recorded as its operations, through which nothing flows, and one call of
:class:`WithGradient` over what they made. The tracer keeps the function that gives the gradients, which the walk back
calls; afterwards :func:`resolve` takes the calls out again.
"""

from __future__ import annotations

from typing import Any

from umiak.ir.program import Operation, Program, Value, Write
from umiak.ops.gradient import Detached, WithGradient


def cut(program: Program) -> Program:
    """With a call of :class:`Detached` behind each value through which no gradient flows, for runs that record calls
    one by one, which do not know. In place."""
    table: dict[int, Any] = {}

    def now(x: Any) -> Any:
        return table.get(id(x), x) if type(x) is Value else x

    operations: list[Operation] = []
    for o in program.ops:
        o.operands = tuple(map(now, o.operands))
        operations.append(o)
        for r in o.results:
            if r.stop:
                operations.append(Operation(Detached(), (r,), (), (r.meta,)))
                table[id(r)] = operations[-1].results[0]
    program.body.operations = operations
    program.outputs = [now(x) for x in program.outputs]
    return program.renumber()


def is_custom(o: Operation) -> bool:
    return type(o.op) is WithGradient


def resolve(program: Program) -> Program:
    """Without the calls: their results are their operands. In place."""
    table: dict[int, Any] = {}

    def now(x: Any) -> Any:
        return table.get(id(x), x) if type(x) is Value else x

    for o in program.ops:
        o.operands = tuple(map(now, o.operands))
        if is_custom(o):
            table.update({id(r): x for r, x in zip(o.results, o.operands[-len(o.results) :], strict=True)})
    if table:
        program.body.operations = [o for o in program.ops if not is_custom(o)]
        program.outputs = [now(x) for x in program.outputs]
        program.effects = [Write(w.target, now(w.value)) for w in program.effects]
    return program
