"""Modified Bessel functions of order 0 and 1, and the same times exp(-|x|)."""

from __future__ import annotations

from umiak.compiler.loop.functions.building_blocks import (
    Builder,
    at_most,
    magnitude,
    number,
    pick,
    polynomial,
    product_of,
    sqrt,
    with_sign,
)
from umiak.compiler.loop.functions.exponentials import exp_reduced, exp_within, reduce
from umiak.compiler.loop.node import Node, call, div, fma, lt, mul, neg, select

_SPLIT = 8.0


def _small(a: Node, order: int) -> Node:
    """The function itself up to 8, by its power series made shorter."""
    half = mul(a, 0.5)
    z, z_low = product_of(half, half)
    p = polynomial(z, pick(a, _SMALL_F32, _SMALL_F64)[order])
    # The rounding of the square would count several times.
    p = fma(mul(p, z_low), polynomial(z, _SLOPE[order]), p)
    return mul(half, p) if order else p


def _large(a: Node, order: int) -> Node:
    """exp(-a) times the function from 8 on."""
    s = fma(div(number(a, 1.0), a), 16.0, -1.0)
    return div(polynomial(s, pick(a, _LARGE_F32, _LARGE_F64)[order]), sqrt(a))


def _plain(x: Node, order: int) -> Node:
    a = at_most(magnitude(x), pick(x, 100.0, 720.0))  # overflows from there
    n, r = reduce(a)
    large = call("ldexp", mul(exp_reduced(r), _large(a, order)), n)
    result = select(lt(a, _SPLIT), _small(a, order), large)
    return with_sign(result, x) if order else result


def _damped(x: Node, order: int) -> Node:
    a = magnitude(x)
    near = at_most(a, _SPLIT)
    result = select(lt(a, _SPLIT), mul(_small(near, order), exp_within(neg(near))), _large(a, order))
    return with_sign(result, x) if order else result


def i0(x: Node) -> Node:
    return _plain(x, 0)


def i1(x: Node) -> Node:
    return _plain(x, 1)


def i0e(x: Node) -> Node:
    return _damped(x, 0)


def i1e(x: Node) -> Node:
    return _damped(x, 1)


# i0(x) and i1(x) 2 / x in (x / 2)**2 up to 16, relative errors 2^-30.9, 2^-32.4.
_SMALL_F32 = (
    (
        1.3737138e-13, 5.5634707e-12, 6.4985156e-10, 3.902479e-08, 1.9310066e-06, 6.943784e-05, 0.0017361223,
        0.02777777, 0.25, 1.0, 1.0,
    ),
    (
        1.2913093e-14, 5.2686273e-13, 7.306138e-11, 4.864623e-09, 2.7598313e-07, 1.157228e-05, 0.00034722668,
        0.006944439, 0.083333336, 0.5, 1.0,
    ),
)  # fmt: skip
# The same: 2^-66.5, 2^-64.2.
_SMALL_F64 = (
    (
        1.3697412919764549e-30, -1.665339736607003e-28, 1.2595582954932367e-26, 2.177662879339955e-25,
        1.4034836712302946e-22, 2.564074286351213e-20, 4.3602252906297776e-18, 6.275913586732321e-16,
        7.594069805843019e-14, 7.594057858922931e-12, 6.151187347467841e-10, 3.936759888609218e-08,
        1.9290123456882666e-06, 6.944444444443428e-05, 0.0017361111111111173, 0.027777777777777776, 0.25, 1.0, 1.0,
    ),
    (
        -3.637277579082293e-30, 4.867447432505549e-28, -2.948684897831308e-26, 1.1253096010806274e-24,
        -1.8179244833590987e-23, 2.3169311757331514e-21, 3.291249109670733e-19, 5.235973077729667e-17,
        6.903263940706249e-15, 7.594081319825767e-13, 6.834651676006303e-11, 4.920949887572159e-09,
        2.75573192187124e-07, 1.157407407414514e-05, 0.00034722222222216304, 0.006944444444444471,
        0.08333333333333333, 0.5, 1.0,
    ),
)  # fmt: skip
# The derivative of its logarithm, relative errors 2^-3.4, 2^-5.6.
_SLOPE = (
    (
        -0.000519118, 0.016604794, -0.17613691, 0.90538454,
    ),
    (
        -0.00012146372, 0.0042481115, -0.054942682, 0.48966372,
    ),
)  # fmt: skip
# exp(-x) sqrt(x) i0(x) and i1(x) in 16 / x - 1 on [-1, 1], relative errors 2^-24.5, 2^-26.4.
_LARGE_F32 = (
    (
        3.7027527e-07, 1.6384556e-06, 1.1102607e-05, 0.00013615665, 0.003360558, 0.4021765,
    ),
    (
        -4.316788e-07, -2.0089208e-06, -1.4990656e-05, -0.0002191689, -0.009749585, 0.38939846,
    ),
)  # fmt: skip
# The same: 2^-53.8, 2^-54.2.
_LARGE_F64 = (
    (
        4.4130712103346225e-11, 3.403535517307444e-11, -3.952733853113313e-10, -2.6868795615939534e-10,
        1.5713402670829151e-09, 1.079367896396292e-09, -3.752171492579911e-09, -3.1030296708203714e-09,
        5.888709812719924e-09, 7.312228564293076e-09, -4.6873412010870514e-09, -1.331488214043937e-08,
        -6.966637296976762e-09, 7.531054333644574e-09, 2.1590609257634037e-08, 3.932947442523937e-08,
        8.871740730250525e-08, 2.9735954894106357e-07, 1.483847845617958e-06, 1.1143033803138475e-05,
        0.00013621607438555076, 0.0033605519836677196, 0.4021765094450081,
    ),
    (
        -1.2947963702505677e-10, -2.5719442620332236e-11, 8.680931126522255e-10, 2.207735328443311e-10,
        -2.717525838763317e-09, -9.609333261617528e-10, 5.377260756652142e-09, 2.9589280115855943e-09,
        -7.457986862983226e-09, -7.342024235496713e-09, 5.8481487375152984e-09, 1.3906463896494094e-08,
        6.752298843454384e-09, -8.392448687249162e-09, -2.3373663406362577e-08, -4.313522782969767e-08,
        -1.0001330322720898e-07, -3.483849898222354e-07, -1.8349100875002795e-06, -1.5038547227365068e-05,
        -0.00021923576383529875, -0.009749577193235366, 0.38939845902587233,
    ),
)  # fmt: skip

BUILDERS: dict[str, Builder] = {f.__name__: f for f in (i0, i1, i0e, i1e)}
