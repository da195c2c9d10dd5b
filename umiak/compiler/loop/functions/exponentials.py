"""exp, log, tanh, logistic and what is made of them."""

from __future__ import annotations

import math

from umiak.compiler.loop.functions.parts import (
    LOG2_E,
    Builder,
    at_least,
    at_most,
    exp2_near,
    format_of,
    magnitude,
    number,
    pick,
    polynomial,
    with_sign,
)  # fmt: skip
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
)  # fmt: skip
from umiak.compiler.loop.types import F32

# (exp(x) - 1 - x) / x**2 on 1.01 * [-log(2) / 2, log(2) / 2], relative error of exp: 2^-28.1, 2^-57.7.
_EXP_F32 = (0.001385048, 0.008370091, 0.041668005, 0.16666509, 0.49999994)
_EXP_F64 = (
    2.5018906025950218e-08, 2.7632205001212406e-07, 2.7557540931280944e-06, 2.4801487949839326e-05,
    0.0001984126954115901, 0.0013888888948215166, 0.008333333333486214, 0.0416666666665145,
    0.16666666666666413, 0.5000000000000012,
)  # fmt: skip
# log(2) in two parts; multiples of the first by exponents are exact.
LOG_2_F32 = (0.693145751953125, 1.42860682030941723212e-6)
LOG_2_F64 = (0.6931471803691238, 1.9082149292705877e-10)
# Arguments beyond give 0 and infinity.
EXP_RANGE_F32 = (-104.0, 89.0)
EXP_RANGE_F64 = (-746.0, 710.0)


def exp(x: Node) -> Node:
    low, high = pick(x, EXP_RANGE_F32, EXP_RANGE_F64)
    return exp_within(at_most(at_least(x, low), high))


def exp_within(x: Node) -> Node:
    """exp where ``x`` is known to be in the range."""
    n, r = _reduce(x)
    p = polynomial(r, pick(x, _EXP_F32, _EXP_F64))
    return call("ldexp", fma(fma(p, r, 1.0), r, 1.0), n)


def _reduce(x: Node) -> tuple[Node, Node]:
    """``x = n * log(2) + r`` with an integral n."""
    n = call("rint", mul(x, LOG2_E))
    high, low = pick(x, LOG_2_F32, LOG_2_F64)
    return n, fma(n, -low, fma(n, -high, x))


def log(x: Node) -> Node:
    e, m = split(x)
    high, low = pick(x, LOG_2_F32, LOG_2_F64)
    f, tail = log_of_fraction(m)
    # Small parts first.
    result = fma(e, high, add(f, fma(e, low, tail)))
    return at_ends_of_log(x, result)


def at_ends_of_log(x: Node, inside: Node) -> Node:
    """``inside`` for positive numbers, and what logarithms give elsewhere."""
    result = select(lt(x, math.inf), inside, x)  # infinity and NaN stay
    result = select(lt(x, 0.0), math.nan, result)
    return select(eq(x, 0.0), -math.inf, result)


def split(x: Node) -> tuple[Node, Node]:
    """``x = m * 2**e`` with m in [sqrt(1/2), sqrt(2)), e as a float; for positive finite x."""
    f = format_of(x)
    tiny = lt(x, 2.0 ** (1 - f.bias))
    scale = f.mantissa + 1
    bits = bitcast(select(tiny, mul(x, 2.0**scale), x), f.signed)
    low = math.isqrt(1 << (2 * f.mantissa + 1))  # the mantissa of sqrt(1/2), with its leading bit
    base = const(((f.bias - 2) << f.mantissa) + low, f.signed)
    offset = sub(bits, base)
    e = cast(call("shr", offset, const(f.mantissa, f.signed)), x.type)
    m = add(call("and", offset, const((1 << f.mantissa) - 1, f.signed)), base)
    return sub(e, select(tiny, number(x, scale), number(x, 0))), bitcast(m, x.type)


def log_of_fraction(m: Node) -> tuple[Node, Node]:
    """log(m) as a large and a small part, for m in [sqrt(1/2), sqrt(2)]."""
    f = sub(m, 1.0)
    square = mul(f, f)
    if m.type is F32:
        return f, fma(mul(polynomial(f, _LOG_F32), f), square, mul(square, -0.5))
    # log(1 + f) = 2 atanh(s) = f - (f²/2 - s (f²/2 + s² R(s²))), s = f / (2 + f)
    s = div(f, add(f, 2.0))
    z = mul(s, s)
    half = mul(square, 0.5)
    return f, sub(mul(s, fma(polynomial(z, _LOG_F64), z, half)), half)


# (log(1 + x) - x + x**2 / 2) / x**3 on [sqrt(1/2) - 1, sqrt(2) - 1], relative error of log: 2^-28.7.
_LOG_F32 = (
    0.06584215, -0.11619721, 0.11909543, -0.12412081, 0.14219344, -0.16667894, 0.20002075, -0.25000012, 0.33333313,
)  # fmt: skip
# (2 atanh(s) / s - 2) / s**2 in s**2, for s up to 0.1716, relative error of log: 2^-59.5.
_LOG_F64 = (
    0.14798268188621783, 0.15313831291154695, 0.18183572385412033, 0.22222198428494488, 0.28571428743689725,
    0.39999999999409347, 0.6666666666666735,
)  # fmt: skip


def tanh(x: Node) -> Node:
    """An odd polynomial for small arguments, elsewhere 1 - 2 / (exp(2|x|) + 1)."""
    a = magnitude(x)
    z = mul(x, x)
    small = fma(mul(polynomial(z, pick(x, _TANH_F32, _TANH_F64)), z), a, a)
    one = 10.0 if x.type is F32 else 20.0  # where it rounds to 1
    e = exp2_near(mul(at_most(a, one), 2 * LOG2_E))
    large = sub(number(x, 1.0), div(number(x, 2.0), add(e, 1.0)))
    return with_sign(select(lt(a, 0.55), small, large), x)


# (tanh(x) / x - 1) / x**2 in x**2, for |x| up to 0.55, relative error of tanh: 2^-29.7, 2^-60.6.
_TANH_F32 = (-0.006242842, 0.021050712, -0.053847548, 0.13332544, -0.33333316)
_TANH_F64 = (
    -1.9490160060108757e-05, 8.330842495105457e-05, -0.00023337551114434635, 0.0005884419430935867,
    -0.0014555421935024547, 0.003592091924989722, -0.00886323259072371, 0.02186948838519253,
    -0.05396825396373728, 0.1333333333332658, -0.333333333333333,
)  # fmt: skip


def logistic(x: Node) -> Node:
    """1 - z / (1 + z) with z = exp(-|x|), times z for negative x: nothing overflows, small results keep precision."""
    low, _ = pick(x, EXP_RANGE_F32, EXP_RANGE_F64)
    z = exp_within(at_least(neg(magnitude(x)), low))
    factor = select(lt(x, 0.0), z, 1.0)
    return fma(neg(factor), div(z, add(z, 1.0)), factor)


def rsqrt(x: Node) -> Node:
    return div(number(x, 1.0), call("sqrt", x))


BUILDERS: dict[str, Builder] = {"exp": exp, "log": log, "tanh": tanh, "logistic": logistic, "rsqrt": rsqrt}
