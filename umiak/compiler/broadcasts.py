"""Values that a reader of a larger shape would compute over and over.

A mask of queries by keys is one for all heads. Inside of the kernel of a softmax over them it is computed once for each
head, and again in each walk over a row; in a kernel of its own it is computed once. What does not vary along the last
axes of its reader costs nothing there: loops over these keep it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from umiak.compiler.calls import dtype_of
from umiak.compiler.passes.recomputation import bytes_of, size_of
from umiak.compiler.schedule.cache import COSTS
from umiak.ir.program import Operation, Value
from umiak.ops.movement import BroadcastTo

# In operations on an element of 32 bits.
KERNEL = 1 << 18  # what another kernel takes: to start, to store and to load
WORTH_STORING = 4  # for an element of what stays in the cache; beyond, for each of its bytes
CACHED = 1 << 18  # bytes
WORD = 32  # bits
TIMES = 4  # how often it is computed at least: what is stored is small beside what its reader reads anyway


def repeats(o: Operation, operations: Sequence[Operation]) -> bool:
    """Return whether ``o`` had better read from memory what others make for it: each of their values that it reads is
    computed too often otherwise."""
    if not (o.op.elementwise or type(o.op) is BroadcastTo):
        return False
    shape = o.results[0].meta.shape
    most = size_of(shape) // TIMES
    small = {id(v) for v in o.values if size_of(v.meta.shape) <= most}
    if not small:
        return False
    made = {id(r): x for x in operations for r in x.results}
    read = [v for v in o.values if id(v) in made]
    if not read or any(id(v) not in small for v in read):
        return False
    if not all(x.op.elementwise or x.op.view or not x.values for x in operations):
        return False  # loops of reductions have an order of their own
    return all(_too_often(v, shape, made) for v in read)


def _too_often(v: Value, shape: Sequence[Any], made: Mapping[int, Operation]) -> bool:
    """Is ``v`` computed so often for a reader of this shape that a kernel and memory of its own cost less?"""
    count = size_of(v.meta.shape)
    varying = [i for i, n in enumerate(v.meta.shape) if size_of([n]) != 1]
    if not varying:
        return False
    times = size_of(shape[: len(shape) - len(v.meta.shape) + varying[-1] + 1]) / max(count, 1)
    work = sum(_work(x) for x in _makers(v, made) if size_of(x.results[0].meta.shape) == count)
    stored = bytes_of(v)
    limit = WORTH_STORING if stored <= CACHED else WORTH_STORING * stored / max(count, 1)
    return times >= TIMES and work >= limit and work * (times - 1) * count >= KERNEL


def _makers(v: Value, made: Mapping[int, Operation]) -> list[Operation]:
    """The operations that make a value."""
    found: dict[int, Operation] = {}
    waiting = [v]
    while waiting:
        o = made.get(id(waiting.pop()))
        if o is not None and id(o) not in found:
            found[id(o)] = o
            waiting += o.values
    return list(found.values())


def _work(o: Operation) -> float:
    """Return the cost of an operation for each element."""
    if not o.op.elementwise:
        return 0.0
    return COSTS.get(o.name, 1) * max(dtype_of(v).bits for v in (*o.values, *o.results)) / WORD
