"""Gradients that a user wrote, in programs that are being traced.

A function with a gradient of its own is recorded as its operations, through which nothing flows, and one call of
:class:`WithGradient` over what they made. The tracer keeps the function that gives the gradients, which the walk back
calls; afterwards :func:`resolve` takes the calls out again.

In a branch or a loop body that function is traced at the end of the body (:func:`settle`): the gradient of the body is
asked for when Python has left it. The call becomes a :class:`GivenGradient`, whose region the walk back puts in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from umiak import ops as F
from umiak.core import context
from umiak.ir.program import Block, Operation, Program, Value, free, is_repeatable
from umiak.ir.rewrite import Sweep
from umiak.ir.tracer import SymTensor, Tracer, symbolic
from umiak.ops.gradient import Detached, GivenGradient, WithGradient


class _Cut(Sweep):
    in_place = True

    def visit(self, o: Operation) -> None:
        self.keep(o)
        for r in o.results:
            if r.stop:
                self.out.append(Operation(Detached(), (r,), (), (r.meta,)))
                self.stand((r,), self.out[-1].results)


def cut(program: Program) -> Program:
    """With a call of :class:`Detached` behind each value through which no gradient flows, for runs that record calls
    one by one, which do not know. In place."""
    return _Cut().program(program).renumber()


def is_custom(o: Operation) -> bool:
    return type(o.op) is WithGradient


def is_given(o: Operation) -> bool:
    return type(o.op) is GivenGradient


# --- in branches and loop bodies -------------------------------------------------------------------------------------


class _Into(Sweep):
    in_place = True


def settle(tracer: Tracer, block: Block, refuse: Callable[[str], Exception]) -> dict[int, Value]:
    """Give the gradients in Python that a body has, which is the tracer's current block, regions.

    A value with hooks gets a call behind it, which its readers read: returns by identity what stands for such values.
    """
    for o in block.operations:
        if is_custom(o):
            _, run = tracer.gradients.pop(id(o))
            ys = o.results
            inner = _traced(tracer, [y for y in ys if _continuous(y)], _of_all(tracer, ys, run), refuse)
            rest = _closed(block, o, inner, refuse)
            o.op, o.operands, o.regions = (
                GivenGradient(len(o.operands) - len(ys), len(ys)),
                (*o.operands, *rest),
                (inner,),
            )
    table: dict[int, Value] = {}
    hooked = [v for v in (*block.arguments, *(r for o in block.operations for r in o.results)) if v.hooks]
    for v in hooked:
        inner = _traced(tracer, [v], _through(tracer, v.hooks or ()), refuse)
        v.hooks = None
        operation = Operation(GivenGradient(1, 1), (v, v), (), (v.meta,))
        if v.operation is not None:
            operation.recompute = v.operation.recompute
        tracer.builder.number(operation.results[0])
        operation.results[0].stop, operation.results[0].place = v.stop, v.place
        at = 0 if v.operation is None else 1 + next(i for i, o in enumerate(block.operations) if o is v.operation)
        block.operations.insert(at, operation)
        operation.operands = (v, v, *_closed(block, operation, inner, refuse, v))
        operation.regions = (inner,)
        for o in block.operations[at + 1 :]:
            o.operands = tuple(operation.results[0] if x is v else x for x in o.operands)
        table[id(v)] = operation.results[0]
    return table


def _continuous(x: Value) -> bool:
    return x.meta.dtype.is_continuous  # type: ignore[union-attr]


def _of_all(tracer: Tracer, ys: Sequence[Value], run: Callable) -> Callable[..., Sequence[SymTensor | None]]:
    """``run``, which takes a gradient of each of ``ys``, of the continuous ones, behind the hooks that these have."""
    hooks = [y.hooks or () for y in ys]
    for y in ys:
        y.hooks = None

    def hooked_gradients(*grads: SymTensor) -> Sequence[SymTensor | None]:
        remaining = iter(grads)
        return run(*(_hooked(tracer, next(remaining), h) if _continuous(y) else None for y, h in zip(ys, hooks)))

    return hooked_gradients


def _hooked(tracer: Tracer, g: SymTensor, hooks: Sequence) -> SymTensor:
    for entry in hooks:
        g = tracer.hooked(g, entry[0])
    return g


def _through(tracer: Tracer, hooks: Sequence) -> Callable[..., Sequence[SymTensor | None]]:
    return lambda g: [_hooked(tracer, g, hooks)]


def _traced(tracer: Tracer, like: Sequence[Value], run: Callable, refuse: Callable[[str], Exception]) -> Block:
    """``run`` over gradients of values, as a region; what it computes may be differentiated."""
    ctx, recompute = context.current(), tracer.builder.recompute
    amp, enabled = ctx.amp(), ctx.grad_enabled
    tracer.builder.recompute = 0
    ctx.set_amp(0, amp[1], 0)  # gradients are not cast
    ctx.grad_enabled = True
    try:
        with tracer.given_gradient(), tracer.region(v.meta for v in like) as (inner, grads):
            for g, v in zip(grads, like, strict=True):
                g.value.place = v.place
            inner.outputs = [None if g is None else g.value for g in run(*grads)]
    finally:
        tracer.builder.recompute = recompute
        ctx.set_amp(*amp)
        ctx.grad_enabled = enabled
    if not all(is_repeatable(o) for o in inner.operations):  # tests of sizes are no effects
        raise refuse("communicates")
    return inner


def _closed(
    block: Block, o: Operation, inner: Block, refuse: Callable[[str], Exception], same: Value | None = None
) -> list[Value]:
    """Make the results of ``o`` and what the region reads from outside its arguments; returns the latter. ``same``: the
    value that the first result is."""
    outside = [v for v in free(inner) if v.producer is not o and v is not same]
    at = next(i for i, other in enumerate(block.operations) if other is o)
    later = {id(r) for other in block.operations[at + 1 :] for r in other.results}
    if any(id(v) in later for v in outside):
        raise refuse("reads what the body computes after it")
    into = _Into()
    every = [*o.results, *outside]
    into.stand(every, [inner.argument(v.meta, v.place) for v in every])
    if same is not None:
        into.stand([same], [into.current(o.results[0])])
    into.block(inner)
    return outside


def put_in(tracer: Tracer, o: Operation, grads: Sequence[SymTensor | None]) -> list[SymTensor | None]:
    """The gradients of the operands of a :class:`GivenGradient`: its region, recorded here."""
    (region,), ys = o.regions, o.results
    values = []
    for y, g in zip(ys, grads, strict=True):
        if _continuous(y):
            values.append(_zeros(y) if g is None else g.value)
    values += [*ys, *o.operands[o.op.wrt + o.op.count :]]  # type: ignore[list-item]
    table = {id(a): v for a, v in zip(region.arguments, values, strict=True)}
    for inner in region.operations:
        tracer.builder.copy(inner, table).recompute = tracer.builder.recompute
    outputs = [None if v is None else symbolic(table[id(v)], tracer) for v in region.outputs]
    return [*outputs, *(None for _ in o.operands[o.op.wrt :])]


def _zeros(like: Value) -> Value:
    with context.place_guard(like.place):
        return F.full(0.0, shape=like.meta.shape, dtype=like.meta.dtype).value


class _Resolve(Sweep):
    in_place = True

    def visit(self, o: Operation) -> None:
        self.keep(o)
        if is_custom(o) or is_given(o):
            self.out.pop()
            first = len(o.operands) - len(o.results) if is_custom(o) else o.op.wrt
            self.stand(o.results, o.operands[first : first + len(o.results)])


def resolve(program: Program) -> Program:
    """Without the calls: their results are their operands. In place."""
    return _Resolve().program(program)
