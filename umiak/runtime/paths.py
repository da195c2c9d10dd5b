"""Dependence of a program's results on its inputs and on each other, as far as gradients go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak import ops as F
from umiak.ir.program import Operation, Program, Value, uses


class Paths:
    """The ways of gradients through a program, back from the outputs ``seeded`` to the values ``wrt``.

    ``histories``: for each of the outputs those that it has an operation in common with, a bit each. ``reached``: for
    each of ``wrt`` the outputs that depend on it. ``between``: the outputs that others depend on;
    ``unclear``: those of which that cannot be said, since one value is in the place of several tensors. ``copies`` are
    outputs that were copied for this reason.
    """

    def __init__(self, program: Program, wrt: Sequence[Value], seeded: Sequence[int], copies: set[int]) -> None:
        values: list[Any] = [program.outputs[i] for i in seeded]
        count = len(values)
        reach, self.histories = common(program.ops, values, [1 << i for i in range(count)])
        self.reached = [reach.get(id(x), 0) for x in wrt]
        self.between = self.unclear = 0
        origins = [_origin(y) if i in copies else y for i, y in zip(seeded, values, strict=True)]
        for at, origin in enumerate(origins):
            alike = sum(1 << k for k, other in enumerate(origins) if other is origin)
            if reach.get(id(origin), 0) & ~alike:
                self.between |= 1 << at
                if any(alike >> k & 1 and seeded[k] in copies for k in range(count)):
                    self.unclear |= 1 << at


def common(
    operations: Sequence[Operation], outputs: Sequence[Any], seeds: Sequence[int]
) -> tuple[dict[int, int], list[int]]:
    """By id of a value the outputs that depend on it, as far as gradients go, and for each output those that it has an
    operation in common with; a bit each, of which output ``i`` has those of ``seeds[i]``."""
    reach = {id(y): 0 for y in outputs}
    for y, seed in zip(outputs, seeds, strict=True):
        reach[id(y)] |= seed
    shared = list(seeds)
    for operation in reversed(operations):
        bits = 0
        for y in operation.results:
            bits |= 0 if y.stop else reach.get(id(y), 0)
        for x in uses(operation) if bits else ():
            reach[id(x)] = reach.get(id(x), 0) | bits
        for i in range(len(shared)):
            if bits >> i & 1:
                shared[i] |= bits
    return reach, shared


def _origin(value: Value) -> Value:
    """The value that copies of copies lead to."""
    while value.operation is not None and type(value.operation.op) is F.Copy:
        value = value.operation.operands[0]  # type: ignore[assignment]
    return value
