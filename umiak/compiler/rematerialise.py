"""Values that kernels compute again instead of reading them.

A gradient reads what the forward part has made, and what a kernel stores for another one that runs much later has left
the caches by then. Where such a value is cheap to make of what its reader reads anyway, or of what is there anyway and
no larger, the reader makes it again and nobody stores it: a product with a gate whose derivative is taken, a normalised
row next to the row and its scale. Results are the same bits.

Nothing is kept for longer than what is saved by it, and no function is computed twice: what costs as much as memory is
stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from umiak.compiler.broadcasts import repeats
from umiak.compiler.lower.group import lowerable
from umiak.compiler.passes.recomputation import bytes_of
from umiak.compiler.schedule.cache import COSTS, WORTH_KEEPING
from umiak.ir.program import Operation, Value, is_pure

if TYPE_CHECKING:
    from umiak.compiler.fuse import _Fusion, _Part

NEXT_TO_NOTHING = 1.1  # times the memory of what is left out: a number for each row, beside rows


def rematerialise(fusion: _Fusion) -> None:
    """Have groups of a fusion repeat operations of others where that saves memory traffic."""
    for p in sorted(fusion.parts, key=fusion.place_of):
        if _is_kernel(p):
            for r in fusion.ends(p.operations)[1]:
                _repeat(fusion, p, r)
            _drop_unread(fusion, p)


def _is_kernel(p: _Part) -> bool:
    """Return whether a part is a nest, or may be one with others."""
    return all(lowerable(o.op) and is_pure(o) for o in p.operations) and not all(o.op.view for o in p.operations)


def _repeatable(o: Operation) -> bool:
    return (o.op.elementwise or o.op.view or not o.values) and not o.op.random


def _cost(operations: Iterable[Operation]) -> int:
    """Operations for an element; of views and numbers none."""
    return sum(COSTS.get(o.name, WORTH_KEEPING) for o in operations if not o.op.view and o.values)


def _repeat(fusion: _Fusion, p: _Part, r: Value) -> None:
    """Have all readers of ``r``, a value of ``p``, make it themselves, if that pays."""
    if id(r) in fusion.kept or r.operation is None or not r.operation.op.elementwise:
        return
    inside = set(map(id, p.operations))
    outside = [o for o in fusion.users[id(r)] if id(o) not in inside]
    readers = list(dict.fromkeys(fusion.part_of[id(o)] for o in outside))
    needed = _needed(fusion, p, r)
    if needed is None or not all(map(_is_kernel, readers)) or any(repeats(o, p.operations) for o in outside):
        return
    operations, leaves = needed
    saved, copies = bytes_of(r), []
    for q in readers:
        before, copy = fusion.contents(q), _Copy(q, operations, r)
        with copy:
            after = fusion.contents(q)
        if _cost(after.operations) - _cost(before.operations) >= WORTH_KEEPING or not fusion.fits(after):
            return
        read = set(map(id, before.inputs))
        saved += bytes_of(r) - sum(bytes_of(v) for v in leaves if id(v) not in read)
        copies.append(copy)
    last = max(map(fusion.place_of, readers))
    if saved <= 0 or sum(map(bytes_of, _held(fusion, leaves, last))) > bytes_of(r) * NEXT_TO_NOTHING:
        return
    for copy in copies:
        copy.install(fusion, leaves)
    fusion.users[id(r)] = [o for o in fusion.users[id(r)] if id(o) in inside]


def _needed(fusion: _Fusion, p: _Part, r: Value) -> tuple[list[Operation], list[Value]] | None:
    """The operations of ``p`` that make ``r`` of values that are in memory, and these; None where one may not be
    repeated, or reads what ``p`` makes again itself."""
    stored = {id(v) for v in fusion.ends(p.operations)[1]} - {id(r)}
    inside = set(map(id, p.operations))
    chosen: set[int] = set()
    leaves: dict[int, Value] = {}
    waiting = [r]
    while waiting:
        v = waiting.pop()
        o = v.operation
        if id(v) in p.stands:
            return None
        if id(v) in stored or o is None or id(o) not in inside:
            leaves[id(v)] = v
        elif id(o) not in chosen:
            if not _repeatable(o):
                return None
            chosen.add(id(o))
            waiting += o.values
    return [o for o in p.operations if id(o) in chosen], list(leaves.values())


def _held(fusion: _Fusion, leaves: Iterable[Value], last: int) -> list[Value]:
    """Leaves that would be kept for longer than they are, if they are read at ``last``."""
    return [
        v
        for v in leaves
        if v.operation is not None
        and id(v) not in fusion.kept
        and max(fusion.place_of(fusion.part_of[id(o)]) for o in fusion.users[id(v)]) < last
    ]


class _Copy:
    """Operations that make ``r`` as those of a part that reads it: for good, or as a context on trial."""

    def __init__(self, q: _Part, operations: Sequence[Operation], r: Value) -> None:
        self.q = q
        table: dict[int, Value] = {}
        self.operations: list[Operation] = []
        for o in operations:
            made = o.replace(operands=[table.get(id(x), x) if type(x) is Value else x for x in o.operands])
            table.update({id(a): b for a, b in zip(o.results, made.results, strict=True)})
            self.operations.append(made)
        self.before = q.again, q.stands
        self.stand = {id(r): table[id(r)]}

    def __enter__(self) -> None:
        again, stands = self.before
        self.q.again, self.q.stands = [*self.operations, *again], {**stands, **self.stand}

    def __exit__(self, *_: object) -> None:
        self.q.again, self.q.stands = self.before

    def install(self, fusion: _Fusion, leaves: Iterable[Value]) -> None:
        self.__enter__()
        for o in self.operations:
            fusion.part_of[id(o)] = self.q
            for v in o.values:
                fusion.users.setdefault(id(v), []).append(o)
        made = (fusion.part_of.get(id(v.operation)) for v in leaves)
        for s in {s for s in made if s is not None}:
            self.q.sources.add(s)
            s.users.add(self.q)


def _drop_unread(fusion: _Fusion, p: _Part) -> None:
    """Leave out a part of which nobody reads anything any more, and those that were there for it alone."""
    if fusion.ends(p.operations)[1] or not all(map(is_pure, p.operations)):
        return
    del fusion.parts[p]
    for q in p.users:
        q.sources.discard(p)
    for o in [*p.again, *p.operations]:
        for v in o.values:
            fusion.users[id(v)].remove(o)
    for q in p.sources:
        q.users.discard(p)
        _drop_unread(fusion, q)
