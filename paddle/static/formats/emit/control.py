"""Branches and loops. Their regions read values of the blocks around them, where ours are given them as operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle.static.formats.emit.emitter import Emitter, Result, TensorType, array, emits, i64, type_of, typed
from paddle.static.formats.graph import YIELD
from umiak import ops as F
from umiak.compiler.calls import live
from umiak.ir import program as ir


def _yields(e: Emitter, xs: Sequence[Result]) -> None:
    e.append(YIELD, xs, [], {})


def _run(
    e: Emitter,
    region: ir.Block,
    given: Sequence[Result],
    outputs: Sequence[Any],
    metas: Sequence[Any],
    operations: Sequence[ir.Operation] | None = None,
) -> list[Result]:
    """Write what a region computes of these, by all of its operations or by some; some of what it yields."""
    for argument, x in zip(region.arguments, given, strict=True):
        e.bind(argument, x)
    e.operations(region.operations if operations is None else operations)
    return [_nothing(e, m) if x is None else e.of(x, m.dtype) for x, m in zip(outputs, metas, strict=True)]


def _nothing(e: Emitter, meta: Any) -> Result:
    """In the place of what the other way of a branch alone leaves: what reads it has required that this was taken."""
    kind = type_of(meta)
    shape = tuple(n if e.is_known(n) else 0 for n in meta.shape)
    return e.expand(e.full((), False if kind.dtype == "bool" else 0, kind.dtype), shape)


@emits(F.Cond)
def cond(e: Emitter, o: ir.Operation) -> list[Result | None]:
    """Of the results alone that something reads: those of names that one branch has are mostly read there alone."""
    read = e.read_results(o)
    chosen, *xs = o.operands
    given = [e.of(x) for x in xs]
    flag = e.of(chosen)
    if typed(flag).shape:
        flag = e.reshape(flag, ())
    metas = [o.results[i].meta for i in read]
    blocks = []
    for k, region in enumerate(o.regions):
        with e.region() as block, e.on_way(ir.way_condition(o, k)):
            _yields(e, _run(e, region, given, [region.outputs[i] for i in read], metas))
        blocks.append(block)
    made = dict(zip(read, e.append("pd_op.if", [flag], [type_of(m) for m in metas], {}, blocks), strict=True))
    if e.counts(o.params[0]):
        e.know(o.params[0], e.cast(flag, "int64"))
    return [made.get(i) for i in range(len(o.results))]


@emits(F.While)
def while_(e: Emitter, o: ir.Operation) -> list[Result | None] | None:
    n = o.op.carried
    trips, index, sizes = o.params
    if any(e.reads(r) for r in o.results[n + 1 :]):  # stacks, which the gradient of a loop reads
        return None
    condition, body = o.regions
    outputs = body.outputs[:n]
    operations = live(body.operations, [v for v in outputs if type(v) is ir.Value], effects=True)
    given = [e.of(x) for x in o.operands]
    metas = [r.meta for r in o.results[:n]]
    counted = e.reads(o.results[n]) or e.counts(trips) or e.counts(index)
    counter = [e.full((), 0, "int64")] if counted else []
    state = [*given[:n], *counter]
    k = len(o.op.grown)

    def measure(xs: Sequence[Result], symbols: Sequence[Any]) -> None:
        for i, axis, symbol in zip(o.op.grown, o.op.axes, symbols, strict=True):
            e.forget(symbol)
            if e.counts(symbol):
                e.know(symbol, e.size(xs[i], axis))

    if counted:
        e.know(index, counter[0])
    measure(given, sizes[:k])
    going = _flag(e, condition, given)
    with e.region([*(type_of(m) for m in metas), *(typed(x) for x in counter)]) as block:
        arguments = block.arguments
        inner = [*arguments[:n], *given[n:]]
        if counted:
            e.know(index, arguments[n])
        measure(inner, sizes[:k])
        new = _run(e, body, inner, outputs, metas, operations)
        more = []
        if counted:
            more = [e.one("add", [arguments[n], e.full((), 1, "int64")], typed(arguments[n]))]
            e.know(index, more[0])
        measure(new, sizes[:k])
        again = _flag(e, condition, [*new, *given[n:]])
        _yields(e, [again, *new, *more])
    types = [*(type_of(m) for m in metas), *(typed(x) for x in counter)]
    made = e.loop(going, state, types, block)
    if counted:
        e.know(trips, made[n])
    measure(made, sizes[k : 2 * k])
    return [*made[:n], made[n] if counted else None, *(None for _ in o.results[n + 1 :])]


def _flag(e: Emitter, condition: ir.Block, given: Sequence[Result]) -> Result:
    """A flag: does another iteration follow?"""
    (made,) = _run(e, condition, given, condition.outputs, [condition.outputs[0].meta])  # type: ignore[union-attr]
    return e.reshape(made, ()) if typed(made).shape else made


@emits(F.Scan)
def scan(e: Emitter, o: ir.Operation) -> list[Result]:
    """A loop that counts, and writes what its iterations yield to their places of a tensor."""
    n, m = o.op.carried, o.op.carried + o.op.sliced
    length, index = o.params
    (body,) = o.regions
    given = [e.of(x) for x in o.operands]
    metas = [r.meta for r in o.results]
    start = [e.full((), 0, "int64")]
    stacks = [_blank(e, x, length) for x in metas[n:]]
    end = e.number(length)
    kinds = [*(type_of(x) for x in metas), TensorType("int64", ())]
    going = e.one("less_than", [start[0], end], TensorType("bool", ()))
    with e.region(kinds) as block:
        count = block.arguments[-1]
        one = e.full((), 1, "int64")
        place = count
        if o.op.reverse:
            last = e.one("subtract", [end, one], typed(count))
            place = e.one("subtract", [last, count], typed(count))
        e.know(index, place)
        at = e.reshape(place, (1,))
        after = e.one("add", [at, e.ints([1])], typed(at))
        parts = [_part(e, x, at, after) for x in given[n:m]]
        inner = [*block.arguments[:n], *parts, *given[m:]]
        yielded = [x.meta for x in body.outputs]  # type: ignore[union-attr]
        new = _run(e, body, inner, body.outputs, yielded)
        filled = [
            _filled(e, old, x, at, after) for old, x in zip(block.arguments[n:-1], new[n:], strict=True)
        ]  # fmt: skip
        following = e.one("add", [count, one], typed(count))
        again = e.one("less_than", [following, end], TensorType("bool", ()))
        _yields(e, [again, *new[:n], *filled, following])
    made = e.loop(going, [*given[:n], *stacks, *start], kinds, block)
    return made[:-1]


def _blank(e: Emitter, meta: Any, length: Any) -> Result:
    kind = type_of(meta)
    zero = e.full((), False if kind.dtype == "bool" else 0, kind.dtype)
    return e.expand(zero, (length, *meta.shape[1:]))


def _part(e: Emitter, x: Result, at: Result, after: Result) -> Result:
    kind = typed(x)._replace(shape=typed(x).shape[1:])
    zero = array(i64, [0])
    return e.one("slice", [x, at, after], kind, axes=zero, infer_flags=array(i64, [-1]), decrease_axis=zero)


def _filled(e: Emitter, old: Result, x: Result, at: Result, after: Result) -> Result:
    none = array(i64, [])
    return e.one(
        "set_value_with_tensor", [old, e.unsqueeze(x, [0]), at, after, e.ints([1])], typed(old),
        axes=array(i64, [0]), decrease_axes=none, none_axes=none,
    )  # fmt: skip


# --- effects on the host ---------------------------------------------------------------------------------------------


@emits(F.Require)
def require(e: Emitter, o: ir.Operation) -> Result:
    flag = e.of(o.operands[0])
    e.require(flag, " ".join(map(str, o.op.args)))
    return e.reshape(flag, ()) if typed(flag).shape else flag


@emits(F.WriteText)
def write_text(e: Emitter, o: ir.Operation) -> Result:
    """Nothing is printed by models, as with PaddlePaddle; the result says that it is done."""
    return e.full((), True, "bool")
