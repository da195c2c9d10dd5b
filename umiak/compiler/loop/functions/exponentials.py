"""exp and what is made of it: expm1, the logistic function, hyperbolic functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from umiak.compiler.loop.functions.building_blocks import (
    LOG2_E,
    Builder,
    at_least,
    at_most,
    exp2_near,
    magnitude,
    number,
    odd_polynomial,
    pick,
    polynomial,
    with_sign,
)
from umiak.compiler.loop.node import Node, add, call, div, eq, fma, lt, mul, neg, select, sub

# (exp(x) - 1 - x) / x**2 on 1.01 * [-log(2) / 2, log(2) / 2], relative error of exp: 2^-28.1, 2^-57.7.
_EXP_F32 = (0.001385048, 0.008370091, 0.041668005, 0.16666509, 0.49999994)
_EXP_F64 = (
    2.5018906025950218e-08, 2.7632205001212406e-07, 2.7557540931280944e-06, 2.4801487949839326e-05,
    0.0001984126954115901, 0.0013888888948215166, 0.008333333333486214, 0.0416666666665145,
    0.16666666666666413, 0.5000000000000012,
)  # fmt: skip
# log(2) in two parts; multiples of the first by exponents are exact.
LOG_2_F32 = (0.693145751953125, 1.4286068203094172e-06)
LOG_2_F64 = (0.6931471803691238, 1.9082149292705877e-10)
# Arguments beyond give 0 and infinity.
EXP_RANGE_F32 = (-104.0, 89.0)
EXP_RANGE_F64 = (-746.0, 710.0)


def reduce(x: Node) -> tuple[Node, Node]:
    """``x = n * log(2) + r`` with an integral n."""
    n = call("rint", mul(x, LOG2_E))
    high, low = pick(x, LOG_2_F32, LOG_2_F64)
    return n, fma(n, -low, fma(n, -high, x))


def exp_reduced(r: Node) -> Node:
    """exp of a reduced argument."""
    return fma(fma(polynomial(r, pick(r, _EXP_F32, _EXP_F64)), r, 1.0), r, 1.0)


def exp_within(x: Node) -> Node:
    """exp where ``x`` is known to be in the range."""
    n, r = reduce(x)
    return call("ldexp", exp_reduced(r), n)


# How f(x), which is 0 below a number, is computed of x, that number and f.
Bounded = Callable[[Node, float, Builder], Node]


def _or_zero(x: Node, low: float, f: Builder) -> Node:
    """``f(x)``; 0 below ``low``, where it is not computed: a result that underflows takes processors of Intel a hundred
    times as long, and masked scores are far below."""
    below = lt(x, low)
    return select(below, 0.0, f(select(below, 0.0, x)))


def _masked(x: Node, low: float, f: Builder) -> Node:
    """The same bits, where the last instruction of ``f`` leaves out what a mask says: what underflows is not computed
    there."""
    return select(lt(x, low), 0.0, f(x))


def _clamped(x: Node, low: float, f: Builder) -> Node:
    """The same bits, computed in fewer registers, where what underflows takes no longer."""
    return f(at_least(x, low))


def exp(x: Node, bounded: Bounded = _or_zero) -> Node:
    low, high = pick(x, EXP_RANGE_F32, EXP_RANGE_F64)
    return bounded(x, low, lambda y: exp_within(at_most(y, high)))


def exp2(x: Node, bounded: Bounded = _or_zero) -> Node:
    return bounded(x, pick(x, -151.0, -1076.0), lambda y: exp2_near(at_most(y, pick(x, 129.0, 1025.0))))


def expm1(x: Node) -> Node:
    """2**n (exp(r) - 1) + (2**n - 1), in halves: 2**n may overflow where the result does not."""
    _, high = pick(x, EXP_RANGE_F32, EXP_RANGE_F64)
    n, r = reduce(at_most(at_least(x, pick(x, -20.0, -40.0)), high))  # from there it rounds to -1
    p = fma(polynomial(r, pick(x, _EXP_F32, _EXP_F64)), mul(r, r), r)
    half = call("ldexp", number(x, 1.0), sub(n, 1.0))
    # Where n = 0, half of a denormal would not be exact.
    result = select(eq(n, 0.0), p, mul(fma(p, half, sub(half, 0.5)), 2.0))
    return with_sign(result, x)  # zeros keep theirs


def logistic(x: Node, bounded: Bounded = _or_zero) -> Node:
    """1 - z / (1 + z) with z = exp(-|x|), times z for negative x: nothing overflows, small results keep precision."""
    low, _ = pick(x, EXP_RANGE_F32, EXP_RANGE_F64)
    z = bounded(neg(magnitude(x)), low, exp_within)
    factor = select(lt(x, 0.0), z, 1.0)
    return fma(neg(factor), div(z, add(z, 1.0)), factor)


def tanh(x: Node) -> Node:
    """An odd polynomial for small arguments, elsewhere 1 - 2 / (exp(2|x|) + 1)."""
    a = magnitude(x)
    small = odd_polynomial(a, mul(a, a), pick(x, _TANH_F32, _TANH_F64))
    e = exp2_near(mul(at_most(a, pick(x, 10.0, 20.0)), 2 * LOG2_E))  # from there it rounds to 1
    large = sub(number(x, 1.0), div(number(x, 2.0), add(e, 1.0)))
    return with_sign(select(lt(a, 0.55), small, large), x)


# (tanh(x) / x - 1) / x**2 in x**2, |x| up to 0.55, relative error of tanh: 2^-29.7, 2^-60.6.
_TANH_F32 = (-0.006242842, 0.021050712, -0.053847548, 0.13332544, -0.33333316)
_TANH_F64 = (
    -1.9490160060108757e-05, 8.330842495105457e-05, -0.00023337551114434635, 0.0005884419430935867,
    -0.0014555421935024547, 0.003592091924989722, -0.00886323259072371, 0.02186948838519253,
    -0.05396825396373728, 0.1333333333332658, -0.333333333333333,
)  # fmt: skip


def _half_exp(a: Node) -> Node:
    """exp(a) / 2 for a >= 0, up to where cosh overflows."""
    n, r = reduce(at_most(a, pick(a, 90.0, 711.0)))
    return call("ldexp", exp_reduced(r), sub(n, 1.0))


def cosh(x: Node) -> Node:
    e = _half_exp(magnitude(x))
    return add(e, div(number(x, 0.25), e))


def sinh(x: Node) -> Node:
    a = magnitude(x)
    e = _half_exp(a)
    small = odd_polynomial(a, mul(a, a), pick(x, _SINH_F32, _SINH_F64))
    return with_sign(select(lt(a, 1.0), small, sub(e, div(number(x, 0.25), e))), x)


# (sinh(x) / x - 1) / x**2 in x**2, |x| up to 1, relative error of sinh: 2^-31.6, 2^-61.8.
_SINH_F32 = (2.7822132e-06, 0.00019842896, 0.0083333105, 0.16666667)
_SINH_F64 = (
    7.776610877791609e-13, 1.6056658897199837e-10, 2.50521310011365e-08, 2.7557319106767812e-06,
    0.00019841269841593421, 0.008333333333332912, 0.16666666666666669,
)  # fmt: skip

BUILDERS: dict[str, Builder] = {
    f.__name__: f for f in (exp, exp2, expm1, logistic, tanh, sinh, cosh)
}  # fmt: skip
_BOUNDED = (exp, exp2, logistic)
# For targets that compute what underflows as fast as all else, and are short of registers.
UNDERFLOWING: dict[str, Builder] = {f.__name__: partial(f, bounded=_clamped) for f in _BOUNDED}
# For targets whose ldexp is one instruction, which takes a mask.
MASKED: dict[str, Builder] = {f.__name__: partial(f, bounded=_masked) for f in _BOUNDED}
