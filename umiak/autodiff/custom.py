"""Gradients that a user wrote, in programs that are being traced.

A function with a gradient of its own is recorded as its operations, through which nothing flows, and one call of
:class:`WithGradient` over what they made. The tracer keeps the function that gives the gradients, which the walk back
calls; afterwards :func:`resolve` takes the calls out again.
"""

from __future__ import annotations

from umiak.ir.program import Operation, Program
from umiak.ir.rewrite import Sweep
from umiak.ops.gradient import Detached, WithGradient


class _Cut(Sweep):
    in_place = True

    def visit(self, o: Operation) -> None:
        self.keep(o)
        for r in o.results:
            if r.stop:
                self.out.append(Operation(Detached(), (r,), (), (r.meta,)))
                self.stand((r,), self.out[-1].results)


def cut(program: Program) -> Program:
    """With a call of :class:`Detached` behind each value through which no gradient flows, for runs that record calls
    one by one, which do not know. In place."""
    return _Cut().program(program).renumber()


def is_custom(o: Operation) -> bool:
    return type(o.op) is WithGradient


class _Resolve(Sweep):
    in_place = True

    def visit(self, o: Operation) -> None:
        self.keep(o)
        if is_custom(o):
            self.out.pop()
            self.stand(o.results, o.operands[-len(o.results) :])


def resolve(program: Program) -> Program:
    """Without the calls: their results are their operands. In place."""
    return _Resolve().program(program)
