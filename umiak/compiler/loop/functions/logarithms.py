"""Logarithms, and the inverse hyperbolic functions, which are made of them."""

from __future__ import annotations

import math

from umiak.compiler.loop.functions.building_blocks import (
    Builder,
    Pair,
    every,
    format_of,
    magnitude,
    number,
    odd_polynomial,
    pick,
    polynomial,
    sqrt,
    sum_of,
    with_sign,
)
from umiak.compiler.loop.functions.exponentials import LOG_2_F32, LOG_2_F64
from umiak.compiler.loop.node import (
    Node,
    add,
    bitcast,
    call,
    cast,
    const,
    div,
    eq,
    fma,
    lt,
    mul,
    neg,
    select,
    sub,
)
from umiak.compiler.loop.types import F32


def split(x: Node, denormals: bool = True) -> tuple[Node, Node]:
    """``x = m * 2**e`` with m in [sqrt(1/2), sqrt(2)), e as a float; for positive finite x."""
    f = format_of(x)
    scale = f.mantissa + 1
    tiny = lt(x, 2.0 ** (1 - f.bias))
    bits = bitcast(select(tiny, mul(x, 2.0**scale), x) if denormals else x, f.signed)
    low = math.isqrt(1 << (2 * f.mantissa + 1))  # the mantissa of sqrt(1/2), with its leading bit
    base = const(((f.bias - 2) << f.mantissa) + low, f.signed)
    offset = sub(bits, base)
    e = cast(call("shr", offset, const(f.mantissa, f.signed)), x.type)
    m = add(call("and", offset, const((1 << f.mantissa) - 1, f.signed)), base)
    if denormals:
        e = sub(e, select(tiny, number(x, scale), number(x, 0)))
    return e, bitcast(m, x.type)


def tail(f: Node) -> Node:
    """log(1 + f) - f for f in [sqrt(1/2) - 1, sqrt(2) - 1]: at most a quarter of f."""
    square = mul(f, f)
    if f.type is F32:
        return fma(mul(polynomial(f, _LOG_F32), f), square, mul(square, -0.5))
    # log(1 + f) = 2 atanh(s) = f - (f²/2 - s (f²/2 + s² R(s²))), s = f / (2 + f)
    s = div(f, add(f, 2.0))
    z = mul(s, s)
    half = mul(square, 0.5)
    return sub(mul(s, fma(polynomial(z, _LOG_F64), z, half)), half)


# (log(1 + x) - x + x**2 / 2) / x**3 on [sqrt(1/2) - 1, sqrt(2) - 1], relative error of log: 2^-28.7.
_LOG_F32 = (
    0.06584215, -0.11619721, 0.11909543, -0.12412081, 0.14219344, -0.16667894, 0.20002075, -0.25000012, 0.33333313,
)  # fmt: skip
# (2 atanh(s) / s - 2) / s**2 in s**2, s up to 0.1716, relative error of log: 2^-59.5.
_LOG_F64 = (
    0.14798268188621783, 0.15313831291154695, 0.18183572385412033, 0.22222198428494488, 0.28571428743689725,
    0.39999999999409347, 0.6666666666666735,
)  # fmt: skip


def at_ends(x: Node, inside: Node) -> Node:
    """``inside`` for positive numbers, and what logarithms give elsewhere."""
    result = select(lt(x, math.inf), inside, x)  # infinity and NaN stay
    result = select(lt(x, 0.0), math.nan, result)
    return select(eq(x, 0.0), -math.inf, result)


def combine(e: Node, f: Node, extra: Node | None = None) -> Node:
    """``e * log(2) + log(1 + f)``, small parts first. ``extra``: what the mantissa is above 1 + f, relative to it."""
    high, low = pick(e, LOG_2_F32, LOG_2_F64)
    rest = tail(f) if extra is None else add(tail(f), extra)
    return fma(e, high, add(f, fma(e, low, rest)))


def combine_pair(e: Node, f: Node) -> Pair:
    """The same with a few bits more."""
    high, low = pick(e, LOG_2_F32, LOG_2_F64)
    s, rest = sum_of(mul(e, high), f)
    return sum_of(s, add(rest, fma(e, low, tail(f))))


def log(x: Node) -> Node:
    e, m = split(x)
    return at_ends(x, combine(e, sub(m, 1.0)))


def log_pair(x: Node) -> Pair:
    """log with a few bits more, for positive finite x."""
    e, m = split(x)
    return combine_pair(e, sub(m, 1.0))


def log2(x: Node) -> Node:
    e, m = split(x)
    f = sub(m, 1.0)
    high, low = pick(x, (1.442695, 1.925963e-08), (1.4426950408889634, 2.0355273740931033e-17))
    return at_ends(x, add(e, fma(f, high, fma(f, low, mul(tail(f), high)))))


def log10(x: Node) -> Node:
    e, m = split(x)
    f = sub(m, 1.0)
    # log10(2), multiples of the first part by exponents exact, and log10(e)
    two, two_low = pick(x, (0.301025390625, 4.605038981195214e-06), (0.30102999566395283, 2.8363394551044964e-14))
    high, low = pick(x, (0.4342945, -1.010305e-08), (0.4342944819032518, 1.098319650216765e-17))
    return at_ends(x, fma(e, two, fma(f, high, fma(e, two_low, fma(f, low, mul(tail(f), high))))))


def split_plus_one(x: Node, plus: Node) -> tuple[Node, Node]:
    """``1 + x = (1 + f) * 2**e``, f rounded once and exact where e = 0; ``plus`` is 1 + x rounded."""
    e, m = split(plus, denormals=False)
    scale = call("ldexp", number(x, 1.0), neg(e))
    # x * 2**-e + (2**-e - 1); from some size on 1 + x is x, and 2**-e may be denormal.
    return e, select(lt(x, 2.0**60), fma(x, scale, sub(scale, 1.0)), sub(m, 1.0))


def log1p(x: Node) -> Node:
    plus = add(x, 1.0)
    e, f = split_plus_one(x, plus)
    return with_sign(at_ends(plus, combine(e, f)), x)  # zeros keep theirs


def asinh(x: Node) -> Node:
    """An odd polynomial for small arguments, elsewhere log(|x| + sqrt(x² + 1)), log(2 |x|) where x² may overflow."""
    a = magnitude(x)
    square = mul(a, a)
    small = odd_polynomial(a, square, pick(x, _ASINH_F32, _ASINH_F64))
    one = number(x, 1.0)
    # The root with its error, and the sum of both.
    inner, inner_low = sum_of(select(lt(a, 1.0), one, square), select(lt(a, 1.0), square, one))
    inner_low = add(inner_low, fma(a, a, neg(square)))
    root, root_low = _root(inner, inner_low)
    w, low = sum_of(root, a)
    large = _log_of_pair(a, w, add(low, root_low), pick(x, 2.0**14, 2.0**30))
    return with_sign(select(lt(a, 0.5), small, large), x)


# (asinh(x) / x - 1) / x**2 in x**2, |x| up to 1/2, relative error of asinh: 2^-29.6, 2^-60.4.
_ASINH_F32 = (-0.013222634, 0.028160853, -0.04438295, 0.074986406, -0.16666643)
_ASINH_F64 = (
    0.0017181363463696202, -0.0047475900931706096, 0.007465649096599244, -0.009534159968532265, 0.011512987805412012,
    -0.01396023274840889, 0.017352386994319843, -0.022372138359984632, 0.030381943716425854, -0.044642857127831406,
    0.07499999999984416, -0.1666666666666661,
)  # fmt: skip


def _root(v: Node, low: Node) -> Pair:
    """sqrt(v + low)"""
    root = sqrt(v)
    return root, div(add(fma(neg(root), root, v), low), mul(root, 2.0))


def _log_of_pair(x: Node, w: Node, low: Node, large: float) -> Node:
    """log(w + low), or log(2 x) for x above ``large``; for x >= 0, infinity and NaN stay."""
    far = lt(number(x, large), x)
    e, m = split(select(far, x, w), denormals=False)
    e = add(e, select(far, number(x, 1.0), number(x, 0.0)))
    f = sub(m, 1.0)
    extra = select(far, number(x, 0.0), div(low, w))
    return select(lt(x, math.inf), combine(e, f, extra), x)


def acosh(x: Node) -> Node:
    """log1p(t + sqrt(t² + 2 t)) with t = x - 1, which is exact where it matters; log(2 x) where t² may overflow."""
    t = sub(x, 1.0)
    twice = mul(t, 2.0)
    inner = fma(t, t, twice)
    root, root_low = _root(inner, fma(t, t, sub(twice, inner)))
    u, low = sum_of(root, t)
    low = add(low, root_low)
    plus = add(u, 1.0)
    far = lt(number(x, 2.0**60), x)
    # 1 + u of far arguments is x, doubled by the exponent.
    e, f = split_plus_one(select(far, x, u), select(far, x, plus))
    e = add(e, select(far, number(x, 1.0), number(x, 0.0)))
    usual = every(lt(number(x, 1.0), x), call("not", far))
    result = select(lt(x, math.inf), combine(e, f, select(usual, div(low, plus), number(x, 0.0))), x)
    return select(lt(x, 1.0), math.nan, result)


def atanh(x: Node) -> Node:
    """An odd polynomial for small arguments, elsewhere log1p(2 |x| / (1 - |x|)) / 2."""
    a = magnitude(x)
    small = odd_polynomial(a, mul(a, a), pick(x, _ATANH_F32, _ATANH_F64))
    u = div(mul(a, 2.0), sub(number(x, 1.0), a))
    plus = add(u, 1.0)
    e, f = split_plus_one(u, plus)
    return with_sign(select(lt(a, 0.5), small, mul(at_ends(plus, combine(e, f)), 0.5)), x)


# (atanh(x) / x - 1) / x**2 in x**2, |x| up to 1/2, relative error of atanh: 2^-29.4, 2^-60.8.
_ATANH_F32 = (0.17638053, 0.05160314, 0.1181641, 0.14223784, 0.20002453, 0.33333302)
_ATANH_F64 = (
    0.24122215358740293, -0.1962797377701339, 0.1750639973027413, -0.005391588094378427, 0.05958181134966704,
    0.050576735842229825, 0.05907476226268329, 0.0666448269818285, 0.07692440695126856, 0.09090903585617983,
    0.11111111258204641, 0.14285714283388753, 0.20000000000018556, 0.3333333333333328,
)  # fmt: skip

BUILDERS: dict[str, Builder] = {f.__name__: f for f in (log, log2, log10, log1p, asinh, acosh, atanh)}
