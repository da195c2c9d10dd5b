"""Functions that ONNX has no operators for: series and asymptotic forms, computed in 64 bits.

Digital Library of Mathematical Functions, 5.5, 5.11, 8.9.2, 8.11.4, 10.25.2, 10.40.1 and 25.11.5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from paddle.onnx.builder import Builder, Value
from paddle.onnx.loops import repeated
from paddle.onnx.rules.elementwise import somewhere
from paddle.onnx.shapes import expand, known, shape
from paddle.onnx.table import Call, rule

EXACT = "float64"
SHIFT = 8  # asymptotic forms of gamma begin here
# B(2k) / (2k (2k - 1)) of lgamma, B(2k) / (2k) of digamma and B(2k) / (2k)! of sums.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def horner(x: Value, coefficients: Sequence[float]) -> Value:
    """A polynomial, its highest coefficient first."""
    y = x * coefficients[0] + coefficients[1]
    for c in coefficients[2:]:
        y = y * x + c
    return y


def _choose(g: Builder, where: Value, x: Value | float, y: Value | float) -> Value:
    x, y = (v if isinstance(v, Value) else g.constant(v, EXACT) for v in (x, y))
    chosen: Value = g.node("Where", where, x, y)
    return chosen


def _to_integer(g: Builder, a: Value) -> Value:
    """The distance from the nearest integer, with sign."""
    distance: Value = a - g.node("Round", a)
    return distance


def lgamma_of(g: Builder, x: Value) -> Value:
    """log |gamma(x)|, in 64 bits."""
    a = g.node("Abs", x)
    small = a < float(SHIFT)
    z = _choose(g, small, a + float(SHIFT), a)
    product = a
    for i in range(1, SHIFT):
        product = product * (a + float(i))
    r = 1.0 / z
    terms = [b / ((2 * k + 2) * (2 * k + 1)) for k, b in enumerate(_BERNOULLI)]
    y = (z - 0.5) * g.node("Log", z) - z + 0.5 * math.log(2 * math.pi) + r * horner(r * r, terms[::-1])
    y = y - _choose(g, small, g.node("Log", product), 0.0)
    y = _choose(g, a < math.inf, y, a)
    # gamma(-a) gamma(a) = -pi / (a sin(pi a))
    sine = g.node("Abs", g.node("Sin", _to_integer(g, a) * math.pi))
    return _choose(g, x < 0.0, -g.node("Log", a * sine / math.pi) - y, y)


def digamma_of(g: Builder, x: Value) -> Value:
    """The derivative of lgamma, in 64 bits."""
    a = g.node("Abs", x)
    small = a < float(SHIFT)
    z = _choose(g, small, a + float(SHIFT), a)
    r = 1.0 / z
    terms = [b / (2 * k + 2) for k, b in enumerate(_BERNOULLI)]
    y = g.node("Log", z) - r * 0.5 - r * r * horner(r * r, terms[::-1])
    steps = 1.0 / a
    for i in range(1, SHIFT):
        steps = steps + 1.0 / (a + float(i))
    y = y - _choose(g, small, steps, 0.0)
    # digamma(-a) = digamma(a) + 1 / a + pi / tan(pi a)
    f = _to_integer(g, a)
    angle = f * math.pi
    reflected = y + 1.0 / a + g.node("Cos", angle) / g.node("Sin", angle) * math.pi
    reflected = _choose(g, g.node("Equal", f, 0.0), math.nan, reflected)
    return _choose(g, x < 0.0, reflected, y)


@rule("lgamma", "gammaln")
def lgamma(g: Builder, o: Call) -> Value:
    return g.cast(lgamma_of(g, g.cast(o[0], EXACT)), o[0].dtype)


@rule("digamma")
def digamma(g: Builder, o: Call) -> Value:
    return g.cast(digamma_of(g, g.cast(o[0], EXACT)), o[0].dtype)


@rule("polygamma")
def polygamma(g: Builder, o: Call) -> Value:
    x, n = g.cast(o[0], EXACT), o("n", 0)
    if n == 0:
        return digamma(g, o)
    positive = ~(x < 0.0)
    y = _hurwitz(g, _choose(g, positive, x, 1.0 - x), n + 1) * math.factorial(n)
    y = y if n % 2 else -y
    # (-1)^n psi(1 - x) - psi(x) is pi times the n-th derivative of cot(pi x), a polynomial in cot(pi x).
    angle = _to_integer(g, x) * math.pi
    cot = g.node("Cos", angle) / g.node("Sin", angle)
    reflected = (y if n % 2 == 0 else -y) - horner(cot, _of_cot(n)[::-1]) * math.pi ** (n + 1)
    pole = g.node("Equal", x, g.node("Round", x)) & ~(x > 0.0)
    y = _choose(g, pole, math.inf if n % 2 else -math.inf, _choose(g, positive, y, reflected))
    return g.cast(y, o[0].dtype)


def _of_cot(n: int) -> list[float]:
    """The n-th derivative of cot as a polynomial in it, the lowest coefficient first: cot' = -1 - cot²."""
    p = [0.0, 1.0]
    for _ in range(n):
        slope = [k * c for k, c in enumerate(p)][1:]
        p = [0.0] * (len(slope) + 2)
        for k, c in enumerate(slope):
            p[k] -= c
            p[k + 2] -= c
    return p


def _hurwitz(g: Builder, x: Value, s: int) -> Value:
    """The sum of (x + k)^-s over all k from 0 on, for positive x: first terms, then Euler's and Maclaurin's formula."""
    first = 12
    total = g.node("Pow", 1.0 / x, float(s))
    for k in range(1, first):
        total = total + g.node("Pow", 1.0 / (x + float(k)), float(s))
    r = 1.0 / (x + float(first))
    term = g.node("Pow", r, float(s))
    total = total + g.node("Pow", r, float(s - 1)) * (1 / (s - 1)) + term * 0.5
    rising = float(s)
    term = term * r
    for k, b in enumerate(_BERNOULLI):
        total = total + term * (b / math.factorial(2 * k + 2) * rising)
        term = term * r * r
        rising *= (s + 2 * k + 1) * (s + 2 * k + 2)
    return total


# --- modified Bessel functions ----------------------------------------------------------------------------------------

_SPLIT, _NEAR_TERMS, _FAR_TERMS = 16.0, 48, 20


@rule("i0", "i0e", "i1", "i1e")
def bessel(g: Builder, o: Call) -> Value:
    x, order, damped = g.cast(o[0], EXACT), int(o.name[1]), o.name.endswith("e")
    a = g.node("Abs", x)
    # (x / 2)^order times the sum of (x² / 4)^k / (k! (k + order)!)
    near = g.node("Min", a, g.constant(_SPLIT, EXACT))
    series = [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(_NEAR_TERMS)]
    small = horner(near * near * 0.25, series[::-1])
    small = small * near * 0.5 if order else small
    # exp(x) / sqrt(2 pi x) times a series in 1 / x
    term, far = 1.0, [1.0]
    for k in range(1, _FAR_TERMS):
        term *= -(4 * order**2 - (2 * k - 1) ** 2) / (8 * k)
        far.append(term)
    distant = g.node("Max", a, g.constant(_SPLIT, EXACT))
    large = horner(1.0 / distant, far[::-1]) / g.node("Sqrt", distant * (2 * math.pi))
    if damped:
        small = small * g.node("Exp", -near)
    else:
        large = large * g.node("Exp", distant)
    y = _choose(g, a < _SPLIT, small, large)
    y = _choose(g, g.node("IsNaN", x), x, y)
    if order:
        y = _choose(g, x < 0.0, -y, y)
    return g.cast(y, o[0].dtype)


# --- incomplete gamma functions ---------------------------------------------------------------------------------------

_STEPS, _PRECISION = 10_000, 1e-16


@rule("gammaincc")
def gammaincc(g: Builder, o: Call) -> Value:
    """The upper one. Below a + 1 one less the series of the lower one, else its continued fraction, by Lentz."""
    a, x = g.cast(o[0], EXACT), g.cast(o[1], EXACT)
    area = a + x
    a, x = (known(expand(g, v, shape(g, area)), area.shape) for v in (a, x))
    series = x < a + 1.0
    factor = g.node("Exp", a * g.node("Log", x) - x - lgamma_of(g, a))
    one = known(expand(g, g.constant(1.0, EXACT), shape(g, area)), area.shape)

    def term(k: Value, states: Sequence[Value]) -> tuple[Value, list[Value]]:
        last, total = states
        last = last * x / (a + g.cast(k, EXACT) + 1.0)
        going = series & (total * _PRECISION < last)
        return somewhere(g, known(going, area.shape), None), [last, total + last]

    _, total = repeated(g, _STEPS, [1.0 / a, 1.0 / a], term)

    def fraction(k: Value, states: Sequence[Value]) -> tuple[Value, list[Value]]:
        b, c, d, h = states
        n = g.cast(k, EXACT) + 1.0
        top = (a - n) * n
        b = b + 2.0
        d = 1.0 / _off_zero(g, b + top * d)
        c = _off_zero(g, b + top / c)
        going = ~series & (g.node("Abs", c * d - 1.0) > _PRECISION)
        return somewhere(g, known(going, area.shape), None), [b, c, d, h * c * d]

    b = x + 1.0 - a
    begin = 1.0 / _off_zero(g, b)
    *_, h = repeated(g, _STEPS, [b, one * 1e300, begin, begin], fraction)
    y = _choose(g, series, 1.0 - total * factor, h * factor)
    y = _choose(g, g.node("Equal", x, 0.0), 1.0, y)
    y = _choose(g, g.node("Equal", x, math.inf) | g.node("Equal", a, 0.0), 0.0, y)
    y = _choose(g, g.node("Equal", a, math.inf), 1.0, y)
    wrong = (a < 0.0) | (x < 0.0) | g.node("IsNaN", a + x) | (g.node("Equal", a, x) & g.node("Equal", a, 0.0))
    return g.cast(_choose(g, wrong, math.nan, y), o[0].dtype)


def _off_zero(g: Builder, x: Value) -> Value:
    return _choose(g, g.node("Abs", x) < 1e-300, 1e-300, x)
