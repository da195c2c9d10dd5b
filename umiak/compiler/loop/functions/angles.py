"""Arguments of trigonometric functions modulo pi / 2, right for all finite numbers.

Up to a limit three parts of pi / 2 are subtracted n times. Beyond it, the bits of 2 / pi that matter for the argument's
exponent are taken out of a constant and multiplied by its mantissa in integers; multiples of 4 drop out.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from umiak.compiler.loop.functions.bounds import largest
from umiak.compiler.loop.functions.building_blocks import (
    FORMATS,
    Pair,
    every,
    exact_sum,
    format_of,
    number,
    pattern,
    pick,
    product_of,
    sum_of,
)
from umiak.compiler.loop.node import (
    Node,
    add,
    bitcast,
    call,
    cast,
    const,
    fma,
    le,
    lt,
    mul,
    ne,
    rarely,
    select,
    sub,
)
from umiak.compiler.loop.types import F32, F64, U32, U64, ScalarType

# Subtraction is exact enough below.
_LIMIT_F32 = 2.0**15
_LIMIT_F64 = 2.0**30
_HALF_PI_F32 = (1.5707964, -4.371139e-08, -1.7151245e-15)
_HALF_PI_F64 = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
# 2 / pi behind as many zero bits as make the window start at bit 0 for the exponent of the limit.
_WORDS_F32 = (0x28BE60, 0xDB939105, 0x4A7F09D5, 0xF47D4D37, 0x7036D8A5, 0x664F10E4, 0x107F9458)
_WORDS_F64 = (
    0xA2F9836E4E, 0x441529FC2757D1F5, 0x34DDC0DB6295993C, 0x439041FE5163ABDE, 0xBBC561B7246E3A42,
    0x4DD2E006492EEA09, 0xD1921CFE1DEB1CB1, 0x29A73EE88235F52E, 0xBB4484E99C7026B4, 0x5F7E413991D63983,
    0x5339F49C845F8BBD, 0xF9283B1FF897FFDE, 0x05980FEF2F118B5A, 0x0A6D1F6D367ECF27, 0xCB09B74F463F669E,
    0x5FEA2D7527BAC7EB, 0xE5F17B3D0739F78A, 0x5292EA6BFB5FB11F, 0x8D5D0856033046FC,
)  # fmt: skip


def by_quadrant(x: Node, build: Callable[[Node, Pair], Node], pair: bool = False) -> Node:
    """``build(q, (r, low))`` for ``x = q * pi / 2 + r`` modulo 2 pi, for x >= 0: q unsigned, of which two bits count,
    r in [-pi/4, pi/4], with a low part for ``pair``. Infinity and NaN give r = NaN.
    """
    near = build(*_near(x, pair))
    if largest(x) < pick(x, _LIMIT_F32, _LIMIT_F64):
        return near
    far = every(le(number(x, pick(x, _LIMIT_F32, _LIMIT_F64)), x), lt(x, math.inf))
    return rarely(far, build(*(_far_f32 if x.type is F32 else _far_f64)(x, pair)), near)


def _near(x: Node, pair: bool) -> tuple[Node, Pair]:
    # In the last bits of the sum stands the integer nearest to x * 2 / pi.
    magic = 1.5 * 2.0 ** format_of(x).mantissa
    t = fma(x, 2 / math.pi, magic)
    n = sub(t, magic)
    first, second, third = pick(x, _HALF_PI_F32, _HALF_PI_F64)
    a = fma(n, -first, x)  # exact
    if not pair:
        return pattern(t), (fma(n, -third, fma(n, -second, a)), number(x, 0.0))
    p, p_low = product_of(n, number(x, -second))
    r, rest = exact_sum(a, p)
    return pattern(t), sum_of(r, add(rest, fma(n, -third, p_low)))


def _window(words: tuple[int, ...], start: Node, count: int, word: ScalarType) -> list[Node]:
    """``count`` words of a long constant from bit ``start`` on."""
    rows = [const(w, word) for w in words]
    bits = word.bits
    step = 1 << ((len(words) - 1 - count).bit_length() - 1)
    while step:
        skip = ne(call("and", start, const(step * bits, word)), const(0, word))
        length = min(len(rows) - step, count + step)
        rows = [select(skip, rows[i + step], rows[i]) for i in range(length)]
        step >>= 1
    shift = call("and", start, const(bits - 1, word))
    back = call("xor", shift, const(bits - 1, word))
    # Shifted by one and by what is left, so that no shift is by all bits.
    return [
        call("or", call("shl", rows[i], shift), call("shr", call("shr", rows[i + 1], const(1, word)), back))
        for i in range(count)
    ]


def _mantissa(x: Node, limit: float) -> tuple[Node, Node]:
    """The mantissa as an integer, and how far the exponent is above that of the limit."""
    f = format_of(x)
    bits = pattern(x)
    one = 1 << f.mantissa
    exponent = call("shr", bits, const(f.mantissa, f.unsigned))
    start = sub(exponent, const(f.bias + int(math.log2(limit)), f.unsigned))
    return call("or", call("and", bits, const(one - 1, f.unsigned)), const(one, f.unsigned)), start


def _shift(op: str, x: Node, n: int) -> Node:
    return call(op, x, const(n, x.type))


def _far_f32(x: Node, pair: bool) -> tuple[Node, Pair]:
    m, start = _mantissa(x, _LIMIT_F32)
    first, second, third = _window(_WORDS_F32, start, 3, U32)
    # x * 2 / pi modulo 4, as a fraction of 64 bits, two of them before the point: high, low.
    wide = cast(m, U64)
    rest = add(mul(wide, cast(second, U64)), _shift("shr", mul(wide, cast(third, U64)), 32))
    high = add(mul(m, first), cast(_shift("shr", rest, 32), U32))
    return _from_fraction(high, cast(rest, U32), F32, pair)


def _far_f64(x: Node, pair: bool) -> tuple[Node, Pair]:
    m, start = _mantissa(x, _LIMIT_F64)
    first, second, third = _window(_WORDS_F64, start, 3, U64)
    # The same with 128 bits, of products of 32 bits.
    (b, a), (d, c), (f, e) = (_halves(v) for v in (m, second, third))
    low = mul(a, c)
    middle = add(mul(a, d), _shift("shr", low, 32))
    other = add(mul(b, c), _halves(middle)[1])
    high = add(mul(b, d), add(_shift("shr", middle, 32), _shift("shr", other, 32)))
    low = call("or", _shift("shl", other, 32), _halves(low)[1])
    # Of the third word what reaches above it.
    below = add(mul(b, f), add(_shift("shr", mul(a, f), 32), _shift("shr", mul(b, e), 32)))
    total = add(low, below)
    carry = select(lt(total, low), const(1, U64), const(0, U64))
    return _from_fraction(add(add(mul(m, first), high), carry), total, F64, pair)


def _halves(x: Node) -> Pair:
    return _shift("shr", x, 32), call("and", x, const(0xFFFFFFFF, U64))


def _from_fraction(high: Node, low: Node, t: ScalarType, pair: bool) -> tuple[Node, Pair]:
    """Quadrant and angle of a fraction that has two bits before the point."""
    f = FORMATS[t]
    bits, spare = t.bits, t.bits - f.mantissa - 2
    q = _shift("shr", add(high, const(1 << (bits - 3), f.unsigned)), bits - 2)
    # Behind the quadrant, signed, as two floats: the first is a multiple of 2**spare that fits, the second is signed.
    rest = _shift("shr", bitcast(_shift("shl", high, 2), f.signed), 1)
    first = call("and", add(rest, const(1 << (spare - 1), f.signed)), const(-(1 << spare), f.signed))
    up = bits - spare - 1
    second = _shift("shl", sub(rest, first), up)
    second = call("or", second, bitcast(_shift("shr", low, bits - up - 1), f.signed))
    a, b = cast(first, t), cast(second, t)
    unit = 2.0 ** (1 - bits)
    over, under, _ = pick(a, _HALF_PI_F32, _HALF_PI_F64)
    rest = fma(a, under * unit, mul(b, over * unit * 2.0**-up))
    if not pair:
        return q, (fma(a, over * unit, rest), const(0.0, t))
    p, p_low = product_of(a, number(a, over * unit))
    return q, sum_of(p, add(p_low, rest))
