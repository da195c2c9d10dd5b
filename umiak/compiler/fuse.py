"""Which operations share a kernel.

Operations are taken in order. One joins the groups of its operands where the whole still is one nest (``group.nest_of``
has the last word) and where no path from the group leads back into it through an operation outside. What has no rule,
and views that somebody outside reads, stay alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from umiak.compiler.calls import live
from umiak.compiler.fused import Fused, make_group
from umiak.compiler.lower.builder import NotANest
from umiak.compiler.lower.group import ROWWISE, WINDOWS, lowerable, nest_of
from umiak.compiler.lower.terminal import terminal_of
from umiak.ir.meta import dense
from umiak.ir.program import Operation, Value

# How many pointers a kernel may take.
MAX_POINTERS = 24


@dataclass(eq=False)
class _Part:
    """Operations that will be one call. ``before``: parts that it depends on, through any path."""

    operations: list[Operation]
    open: bool  # others may join
    before: set[int] = field(default_factory=set)
    number: int = 0


def fuse(
    operations: Sequence[Operation], results: Sequence[Value | None]
) -> tuple[list[Operation], list[Value | None]]:
    """The same program with groups of operations as single :class:`Fused` ones, and what its results are now."""
    operations = live(operations, results)
    if len(operations) < 2:
        return operations, list(results)
    users: dict[int, list[Operation]] = {}
    for o in operations:
        for v in o.values:
            users.setdefault(id(v), []).append(o)
    kept = {id(v) for v in results if v is not None}
    parts: list[_Part] = []
    part_of: dict[int, _Part] = {}

    def merged(candidates: list[_Part], o: Operation) -> _Part | None:
        """The candidates and ``o`` as one part, if that is a nest."""
        inside = sorted({id(p): p for p in candidates}.values(), key=lambda p: p.number)
        numbers = {p.number for p in inside}
        others = {q.number for v in o.values if (q := part_of.get(_producer(v))) is not None} - numbers
        before = set().union(*(p.before for p in inside)) | others
        for other in others:
            before |= parts[other].before
        if any(number in parts[other].before for number in numbers for other in before - numbers):
            return None
        whole = sorted([x for p in inside for x in p.operations] + [o], key=order.__getitem__)
        if not is_nest(whole, users, kept):
            return None
        return _Part(whole, terminal_of(o) is None, before - numbers)

    order = {o: i for i, o in enumerate(operations)}
    for o in operations:
        joinable = lowerable(o.op)
        candidates = []
        for v in o.values:
            p = part_of.get(_producer(v))
            if p is not None and p.open and p not in candidates:
                candidates.append(p)
        made = None
        if joinable and candidates:
            made = merged(candidates, o)
            if made is None and len(candidates) > 1:
                for p in reversed(candidates):
                    made = merged([p], o)
                    if made is not None:
                        candidates = [p]
                        break
        if made is not None:
            made.number = max(p.number for p in candidates)
            gone = {p.number for p in candidates} - {made.number}
            parts[made.number] = made
            for x in made.operations:
                part_of[id(x)] = made
            for p in parts:
                if p.before & gone or made.number in p.before:
                    p.before = (p.before - gone) | {made.number} | made.before
            for number in gone:
                parts[number] = _Part([], False, set(), number)
            continue
        before: set[int] = set()
        for v in o.values:
            q = part_of.get(_producer(v))
            if q is not None:
                before |= q.before | {q.number}
        part = _Part([o], joinable and terminal_of(o) is None, before, len(parts))
        parts.append(part)
        part_of[id(o)] = part
    out, table = _emit([p for p in parts if p.operations], part_of, users, kept)
    return out, [None if v is None else table.get(id(v), v) for v in results]


def _producer(v: Value) -> int:
    return id(v.operation)


def outside_reads(operations: Sequence[Operation], users: dict[int, list[Operation]], kept: set[int]) -> list[Value]:
    """Values of the operations that something else needs."""
    own = set(map(id, operations))
    return [
        r for o in operations for r in o.results if id(r) in kept or any(id(u) not in own for u in users.get(id(r), ()))
    ]


def inputs_of(operations: Sequence[Operation]) -> list[Value]:
    """Values that the operations read from outside, in order."""
    own = {id(r) for o in operations for r in o.results}
    found: dict[int, Value] = {}
    for o in operations:
        for v in o.values:
            if id(v) not in own:
                found.setdefault(id(v), v)
    return list(found.values())


def is_nest(operations: Sequence[Operation], users: dict[int, list[Operation]], kept: set[int]) -> bool:
    """Whether the operations can be one kernel."""
    # What is read outside only because it has not been joined yet counts as a result too: it must be one that a nest
    # can store, even if it becomes internal later.
    results = outside_reads(operations, users, kept)
    inputs = inputs_of(operations)
    if len(inputs) + len(results) > MAX_POINTERS or not inputs:
        return False
    makers = [o for r in results if (o := r.operation) is not None]
    if any(o.op.view for o in makers if o is not operations[-1]):
        return False
    if any(type(o.op) in WINDOWS for o in operations) and sum(type(o.op) in ROWWISE for o in operations):
        return False
    try:
        nest_of("trial", operations, [(v, dense(tuple(v.meta.shape)).strides) for v in inputs], results, _Anything())
    except NotANest:
        return False
    return True


class _Anything(dict):
    """Sources for a trial: every symbol is a word."""

    def __missing__(self, key: Any) -> tuple[int, int]:
        return (-1, 0)


def _emit(
    parts: list[_Part], part_of: dict[int, _Part], users: dict[int, list[Operation]], kept: set[int]
) -> tuple[list[Operation], dict[int, Value]]:
    """The parts in an order that respects what they read, groups as one operation each."""
    table: dict[int, Value] = {}

    def moved(x: Any) -> Any:
        return table.get(id(x), x) if type(x) is Value else x

    out: list[Operation] = []
    done: set[int] = set()
    pending = list(parts)
    while pending:
        ready = [p for p in pending if all(q.number in done or not q.operations for q in _sources(p, part_of))]
        assert ready, "parts that wait for each other"
        for p in ready:
            out += _call(p, users, kept, moved, table)
            done.add(p.number)
        pending = [p for p in pending if p.number not in done]
    return out, table


def _sources(p: _Part, part_of: dict[int, _Part]) -> list[_Part]:
    found = []
    for o in p.operations:
        for v in o.values:
            q = part_of.get(_producer(v))
            if q is not None and q is not p:
                found.append(q)
    return found


def _call(p: _Part, users: Any, kept: set[int], moved: Any, table: dict[int, Value]) -> list[Operation]:
    if len(p.operations) == 1 or all(o.op.view for o in p.operations):
        return [_again(o, moved, table) for o in p.operations]
    results = outside_reads(p.operations, users, kept)
    inputs = inputs_of(p.operations)
    group, numbers, ints = make_group(p.operations, inputs, results)
    call = Operation(Fused(group=group), [*map(moved, inputs), *numbers], (tuple(ints),), [r.meta for r in results])
    table.update({id(r): c for r, c in zip(results, call.results, strict=True)})
    return [call]


def _again(o: Operation, moved: Any, table: dict[int, Value]) -> Operation:
    if all(moved(x) is x for x in o.operands):
        return o
    made = Operation(o.op, map(moved, o.operands), o.params, [r.meta for r in o.results])
    table.update({id(r): c for r, c in zip(o.results, made.results, strict=True)})
    return made
