"""Derivatives of operations with regions, for the walk back over programs.

A region is differentiated as a program is: cut into a part that runs forward, which also yields what the other part
reads, and one that runs backward. The operation gets the forward parts as its regions, and results for what they yield
besides; the gradient is another operation of the kind, whose regions are the backward parts. Of a branch those are the
results that only this branch has; of a loop, stacks with a slice for each iteration, over which a reversed ``Scan``
goes. Both are ordinary operations again, so that they have derivatives of their own.

How often a ``while`` runs is known afterwards only. Within another region its stacks would have a size for each
iteration of that one: it is recomputed instead, from its operands, where its gradient is.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from umiak import ops as F
from umiak.core import context
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ir.program import (
    Block,
    Operation,
    Program,
    Value,
    bound,
    bound_within,
    is_repeatable,
    reads_number,
    required_condition,
    scalars_of,
    walk,
    way_condition,
)
from umiak.ir.scope import substitute, symbols_of
from umiak.ir.tracer import SymTensor, Tracer, symbolic
from umiak.ops.control import Cond, Scan, While

if TYPE_CHECKING:
    from umiak.autodiff.graph import Derivative


def pull(
    tracer: Tracer,
    o: Operation,
    grads: Sequence[SymTensor | None],
    needs: Sequence[bool],
    derivative: Callable[..., Derivative],
) -> list[Any]:
    """The gradients of the operands of ``o``, recorded by ``tracer``; ``o`` yields from now on what they need.

    ``derivative`` differentiates a program: it is the walk's own, which comes here for operations with regions.
    """
    return (_cond if type(o.op) is Cond else _loop)(tracer, o, grads, needs, derivative)


def _continuous(x: Any) -> bool:
    return type(x) is Value and x.meta.dtype is not None and (x.meta.dtype.is_floating or x.meta.dtype.is_complex)


class _Half:
    """A region as two programs; ``own``: how many results it has to yield besides those that it had."""

    def __init__(
        self,
        tracer: Tracer,
        o: Operation,
        region: Block,
        wrt: Sequence[int],
        present: Sequence[int],
        derivative: Callable[..., Derivative],
        way: Any = None,
    ) -> None:
        """``way``: the condition on sizes under which the region runs, or None."""
        scope = tracer.scope
        inside = bound_within([o])
        program = Program("", region, [], {}, list(scope.symbols), list(scope.guards), list(scope.checks)).copy()
        _mark_recompute(program)
        self.present = [i for i in present if _continuous(region.outputs[i])]
        with tracer.on_one_way():
            outer = scope.local

            def is_given(condition: Any, message: str) -> bool:
                # What is required of numbers of the region was required there.
                return not inside.isdisjoint(symbols_of(condition)) or (outer is not None and outer(condition, message))

            with scope.part(is_given), scope.within(way) if way is not None else nullcontext():
                for condition in map(required_condition, region.operations):
                    if condition is not None:
                        scope.know(condition)  # it was required there
                self.d = derivative(program, wrt, self.present, scope=scope)
        self.arguments = len(region.arguments)
        self.outputs = len(region.outputs)
        self.own = len(self.d.forward.outputs) - self.outputs

    def record(self, tracer: Tracer, inputs: Sequence[Value]) -> list[SymTensor | None]:
        """Record the backward part over values for what is saved and for the gradients that are present."""
        table = {id(v): x for v, x in zip(self.d.backward.inputs, inputs, strict=True)}
        for o in self.d.backward.ops:
            tracer.builder.copy(o, table)
        gradients = self.d.backward.outputs
        return [None if v is None else symbolic(table[id(v)], tracer) for v in gradients]


def _mark_recompute(program: Program) -> None:
    """Mark what has sizes that are known inside of a region only as recomputed in the backward part: loops without
    a known number of iterations, what reads numbers from data, and what depends on those numbers."""
    inside = {s for o in program.ops if type(o.op) is While for s in bound(o)}
    inside |= {s for o in walk(program.body) if reads_number(o) for s in bound(o)}
    if not inside:
        return
    count = 1 + max((o.recompute for o in walk(program.body)), default=0)
    for o in program.ops:
        shapes = [v.meta.shape for v in (*o.values, *o.results)]
        if o.recompute > 0 or inside.isdisjoint([*scalars_of(o), *symbols_of(shapes)]):
            continue
        if type(o.op) is F.Require:
            continue  # it was tested
        if not is_repeatable(o):
            raise RuntimeError(
                "[while_loop] requires a body without communication for a gradient where it stands inside of another "
                "loop or branch, got one that communicates: its iterations would be run a second time"
            )
        o.recompute = count


def _zeros(like: Any) -> Any:
    with context.place_guard(like.place):
        return F.full(0.0, shape=like.meta.shape, dtype=like.meta.dtype)


def _stand(arguments: Sequence[SymTensor], values: Sequence[Value]) -> None:
    """Arguments of a region are where the values are that they stand for."""
    for x, v in zip(arguments, values, strict=True):
        x.value.place = v.place


def _extend(
    tracer: Tracer, o: Operation, regions: Sequence[Block], yielded: Sequence[Value], metas: Sequence[Meta]
) -> list[Value]:
    """Other regions for an operation, and the results that it has besides, of what they yield."""
    o.regions = tuple(regions)
    first = len(o.results)
    fresh = [Value(m, o, first + i, place=v.place) for i, (m, v) in enumerate(zip(metas, yielded, strict=True))]
    for v in fresh:
        tracer.builder.number(v)
    o.results += tuple(fresh)
    return fresh


def _distinct(values: Sequence[Value]) -> tuple[list[Value], list[int]]:
    """The values once each, and where each is."""
    positions: dict[int, int] = {}
    distinct: list[Value] = []
    for v in values:
        if id(v) not in positions:
            positions[id(v)] = len(distinct)
            distinct.append(v)
    return distinct, [positions[id(v)] for v in values]


# --- branches --------------------------------------------------------------------------------------------------------


def _cond(
    tracer: Tracer,
    o: Operation,
    grads: Sequence[SymTensor | None],
    needs: Sequence[bool],
    derivative: Callable[..., Derivative],
) -> list[Any]:
    wrt = [i for i, need in enumerate(needs[1:]) if need]
    present = [i for i, g in enumerate(grads) if g is not None]
    halves = [_Half(tracer, o, r, wrt, present, derivative, way_condition(o, k)) for k, r in enumerate(o.regions)]
    n = len(o.results)
    own = [list(h.d.forward.outputs[n:]) for h in halves]
    if any(own):
        halves[0].d.forward.body.outputs += [None] * len(own[1])
        halves[1].d.forward.body.outputs[n:n] = [None] * len(own[0])
        yielded: list[Value] = [v for half in own for v in half]  # type: ignore[misc]
        _extend(tracer, o, [h.d.forward.body for h in halves], yielded, [v.meta for v in yielded])
    read: list[list[Value]] = []
    for k, h in enumerate(halves):
        first = 0 if k == 0 else len(own[0])
        saved = [
            o.operands[1 + i] if kind == "input" else o.results[i if i < n else i + first] for kind, i in h.d.saved
        ]
        read.append([*saved, *(grads[i].value for i in h.present)])  # type: ignore[list-item, union-attr]
    xs, positions = _distinct([v for values in read for v in values])
    at = [positions[: len(read[0])], positions[len(read[0]) :]]
    reached = [any(h.d.backward.outputs[k] is not None for h in halves) for k in range(len(wrt))]
    blocks = []
    for h, mine in zip(halves, at, strict=True):
        with tracer.region(v.meta for v in xs) as (block, arguments):
            _stand(arguments, xs)
            branch_gradients = h.record(tracer, [arguments[i].value for i in mine])
            block.outputs = [
                (_zeros(o.operands[1 + i]) if g is None else g).value
                for i, g, any_ in zip(wrt, branch_gradients, reached, strict=True) if any_
            ]  # fmt: skip
        blocks.append(block)
    results = iter(tracer.builder.append(Cond(), (o.operands[0], *xs), o.params, blocks) if any(reached) else ())
    gradients: list[Any] = [None] * len(needs)
    for i, any_ in zip(wrt, reached, strict=True):
        if any_:
            gradients[1 + i] = symbolic(next(results), tracer)
    return gradients


# --- loops -----------------------------------------------------------------------------------------------------------


def _reached(body: Block, wanted: set[int]) -> set[int]:
    """The outputs, by number, that depend on the arguments ``wanted``."""
    ids = {id(body.arguments[i]) for i in wanted}
    for o in body.operations:
        if any(id(v) in ids for v in o.values):
            ids.update(id(r) for r in o.results if not r.stop and _continuous(r))
    return {j for j, y in enumerate(body.outputs) if id(y) in ids}


def _loop(
    tracer: Tracer,
    o: Operation,
    grads: Sequence[SymTensor | None],
    needs: Sequence[bool],
    derivative: Callable[..., Derivative],
) -> list[Any]:
    """Gradients of a loop or scan for its operands: a scan in reverse over what the forward loop, run once more with
    further results, has saved of each iteration.
    """
    op, body = o.op, o.regions[-1]
    n = op.carried
    length = o.params[0]
    if type(op) is Scan:
        results = list(range(len(grads)))
    else:
        results = [j for j in range(len(grads)) if j != n]  # the number of iterations has none
    of = dict(zip(results, range(len(results)), strict=True))  # result -> output of the body
    # A carried value has a gradient where it depends on what wants one, in this iteration or an earlier one.
    wanted = {i for i, need in enumerate(needs) if need}
    while more := {j for j in _reached(body, wanted) if j < n and j not in wanted and _continuous(body.arguments[j])}:
        wanted |= more
    wrt = sorted(wanted)
    stacks = [(k, of[k]) for k, g in enumerate(grads) if g is not None and k in of and of[k] >= n]
    half = _Half(tracer, o, body, wrt, [*(j for j in wrt if j < n), *(j for _, j in stacks)], derivative)
    base = half.d.forward.body
    growing = _Growing(o, half) if type(op) is While and (op.grown or op.ragged) else None
    where, yielded = _saved(o, half, {j: o.results[k] for k, j in of.items()})
    if growing is not None:
        return growing.gradients(tracer, needs, grads, wrt, where, yielded, stacks)
    if type(op) is While and not (yielded or stacks or any(kind == "slice" for kind, _ in where)):
        # Something whose size says how often the loop ran.
        with tracer.region() as (scratch, _):
            yielded.append(F.full(False, shape=(), dtype=dt.bool).value)
        base.operations += scratch.operations
    own = []
    if yielded:
        base.outputs += yielded
        metas = [Meta((length, *v.meta.shape), v.meta.dtype) for v in yielded]
        own = _extend(tracer, o, [*o.regions[:-1], base], yielded, metas)
    given = [("slice", own[x]) if kind == "own" else (kind, x) for kind, x in where]
    given += [("carried", j) for j in wrt if j < n and j in half.present]
    given += [("slice", grads[k].value) for k, j in stacks if j in half.present]  # type: ignore[union-attr]
    return _backward_scan(tracer, o, half, needs, grads, wrt, given, own)


def _sliced(o: Operation) -> int:
    return o.op.sliced if type(o.op) is Scan else 0


def _saved(o: Operation, half: _Half, result_of: dict[int, Value]) -> tuple[list[tuple[str, Any]], list[Value]]:
    """Sort what the forward loop saves: constants as they are, slices as the operand that they are of, all else as a
    stack. Returns where each is, and what the body yields for it besides its outputs, which stay what they are.
    """
    n, outputs, base = o.op.carried, half.outputs, half.d.forward.body
    extra: list[Value] = list(base.outputs[outputs:])  # type: ignore[arg-type]
    base.outputs = base.outputs[:outputs]
    kept: dict[int, int] = {}  # by identity, what the body yields besides -> which of these it is
    yielded: list[Value] = []

    def stack(v: Value) -> tuple[str, int]:
        if id(v) not in kept:
            kept[id(v)] = len(yielded)
            yielded.append(v)
        return "own", kept[id(v)]

    where: list[tuple[str, Any]] = []
    for kind, i in half.d.saved:
        if kind == "input":
            if i < n:
                where.append(stack(base.arguments[i]))
            else:
                where.append(("slice" if i < n + _sliced(o) else "invariant", o.operands[i]))
        elif i < n:
            where.append(stack(base.outputs[i]))  # type: ignore[arg-type]
        elif i < outputs:
            where.append(("slice", result_of[i]))
        else:
            where.append(stack(extra[i - outputs]))
    return where, yielded


def _backward_scan(
    tracer: Tracer,
    o: Operation,
    half: _Half,
    needs: Sequence[bool],
    grads: Sequence[SymTensor | None],
    wrt: Sequence[int],
    given: Sequence[tuple[str, Any]],
    own: Sequence[Value],
) -> list[Any]:
    """The gradients of the operands by a scan in reverse. ``given``: what the body of the gradient reads, and how it is
    found; ``own``: the stacks of the forward loop.
    """
    op = o.op
    n, sliced = op.carried, _sliced(o)
    length, index = o.params[:2]
    carried = [j for j in wrt if j < n]
    constants = [i for i in wrt if i >= n + sliced]
    slices, _ = _distinct([*(x for kind, x in given if kind == "slice"), *own])
    invariants, _ = _distinct([x for kind, x in given if kind == "invariant"])
    start = [grads[j] if j < len(grads) and grads[j] is not None else None for j in carried]
    first = [g if g is not None else _zeros(o.operands[j]) for g, j in zip(start, carried, strict=True)]
    first += [_zeros(o.operands[i]) for i in constants]
    metas = [x.meta for x in first]
    metas += [Meta(v.meta.shape[1:], v.meta.dtype) for v in slices]
    metas += [v.meta for v in invariants]
    with tracer.region(metas) as (block, arguments):
        _stand(arguments, [*(x.value for x in first), *slices, *invariants])
        own_grads = dict(zip(carried, arguments, strict=False))
        sums = dict(zip(constants, arguments[len(carried) :], strict=False))
        rest = arguments[len(first) :]
        stands = {id(v): x for v, x in zip([*slices, *invariants], rest, strict=True)}
        inputs = [own_grads[x].value if kind == "carried" else stands[id(x)].value for kind, x in given]
        grads_of = dict(zip(wrt, half.record(tracer, inputs), strict=True))
        yields: list[Any] = []
        for j in carried:
            yields.append(grads_of[j] if grads_of[j] is not None else _zeros(o.operands[j]))
        puts: list[tuple[int, Operation]] = []  # into the gradients of constants, behind the scan
        for i in list(constants):
            rest, own_puts = _summands(tracer, block, grads_of[i])
            puts += [(i, put) for put in own_puts]
            if own_puts and not rest:
                at = len(carried) + constants.index(i)
                del first[at], block.arguments[at]
                constants.remove(i)
            else:
                yields.append(functools.reduce(F.add, rest, sums[i]))
        parts = [i for i in wrt if n <= i < n + sliced and grads_of[i] is not None]
        yields += [grads_of[i] for i in parts]
        block.outputs = [*(y.value for y in yields), *(v for _, put in puts for v in put.operands[1:])]
    reverse = not op.reverse if type(op) is Scan else True
    scan = Scan(carried=len(first), sliced=len(slices), reverse=reverse)
    operands = [*(x.value for x in first), *slices, *invariants]
    results_of_scan = tracer.builder.append(scan, operands, (length, index), (block,))
    out: list[Any] = [None] * len(needs)
    those = iter(results_of_scan)
    for i, v in zip([*carried, *constants, *parts], those, strict=False):
        if needs[i]:
            out[i] = symbolic(v, tracer)
    for i, put in puts:
        index, updates = symbolic(next(those), tracer), symbolic(next(those), tracer)
        if needs[i]:
            axis = put.op.axis
            order = (*range(1, axis + 1), 0, *range(axis + 1, len(updates.meta.shape)))
            base = out[i] if out[i] is not None else _zeros(o.operands[i])
            out[i] = F.put(base, index, F.permute(updates, order) if axis else updates, axis=axis, mode="add")
    return out


def _summands(tracer: Tracer, block: Block, gradient: SymTensor | None) -> tuple[list[SymTensor], list[Operation]]:
    """The gradient of a constant as a sum, and the puts into zeros that are summands besides: of rows that an iteration
    has taken, a few of all. What they put is stacked, and put at once behind the scan, since zeros and a sum of all
    rows in each iteration would cost as much as the constant has elements."""
    if gradient is None:
        return [], []
    own = {id(x) for x in block.operations}
    rest: list[SymTensor] = []
    puts: list[Operation] = []
    left = [gradient.value]
    while left:
        v = left.pop()
        made = v.operation
        if made is None or id(made) not in own:
            rest.append(symbolic(v, tracer))
        elif made.op.name == "add" and all(type(x) is Value and x.meta == v.meta for x in made.operands):
            left += made.operands[::-1]  # type: ignore[arg-type]
        elif type(made.op) is F.Put and _puts_few_into_zeros(made):
            puts.append(made)
        else:
            rest.append(symbolic(v, tracer))
    return (rest, puts) if puts else ([gradient], [])


def _puts_few_into_zeros(put: Operation) -> bool:
    base, index, updates = put.operands
    if put.op.mode != "add" or not (type(base) is type(index) is type(updates) is Value):
        return False
    made = base.operation
    if made is None or type(made.op) is not F.Full or type(made.operands[0]) not in (int, float) or made.operands[0]:
        return False
    if not symbols_of(updates.meta.shape).keys() <= symbols_of(base.meta.shape).keys():
        return False  # other sizes in each iteration
    count, rows = dim.known(dim.product(index.meta.shape)), dim.known(base.meta.shape[put.op.axis])
    return count is not None and (count == 1 or rows is None or 2 * count <= rows)


def _resized(x: SymTensor, axes: Sequence[int], like: Meta) -> SymTensor:
    """``x``, whose sizes along ``axes`` are those of ``like``."""
    return F.sized(x, axes=tuple(axes), sizes=tuple(like.shape[a] for a in axes)) if axes else x


class _Growing:
    """The gradient of a loop ``o`` whose values have other sizes in each iteration: another such loop, backward over
    what the iterations have saved.

    What is saved of an iteration is a part of what is packed, beside the sizes that the iteration had and where its
    part ends, which the one backward reads as numbers.
    """

    def __init__(self, o: Operation, half: _Half) -> None:
        self.o, self.half = o, half
        self.n = o.op.carried
        _, index, sizes = o.params
        body = half.d.forward.body
        grown = sizes[: len(o.op.grown)]
        # Numbers that the body reads itself are sizes of what it leaves.
        left = symbols_of([v.meta.shape for v in body.outputs if type(v) is Value])
        inside = bound_within(body.operations)
        self.sizes: tuple[Any, ...] = (*grown, *(s for s in left if s in inside))
        self.own = {*self.sizes, index}

    def varies(self, v: Any) -> bool:
        """Return whether a value has other sizes in each iteration."""
        return not self.own.isdisjoint(symbols_of(v.meta.shape))

    def gradients(
        self,
        tracer: Tracer,
        needs: Sequence[bool],
        grads: Sequence[SymTensor | None],
        wrt: Sequence[int],
        where: Sequence[tuple[str, Any]],
        yielded: Sequence[Value],
        stacks: Sequence[tuple[int, int]],
    ) -> list[Any]:
        """The gradients of the operands, as :func:`_loop` gives them. ``where``: what is saved, of which iterations
        yield some; ``stacks``: numbers of those results that are stacks and have a gradient, with their outputs."""
        o, n, half = self.o, self.n, self.half
        body = half.d.forward.body
        trips, index, _ = o.params
        parts = {k: body.outputs[k - 1] for k in range(n + 1, len(o.results))}  # by result, the value in an iteration
        with tracer.region() as (scratch, _):
            sizes = {s: F.full(s, shape=(), dtype=dt.int64).value for s in self.sizes}
            counts: dict[Any, Value] = {}
            for v in [*yielded, *parts.values()]:
                count = dim.product(v.meta.shape)  # type: ignore[union-attr]
                if self.varies(v) and count not in counts:
                    counts[count] = F.full(count, shape=(), dtype=dt.int64).value
            more = [*sizes.values(), *counts.values()] or [F.full(False, shape=(), dtype=dt.bool).value]
        body.operations += scratch.operations
        added = [*yielded, *more]
        fresh = self._extended(tracer, body, added)
        parts.update({r.index: v for r, v in zip(fresh, added, strict=True)})
        of = {id(v): r for v, r in zip(added, fresh, strict=True)}
        ends = {count: F.cumsum(symbolic(of[id(v)], tracer), axis=0).value for count, v in counts.items()}

        carried = [j for j in wrt if j < n]
        constants = [i for i in wrt if i >= n]
        axes = {j: [a for i, a in zip(o.op.grown, o.op.axes, strict=True) if i == j] for j in carried}
        first = [g if (g := grads[j]) is not None else _zeros(o.results[j]) for j in carried]
        first += [_zeros(o.operands[i]) for i in constants]
        given: list[tuple[str, Any]]
        given = [("part", of[id(yielded[x])]) if kind == "own" else (kind, x) for kind, x in where]
        given = [("part", x) if kind == "slice" else (kind, x) for kind, x in given]
        given += [("carried", j) for j in carried if j in half.present]
        given += [("gradient", k) for k, j in stacks if j in half.present]
        read = [x for kind, x in given if kind in ("part", "invariant")]
        read += [grads[k].value for kind, k in given if kind == "gradient"]
        outside, _ = _distinct([*read, *(of[id(v)] for v in sizes.values()), *ends.values()])
        now = {(at, a): tracer.scope.number() for at, j in enumerate(carried) for a in axes[j]}
        place = tracer.scope.number()
        there = {index: trips - 1 - place}  # the iteration that the one backward is of
        metas = [*(x.meta for x in first), *(v.meta for v in outside)]
        for (at, a), size in now.items():
            shape = metas[at].shape
            metas[at] = Meta((*shape[:a], size, *shape[a + 1 :]), metas[at].dtype)
        with tracer.region(metas) as (condition, arguments):
            _stand(arguments, [*(x.value for x in first), *outside])
            condition.outputs = [F.full(place < trips, shape=(), dtype=dt.bool).value]
        with tracer.region(metas) as (block, arguments):
            _stand(arguments, [*(x.value for x in first), *outside])
            stands = {id(v): x for v, x in zip(outside, arguments[len(first) :], strict=True)}

            def row(v: Value) -> SymTensor:
                x = stands[id(v)]
                return F.reshape(_part(tracer, x, there[index], 1), shape=x.meta.shape[1:])

            for size, v in sizes.items():
                F.read_number(row(of[id(v)]), n=size)
            starts = {}
            for count, end in ends.items():
                starts[count] = tracer.scope.number()
                before = F.sub(row(end), F.full(substitute(count, there), shape=(), dtype=dt.int64))
                F.read_number(before, n=starts[count])

            def part(v: Value, number: int) -> SymTensor:
                like = parts[number]
                if not self.varies(like):
                    return row(v)
                shape = like.meta.shape  # type: ignore[union-attr]
                elements = _part(
                    tracer, stands[id(v)], starts[dim.product(shape)], substitute(dim.product(shape), there)
                )
                return F.reshape(elements, shape=substitute(shape, there))

            own = dict(zip(carried, arguments, strict=False))
            sums = dict(zip(constants, arguments[len(carried) :], strict=False))
            inputs = []
            for kind, x in given:
                if kind == "carried":
                    inputs.append(_resized(own[x], axes[x], body.outputs[x].meta))
                elif kind == "gradient":
                    inputs.append(part(grads[x].value, x))
                elif kind == "part":
                    inputs.append(part(x, x.index))
                else:
                    inputs.append(stands[id(x)])
            half.d = dataclasses.replace(half.d, backward=half.d.backward.substitute(there))
            of_inputs = dict(zip(wrt, half.record(tracer, [x.value for x in inputs]), strict=True))
            yields: list[Any] = [g if (g := of_inputs[j]) is not None else _zeros(body.arguments[j]) for j in carried]
            yields += [sums[i] if of_inputs[i] is None else F.add(sums[i], of_inputs[i]) for i in constants]
            block.outputs = [y.value for y in yields]
        op = While(carried=len(first), grown=tuple(at for at, _ in now), axes=tuple(a for _, a in now))
        ends_of = tuple(tracer.scope.number() for _ in now)
        params = tracer.scope.number(), place, (*now.values(), *ends_of)
        operands = [*(x.value for x in first), *outside]
        results = tracer.builder.append(op, operands, params, (condition, block))
        out: list[Any] = [None] * len(needs)
        for i, v in zip([*carried, *constants], results, strict=False):
            if needs[i]:
                out[i] = _resized(symbolic(v, tracer), axes.get(i, ()), o.operands[i].meta)  # type: ignore[union-attr]
        return out

    def _extended(self, tracer: Tracer, body: Block, added: Sequence[Value]) -> list[Value]:
        """Have the loop yield more values of its iterations: stacked, or packed where they vary. Returns the results
        of these."""
        o = self.o
        trips, index, sizes = o.params
        before = len(o.results) - self.n - 1
        body.outputs = [*body.outputs[: self.n + before], *added]
        packed = {before + i: tracer.scope.number() for i, v in enumerate(added) if self.varies(v)}
        metas = [
            Meta((packed[before + i],) if before + i in packed else (trips, *v.meta.shape), v.meta.dtype)
            for i, v in enumerate(added)
        ]
        o.op = While(carried=self.n, grown=o.op.grown, axes=o.op.axes, ragged=(*o.op.ragged, *packed))
        o.params = (trips, index, (*sizes, *packed.values()))
        return _extend(tracer, o, [*o.regions[:-1], body], added, metas)


def _part(tracer: Tracer, x: SymTensor, start: Any, size: Any) -> SymTensor:
    """``size`` slices from ``start`` on, which are there."""
    n, last = x.meta.shape[0], start + (size - 1)
    inside = (0 <= start) & (start < n) & (0 <= last) & (last < n)
    tracer.scope.know((size == 0) | ((size > 0) & inside))
    return F.slice(x, axes=(0,), starts=(start,), sizes=(size,), steps=(1,))
