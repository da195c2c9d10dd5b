"""Dependence of a program's results on its inputs and on each other, as far as gradients go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak import ops as F
from umiak.ir.program import Program, Value, uses


class Paths:
    """The ways of gradients through a program, back from the outputs ``seeded`` to the values ``wrt``.

    ``histories``: for each of the outputs a number, the same for those that have an operation in common. ``reached``:
    for each of ``wrt`` the outputs that depend on it, a bit each. ``between``: the outputs that others depend on;
    ``unclear``: those of which that cannot be said, since one value is in the place of several tensors. ``copies`` are
    outputs that were copied for this reason.
    """

    def __init__(self, program: Program, wrt: Sequence[Value], seeded: Sequence[int], copies: set[int]) -> None:
        values: list[Any] = [program.outputs[i] for i in seeded]
        count = len(values)
        reach = {id(y): 0 for y in values}
        for i, y in enumerate(values):
            reach[id(y)] |= 1 << i
        shared = [1 << i for i in range(count)]  # by output, those that it has an operation in common with
        for operation in reversed(program.ops):
            bits = 0
            for y in operation.results:
                bits |= 0 if y.stop else reach.get(id(y), 0)
            for x in uses(operation) if bits else ():
                reach[id(x)] = reach.get(id(x), 0) | bits
            for i in range(count):
                if bits >> i & 1:
                    shared[i] |= bits
        self.histories = list(range(count))
        for i, bits in enumerate(shared):
            for k in range(count):
                if bits >> k & 1 and self.histories[k] != self.histories[i]:
                    a, b = self.histories[i], self.histories[k]
                    self.histories = [a if h == b else h for h in self.histories]
        self.reached = [reach.get(id(x), 0) for x in wrt]
        self.between = self.unclear = 0
        origins = [_origin(y) if i in copies else y for i, y in zip(seeded, values, strict=True)]
        for at, origin in enumerate(origins):
            alike = sum(1 << k for k, other in enumerate(origins) if other is origin)
            if reach.get(id(origin), 0) & ~alike:
                self.between |= 1 << at
                if any(alike >> k & 1 and seeded[k] in copies for k in range(count)):
                    self.unclear |= 1 << at


def _origin(value: Value) -> Value:
    """The value that copies of copies lead to."""
    while value.operation is not None and type(value.operation.op) is F.Copy:
        value = value.operation.operands[0]  # type: ignore[assignment]
    return value
