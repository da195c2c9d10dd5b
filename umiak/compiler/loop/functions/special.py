"""Error functions, gamma functions, Bessel functions."""

from __future__ import annotations

from umiak.compiler.loop.functions.parts import (
    Builder,
    at_most,
    exp2_near,
    magnitude,
    number,
    pick,
    polynomial,
    with_sign,
)  # fmt: skip
from umiak.compiler.loop.node import Node, fma, lt, mul, select, sub
from umiak.compiler.loop.types import F32


def erf(x: Node) -> Node:
    """x + x P(x²) up to 0.9, then 1 - erfc(|x|), erfc by its logarithm."""
    a = magnitude(x)
    small = fma(polynomial(mul(x, x), pick(x, _ERF_F32, _ERF_F64)), x, x)
    one = 4.0 if x.type is F32 else 6.0  # where it rounds to 1
    rest = exp2_near(polynomial(at_most(a, one), pick(x, _LOG_ERFC_F32, _LOG_ERFC_F64)))
    return select(lt(a, 0.9 if x.type is F32 else 1.0), small, with_sign(sub(number(x, 1.0), rest), x))


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

BUILDERS: dict[str, Builder] = {"erf": erf}
