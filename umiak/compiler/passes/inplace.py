"""An order of operations in which results can take the memory of operands.

A run gives the memory of an operand to the result of an element-by-element kernel where nobody reads the operand
afterwards (``compiler/calls.py``). Which operation is the last reader follows from the order in which a program was
recorded; where others read the operand later without need, they can come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from umiak.compiler.passes.registry import register_pass
from umiak.ir.expr import Sym
from umiak.ir.meta import identical
from umiak.ir.program import Operation, Program, Value, bound, order_class, uses
from umiak.ir.scope import substitute, symbols_of

UNKNOWN = 64  # stands for a size that is not known, where memory is compared


@register_pass("inplace_pass")
def order_for_reuse(program: Program) -> None:
    """Have element-by-element operations read their operands last, so that results take their memory.

    An order that would need more memory at any time is not taken.
    """
    kept = {id(x) for x in (*program.outputs, *(w.value for w in program.effects))}
    operations = list(program.ops)
    least = _peak(operations, kept)
    for o in program.ops:
        x = _overwritable(o, kept)
        if x is None:
            continue
        changed = _read_last(operations, o, x)
        if changed is not None and (peak := _peak(changed, kept)) <= least:
            operations, least = changed, peak
    program.body.operations[:] = operations


def _overwritable(o: Operation, kept: set[int]) -> Value | None:
    """The operand whose memory the result could have."""
    if not o.op.elementwise or o.op.view or len(o.results) != 1 or order_class(o.op) is not None:
        return None
    r = o.results[0].meta
    for x in o.values:
        made = x.operation
        if made is None or made.op.view or id(x) in kept:
            continue
        if x.meta.dtype is r.dtype and identical(x.meta.shape, r.shape):
            return x
    return None


def _read_last(operations: Sequence[Operation], o: Operation, x: Value) -> list[Operation] | None:
    """The order in which ``o``, and what needs it, comes behind the other readers of ``x``; None: it is last already,
    or cannot be."""
    at = next(i for i, other in enumerate(operations) if other is o)
    last = max((i for i, other in enumerate(operations) if any(v is x for v in uses(other))), default=at)
    if last <= at:
        return None
    late, early = [o], []
    made = {id(r) for r in o.results}
    for other in operations[at + 1 : last + 1]:
        if any(id(v) in made for v in uses(other)):
            # Numbers that operations give their values to are read behind these.
            if other.regions or bound(other) or any(v is x for v in uses(other)):
                return None
            late.append(other)
            made.update(id(r) for r in other.results)
        elif order_class(other.op) is not None and any(order_class(b.op) == order_class(other.op) for b in late):
            return None
        else:
            early.append(other)
    return [*operations[:at], *early, *late, *operations[last + 1 :]]


def _peak(operations: Sequence[Operation], kept: set[int]) -> int:
    """The most bytes that values made by ``operations`` take at a time, where results overwrite what dies."""
    last: dict[int, int] = {}
    for i, o in enumerate(operations):
        last.update((id(v), i) for v in uses(o))
    dying: dict[int, list[Value]] = {}
    for i, o in enumerate(operations):
        for r in o.results:
            if id(r) not in kept:
                dying.setdefault(last.get(id(r), i), []).append(r)
    live = most = 0
    for i, o in enumerate(operations):
        dead = dying.get(i, ())
        x = _overwritable(o, kept)
        shared = 0 if x is None or not any(x is v for v in dead) else _bytes(x)
        live += sum(map(_bytes, o.results)) - shared
        most = max(most, live)
        live -= sum(map(_bytes, dead)) - shared
    return most


def _bytes(v: Value) -> int:
    operation = v.operation
    if v.meta.dtype is None or operation is None or operation.op.view:
        return 0
    sizes: tuple[Any, ...] = v.meta.shape
    if any(type(n) is Sym for n in sizes):
        sizes = substitute(sizes, dict.fromkeys(symbols_of(sizes), UNKNOWN))
    return prod(sizes) * v.meta.dtype.bits // 8
