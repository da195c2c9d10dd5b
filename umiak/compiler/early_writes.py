"""Scheduling of writes to inputs: as early as possible.

A traced training step updates its parameters at the end, when all gradients are there. Moved to where its own gradient
is ready and nobody else will read the parameter, an update finds the gradient in the cache, and the gradient's memory
is free for the next one: never are all of them alive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from umiak.ir.program import Operation, Value, is_pure


def early_writes(
    operations: Sequence[Operation], results: Sequence[Value | None], replaced: Mapping[int, Value]
) -> list[Operation]:
    """The operations in an order where each that makes only what is written to inputs comes right behind the last one
    that it has to follow: those that make its operands, and other readers of the inputs.

    ``replaced``: inputs by id of the value that is written there.
    """
    position = {id(o): i for i, o in enumerate(operations)}
    readers: dict[int, list[int]] = {}
    for i, o in enumerate(operations):
        for v in o.values:
            readers.setdefault(id(v), []).append(i)
    wanted = [id(v) for v in results if v is not None]
    behind: dict[int, list[int]] = {}  # operation that something moves behind -> what moves there, in order
    moved: set[int] = set()
    for i, o in enumerate(operations):
        # One that others read might keep values alive for longer where it comes early.
        if any(id(r) in readers or wanted.count(id(r)) != 1 or id(r) not in replaced for r in o.results):
            continue
        if not is_pure(o):
            continue
        after = [position[id(v.operation)] for v in o.values if v.operation is not None]
        for r in o.results:
            after += [j for j in readers.get(id(replaced[id(r)]), ()) if j != i]
        if after and max(after) < i and not moved.intersection(after):
            behind.setdefault(max(after), []).append(i)
            moved.add(i)
    out: list[Operation] = []
    for i, o in enumerate(operations):
        if i not in moved:
            out.append(o)
            out += [operations[j] for j in behind.get(i, ())]
    return out
