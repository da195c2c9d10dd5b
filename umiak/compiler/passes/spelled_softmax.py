"""Softmax along the last axis: the op, or exponentials of numbers less their maximum, by their sum."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from umiak.compiler.passes.fusion import Found, orders, same_sizes, spread_number
from umiak.ir.program import Operation, Value
from umiak.ir.rewrite import operand_of


class Softmax(NamedTuple):
    """``scores``: an operand of ``reader``, which ``times`` operations of the softmax read. ``guarded``: where all
    scores are minus infinity, all weights are 0, and no NaN."""

    scores: Value
    reader: Operation
    times: int
    axis: int
    guarded: bool


def softmax(found: Found, x: Any, reader: Operation) -> Softmax | None:
    """Return the softmax that makes an operand of ``reader``, if nothing else sees it."""
    o = found.inside(x, "softmax", reader)
    if o is not None:
        return Softmax(o.operands[0], o, 1, o.op.axis, False)  # type: ignore[arg-type]
    o = found.inside(x, "div", reader)
    exp = None if o is None else found.inside(o.operands[0], "exp", o, 2)
    less = None if exp is None else found.inside(exp.operands[0], "sub", exp)
    if o is None or exp is None or less is None:
        return None
    scores, top = less.operands
    total, fills = _unguarded(o.operands[1], 0.0, 1.0)
    most, lowers = _unguarded(top, -math.inf, 0.0)
    last = exp.results[0].meta.ndim - 1
    if not (_reduces(total, "sum", exp.results[0], last) and _reduces(most, "max", scores, last)):
        return None
    if not (_inner(found, total, 1 + fills) and _inner(found, most, 1 + lowers)) or total.stop != x.stop:
        return None
    # The maximum cancels out: whether gradients go through it does not matter.
    return Softmax(scores, less, 2, last, fills and lowers)  # type: ignore[arg-type]


def unspread(x: Any) -> Any:
    """Return the value that an operand is a copy of, or is repeated from along no dims."""
    while type(x) is Value and (o := x.operation) is not None and o.name in ("broadcast_to", "copy"):
        (source,) = o.operands
        if not same_sizes(source.meta.shape, x.meta.shape):  # type: ignore[union-attr]
            break
        x = source
    return x


def _unguarded(x: Any, number: float, other: float) -> tuple[Any, bool]:
    """A value without the guard that puts ``other`` where it is ``number``, and whether it has one."""
    x = unspread(x)
    o = operand_of(x, "where")
    test = None if o is None else operand_of(unspread(o.operands[0]), "eq")
    if o is None or test is None or spread_number(o.operands[1]) != other:
        return x, False
    inner = unspread(o.operands[2])
    if any(unspread(a) is inner and spread_number(b) == number for a, b in orders(test)):
        return inner, True
    return x, False


def _reduces(x: Any, name: str, source: Any, axis: int) -> bool:
    o = operand_of(x, name)
    if o is None or not o.op.keepdim or o.op.axes != (axis,):
        return False
    of: Any = o.operands[0]
    # Files, whose operator refuses a maximum of no elements, have it of one more.
    more = operand_of(of, "concat") if name == "max" else None
    if more is not None and len(more.operands) == 2 and spread_number(more.operands[1]) == -math.inf:
        of = more.operands[0]
    return unspread(of) is unspread(source)


def _inner(found: Found, x: Value, times: int) -> bool:
    """Return whether nobody but the softmax sees a value."""
    return found.readers.get(id(x), 0) <= times and id(x) not in found.kept and not x.hooks
