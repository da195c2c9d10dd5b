"""The error function, its complement and its inverse."""

from __future__ import annotations

import math

from umiak.compiler.loop.functions.building_blocks import (
    Builder,
    at_most,
    exp2_near,
    magnitude,
    number,
    pick,
    polynomial,
    product_of,
    sqrt,
    with_sign,
)
from umiak.compiler.loop.functions.exponentials import exp_reduced, reduce
from umiak.compiler.loop.functions.logarithms import log
from umiak.compiler.loop.node import Node, add, call, div, eq, fma, lt, mul, neg, select, sub
from umiak.compiler.loop.types import F32


def _near(x: Node) -> Node:
    """erf up to 0.9."""
    return fma(polynomial(mul(x, x), pick(x, _ERF_F32, _ERF_F64)), x, x)


def erf(x: Node) -> Node:
    """x + x P(x²) up to 0.9, then 1 - erfc(|x|), erfc by its logarithm."""
    a = magnitude(x)
    one = pick(x, 4.0, 6.0)  # where it rounds to 1
    rest = exp2_near(polynomial(at_most(a, one), pick(x, _LOG_ERFC_F32, _LOG_ERFC_F64)))
    return select(lt(a, pick(x, 0.9, 1.0)), _near(x), with_sign(sub(number(x, 1.0), rest), x))


# erf(x) / x - 1 in x**2, for |x| up to 0.9 and 1, relative error of erf: 2^-26.1, 2^-56.0.
_ERF_F32 = (-0.00060207996, 0.004998959, -0.026770493, 0.11281922, -0.37612504, 0.12837915)
_ERF_F64 = (
    1.463908533378779e-10, -1.6608447535023366e-09, 1.6042899362330742e-08, -1.6560522252547652e-07,
    1.6481293865111558e-06, -1.492689159843086e-05, 0.00012055386462763686, -0.0008548328540027668,
    0.005223977652729189, -0.026866170648032824, 0.11283791670971102, -0.376126389031841, 0.1283791670955126,
)  # fmt: skip
# log2(erfc(x)) on [0.9, 4] and [0.98, 6], absolute error of erfc: 2^-29.2, 2^-59.3.
_LOG_ERFC_F32 = (
    0.0002844767, -0.0044083116, 0.032138962, -0.1500939, -0.91908336, -1.6269984, -0.0002561427,
)  # fmt: skip
_LOG_ERFC_F64 = (
    1.5851180128570345e-12, -7.217111871020264e-11, 1.5381076106573388e-09, -2.036588969949198e-08,
    1.872893598760098e-07, -1.2638170008636605e-06, 6.415704802410394e-06, -2.446152458282824e-05,
    6.682859544380947e-05, -0.00010581435987771987, -5.6709597878654884e-05, 0.0009132797481445519,
    -0.002538432238469649, 0.00039218765744803645, 0.02753262915329178, -0.1482373896316271,
    -0.9184591873703636, -1.6279047238973556, -2.235945659226786e-07,
)  # fmt: skip


def erfc(x: Node) -> Node:
    """1 - erf(x) up to 1/2, then exp(-x²) G((a - 2) / (a + 2)) / (a + 2) with a = |x|, and 2 - that for negative x."""
    a = at_most(magnitude(x), pick(x, 10.3, 27.5))  # from there it rounds to 0
    square, rest = product_of(a, a)
    n, r = reduce(neg(square))
    d = add(a, 2.0)
    q = div(number(x, 1.0), d)
    g = mul(polynomial(fma(q, -4.0, 1.0), pick(x, _ERFC_F32, _ERFC_F64)), q)
    # What q is off, relative to it, counts up to twice: the factor is 1.9 at 1/2, 1.7 at 2, 1 at the end.
    off = fma(neg(q), sub(a, sub(d, 2.0)), fma(neg(q), d, 1.0))
    g = fma(mul(g, 1.7), off, g)
    far = call("ldexp", mul(exp_reduced(sub(r, rest)), g), n)
    far = select(lt(x, 0.0), sub(number(x, 2.0), far), far)
    return select(lt(a, 0.5), sub(number(x, 1.0), _near(x)), far)


# exp(t**2) erfc(t) (t + 2) in (t - 2) / (t + 2), t on [0.49, 10.2] and [0.49, 27.5], relative error: 2^-25.8, 2^-54.6.
_ERFC_F32 = (
    -0.00043912075, -0.00080552226, 0.0029740662, 0.0064729205, -0.021487085, -0.036442045, 0.27947047, -0.6871607,
    1.0215827,
)  # fmt: skip
_ERFC_F64 = (
    -4.64393917225544e-08, 1.2112023131709635e-07, 1.8212560130854663e-07, -3.751462635754464e-07,
    -7.52172825972024e-07, 6.356936561925024e-08, 2.114575676987116e-06, 3.602230334425845e-06,
    -1.1721491860047848e-06, -1.610326303506297e-05, -2.1683407529636077e-05, 3.4144096894614894e-05,
    0.00014446844801351265, 3.437225498225497e-05, -0.0006630732458313848, -0.0008372961459449712,
    0.0030906120420461196, 0.006479185072372706, -0.02151066188890321, -0.03644223150699585, 0.279472092556047,
    -0.6871606844138097, 1.021582705242023,
)  # fmt: skip


def erfinv(x: Node) -> Node:
    """x P(w) with w = -log(1 - x²), and x P(sqrt(w)) from some w on. Beyond 1: NaN."""
    w = neg(log(fma(neg(x), x, 1.0)))
    root = sqrt(w)
    if x.type is F32:
        p = select(
            lt(w, 5.0), polynomial(sub(w, 2.5), _INVERSE_F32), polynomial(sub(sqrt(w), 3.125), _INVERSE_ROOT_F32)
        )
    else:
        far = polynomial(sub(root, 5.0), _INVERSE_FAR_F64)
        p = select(lt(w, 16.0), polynomial(sub(root, 3.25), _INVERSE_ROOT_F64), far)
        p = select(lt(w, 6.25), polynomial(sub(w, 3.125), _INVERSE_F64), p)
    return mul(x, select(eq(magnitude(x), 1.0), math.inf, p))


# erfinv(x) / x in w - 2.5, w up to 5: relative error 2^-24.5.
_INVERSE_F32 = (
    -9.348911e-09, 2.4347049e-08, 4.748764e-07, -3.4783786e-06, -5.0082363e-06, 0.00021841812, -0.0012526602,
    -0.004177514, 0.24664025, 1.5014094,
)  # fmt: skip
# in sqrt(w) - 3.125, w on [5, 16.7]: relative error 2^-25.7.
_INVERSE_ROOT_F32 = (
    0.00011571079, -0.00017940729, -0.00030128006, 0.0013189596, -0.0025325066, 0.0037779356, -0.005298865,
    0.0070495666, 1.0037186, 2.9583201,
)  # fmt: skip
# in w - 3.125, w up to 6.25: relative error 2^-53.6.
_INVERSE_F64 = (
    2.6504024255318122e-21, -7.63168933244335e-22, -3.168205098564052e-19, 1.1337098672444126e-18,
    1.477422314762749e-17, -1.298472461630023e-16, -2.943600262439302e-17, 6.592878859749125e-15,
    -4.0102734300878265e-14, -8.116026950619166e-14, 2.6309586270469872e-12, -1.2976988668231537e-11,
    -5.41444261074139e-11, 1.0512184560715094e-09, -4.112657853635039e-09, -2.9070382878569063e-08,
    4.234788145964161e-07, -1.3654691842117797e-06, -1.3882523393860716e-05, 0.00018673420802398747,
    -0.0007407025341539206, -0.006033670871427663, 0.24015818242558826, 1.6536545626831027,
)  # fmt: skip
# in sqrt(w) - 3.25, w on [6.25, 16]: relative error 2^-52.6.
_INVERSE_ROOT_F64 = (
    8.998955576445004e-09, 9.021296694073982e-08, -2.9213513365327955e-07, 1.9476909000545344e-08,
    1.5203857262087957e-06, -4.015020169346136e-06, 2.9135585311402733e-06, 1.2475870090728858e-05,
    -4.7315005501217046e-05, 6.828469482298311e-05, 2.4030494031820294e-05, -0.00035503749604246535,
    0.0009532894458105333, -0.0016882755579943325, 0.0024914420925674263, -0.003751208507499242,
    0.0053709145536629385, 1.0052589676941586, 3.0838856104922203,
)  # fmt: skip
# in sqrt(w) - 5, w on [16, 36.8]: relative error 2^-52.8.
_INVERSE_FAR_F64 = (
    3.651115915751449e-11, -2.6134199113205982e-11, -4.114292314100134e-10, 1.5037520671184427e-09,
    -3.515199532814796e-09, 7.622143872244064e-09, -1.5216404556678538e-08, 2.914232606938783e-08,
    -6.75753281334867e-08, 2.2900759506492396e-07, -9.9302411829688e-07, 4.526061841242344e-06,
    -1.968177144816927e-05, 7.599527713311388e-05, -0.0002150301197820286, -0.00013871931834167877,
    1.0103004648645446, 4.849906401408584,
)  # fmt: skip

BUILDERS: dict[str, Builder] = {f.__name__: f for f in (erf, erfc, erfinv)}
