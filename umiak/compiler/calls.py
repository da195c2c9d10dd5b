"""Recorded operations → a call program that C replays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from umiak.compiler.fused import Fused
from umiak.core.call_program import CallProgram
from umiak.core.dtype import DType
from umiak.core.scalar import ScalarProgram
from umiak.ir.expr import Sym
from umiak.ir.linearise import linearise
from umiak.ir.meta import identical
from umiak.ir.program import Operation, Value, bound, is_pure
from umiak.ir.scope import symbols_of

TAGS = {bool: 2, int: 3, float: 4, complex: 5}
SYM_TAGS = {"bool": 2, "int": 3, "float": 4}


def live(operations: Sequence[Operation], outputs: Iterable[Value | None], effects: bool = False) -> list[Operation]:
    """The operations that the outputs depend on, in order; with ``effects``, those that have one count as outputs.

    So do those that give a symbol its value: a program's scalars, which are not among ``outputs``, may read it.
    `umiak.ir.passes.remove_dead` sees all readers and drops those that nothing needs.
    """
    wanted = {id(v) for v in outputs if v is not None}
    steps = []
    for operation in reversed(operations):
        if (effects and not is_pure(operation)) or bound(operation) or any(id(r) in wanted for r in operation.results):
            steps.append(operation)
            wanted.update(id(v) for v in operation.values)
    return steps[::-1]


def used(operations: Sequence[Operation], outputs: Iterable[Value | None]) -> set[int]:
    """Ids of the values that live operations read or that are outputs."""
    ids = {id(v) for operation in operations for v in operation.values}
    return ids | {id(v) for v in outputs if v is not None}


def scalars_in(operations: Sequence[Operation]) -> list[Sym]:
    """Symbols that scalars and params of the operations need, in order."""
    symbols: dict[Sym, None] = {}
    for operation in operations:
        for x in operation.operands:
            if type(x) is Sym:
                symbols.update(symbols_of(x))
        symbols.update(symbols_of(tuple(operation.params)))
    return list(symbols)


def call_program(
    operations: Sequence[Operation],
    inputs: Sequence[Value],
    outputs: Sequence[Value | None],
    symbols: Sequence[Sym],
    sources: Sequence[tuple[int, int]],
    donate: Mapping[int, Value | None] | None = None,
) -> CallProgram:
    """Lower live ``operations``. ``symbols`` are read at run time from ``sources`` in the same order.

    With ``donate``, results of element-by-element kernels may take the memory of operands that die there. Among these
    are the inputs that it names: their memory may go to the value beside them, or to any (None). A run says which of
    these inputs it gives (``CallProgram.run``).
    """
    number = {id(v): i for i, v in enumerate(inputs)}
    exprs: list[Any] = []
    weak: list[tuple[int, int]] = []  # (tag, position in exprs)
    steps = []
    count = len(inputs)
    last_use: dict[int, int] = {}
    for at, operation in enumerate(operations):
        operands = []
        for x in operation.operands:
            if x is None:
                operands.append(-1)
            elif type(x) is Value:
                if id(x) not in number:
                    raise ValueError(
                        f"[{operation.name}] reads {x!r}, which is no input of the program. "
                        "Keep concrete tensors out of ops' methods."
                    )
                operands.append(number[id(x)])
                last_use[number[id(x)]] = at
            else:
                tag = SYM_TAGS[x.kind] if type(x) is Sym else TAGS[type(x)]
                operands.append(-2 - len(weak))
                weak.append((tag, len(exprs)))
                if isinstance(x, complex):
                    exprs += [x.real, x.imag]
                else:
                    exprs.append(x)
        params: list[int] = []
        lengths: list[int] = []
        for p, declared in zip(operation.params, operation.op.param_fields.values(), strict=True):
            numbers = p if declared.several else (p,)
            if declared.several:
                lengths.append(len(p))
            params += range(len(exprs), len(exprs) + len(numbers))
            exprs += map(_as_float, numbers) if declared.each == "float" else numbers
        for r in operation.results:
            number[id(r)] = count
            count += 1
        steps.append((operation.op, operands, params, lengths, [dtype_of(r).id for r in operation.results]))
    results = [-1 if v is None else number[id(v)] for v in outputs]
    linear = linearise(exprs, symbols)
    registers = linear.outputs
    drops: list[list[int]] = [[] for _ in steps]
    produced = len(inputs)
    for at, step in enumerate(steps):
        for v in range(produced, produced + len(step[4])):
            if v not in results:
                drops[last_use.get(v, at)].append(v)
        produced += len(step[4])
    for v, at in last_use.items():
        assert v >= len(inputs) or v not in drops[at]
    donors: list[list[tuple[int, int]]] = [[] for _ in steps]
    if donate is not None:
        dead = {i: at for i, at in last_use.items() if i not in results}
        for at, operation in enumerate(operations):
            dying = {id(v): i for v in operation.values if dead.get(i := number[id(v)]) == at}
            candidates = [
                (j, i)
                for j, i in _donors(operation, dying)
                if i >= len(inputs) or (i in donate and donate[i] in (None, operation.results[j]))
            ]
            # An input that a result will be written to comes first: elsewhere the result would be copied there.
            donors[at] = sorted(candidates, key=lambda x: x[1] >= len(inputs) or donate[x[1]] is None)
    return CallProgram(
        len(inputs),
        [
            (op, x, [registers[p] for p in params], lengths, made, drop, given)
            for (op, x, params, lengths, made), drop, given in zip(steps, drops, donors, strict=True)
        ],
        results,
        [(tag, registers[at], registers[at + 1] if tag == TAGS[complex] else 0) for tag, at in weak],
        ScalarProgram(linear.inputs, list(linear.constants), linear.named_code()),
        list(sources),
    )


def _donors(operation: Operation, dying: dict[int, int]) -> list[tuple[int, int]]:
    """(result, value) for results that may take the memory of an operand among ``dying`` (scalars of values)."""
    several = len(operation.results) > 1
    # Kernels store results one after the other, and which reads come after which is known of groups alone.
    if type(operation.op) is not Fused and (several or not (operation.op.elementwise or operation.op.overwritable)):
        return []
    places = -1 if operation.op.elementwise else operation.op.overwritable
    like = dict.fromkeys(
        (x, dying[id(x)])
        for i, x in enumerate(operation.operands)
        if type(x) is Value and id(x) in dying and places >> i & 1
    )
    donors = []
    for j, r in enumerate(operation.results):
        late = {id(operation.operands[k]) for k in operation.op.group.read_after(j)} if several else ()
        donors += [
            (j, i)
            for x, i in like
            if x.meta.dtype is r.meta.dtype and identical(x.meta.shape, r.meta.shape) and id(x) not in late
        ]
    return donors


def dtype_of(v: Value) -> DType:
    assert v.meta.dtype is not None, "values have types"
    return v.meta.dtype


def _as_float(p: Any) -> Any:
    from umiak.ir.expr import to_float

    return to_float(p) if type(p) is Sym and p.kind != "float" else float(p) if type(p) is not Sym else p
