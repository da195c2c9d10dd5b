"""Overlap of communication with computing: the order of a program that averages gradients.

A captured data-parallel step is recorded as one writes it: backward, buckets, updates. Here each bucket is started as
soon as its gradients are there, the rest of backward follows, and a bucket is waited for when nothing else is left to
compute; the updates of its parameters come at once, while later buckets are still under way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import heappop, heappush

from umiak import ops as F
from umiak.ir.program import Operation, Value, is_pure
from umiak.ops.gradient_buckets import ENDS, STARTS, BucketOp, BucketPoll, BucketStart

# Elements that kernels read and write between two looks at the messages, which move on only while somebody looks.
LOOK = 1 << 14

_COPY = F.Copy()


def overlapped(operations: Sequence[Operation], results: Sequence[Value | None]) -> list[Operation]:
    """The operations in an order in which buckets of gradients are under way for as long as possible.

    What has an effect keeps its order, except that buckets overtake the rest.
    """
    if not any(isinstance(o.op, STARTS) for o in operations):
        return list(operations)
    return _with_polls(_reordered(_with_memory_of_their_own(operations, results), results))


def _with_memory_of_their_own(operations: Sequence[Operation], results: Sequence[Value | None]) -> list[Operation]:
    """The operations, with a copy for each bucket that others read, too: equal buckets are one value, and a mean is
    written over what was sent."""
    readers = Counter(id(v) for o in operations for v in o.values)
    readers.update(id(v) for v in results)
    out = []
    for o in operations:
        if type(o.op) is BucketStart and readers[id(o.values[0])] > 1:
            copy = Operation(_COPY, o.values, (), [o.values[0].meta])
            start = Operation(o.op, copy.results, o.params)
            start.results = o.results
            out += [copy, start]
        else:
            out.append(o)
    return out


def _reordered(operations: Sequence[Operation], results: Sequence[Value | None]) -> list[Operation]:
    made = {id(r): i for i, o in enumerate(operations) for r in o.results}
    after: list[set[int]] = [{made[id(v)] for v in o.values if id(v) in made} for o in operations]
    last: dict[tuple, int] = {}
    for i, o in enumerate(operations):
        if not is_pure(o):
            kind = (type(o.op), o.op.group) if isinstance(o.op, BucketOp) else ()
            if kind in last:
                after[i].add(last[kind])
            last[kind] = i
    followers: list[list[int]] = [[] for _ in operations]
    for i, those in enumerate(after):
        for j in those:
            followers[j].append(i)
    urgent = _urgent(operations, results)
    waits = [len(those) for those in after]
    ready: list[tuple[int, int]] = []

    def enter(i: int) -> None:
        heappush(ready, (2 if isinstance(operations[i].op, ENDS) else 0 if i in urgent else 1, i))

    for i, n in enumerate(waits):
        if not n:
            enter(i)
    out = []
    while ready:
        _, i = heappop(ready)
        out.append(operations[i])
        for j in followers[i]:
            waits[j] -= 1
            if not waits[j]:
                enter(j)
    assert len(out) == len(operations), "operations that wait for each other"
    return out


def _urgent(operations: Sequence[Operation], results: Sequence[Value | None]) -> set[int]:
    """The starts of buckets, and what is made for one of them alone."""
    nobody: frozenset[int] = frozenset()
    elsewhere = frozenset([-1])
    # By value: the buckets that it is needed for.
    needed = {id(v): elsewhere for v in results if v is not None}
    urgent = set()
    for i in reversed(range(len(operations))):
        o = operations[i]
        if isinstance(o.op, STARTS):
            wanted = frozenset([i])
        elif is_pure(o):
            wanted = nobody.union(*(needed.get(id(r), nobody) for r in o.results))
        else:
            wanted = elsewhere
        if len(wanted) == 1 and wanted != elsewhere:
            urgent.add(i)
        elif wanted:
            wanted = elsewhere  # more is not asked
        for v in o.values:
            needed[id(v)] = needed.get(id(v), nobody) | wanted
    return urgent


def _with_polls(operations: Sequence[Operation]) -> list[Operation]:
    """The operations, with looks at the messages between them."""
    out: list[Operation] = []
    under_way: dict[tuple, Operation] = {}
    work = 0
    for o in operations:
        out.append(o)
        if isinstance(o.op, BucketOp):
            key = o.op.group, o.op.backward, o.op.bucket
            if isinstance(o.op, STARTS):
                under_way[key] = o
            else:
                del under_way[key]
            work = 0  # either looks at all of them
            continue
        work += _elements(o)
        if under_way and work >= LOOK:
            # One start of each group, whose result is there until it is waited for.
            for group, started in {s.op.group: s for s in under_way.values()}.items():
                out.append(Operation(BucketPoll(group), [started.results[0]], (), []))
            work = 0
    return out


def _elements(operation: Operation) -> int:
    """Elements that an operation reads and writes; many, where sizes are not known."""
    if operation.op.view:
        return 0
    total = 0
    for v in (*operation.values, *operation.results):
        n = 1
        for size in v.meta.shape:
            if type(size) is not int:
                return LOOK
            n *= size
        total += n
    return total
