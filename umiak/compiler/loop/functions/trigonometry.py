"""Trigonometric functions and their inverses."""

from __future__ import annotations

from umiak.compiler.loop.functions.angles import by_quadrant
from umiak.compiler.loop.functions.building_blocks import (
    Builder,
    Pair,
    format_of,
    magnitude,
    number,
    odd_polynomial,
    pattern,
    pick,
    polynomial,
    sqrt,
    with_sign,
)
from umiak.compiler.loop.node import Node, add, bitcast, call, const, div, eq, fma, lt, mul, ne, neg, select, sub


def _sine_cosine(r: Node, low: Node | None = None) -> tuple[Node, Node]:
    """sin and cos of r in [-pi/4, pi/4]; of r + low, and with less rounding, where low is given."""
    z = mul(r, r)
    cube = mul(polynomial(z, pick(r, _SIN_F32, _SIN_F64)), z)
    fourth = polynomial(z, pick(r, _COS_F32, _COS_F64))
    if low is None:
        return fma(cube, r, r), fma(fma(fourth, z, -0.5), z, 1.0)
    # 1 - z/2 with what is lost of it.
    half, one = mul(z, 0.5), number(r, 1.0)
    near = sub(one, half)
    rest = fma(neg(r), low, sub(sub(one, near), half))
    return add(r, fma(cube, r, mul(near, low))), add(near, fma(mul(fourth, z), z, rest))


# (sin(x) / x - 1) / x**2 in x**2, |x| up to 1.001 pi/4, relative error of sin: 2^-27.9, 2^-57.9.
_SIN_F32 = (-0.00019517909, 0.008332187, -0.16666655)
_SIN_F64 = (
    1.589562346207954e-10, -2.5050736978943313e-08, 2.7557313550025246e-06, -0.0001984126982937551,
    0.008333333333321842, -0.1666666666666663,
)  # fmt: skip
# (cos(x) - 1 + x**2 / 2) / x**4 in x**2 there, relative error of cos: 2^-33.0, 2^-63.9.
_COS_F32 = (2.4432335e-05, -0.001388731, 0.041666646)
_COS_F64 = (
    -1.1358616944958444e-11, 2.087570313784452e-09, -2.755731420306626e-07, 2.48015872889652e-05,
    -0.0013888888888873307, 0.041666666666666595,
)  # fmt: skip


def _flip(x: Node, sign: Node) -> Node:
    """``x`` with its sign bit changed where that of ``sign`` is set."""
    f = format_of(x)
    return bitcast(call("xor", pattern(x), call("and", sign, const(f.sign, f.unsigned))), x.type)


def _wave(x: Node, quadrants: int) -> Node:
    """sin(x + quadrants * pi / 2) for x >= 0; bits of q count quadrants."""
    f = format_of(x)

    def rotated(q: Node, angle: Pair) -> Node:
        if quadrants:
            q = add(q, const(quadrants, f.unsigned))
        sine, cosine = _sine_cosine(angle[0])
        odd = ne(call("and", q, const(1, f.unsigned)), const(0, f.unsigned))
        return _flip(select(odd, cosine, sine), call("shl", q, const(x.type.bits - 2, f.unsigned)))

    return by_quadrant(x, rotated)


def sin(x: Node) -> Node:
    return _flip(_wave(magnitude(x), 0), pattern(x))


def cos(x: Node) -> Node:
    return _wave(magnitude(x), 1)


def tan(x: Node) -> Node:
    f = format_of(x)

    def ratio(q: Node, angle: Pair) -> Node:
        sine, cosine = _sine_cosine(*angle)
        odd = ne(call("and", q, const(1, f.unsigned)), const(0, f.unsigned))
        rotated = _flip(select(odd, cosine, sine), call("shl", q, const(x.type.bits - 1, f.unsigned)))
        return div(rotated, select(odd, sine, cosine))

    return _flip(by_quadrant(magnitude(x), ratio, pair=True), pattern(x))


# pi / 2 in two parts.
_HALF_PI_F32 = (1.5707964, -4.371139e-08)
_HALF_PI_F64 = (1.5707963267948966, 6.123233995736766e-17)


def _arcs(x: Node) -> tuple[Node, Node, Node]:
    """Return whether |x| < 1/2; arcsine of |x| there, elsewhere half the arccosine, as a sum of two. Beyond 1: NaN."""
    a = magnitude(x)
    small = lt(a, 0.5)
    z = select(small, mul(a, a), mul(sub(number(x, 1.0), a), 0.5))
    s = select(small, a, sqrt(z))
    return small, s, mul(mul(polynomial(z, pick(x, _ASIN_F32, _ASIN_F64)), z), s)


def asin(x: Node) -> Node:
    small, s, rest = _arcs(x)
    high, low = pick(x, _HALF_PI_F32, _HALF_PI_F64)
    large = add(fma(s, -2.0, high), fma(rest, -2.0, low))
    return with_sign(select(small, add(s, rest), large), x)


def acos(x: Node) -> Node:
    small, s, rest = _arcs(x)
    p = add(s, rest)
    high, low = pick(x, _HALF_PI_F32, _HALF_PI_F64)
    near = sub(number(x, high), sub(with_sign(p, x), low))
    twice = mul(p, 2.0)
    far = select(lt(x, 0.0), sub(number(x, 2 * high), sub(twice, 2 * low)), twice)
    return select(small, near, far)


# (asin(x) / x - 1) / x**2 in x**2, |x| up to 1/2, relative error of asin: 2^-27.6, 2^-59.8.
_ASIN_F32 = (0.04215828, 0.024184784, 0.04546915, 0.074953094, 0.16666752)
_ASIN_F64 = (
    0.03262527871242777, -0.020993797721482, 0.021703743907044177, 0.0037079430755184964, 0.010779837692955353,
    0.011398988974190788, 0.013980810682105875, 0.017351612893917248, 0.022372214934066142, 0.030381942709927102,
    0.04464285717455943, 0.07499999999970867, 0.1666666666666676,
)  # fmt: skip


def _arctangent(q: Node) -> Node:
    """For 0 <= q <= 1."""
    return odd_polynomial(q, mul(q, q), pick(q, _ATAN_F32, _ATAN_F64))


def atan(x: Node) -> Node:
    a = magnitude(x)
    over = lt(number(x, 1.0), a)
    p = _arctangent(div(select(over, number(x, 1.0), a), select(over, a, 1.0)))
    high, low = pick(x, _HALF_PI_F32, _HALF_PI_F64)
    return with_sign(select(over, sub(number(x, high), sub(p, low)), p), x)


def atan2(y: Node, x: Node) -> Node:
    f = format_of(x)
    a, b = magnitude(y), magnitude(x)
    over = lt(b, a)
    least, most = select(over, b, a), select(over, a, b)
    # 0 / 0 counts as 0, inf / inf as 1.
    same = select(eq(most, 0.0), number(x, 0.0), number(x, 1.0))
    p = _arctangent(select(eq(a, b), same, div(least, most)))
    high, low = pick(x, _HALF_PI_F32, _HALF_PI_F64)
    p = select(over, sub(number(x, high), sub(p, low)), p)
    behind = lt(bitcast(x, f.signed), const(0, f.signed))  # -0 too
    p = select(behind, sub(number(x, 2 * high), sub(p, 2 * low)), p)
    return with_sign(select(ne(x, x), x, p), y)


# (atan(x) / x - 1) / x**2 in x**2, |x| up to 1, relative error of atan: 2^-28.4, 2^-59.9.
_ATAN_F32 = (
    -0.0017831025, 0.010869209, -0.031096881, 0.05788055, -0.08399239, 0.10950861, -0.14264014, 0.1999853, -0.333333,
)  # fmt: skip
_ATAN_F64 = (
    -8.66327642268123e-06, 0.000103976451812386, -0.0005934408739938401, 0.002153325343546233, -0.005616136261652958,
    0.011323502906730332, -0.01862105767040628, 0.026157845509382955, -0.03278977328629038, 0.03821247075635099,
    -0.04286496456782845, 0.04744962759979862, -0.052594438169227424, 0.058817182947121203, -0.06666584072925648,
    0.0769229975449381, -0.09090908550998343, 0.11111111086670587, -0.14285714285044976, 0.19999999999990617,
    -0.33333333333333287,
)  # fmt: skip

BUILDERS: dict[str, Builder] = {f.__name__: f for f in (sin, cos, tan, asin, acos, atan, atan2)}
