"""Simplification of a program's operations, after composites were expanded and gradients added.

One sweep over straight-line operations; operands are exchanged for simpler values as they are met:

* calls that leave an operand as it is (to its own shape or type, a power of 1), but for copies of what is transposed
  that libraries read: who transposes first means to multiply faster;
* equal calls;
* a reshape of a reshape, parts of a concatenation;
* casts to a narrower type of all parts of a concatenation, as casts of what is concatenated;
* a matrix that is multiplied by transposed, as one that is laid out so before, where the backend wants that;
* parts as views instead of copies (``split``), and sums of scattered parts, the gradients of views, as a concatenation;
* views of one number everywhere;
* a view for each reader, which can then be computed inside of the reader's kernel.

A value that the caller gets is never exchanged for an input, a view or another one that the caller gets: it would share
their memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from umiak.compiler.layout import Relayout
from umiak.compiler.lower.group import ROWWISE, lowerable
from umiak.ir.meta import Meta, identical
from umiak.ir.program import Operation, Value, call_identity, is_pure, with_bases
from umiak.ir.rewrite import Sweep, Table
from umiak.ops import create, elementwise, movement

# Of a concatenation that each of them computes for itself.
MOST_READERS = 4


LaysOut = Callable[[Any, Sequence[Meta]], bool]


def simplify(
    operations: Sequence[Operation], results: Sequence[Value | None], lays_out: LaysOut = lambda op, metas: False
) -> tuple[list[Operation], list[Value | None]]:
    """The same computation, and what its results are now. ``lays_out``: ``Backend.lays_out`` of who runs it."""
    return _Simplify(operations, results, lays_out).run(operations, results)


class _Simplify(Sweep):
    """One pass. A rule ``rule(sweep, operation, operands)`` says whether it has dealt with an operation."""

    def __init__(self, operations: Sequence[Operation], results: Sequence[Value | None], lays_out: LaysOut) -> None:
        super().__init__()
        self.lays_out = lays_out
        self.seen: dict[tuple, Operation] = {}
        self.epoch = 0  # how many calls came so far that are kernels of their own
        self.kept = {id(v) for v in results if v is not None}
        self.own = with_bases(results)
        self.given: set[int] = set()  # values that stand for one of them
        self.readers: dict[int, int] = {}
        self.users: dict[int, list[Operation]] = {}
        self.narrow: dict[int, Value] = {}  # concatenations of what is narrow, by the wide one
        for o in operations:
            for v in o.values:
                self.readers[id(v)] = self.readers.get(id(v), 0) + 1
                self.users.setdefault(id(v), []).append(o)
        for key in self.kept:
            self.readers[key] = self.readers.get(key, 0) + 1
        self.origin: dict[int, Value] = {}  # of a new value: the original one, whose readers were counted

    def visit(self, o: Operation) -> None:
        operands = [self.current(x) for x in o.operands]
        if o.regions or not is_pure(o):
            self.keep(o, operands)
        elif o.op.view and _part_of_full(self, o, operands):
            pass
        elif not any(rule(self, o, operands) for rule in RULES.of(o.op.name)):
            self.emit(o, operands)

    def put(self, o: Operation, replacement: Operation) -> Operation:
        for r, new in zip(o.results, replacement.results, strict=True):
            if r is not new:
                self.origin[id(new)] = r
                if id(r) in self.kept:
                    self.given.add(id(new))
        return super().put(o, replacement)

    def same(self, r: Value, x: Any) -> bool:
        """The result ``r`` is ``x``."""
        if type(x) is not Value:
            return False
        if id(r) in self.kept:
            producer = x.operation
            # A sum to the shape that is there gives its operand itself.
            if (
                producer is None
                or producer.op.view
                or producer.name == "sum_to"
                or id(x) in self.kept
                or id(x) in self.given
            ):
                return False
            self.given.add(id(x))
        self.table[id(r)] = x
        self.origin.setdefault(id(x), r)
        return True

    def emit(self, o: Operation, operands: Sequence[Any], op: Any = None) -> bool:
        """The results of ``o`` are those of this call, which has an earlier one's if they are equal."""
        emitted = o.over(operands) if op is None else o.replace(op, operands, ())
        if not emitted.op.random:
            first = self.first(emitted)
            if first is not emitted and not any(id(r) in self.own for r in o.results):
                self.stand(o.results, first.results)
                return True
        self.put(o, emitted)
        return True

    def call(self, op: Any, operands: Sequence[Any], params: tuple, meta: Any) -> Value:
        """A call more than there was."""
        emitted = Operation(op, operands, params, [meta])
        first = self.first(emitted)
        if first is emitted:
            self.out.append(emitted)
        return first.results[0]

    def first(self, o: Operation) -> Operation:
        """The first call equal to ``o``: for one element by element, or out of nothing, only among its neighbours.

        Across a matmul or a reduction, computing it again in another kernel is cheaper than memory for its result.
        """
        self.epoch += not lowerable(o.op)
        near = o.op.elementwise or not o.values
        return self.seen.setdefault((*call_identity(o)[:3], self.epoch if near else None), o)

    def narrowed(self, v: Value, op: Any) -> bool:
        """Return whether all that reads a value, or parts of it, is the cast ``op``."""
        v = self.origin.get(id(v), v)
        if id(v) in self.kept:
            return False
        for o in self.users.get(id(v), ()):
            parts = o.results if type(o.op) in (movement.Slice, movement.Split) else ()
            if o.op is not op and not (parts and all(self.narrowed(r, op) for r in parts)):
                return False
        return True

    def read_by_library(self, v: Value) -> bool:
        """Return whether a value, or a view of it, is an operand of a call that is no nest."""
        return any(
            not lowerable(o.op) or (o.op.view and any(map(self.read_by_library, o.results)))
            for o in self.users.get(id(v), ())
        )

    def alone(self, v: Value) -> bool:
        """Return whether one operation reads a value and nobody else."""
        return self.readers.get(id(self.origin.get(id(v), v)), 0) == 1


def _part_of_full(s: _Simplify, o: Operation, operands: list) -> bool:
    """A view of one number everywhere: that number everywhere."""
    x = operands[0]
    full = x.operation if type(x) is Value else None
    if full is None or type(full.op) is not create.Full or any(id(r) in s.own for r in o.results):
        return False
    for r in o.results:
        s.same(r, s.call(full.op, full.operands, (tuple(r.meta.shape),), r.meta))
    return True


def _unchanged(s: _Simplify, o: Operation, operands: list) -> bool:
    """Calls whose result has the shape and type of their operand, and then its elements."""
    x = operands[0]
    if type(x) is not Value or x.meta.dtype is not o.results[0].meta.dtype:
        return False
    return identical(x.meta.shape, o.results[0].meta.shape) and s.same(o.results[0], x)


def _copy(s: _Simplify, o: Operation, operands: list) -> bool:
    x = operands[0]
    made = x.operation if type(x) is Value else None
    if made is not None and transposes(made) and s.read_by_library(o.results[0]):
        return s.emit(o, made.operands, Relayout(perm=made.op.perm))
    return _unchanged(s, o, operands)


def _matmul(s: _Simplify, o: Operation, operands: list) -> bool:
    x, y = operands
    if not o.op.transpose_y or type(y) is not Value or len(y.meta.shape) != 2:
        return False
    if not s.lays_out(o.op, [v.meta for v in operands]):
        return False
    laid_out = s.call(Relayout(perm=(1, 0)), [y], (), Meta(tuple(reversed(y.meta.shape)), y.meta.dtype))
    return s.emit(o, [x, laid_out], type(o.op)(o.op.transpose_x, False))


def _reshape(s: _Simplify, o: Operation, operands: list) -> bool:
    x = operands[0]
    if type(x) is Value and x.operation is not None and type(x.operation.op) is movement.Reshape:
        x = x.operation.operands[0]
    return _unchanged(s, o, [x]) or s.emit(o, [x])


def _cast(s: _Simplify, o: Operation, operands: list) -> bool:
    """Parts of a concatenation, all of which are narrowed: parts of a concatenation of what is narrow."""
    x, (r,) = operands[0], o.results
    if _unchanged(s, o, operands):
        return True
    part = x.operation if type(x) is Value else None
    if part is None or type(part.op) is not movement.Slice:
        return False
    joined_result: Any = part.operands[0]
    joined, low = joined_result.operation, o.op.dtype
    if joined is None or type(joined.op) is not movement.Concat:
        return False
    if low.bits >= joined_result.meta.dtype.bits or not s.narrowed(joined_result, o.op):
        return False
    narrow = s.narrow.get(id(joined_result))
    if narrow is None:
        parts = [s.call(o.op, [p], (), Meta(p.meta.shape, low)) for p in joined.operands]
        narrow = s.narrow[id(joined_result)] = s.call(
            joined.op, parts, joined.params, Meta(joined_result.meta.shape, low)
        )
    return s.same(r, s.call(part.op, [narrow], part.params, r.meta))


def _pow(s: _Simplify, o: Operation, operands: list) -> bool:
    return type(operands[1]) in (int, float) and operands[1] == 1 and _unchanged(s, o, operands)


def _split(s: _Simplify, o: Operation, operands: list) -> bool:
    """Parts as views of the whole."""
    start: Any = 0
    op = movement.Slice(axes=(o.op.axis,))
    if any(id(r) in s.kept for r in o.results):
        return False
    for r, size in zip(o.results, o.params[0], strict=True):
        emitted = _part(operands[0], o.op.axis, start, r)
        if emitted is None:
            emitted = s.call(op, operands, ((start,), (size,), (1,)), r.meta)
        s.same(r, emitted)
        start = start + size
    return True


def _slice(s: _Simplify, o: Operation, operands: list) -> bool:
    """All of the operand, or a part that is one of those of a concatenation; both in their order."""
    (x,), (r,) = operands, o.results
    starts, _, steps = o.params
    if type(x) is not Value or id(r) in s.kept or any(not identical(step, 1) for step in steps):
        return False
    if _unchanged(s, o, operands):
        return True
    if len(o.op.axes) != 1:
        return False
    part = _part(x, o.op.axes[0], starts[0], r)
    return part is not None and s.same(r, part)


def _part(x: Value, axis: int, start: Any, like: Value) -> Value | None:
    """The operand of a concatenation that begins at ``start`` and is of the shape of ``like``."""
    producer = x.operation
    if producer is None or type(producer.op) is not movement.Concat or producer.op.axis != axis:
        return None
    at: Any = 0
    for part in producer.operands:
        if type(part) is Value:
            if identical((at, *part.meta.shape), (start, *like.meta.shape)):
                return part
            at = at + part.meta.shape[axis]
    return None


def _sum(s: _Simplify, o: Operation, operands: list) -> bool:
    """A sum of scattered parts that make up the whole: their concatenation."""
    shape = o.results[0].meta.shape
    if any(type(x) is not Value or not identical(x.meta.shape, shape) for x in operands):
        return False
    addends: Any = [_scattered(s, x) for x in operands]
    if None in addends or addends[0][0] != addends[1][0]:
        return False
    axis, parts = addends[0][0], addends[0][1] + addends[1][1]
    if any(type(start) is not int for start, _ in parts):
        return False
    parts.sort(key=lambda part: part[0])
    at: Any = 0
    for start, value in parts:
        if not identical((at,), (start,)):
            return False
        at = at + value.meta.shape[axis]
    if not identical(at, shape[axis]):
        return False
    return s.emit(o, [v for _, v in parts], movement.Concat(axis=axis))


def _scattered(s: _Simplify, x: Any) -> tuple[int, list[tuple[Any, Value]]] | None:
    """(axis, [(start, part)]) of a value that is zero but for parts along one axis."""
    o = x.operation if type(x) is Value else None
    if o is None or not s.alone(x):
        return None
    if o.op.name == "add":
        if any(type(y) is not Value or not identical(y.meta.shape, x.meta.shape) for y in o.operands):
            return None
        both = [_scattered(s, y) for y in o.operands]
        if None in both or both[0][0] != both[1][0]:  # type: ignore[index]
            return None
        return both[0][0], both[0][1] + both[1][1]  # type: ignore[index]
    if type(o.op) is not movement.ScatterView or type(o.op.region) is not movement.Slice or len(o.op.region.axes) != 1:
        return None
    base, value = o.operands
    start, _, step = o.params[0]
    producer = base.operation if type(base) is Value else None
    if not identical(step, 1) or type(value) is not Value or producer is None or producer.op.name != "full":
        return None
    if type(producer.operands[0]) not in (int, float, complex) or producer.operands[0] != 0:
        return None
    return o.op.region.axes[0], [(start, value)]


RULES = Table(
    [
        ("reshape", _reshape),
        ("split", _split),
        ("slice", _slice),
        ("broadcast_to", _unchanged),
        ("sum_to", _unchanged),
        ("cast", _cast),
        ("copy", _copy),
        ("matmul", _matmul),
        ("pow", _pow),
        ("add", _sum),
    ]
)


def transposes(o: Operation) -> bool:
    """Return whether neighbours of the result are no neighbours of the operand: a view that is slow to read along its
    rows."""
    return type(o.op) is movement.Permute and len(o.op.perm) > 0 and o.op.perm[-1] != len(o.op.perm) - 1


def widens_for_concatenations(o: Operation, users: Sequence[Sequence[tuple[Operation, int]]]) -> bool:
    """Return whether a cast of what a library made stands between it and concatenations alone: these read what is
    narrow."""
    x = o.operands[0] if type(o.op) is elementwise.Cast else None
    if type(x) is not Value or x.operation is None or lowerable(x.operation.op):
        return False
    if any(type(user.op) is not movement.Concat for user, _ in users[0]):
        return False
    before, after = x.meta.dtype, o.results[0].meta.dtype
    return before.is_floating and after.is_floating and before.bits < after.bits  # type: ignore[union-attr]


def duplicate_views(
    operations: Sequence[Operation], results: Sequence[Value | None]
) -> tuple[list[Operation], list[Value | None]]:
    """Views, concatenations and what is made out of nothing once for each reader that may compute them itself."""
    readers: dict[int, list[tuple[Operation, int]]] = {}
    result_ids = {id(v) for v in results if v is not None}
    table: dict[int, Value] = {}
    out: list[Operation] = []
    inside: set[int] = set()  # operations that a kernel computes, as opposed to views that a library is given

    def duplicate(o: Operation) -> Operation:
        emitted = o.replace()
        for r in emitted.results:
            r.id = -1  # one of several
        for i, x in enumerate(o.operands):
            if type(x) is Value:
                readers.setdefault(id(x), []).append((emitted, i))
        out.append(emitted)
        return emitted

    def give(value: Value, to: Sequence[tuple[Operation, int]]) -> None:
        for user, i in to:
            user.operands = (*user.operands[:i], value, *user.operands[i + 1 :])

    for o in reversed(operations):
        users = [readers.pop(id(r), []) for r in o.results]
        from_nothing = not o.values and lowerable(o.op)  # numbers, places, random bits: out of nothing
        cheap = o.op.view or from_nothing or widens_for_concatenations(o, users)
        if len(users) == 1 and (cheap or type(o.op) is movement.Concat):
            own: dict[int, list[tuple[Operation, int]]] = {}
            for user, i in users[0]:
                if id(user) in inside:
                    own.setdefault(id(user), []).append((user, i))
            if transposes(o) and own and (len(own) > 1 or any(type(u.op) in ROWWISE for u, _ in users[0])):
                # Once as memory of its own, for all that compute with it.
                copy = duplicate(o.replace(Relayout(perm=o.op.perm), params=()))
                give(copy.results[0], [pair for those in own.values() for pair in those])
                users = [[pair for pair in users[0] if id(pair[0]) not in own]]
                own = {}
                if not users[0] and id(o.results[0]) not in result_ids:
                    continue
            slices = all(type(user.op) is movement.Slice and id(user) in own for user, _ in users[0])
            if cheap or (slices and len(own) <= MOST_READERS and id(o.results[0]) not in result_ids):
                for those in own.values():
                    made = duplicate(o)
                    inside.add(id(made))
                    give(made.results[0], those)
                users = [[(user, i) for user, i in users[0] if id(user) not in own]]
                if own and not users[0] and id(o.results[0]) not in result_ids:
                    continue
        made = duplicate(o)
        if lowerable(o.op) and not o.op.view:
            inside.add(id(made))
        for r, new, those in zip(o.results, made.results, users, strict=True):
            give(new, those)
            table[id(r)] = new
    return out[::-1], [None if v is None else table.get(id(v), v) for v in results]
