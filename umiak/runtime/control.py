"""Runs programs with control flow, or with sizes that data decide: branches, loops and such sizes are decided here,
what lies between them C replays.

A condition is read on the host, which waits for whoever computes it; so is a number. Regions are lowered as programs
are, so that calls within them are fused; scalars are looked up by symbol, and those that an operation binds are entered
as it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from umiak import ops as F
from umiak.compiler.appends import Append
from umiak.compiler.control_flow import BasicBlock, ControlFlow, ControlOperation, Piece
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.meta import Meta
from umiak.ir.scope import Check, symbols_of
from umiak.ir.sym import evaluate
from umiak.ops.control import Cond, Scan, While
from umiak.ops.effects import ReadNumber, Sized
from umiak.runtime.appending import appended, room_of

WIDTH = 16  # tensors that are joined at a time, so that few classes of such calls exist

Env = dict[Any, Any]


def run(
    flow: ControlFlow,
    inputs: Sequence[Tensor | None],
    env: Env,
    given: bytes | None = None,
    name: str = "",
    inside: bool = False,
) -> list[Any]:
    """The outputs for these inputs, and scalars by symbol. ``given``: as for ``CallProgram.run``; ``name``: what errors
    call the program; ``inside``: whether it is a region, which writes nothing and may leave what has room to grow."""
    values: list[Any] = [*inputs, *[None] * (flow.slots - len(inputs))]
    for part, drops in zip(flow.parts, flow.drops, strict=True):
        xs = [values[i] for i in part.reads]
        if isinstance(part, ControlOperation):
            kind = type(part.operation.op)
            read = READ.get(kind)
            results = read(part, xs, env) if read else _apart(RUN.get(kind, _measured)(part, xs, env), xs, inside)
            for i, y in zip(part.makes, results, strict=True):
                if i >= 0:
                    values[i] = y
            test(part.checks, env, name)
        else:
            bits = None if given is None else bytes(given[i] if i >= 0 else 0 for i in part.gives)
            if isinstance(part, BasicBlock):
                results = part.calls.run(xs, [env[s] for s in part.symbols], bits)
            else:
                results = _piece(part, xs, env, bits, inside)
                test(part.checks, env, name)
            for i, y in zip(part.makes, results, strict=True):
                values[i] = y
        for i in drops:
            values[i] = None
    return [None if i < 0 else values[i] for i in flow.outputs]


def holds(flag: Tensor) -> bool:
    """The value of a condition: the host waits for it."""
    return bool(flag)


def _piece(part: Piece, xs: list[Any], env: Env, given: bytes | None, inside: bool) -> list[Any]:
    if all(evaluate(c, env) for c in part.conditions):
        return run(part.flow, xs, env, given, inside=inside)
    return run(part.plain(), xs, env, inside=inside)


def test(checks: Sequence[Check], env: Mapping[Any, Any], name: str) -> None:
    """Raise where something that the program ``name`` requires of numbers does not hold."""
    for check in checks:
        if not evaluate(check.condition, env):
            error = ValueError(f"[program {name}] {check.failure(env)}")
            error.check = check  # type: ignore[attr-defined]
            raise error


def _bind(env: Env, symbol: Any, value: int) -> None:
    if type(symbol) is Sym and symbol.op == "symbol":
        env[symbol] = value


def _apart(results: Sequence[Any], inputs: Sequence[Any], inside: bool) -> list[Any]:
    """Results with memory of their own: a region may yield what it was given, a view of it, or one value twice. What
    reads the results does not know, and the operands may be written over. Inside of a region nothing is, and what grows
    keeps its room."""
    seen = {id(x.storage) for x in inputs}
    out = []
    for y in results:
        if y is not None and not (inside and room_of(y)):
            if id(y.storage) in seen or room_of(y):
                y = F.copy(y)
            seen.add(id(y.storage))
        out.append(y)
    return out


def _cond(part: ControlOperation, xs: list[Any], env: Env) -> list[Any]:
    if part.condition is None:
        taken, *xs = holds(xs[0]), *xs[1:]
    else:
        taken = bool(evaluate(part.condition, env))
    _bind(env, part.operation.params[0], int(taken))
    results = run(part.regions[0 if taken else 1], xs, env, inside=True)
    return [
        _blank(r.meta, env) if y is None and i >= 0 else y
        for y, r, i in zip(results, part.operation.results, part.makes, strict=True)
    ]


def _blank(meta: Meta, env: Env) -> Tensor:
    """In the place of what the other branch alone makes: nothing reads it, and it has no memory to speak of."""
    return F.broadcast_to(F.full(0, shape=(), dtype=meta.dtype), shape=_sizes(meta.shape, env))


def _sizes(shape: Sequence[Any], env: Env) -> tuple[int, ...]:
    """Sizes of what nothing has computed; none of a number that was not met."""
    return tuple(evaluate(n, env) if env.keys() >= symbols_of(n).keys() else 0 for n in shape)


def _while(part: ControlOperation, xs: list[Any], env: Env) -> list[Any]:
    o = part.operation
    trips, index, sizes = o.params
    condition, body = part.regions
    n, k = o.op.carried, len(o.op.grown)
    carried, rest = xs[:n], xs[n:]
    stacks = _Stacks(part, n + 1, o.op.ragged)
    count = 0

    def measure(symbols: Sequence[Any]) -> None:
        for i, axis, symbol in zip(o.op.grown, o.op.axes, symbols, strict=True):
            _bind(env, symbol, carried[i].shape[axis])

    while True:
        _bind(env, index, count)
        measure(sizes[:k])
        if not holds(run(condition, [*carried, *rest], env, inside=True)[0]):
            break
        results = run(body, [*carried, *rest], env, inside=True)
        carried = results[:n]
        stacks.add(results[n:])
        count += 1
    _bind(env, trips, count)
    measure(sizes[k : 2 * k])
    for symbol, elements in zip(sizes[2 * k :], stacks.elements, strict=True):
        _bind(env, symbol, elements)
    total = F.full(count, shape=(), dtype=o.results[n].meta.dtype) if part.makes[n] >= 0 else None
    return [*carried, total, *stacks.done(env)]


def _scan(part: ControlOperation, xs: list[Any], env: Env) -> list[Any]:
    o = part.operation
    length, index = o.params
    (body,) = part.regions
    n, m = o.op.carried, o.op.carried + o.op.sliced
    carried, sliced, rest = xs[:n], xs[n:m], xs[m:]
    stacks = _Stacks(part, n)
    places = range(evaluate(length, env))
    for at in reversed(places) if o.op.reverse else places:
        _bind(env, index, at)
        results = run(body, [*carried, *(_slice(x, at) for x in sliced), *rest], env, inside=True)
        carried = results[:n]
        stacks.add(results[n:])
    return [*carried, *stacks.done(env, o.op.reverse)]


RUN: dict[Any, Callable[[ControlOperation, list[Any], Env], list[Any]]] = {Cond: _cond, While: _while, Scan: _scan}


def _read_number(part: ControlOperation, xs: list[Any], env: Env) -> list[Any]:
    _bind(env, part.operation.params[0], int(xs[0].item()))
    return xs


def _sized(part: ControlOperation, xs: list[Any], env: Env) -> list[Any]:
    (sizes,) = part.operation.params
    for axis, symbol in zip(part.operation.op.axes, sizes, strict=True):
        _bind(env, symbol, xs[0].shape[axis])
    return xs


def _measured(part: ControlOperation, xs: list[Any], env: Env) -> list[Any]:
    """A call of a user's operator whose results have the sizes that it decides."""
    op, (ints, floats) = part.operation.op, part.operation.params
    known, sizes = ints[: op.n_ints], ints[op.n_ints :]
    scalars = [tuple(evaluate(n, env) for n in row) for row in (known, floats)]
    results, found = op.measured(xs, *scalars)
    for symbol, n in zip(sizes, found, strict=True):
        _bind(env, symbol, n)
    return results


def _append(part: ControlOperation, xs: list[Any], env: Env) -> list[Any]:
    return [appended(xs)]


# What only reads: results are the operands. And what grows, whose room is nobody else's matter.
READ: dict[Any, Callable[[ControlOperation, list[Any], Env], list[Any]]] = {
    ReadNumber: _read_number, Sized: _sized, Append: _append,
}  # fmt: skip


def _slice(x: Tensor, at: int) -> Tensor:
    shape = tuple(x.shape)
    part = F.slice(x, axes=(0,), starts=(at,), sizes=(1,), steps=(1,))
    return F.reshape(part, shape=shape[1:])


class _Stacks:
    """The values that the iterations of a loop yield to be stacked: the results from number ``first`` on. Of those that
    are ``packed``, ``elements`` has the numbers of all iterations."""

    def __init__(self, part: ControlOperation, first: int, packed: Sequence[int] = ()) -> None:
        self.metas = [r.meta for r in part.operation.results[first:]]
        self.wanted = [i >= 0 for i in part.makes[first:]]
        self.rows: list[list[Any]] = [[] for _ in self.metas]
        self.packed = packed
        self.elements = [0] * len(packed)

    def add(self, results: Sequence[Any]) -> None:
        for k, i in enumerate(self.packed):
            self.elements[k] += int(results[i].size)
        for row, y, wanted in zip(self.rows, results, self.wanted, strict=True):
            if wanted:
                row.append(y)

    def done(self, env: Env, reverse: bool = False) -> list[Any]:
        return [
            _joined(row[::-1] if reverse else row, meta, env, i in self.packed) if wanted else None
            for i, (row, meta, wanted) in enumerate(zip(self.rows, self.metas, self.wanted, strict=True))
        ]


def _joined(row: list[Any], meta: Meta, env: Env, packed: bool = False) -> Tensor:
    """Tensors as the slices of one, or their elements behind one another."""
    if not row:
        return F.full(0, shape=(0, *_sizes(meta.shape[1:], env)), dtype=meta.dtype)
    if packed:
        parts = [F.reshape(y, shape=(int(y.size),)) for y in row]
    else:
        parts = [F.stack(row[i : i + WIDTH], axis=0) for i in range(0, len(row), WIDTH)]
    while len(parts) > 1:
        parts = [F.concat(parts[i : i + WIDTH], axis=0) for i in range(0, len(parts), WIDTH)]
    return parts[0]
