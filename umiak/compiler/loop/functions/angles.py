"""Arguments of trigonometric functions modulo pi / 2, right for all finite numbers.

Up to a limit three parts of pi / 2 are subtracted n times. Beyond it, the bits of 2 / pi that matter for the argument's
exponent are taken out of a constant and multiplied by its mantissa in integers; multiples of 4 drop out.
"""

from __future__ import annotations

import math

from umiak.compiler.loop.functions.parts import (
    Pair,
    exact_sum,
    format_of,
    number,
    pattern,
    pick,
    product_of,
    sum_of,
    with_sign,
)
from umiak.compiler.loop.node import (
    Node,
    add,
    bitcast,
    both,
    call,
    cast,
    const,
    fma,
    le,
    lt,
    mul,
    ne,
    select,
    sub,
)  # fmt: skip
from umiak.compiler.loop.types import F32, F64, I32, I64, U32, U64, ScalarType

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


def quadrant(x: Node, low: bool = False) -> tuple[Node, Pair]:
    """``x = q * pi / 2 + r`` modulo 2 pi, for x >= 0: q unsigned, of which two bits count, r in [-pi/4, pi/4] as a pair
    whose low part is there if asked for. Infinity and NaN give r = NaN.
    """
    q, (r, r_low) = _near(x, low)
    far_q, (far_r, far_low) = _far_f32(x) if x.type is F32 else _far_f64(x)
    far = both(le(number(x, pick(x, _LIMIT_F32, _LIMIT_F64)), x), lt(x, math.inf))
    assert far is not None
    return select(far, far_q, q), (select(far, far_r, r), select(far, far_low, r_low))


def _near(x: Node, low: bool) -> tuple[Node, Pair]:
    # In the last bits of the sum stands the integer nearest to x * 2 / pi.
    magic = 1.5 * 2.0 ** format_of(x).mantissa
    t = fma(x, 2 / math.pi, magic)
    n = sub(t, magic)
    first, second, third = pick(x, _HALF_PI_F32, _HALF_PI_F64)
    a = fma(n, -first, x)  # exact
    if not low:
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
    back = sub(const(bits - 1, word), shift)
    # Shifted by one and by what is left, as no shift may be by all bits.
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


def _far_f32(x: Node) -> tuple[Node, Pair]:
    m, start = _mantissa(x, _LIMIT_F32)
    m = cast(m, U64)
    high, middle, low = (mul(m, cast(w, U64)) for w in _window(_WORDS_F32, start, 3, U32))
    # x * 2 / pi modulo 4, as a fraction of 64 bits: two of them before the point.
    product = add(add(_shift("shl", high, 32), middle), _shift("shr", low, 32))
    q = cast(_shift("shr", add(product, const(1 << 61, U64)), 62), U32)
    # Behind the quadrant, signed: the magnitude (less one unit, if negative) in parts of 24 and 31 bits.
    rest = bitcast(_shift("shl", product, 2), I64)
    size = bitcast(call("xor", rest, _shift("shr", rest, 63)), U64)
    upper, lower = cast(_shift("shr", size, 32), U32), cast(size, U32)
    first = call("and", upper, const(-256, U32))
    second = call("or", _shift("shl", call("and", upper, const(255, U32)), 23), _shift("shr", lower, 9))
    sign = bitcast(cast(_shift("shr", bitcast(rest, U64), 32), U32), F32)
    return q, _turned(cast(bitcast(first, I32), F32), cast(bitcast(second, I32), F32), 2.0**-32, 2.0**-55, sign)


def _far_f64(x: Node) -> tuple[Node, Pair]:
    m, start = _mantissa(x, _LIMIT_F64)
    w = _window(_WORDS_F64, start, 3, U64)
    # 128 bits of the product.
    partial = mul(m, w[1])
    low = add(partial, call("mulhi", m, w[2]))
    carry = select(lt(low, partial), const(1, U64), const(0, U64))
    high = add(add(mul(m, w[0]), call("mulhi", m, w[1])), carry)
    q = _shift("shr", add(high, const(1 << 61, U64)), 62)
    # As above, in parts of 53 and 63 bits.
    rest = bitcast(call("or", _shift("shl", high, 2), _shift("shr", low, 62)), I64)
    negative = _shift("shr", rest, 63)
    size = bitcast(call("xor", rest, negative), U64)
    below = call("xor", _shift("shl", low, 2), bitcast(negative, U64))
    first = bitcast(call("and", size, const(-2048, U64)), I64)
    second = call("or", _shift("shl", call("and", size, const(2047, U64)), 52), _shift("shr", below, 12))
    return q, _turned(cast(first, F64), cast(bitcast(second, I64), F64), 2.0**-64, 2.0**-116, bitcast(rest, F64))


def _turned(first: Node, second: Node, unit: float, small_unit: float, sign: Node) -> Pair:
    """(first * unit + second * small_unit) * pi / 2, with the sign of ``sign``."""
    first, second = with_sign(first, sign), with_sign(second, sign)
    high, low, _ = pick(first, _HALF_PI_F32, _HALF_PI_F64)
    p, rest = product_of(first, number(first, high * unit))
    rest = add(rest, fma(first, low * unit, mul(second, high * small_unit)))
    return sum_of(p, rest)
