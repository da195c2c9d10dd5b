"""Fusion: the choice of operations that share a kernel.

Operations are taken in order. One joins the groups of its operands where the whole still is one nest (``group.nest_of``
has the last word) and where no path from the group leads back into it through an operation outside. What has no rule,
and views that somebody outside reads, stay alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from umiak.compiler.broadcasts import repeats
from umiak.compiler.calls import dtype_of, live
from umiak.compiler.fused import Fused, Unspecialised, constants_of, make_group
from umiak.compiler.lower.builder import NotANest, Trial
from umiak.compiler.lower.group import ROWWISE, WINDOWS, begins, lowerable, nest_of
from umiak.compiler.lower.terminal import terminal_of
from umiak.compiler.rematerialise import rematerialise
from umiak.compiler.simplify import transposes
from umiak.ir.expr import Sym
from umiak.ir.meta import dense, identical, identity
from umiak.ir.program import Operation, Value, call_identity, is_pure, with_bases
from umiak.ops import movement

MAX_POINTERS = 24  # of a kernel
# Of a group. A nest is lowered on trial for each join, and long kernels gain little: what is in registers is spilled.
MAX_OPERATIONS = 48
# Each element of a concatenation is computed for all parts, and one is chosen: parts of more operations are stored.
JOINING = (movement.Concat, movement.Stack)
MOST_WORK = 8
# What trials said, by what decides it: gradients for other layouts and functions that are captured anew have the groups
# of earlier programs.
MOST_TRIALS = 2048
_TRIALS: dict[tuple, bool] = {}


@dataclass(eq=False)
class _Part:
    """Operations that will be one call. ``sources``: parts that it reads or has to follow; ``users``: the reverse."""

    operations: list[Operation]
    open: bool  # others may join
    pointwise: bool = False  # element by element, with results of one shape: so is what joins it
    sources: set[_Part] = field(default_factory=set)
    users: set[_Part] = field(default_factory=set)
    again: list[Operation] = field(default_factory=list)  # of other parts, repeated here before its own
    stands: dict[int, Value] = field(default_factory=dict)  # by id: what it makes itself in place of reading it

    @property
    def work(self) -> int:
        """Operations that compute, and do not only move."""
        return sum(not o.op.view for o in self.operations)


class _Contents(NamedTuple):
    """A part as it is computed. ``results`` stand for the values that are ``wanted`` of it: ``stands`` says which."""

    operations: list[Operation]
    inputs: list[Value]
    wanted: list[Value]
    stands: list[Value]
    results: list[Value]


def fuse(
    operations: Sequence[Operation], results: Sequence[Value | None], repeat: bool = False
) -> tuple[list[Operation], list[Value | None]]:
    """The same program with groups of operations as single :class:`Fused` ones, and what its results are now.

    Operations with an effect are kept, in their order. With ``repeat`` groups make cheap values of others again.
    """
    operations = live(operations, results, effects=True)
    if len(operations) < 2:
        return operations, list(results)
    return _Fusion(operations, results).run(repeat)


class _Fusion:
    """One run of :func:`fuse`."""

    def __init__(self, operations: Sequence[Operation], results: Sequence[Value | None]) -> None:
        self.operations, self.results = operations, results
        self.order = {o: i for i, o in enumerate(operations)}
        self.users: dict[int, list[Operation]] = {}
        for o in operations:
            for v in o.values:
                self.users.setdefault(id(v), []).append(o)
        self.kept = {id(v) for v in results if v is not None}
        self.own = with_bases(results)
        self.parts: dict[_Part, None] = {}
        self.part_of: dict[int, _Part] = {}
        self.effect: _Part | None = None

    def run(self, repeat: bool) -> tuple[list[Operation], list[Value | None]]:
        for o in self.operations:
            part = self.joined(o) if lowerable(o.op) and not o.op.effect else None
            self.add(o) if part is None else self.replace(*part)
        for p in list(self.parts):
            # The trials of layers that differ in sizes were one: what they promised holds for these sizes. What has no
            # operands waits for an operation that brings some.
            if len(p.operations) > 1 and not self.holds(p.operations):
                self.dissolve(p)
        if repeat:
            rematerialise(self)
        out, table = self.emit()
        return out, [None if v is None else table.get(id(v), v) for v in self.results]

    def producers(self, o: Operation) -> list[_Part]:
        """The parts that make the operands, each once."""
        parts = (self.part_of.get(id(v.operation)) for v in o.values)
        return list(dict.fromkeys(p for p in parts if p is not None))

    def joined(self, o: Operation) -> tuple[list[_Part], _Part] | None:
        """The operation in one part with all that make its operands, else with the last one that takes it."""
        candidates = [
            p
            for p in self.producers(o)
            if p.open and not (type(o.op) in JOINING and p.work > MOST_WORK) and not repeats(o, p.operations)
        ]
        for chosen in [candidates, *([p] for p in reversed(candidates if len(candidates) > 1 else []))]:
            if chosen and (made := self.merged(chosen, o)) is not None:
                return chosen, made
        return None

    def merged(self, inside: list[_Part], o: Operation) -> _Part | None:
        """The parts and ``o`` as one part, if that is a nest."""
        count = sum(len(p.operations) for p in inside)
        if count >= MAX_OPERATIONS:
            return None
        sources = {q for p in inside for q in p.sources} | set(self.producers(o))
        if self.reach(inside, sources.difference(inside)):
            return None
        operations = sorted([x for p in inside for x in p.operations] + [o], key=self.order.__getitem__)
        if _reads_base(o, operations):
            return None
        results = outside_reads(operations, self.users, self.kept)
        last = terminal_of(o) is not None
        pointwise = o.op.elementwise and not last and all(p.pointwise for p in inside)
        if pointwise and count > 1:
            # One more element by element needs no trial of the whole, which would make long groups quadratic.
            shape = o.results[0].meta.shape
            if any(not identical(r.meta.shape, shape) for r in results) or not self.nest([o]):
                return None
            if len(inputs_of(operations)) + len(results) > MAX_POINTERS:
                return None
        elif not self.nest(operations):
            return None
        return _Part(operations, not last, pointwise)

    def nest(self, operations: Sequence[Operation]) -> bool:
        """Return whether the operations can be one kernel. Layers of one kind are tried once."""
        inputs, results = self.ends(operations)
        key = _structure(operations, inputs, results, across=True)
        trial = _TRIALS.get(key)
        if trial is None:
            trial = _TRIALS[key] = _tried(operations, inputs, results)
        return trial

    def contents(self, p: _Part) -> _Contents:
        """Return what the call of a part computes."""
        wanted = outside_reads(p.operations, self.users, self.kept)
        operations, once = _deduplicated([*p.again, *p.operations], self.own, p.stands)
        stands = [once.get(id(r), r) for r in wanted]
        results = list(dict.fromkeys(stands))
        if results and all(identical(r.meta.shape, results[0].meta.shape) for r in results):
            # What depends on most comes first: what is stored after it reads less, so that more may take memory.
            results.reverse()
        operations = live(operations, results)
        return _Contents(operations, inputs_of(operations), wanted, stands, results)

    def holds(self, operations: Sequence[Operation]) -> bool:
        """Return whether the operations, with the sizes that they have, are one kernel."""
        inputs, results = self.ends(operations)
        return bool(inputs) and self.fits(_Contents([*operations], inputs, results, results, results))

    def fits(self, contents: _Contents) -> bool:
        """Return whether what a part would compute is one kernel, with the sizes that there are."""
        operations, inputs, _, _, results = contents
        return _tried(operations, inputs, results) and len(operations) <= MAX_OPERATIONS

    def place_of(self, p: _Part) -> int:
        """Return where a part's call comes, as near as it can."""
        return self.order[p.operations[-1]]

    def ends(self, operations: Sequence[Operation]) -> tuple[list[Value], list[Value]]:
        """Return the values that operations read from outside, and those of theirs that are read there."""
        return inputs_of(operations), outside_reads(operations, self.users, self.kept)

    def dissolve(self, p: _Part) -> None:
        """Each operation of a part as a part of its own."""
        del self.parts[p]
        for q in p.sources:
            q.users.discard(p)
        for q in p.users:
            q.sources.discard(p)
        for o in p.operations:
            part = _Part([o], False, sources=set(self.producers(o)))
            self.place(part)
        for q in p.users:
            for o in q.operations:
                q.sources.update(self.producers(o))
            q.sources.discard(q)
            for s in q.sources:
                s.users.add(q)

    def reach(self, inside: list[_Part], targets: set[_Part]) -> bool:
        """Return whether a path leads from the parts, by way of others, to one of the targets."""
        seen = set(inside)
        stack = [q for p in inside for q in p.users if q not in seen]
        while stack and targets:
            p = stack.pop()
            if p in targets:
                return True
            if p not in seen:
                seen.add(p)
                stack += p.users
        return False

    def add(self, o: Operation) -> None:
        """The operation as a part of its own."""
        joinable = begins(o) or (lowerable(o.op) and not o.op.effect and terminal_of(o) is None)
        part = _Part([o], joinable, o.op.elementwise, set(self.producers(o)))
        if not is_pure(o):
            if self.effect is not None:
                part.sources.add(self.effect)
            self.effect = part
        self.place(part)

    def replace(self, gone: list[_Part], part: _Part) -> None:
        """``part`` takes the place of parts."""
        for p in gone:
            part.sources |= p.sources
            part.users |= p.users
            del self.parts[p]
        for o in part.operations:
            part.sources.update(self.producers(o))
        part.sources.difference_update(gone)
        part.users.difference_update(gone)
        for q in part.users:
            q.sources.difference_update(gone)
            q.sources.add(part)
        for q in part.sources:
            q.users.difference_update(gone)
        self.place(part)

    def place(self, part: _Part) -> None:
        self.parts[part] = None
        for q in part.sources:
            q.users.add(part)
        for o in part.operations:
            self.part_of[id(o)] = part

    def emit(self) -> tuple[list[Operation], dict[int, Value]]:
        """The parts in an order that respects what they read, groups as one operation each.

        Each comes as near to its last operation's place as it can, so that values live no longer than they did.
        """
        table: dict[int, Value] = {}
        out: list[Operation] = []
        drafts = {p: _Draft(p, self) for p in self.parts}
        self.unspecialise([d for d in drafts.values() if d.inputs])
        waits = {p: len(p.sources) for p in self.parts}
        ready = [(self.place_of(p), p) for p in self.parts if not p.sources]
        heapify(ready)
        while ready:
            _, p = heappop(ready)
            del waits[p]
            out += drafts[p].calls(table)
            for q in p.users:
                waits[q] -= 1
                if not waits[q]:
                    heappush(ready, (self.place_of(q), q))
        assert not waits, "parts that wait for each other"
        return out, table

    @staticmethod
    def unspecialise(drafts: Sequence[_Draft]) -> None:
        """Have layers that differ in sizes and scalars alone share a group, and with it a plan and its kernels.

        Layers in which other sizes happen to be equal (as many images as rows of an image) have groups of their own,
        but code of the same text if they leave the same scalars open.
        """
        kinds: dict[tuple, dict[tuple, list[_Draft]]] = {}
        for d in drafts:
            group = d.operations, d.inputs, d.results
            # A number that comes with the run stands where another layer has one that is known.
            known = len(constants_of(d.operations, d.inputs)[1])
            patterns = kinds.setdefault((_structure(*group, sizes=_SOME), _divisors(d.operations), known), {})
            patterns.setdefault(_structure(*group), []).append(d)
        for patterns in kinds.values():
            constants_found = [[constants_of(d.operations, d.inputs) for d in alike] for alike in patterns.values()]
            scalars = [n for alike in constants_found for _, n in alike]
            differ = frozenset(i for i, column in enumerate(zip(*scalars, strict=True)) if len(set(column)) > 1)
            for alike, constants in zip(patterns.values(), constants_found, strict=True):
                unspecialised = Unspecialised(any(sizes != constants[0][0] for sizes, _ in constants), differ)
                pointers = len(alike[0].inputs) + len(alike[0].results) + len(differ)  # a number has one, too
                if unspecialised != Unspecialised() and pointers <= MAX_POINTERS and alike[0].is_nest(unspecialised):
                    for d in alike:
                        d.unspecialised = unspecialised


def _reads_base(o: Operation, operations: Sequence[Operation]) -> bool:
    """Return whether other operations read the tensor in whose memory ``o`` may write: it would be copied then."""
    bases = [
        x for i, x in enumerate(o.operands) if type(x) is Value and not o.op.elementwise and o.op.overwritable >> i & 1
    ]
    own = {id(r) for x in operations for r in x.results}
    return any(v is b for b in bases if id(b) not in own for x in operations if x is not o for v in x.values)


def _divisors(operations: Sequence[Operation]) -> tuple[int, ...]:
    """Numbers among the operands of integer operations: dividing by one that is known is several times faster."""
    return tuple(
        x
        for o in operations
        if not all(dtype_of(r).is_floating for r in o.results)
        for x in o.operands
        if type(x) is int
    )


def outside_reads(
    operations: Sequence[Operation], users: dict[int, list[Operation]], result_ids: set[int]
) -> list[Value]:
    """Values of the operations that something else needs."""
    own = set(map(id, operations))
    return [
        r
        for o in operations
        for r in o.results
        if id(r) in result_ids or any(id(u) not in own for u in users.get(id(r), ()))
    ]


def inputs_of(operations: Sequence[Operation]) -> list[Value]:
    """Values that the operations read from outside, in order."""
    own = {id(r) for o in operations for r in o.results}
    inputs: dict[int, Value] = {}
    for o in operations:
        for v in o.values:
            if id(v) not in own:
                inputs.setdefault(id(v), v)
    return list(inputs.values())


def _is_float(x: Any) -> bool:
    return type(x) is float or (type(x) is Sym and x.kind == "float")


_KNOWN, _PATTERN, _SOME = range(3)


def _tried(operations: Sequence[Operation], inputs: Sequence[Value], results: Sequence[Value]) -> bool:
    """Return whether operations, with the sizes that they have, are one kernel; what was tried before is known."""
    key = _structure(operations, inputs, results, sizes=_KNOWN, across=True)
    trial = _TRIALS.get(key)
    if trial is None:
        if len(_TRIALS) >= MOST_TRIALS:
            _TRIALS.clear()
        trial = _TRIALS[key] = is_nest(operations, inputs, results)
    return trial


def _structure(
    operations: Sequence[Operation],
    inputs: Sequence[Value],
    results: Sequence[Value],
    sizes: int = _PATTERN,
    across: bool = False,
) -> tuple:
    """Return a key that decides whether operations are a nest: equal for layers that differ in sizes only.

    Sizes are numbered as they come: which are equal matters, and which are 1. With ``_KNOWN`` they are what they are,
    with ``_SOME`` it only matters which are 1. A key ``across`` programs outlives them: symbols are numbered, too.
    """
    number = {id(v): i for i, v in enumerate(inputs)}
    seen: dict[int, tuple] = {}
    symbols: dict[int, tuple] = {}

    def symbol(x: Sym) -> tuple:
        known = symbols.get(id(x))
        if known is not None:
            return known
        name = symbols[id(x)] = ("symbol", len(symbols))
        if x.op == "symbol":
            return (*name, x.kind, x.lo, x.hi, x.hint)
        return (*name, x.op, *(symbol(a) if type(a) is Sym else identity(a) for a in x.args))

    def plain(x: Any) -> Any:
        if type(x) is tuple:
            return tuple(map(plain, x))
        if _is_float(x):
            return float
        if type(x) is int and x > 1 and sizes != _KNOWN:
            return "size" if sizes == _SOME else seen.setdefault(x, ("size", len(seen)))
        return symbol(x) if across and type(x) is Sym else identity(x)

    rows = []
    for o in operations:
        # Of a number, only its type: what it is does not decide.
        operands = tuple(
            number[id(x)]
            if type(x) is Value
            else float
            if _is_float(x)
            else (type(x),)
            if type(x) is int
            else (plain(x),)
            for x in o.operands
        )
        rows.append((o.op, operands, plain(o.params)))
        for r in o.results:
            number[id(r)] = len(number)
    given = tuple((plain(tuple(v.meta.shape)), v.meta.dtype) for v in inputs)
    return sizes, tuple(rows), given, tuple(number[id(r)] for r in results)


def is_nest(operations: Sequence[Operation], inputs: Sequence[Value], results: Sequence[Value]) -> bool:
    """Return whether the operations can be one kernel.

    What is read outside only because it has not been joined yet counts as a result too: it must be one that a nest can
    store, even if it becomes internal later.
    """
    if len(inputs) + len(results) > MAX_POINTERS:
        return False
    makers = [o for r in results if (o := r.operation) is not None]
    if any(o.op.view for o in makers if o is not operations[-1]):
        return False
    if any(map(transposes, operations)) and any(type(o.op) in ROWWISE for o in operations):
        return False  # rows would be gathered element by element: a transpose of its own is several times faster
    if any(type(o.op) in WINDOWS for o in operations) and sum(type(o.op) in ROWWISE for o in operations):
        return False
    try:
        nest_of("trial", operations, [(v, dense(tuple(v.meta.shape)).strides) for v in inputs], results, Trial())
    except NotANest:
        return False
    return True


class _Draft:
    """A part on its way to its calls."""

    def __init__(self, p: _Part, fusion: _Fusion) -> None:
        self.operations = p.operations
        self.alone = not p.again and (len(p.operations) == 1 or all(o.op.view for o in p.operations))
        self.inputs: list[Value] = []
        self.unspecialised = Unspecialised()
        if not self.alone:
            self.operations, self.inputs, self.wanted, self.stands, self.results = fusion.contents(p)

    def calls(self, table: dict[int, Value]) -> list[Operation]:
        """The part as calls over what ``table`` has for its operands."""

        def moved(x: Any) -> Any:
            return table.get(id(x), x) if type(x) is Value else x

        if self.alone:
            return [_rebuilt(o, moved, table) for o in self.operations]
        group, scalars, ints = make_group(self.operations, self.inputs, self.results, self.unspecialised)
        metas = [r.meta for r in self.results]
        call = Operation(Fused(group=group), [*map(moved, self.inputs), *scalars], (tuple(ints),), metas)
        made = dict(zip(self.results, call.results, strict=True))
        table.update({id(r): made[s] for r, s in zip(self.wanted, self.stands, strict=True)})
        return [call]

    def is_nest(self, unspecialised: Unspecialised) -> bool:
        group, *_ = make_group(self.operations, self.inputs, self.results, unspecialised)
        return is_nest(group.operations, group.arguments, group.results)


def _deduplicated(
    operations: Sequence[Operation], own: set[int], stands: Mapping[int, Value]
) -> tuple[list[Operation], dict[int, Value]]:
    """The operations without those that compute the same again, and what stands for the values of these.

    What is in ``own`` is memory of its own for the caller, and recomputed. ``stands``: what they read in place of
    others' values, by id.
    """
    seen: dict[tuple, Operation] = {}
    table: dict[int, Value] = {}
    out: list[Operation] = []

    def moved(x: Any) -> Any:
        x = stands.get(id(x), x)
        return table.get(id(x), x)

    for o in operations:
        rebuilt = o.over(map(moved, o.operands))
        first = rebuilt if o.op.random else seen.setdefault(call_identity(rebuilt)[:3], rebuilt)
        if first is not rebuilt and any(id(r) in own for r in o.results):
            first = rebuilt
        if first is rebuilt:
            out.append(rebuilt)
        table.update({id(r): f for r, f in zip(o.results, first.results, strict=True) if r is not f})
    return out, table


def _rebuilt(o: Operation, moved: Any, table: dict[int, Value]) -> Operation:
    rebuilt = o.over(map(moved, o.operands))
    if rebuilt is not o:
        table.update({id(r): c for r, c in zip(o.results, rebuilt.results, strict=True)})
    return rebuilt
