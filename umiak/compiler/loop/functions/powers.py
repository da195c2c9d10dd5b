"""pow, rsqrt, nextafter."""

from __future__ import annotations

import math

from umiak.compiler.loop.functions.building_blocks import (
    Builder,
    Pair,
    at_least,
    at_most,
    every,
    exp2_near,
    format_of,
    magnitude,
    number,
    pair,
    pair_product,
    pair_sum,
    pattern,
    pick,
    polynomial,
    product_of,
    sqrt,
    sum_of,
)
from umiak.compiler.loop.functions.logarithms import split
from umiak.compiler.loop.node import (
    Node,
    add,
    bitcast,
    call,
    const,
    div,
    eq,
    fma,
    lt,
    mul,
    ne,
    neg,
    select,
    sub,
)


def rsqrt(x: Node) -> Node:
    return div(number(x, 1.0), sqrt(x))


def _log2_pair(x: Node) -> Pair:
    """log2 with about as many bits again, for positive finite x: s (C0 + z (C1 + z R(z))), z = s², s = f / (2 + f)."""
    e, m = split(x)
    f = sub(m, 1.0)
    d, d_low = sum_of(number(x, 2.0), f)
    s = div(f, d)
    # The rest of the quotient; 1 / d = (1 - s) / 2.
    s_low = mul(fma(neg(s), d_low, fma(neg(s), d, f)), mul(sub(number(x, 1.0), s), 0.5))
    z, z_low = product_of(s, s)
    z_low = fma(mul(s, 2.0), s_low, z_low)
    p = product_of(z, polynomial(z, pick(x, _LOG2_F32, _LOG2_F64)))
    v = pair_sum(pair(x, pick(x, _C1_F32, _C1_F64)), p)
    v = pair_sum(pair(x, pick(x, _C0_F32, _C0_F64)), pair_product((z, z_low), v))
    high, low = pair_product((s, s_low), v)
    high, rest = sum_of(e, high)
    return high, add(rest, low)


# 2 / log(2) and a third of it, in two parts.
_C0_F32, _C1_F32 = (2.88539, 3.851926e-08), (0.9617967, -7.028462e-09)
_C0_F64 = (2.8853900817779268, 4.0710547481862066e-17)
_C1_F64 = (0.9617966939259756, 5.0577616648125907e-17)
# (log2((1 + s) / (1 - s)) / s - C0 - C1 s**2) / s**4 in s**2, s up to 0.1716, error relative to log2: 2^-36.8, 2^-73.4.
_LOG2_F32 = (0.33782697, 0.41184977, 0.5770802)
_LOG2_F64 = (
    0.1728347934168988, 0.1684495547954789, 0.19240141062423827, 0.22195226831564335, 0.2623081986832768,
    0.32059889791262525, 0.4121985831113461, 0.5770780163555851,
)  # fmt: skip


def pow(x: Node, y: Node) -> Node:
    """2 ** (y * log2(|x|)); signs and special cases as C has them."""
    a = magnitude(x)
    high, low = _log2_pair(a)
    # Logarithms at the ends; what they give there is finite, so that only the product becomes infinite.
    high = select(lt(a, math.inf), select(eq(a, 0.0), -math.inf, high), math.inf)
    p, p_low = product_of(y, high)
    p_low = fma(y, low, p_low)
    bounded = at_most(at_least(p, pick(x, -200.0, -1200.0)), pick(x, 200.0, 1200.0))
    p_low = select(eq(bounded, p), p_low, number(x, 0.0))
    result = exp2_near(bounded, p_low)
    result = select(eq(a, 1.0), number(x, 1.0), result)

    integral = eq(call("rint", y), y)
    half = mul(y, 0.5)
    odd = every(integral, ne(call("rint", half), half))
    f = format_of(x)
    negative = lt(bitcast(x, f.signed), const(0, f.signed))  # -0 too
    signed = every(negative, odd)
    result = select(signed, neg(result), result)
    undefined = every(lt(x, 0.0), lt(a, math.inf), call("not", integral))
    result = select(undefined, math.nan, result)
    result = select(call("or", ne(x, x), ne(y, y)), math.nan, result)
    return select(call("or", eq(y, 0.0), eq(x, 1.0)), number(x, 1.0), result)


def nextafter(x: Node, y: Node) -> Node:
    """By its bits: one more or less; zeros become the smallest number with the sign of y."""
    f = format_of(x)
    bits = pattern(x)
    # Away from zero where both comparisons agree.
    away = call("not", call("xor", lt(x, y), lt(number(x, 0.0), x)))
    moved = add(bits, select(away, const(1, f.unsigned), const(-1, f.unsigned)))
    smallest = call("or", call("and", pattern(y), const(f.sign, f.unsigned)), const(1, f.unsigned))
    result = bitcast(select(eq(x, 0.0), smallest, moved), x.type)
    result = select(eq(x, y), y, result)
    return select(call("or", ne(x, x), ne(y, y)), math.nan, result)


BUILDERS: dict[str, Builder] = {f.__name__: f for f in (pow, rsqrt, nextafter)}
