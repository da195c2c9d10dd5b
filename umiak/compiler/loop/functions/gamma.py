"""The logarithm of |gamma| and its derivative."""

from __future__ import annotations

import math

from umiak.compiler.loop.functions.building_blocks import (
    Builder,
    every,
    magnitude,
    number,
    odd_polynomial,
    pick,
    polynomial,
    sum_of,
)
from umiak.compiler.loop.functions.logarithms import log, log_pair
from umiak.compiler.loop.node import Node, add, call, div, eq, fma, le, lt, mul, neg, select, sub

_FAR = 3.0  # from here on by the asymptotic form


def _shifted(a: Node) -> Node:
    """t with 1 + t = a, or 1 + a where a < 1."""
    return select(lt(a, 1.0), a, sub(a, 1.0))


def _to_integer(a: Node) -> Node:
    """The distance from the nearest integer, with sign."""
    return sub(a, call("rint", a))


def _sine(f: Node) -> Node:
    """sin(pi f) / pi for |f| <= 1/2."""
    return odd_polynomial(f, mul(f, f), pick(f, _SINE_F32, _SINE_F64))


def lgamma(x: Node) -> Node:
    """Of a = |x|, and for negative x by gamma(-a) gamma(a) = -pi / (a sin(pi a)).

    Below 3 by a polynomial that has the zeros at 1 and 2 as factors, after one step of the recurrence below 1; from 3
    on (a - 1/2) (log(a) - 1) + c + P(1 / a²) / a.
    """
    a = magnitude(x)
    less = lt(a, 1.0)
    t = _shifted(a)
    s = sub(t, 1.0)
    near = fma(mul(t, s), polynomial(s, pick(x, _NEAR_F32, _NEAR_F64)), 0.0)  # +0 at the zeros
    log_a, log_low = log_pair(a)
    u, u_low = sum_of(log_a, number(x, -1.0))
    r = div(number(x, 1.0), a)
    p = mul(polynomial(mul(r, r), pick(x, _FAR_F32, _FAR_F64)), r)
    b = sub(a, 0.5)
    far = fma(b, u, fma(b, add(u_low, log_low), add(p, 0.5 * math.log(2 * math.pi) - 0.5)))
    usual = select(lt(a, _FAR), near, far)
    # log(a |sin(pi a)| / pi); below 1, log(a) of both sides cancels.
    g = magnitude(_to_integer(a))
    reflected = neg(add(log(mul(_sine(g), select(less, number(x, 1.0), a))), usual))
    usual = select(less, sub(near, add(log_a, log_low)), usual)
    result = select(lt(x, 0.0), reflected, usual)
    pole = every(le(x, number(x, 0.0)), eq(g, 0.0))
    result = select(pole, math.inf, result)
    return select(lt(a, math.inf), result, a)


def digamma(x: Node) -> Node:
    """Of y = x or, below 1, y = 1 + |x|, as digamma(x) = digamma(1 + x) - 1 / x and
    digamma(-a) = digamma(1 + a) + pi / tan(pi a).

    Below 3 by a polynomial that has the zero as a factor; from 3 on log(y) - 1 / (2 y) - P(1 / y²) / y².
    """
    a = magnitude(x)
    negative = lt(x, 0.0)
    plus = lt(x, 1.0)
    t = select(plus, a, sub(a, 1.0))
    y = select(plus, add(a, 1.0), a)
    zero, zero_low = pick(x, _ZERO_F32, _ZERO_F64)
    near = mul(sub(sub(t, zero), zero_low), polynomial(sub(t, 1.0), pick(x, _D_NEAR_F32, _D_NEAR_F64)))
    r = div(number(x, 1.0), y)
    rest = fma(mul(r, r), polynomial(mul(r, r), pick(x, _D_FAR_F32, _D_FAR_F64)), mul(r, 0.5))
    far = sub(log(y), rest)
    result = select(lt(y, _FAR), near, far)
    f = _to_integer(a)
    square = mul(f, f)
    cosine = fma(polynomial(square, pick(x, _COSINE_F32, _COSINE_F64)), square, 1.0)
    numerator = select(negative, cosine, -1.0)
    step = div(numerator, select(negative, _sine(f), x))
    result = select(plus, add(result, step), result)
    pole = every(negative, eq(f, 0.0))
    result = select(pole, math.nan, result)
    return select(lt(x, math.inf), result, x)


# lgamma(y) / ((y - 1) (y - 2)) in y - 2 on [-1, 1], relative errors: 2^-25.7, 2^-55.8.
_NEAR_F32 = (
    4.4657295e-06, -3.9239836e-05, 6.473035e-05, -5.1050523e-05, 0.00014583005, -0.00042690762, 0.0009363649,
    -0.002101501, 0.0049934373, -0.012385067, 0.032965463, -0.10031727, 0.42278433,
)  # fmt: skip
_NEAR_F64 = (
    -1.0944666250214521e-09, 1.6740028819652906e-09, 4.298192434680183e-09, -4.949220673552425e-09,
    -1.4342106851494837e-08, 1.7997785938861193e-08, 8.506845298535098e-09, 2.9395421887763215e-09,
    -6.243289213483663e-08, 1.0735730413659526e-07, -1.7822482823026538e-07, 3.9363843122892754e-07,
    -8.596514872697921e-07, 1.812496455250164e-06, -3.8449887355704495e-06, 8.220864207160679e-06,
    -1.7662236651137097e-05, 3.8169159466958566e-05, -8.309503706088018e-05, 0.00018255260352188592,
    -0.0004057074063940583, 0.0009153769250483186, -0.0021081308334569555, 0.004998641164582672,
    -0.012384192193384307, 0.032965000621157675, -0.10031730167435382, 0.42278433509846713,
)  # fmt: skip
# (lgamma(y) - (y - 1/2) log(y) + y - log(2 pi) / 2) y in 1 / y**2 up to 1/9, errors of lgamma: 2^-32.2, 2^-58.3.
_FAR_F32 = (-0.00042020497, 0.00077834993, -0.002777252, 0.08333333)
_FAR_F64 = (
    0.23596297859533144, -0.19189846170722794, 0.07749871692690152, -0.02248193888185263, 0.006045398045019213,
    -0.0019042523770645902, 0.0008414276227247942, -0.0005952331691086141, 0.0007936507513455126,
    -0.00277777777760892, 0.08333333333333313,
)  # fmt: skip
# digamma(y) / (y - y0) in y - 2 on [-1, 1], y0 the zero, relative errors: 2^-24.8, 2^-54.1.
_D_NEAR_F32 = (
    -0.00011598598, 0.00022171832, -3.7677182e-05, 0.000109837376, -0.00078072463, 0.0015268321, -0.0026958124,
    0.0054900222, -0.01134749, 0.023458047, -0.049550228, 0.10899923, -0.26073897, 0.7853075,
)  # fmt: skip
_D_NEAR_F64 = (
    -5.359499786683564e-09, 1.0241122319114772e-08, 1.9723040960996e-08, -3.598162361444021e-08, -6.376243180047e-08,
    1.1626621332708862e-07, 3.982682199243559e-08, -5.800186199712951e-08, -2.455020174469306e-07,
    4.636308920149821e-07, -5.931726700676357e-07, 1.2104238475450292e-06, -2.6417030359440713e-06,
    5.269618414847335e-06, -1.0437606475241958e-05, 2.0891343672478578e-05, -4.184730505241386e-05,
    8.377976874060599e-05, -0.00016781495544459602, 0.0003364323563007416, -0.0006753134031402821,
    0.0013581421928345356, -0.0027395728801590464, 0.0055522541711677115, -0.011338432553487432, 0.023447309597731638,
    -0.04955103291766925, 0.10899991701762615, -0.2607389546830014, 0.7853075386041053,
)  # fmt: skip
# (log(y) - 1 / (2 y) - digamma(y)) y**2 in 1 / y**2 up to 1/9, errors of digamma: 2^-32.7, 2^-56.9.
_D_FAR_F32 = (-0.0027789972, 0.0038554189, -0.008329463, 0.08333329)
_D_FAR_F64 = (
    3.2494105543642733, -2.6804822779282538, 1.08294333110885, -0.30527824401304976, 0.07591203779909492,
    -0.020804205771011358, 0.007568045717822416, -0.004166533329060063, 0.003968252605202363, -0.008333333326311159,
    0.08333333333332069,
)  # fmt: skip
# (sin(pi f) / (pi f) - 1) / f**2 in f**2 up to 1/4, relative errors of the sine: 2^-27.2, 2^-61.3.
_SINE_F32 = (0.024716271, -0.19044326, 0.81171584, -1.6449333)
_SINE_F64 = (
    2.4518374406704256e-07, -6.972267731168428e-06, 0.00014842791672849403, -0.00234608091331821,
    0.026147847807945105, -0.1907518241216754, 0.8117424252833462, -1.6449340668482264,
)  # fmt: skip
# (cos(pi f) - 1) / f**2 in f**2 up to 1/4, absolute errors of the cosine: 2^-29.8, 2^-60.2.
_COSINE_F32 = (-0.023963584, 0.2346837, -1.3351616, 4.0587053, -4.934802)
_COSINE_F64 = (
    -1.1058999571549128e-07, 4.27418418291482e-06, -0.00010462508849546688, 0.0019295711076432033,
    -0.025806890930215175, 0.23533063032027757, -1.335262768852791, 4.058712126416728, -4.934802200544679,
)  # fmt: skip
# y0 - 1 in two parts.
_ZERO_F32 = (0.4616321325302124, 1.243815006546356e-08)
_ZERO_F64 = (0.46163214496836236, -1.5522348162858677e-17)

BUILDERS: dict[str, Builder] = {f.__name__: f for f in (lgamma, digamma)}
