"""Integer powers: a digit of the exponent after the other, as many as the largest exponent has."""

from __future__ import annotations

from typing import Any

from umiak.compiler.loop import monoid as m
from umiak.compiler.loop import node as n
from umiak.compiler.loop.monoid import Monoid, Values
from umiak.compiler.loop.node import Node, call, const, select
from umiak.compiler.loop.types import I64
from umiak.compiler.lower.builder import Builder, Index, NotANest, compute_type
from umiak.compiler.lower.reduce import axes_over
from umiak.compiler.lower.terminal import LaunchBuilder, terminal
from umiak.compiler.nest import Chain, Nest, StoreStage
from umiak.ir.program import Operation, Value
from umiak.ops import elementwise

BITS = 3  # of a digit


def _next(a: Values, b: Values) -> Values:
    """(result so far, -), (digit, base): the result with one more digit of its exponent."""
    (r, _), (digit, x) = a, b
    for _ in range(BITS):
        r = n.mul(r, r)
    factor, power = const(1, x.type), x
    for k in range(BITS):
        bit = call("and", digit, const(1 << k, x.type))
        factor = n.mul(factor, select(n.ne(bit, 0), power, const(1, x.type)))
        if k < BITS - 1:
            power = n.mul(power, power)
    return n.mul(r, factor), const(0, x.type)


POWER = Monoid("power", 2, lambda ts: (const(1, ts[0]), const(0, ts[1])), _next, False)


def _of_integers(o: Operation) -> bool:
    return bool(o.results[0].meta.dtype.is_integer)


@terminal(elementwise.Pow, when=_of_integers)
def power(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    """Count the digits, then compute the powers. Negative exponents leave 1, -1 and 0."""
    y = o.results[0]
    kind = compute_type(y.meta.dtype)
    exponent = o.operands[1]
    digits = launch.temporary(I64, 1)
    most = (kind.bits + BITS - 1) // BITS
    first = launch.builder((0,))
    counted = _count(first, exponent, digits)
    first.stages += counted
    b = launch.builder()
    at = b.open(tuple(y.meta.shape))
    x, e = (b.operand(o, k, at, kind) for k in range(2))
    if not isinstance(x, Node) or not isinstance(e, Node):
        raise NotANest("a power of pairs")
    (step,) = axes_over(b, (most,))
    step = step if step.op == "const" else b.affine(step)
    end = n.load(digits, I64, b.address(digits, (n.i64(0),), (1,)))
    shift = n.mul(n.sub(n.sub(end, 1), step), BITS)  # the highest digit first
    digit = call("and", call("shr", e, n.cast(shift, kind)), const((1 << BITS) - 1, kind))
    (result, _) = b.reduce(POWER, (digit, x), n.lt(step, end), end)
    if kind.kind == "i":
        odd = n.ne(call("and", e, const(1, kind)), 0)
        one, zero = const(1, kind), const(0, kind)
        small = select(n.eq(x, 1), one, select(n.eq(x, -1), select(odd, x, one), zero))
        result = select(n.lt(e, 0), small, result)
    b.stages += launch.stores(b, y, at, result)
    return launch.chain([first.finish(), b.finish()])


def _count(b: Builder, exponent: Any, digits: str) -> list[StoreStage]:
    """The number of digits of the largest exponent."""
    if type(exponent) is Value:
        shape = tuple(exponent.meta.shape)
        at: Index = axes_over(b, shape)
        value = b.read(exponent, at)
        assert isinstance(value, Node)
        (top,) = b.reduce(m.MAX, (n.cast(value, I64),))
    else:
        top = b.number(exponent, I64)
    count = n.i64(0)
    for k in range(0, 64, BITS):
        count = n.add(count, n.cast(n.lt(n.i64((1 << k) - 1), top), I64))
    return [StoreStage(digits, b.address(digits, (n.i64(0),), (1,)), count, False)]
