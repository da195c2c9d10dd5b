"""Functions of one element each that take a number of steps which depends on it: series, continued fractions, Euclid's
algorithm. Series and fractions: Digital Library of Mathematical Functions, 8.11.4, 8.9.2, 8.17.22 and 25.11.5."""

from __future__ import annotations

import math
from typing import Any

from umiak.compiler.algorithms.number import Number, maximum, where
from umiak.compiler.algorithms.writer import Writer, algorithm
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import F32, F64, I64, ScalarType
from umiak.compiler.lower.builder import compute_type
from umiak.compiler.lower.complex_arithmetic import disjunction
from umiak.ops import elementwise

STEPS = 100_000
SMALL = {F32: 1e-30, F64: 1e-300}  # in place of a denominator of 0
PRECISION = {F32: 2.0**-24, F64: 2.0**-53}
# B(2j) / (2j)!: the terms of the Euler-Maclaurin formula.
BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600)
SHIFT = 12  # the formula begins here


def elements(w: Writer) -> tuple[list[Number], Any]:
    """The operands' elements at a point of the result, in the type that is computed in, and the result."""
    meta = w.operation.results[0].meta
    at = w.points(*meta.shape)
    type_ = compute_type(meta.dtype)
    given = []
    for k in range(len(w.operation.operands)):
        x = w.builder.operand(w.operation, k, at, type_)
        given.append(Number.of(x).cast(type_))
    return w.let(*given) if len(given) > 1 else [w.let(*given)], w.result(0)


def function(name: str, x: Number) -> Number:
    return Number(n.call(name, x.re))


def log(x: Number) -> Number:
    return function("log", x)


def exp(x: Number) -> Number:
    return function("exp", x)


def is_nan(x: Number) -> Node:
    return n.ne(x.re, x.re)


def away_from_zero(x: Number) -> Number:
    small = SMALL[x.type]
    return where(x.size() < small, x.like(small), x)


def steps(x: Number) -> Node:
    """As many as series and fractions of this order may take, which grow with the root of it."""
    count = maximum(x, 1.0).root() * 12.0 + 80.0
    return n.cast(Number(n.minimum(count.re, count.like(float(STEPS)).re)).re, I64)


def incomplete_gamma(w: Writer, lower: bool) -> None:
    (a, x), out = elements(w)
    eps = PRECISION[a.type]
    series = x < a + 1.0
    # x**a exp(-x) / gamma(a), by logarithms.
    factor = w.let(exp(a * log(x) - x - function("lgamma", a)))
    one = a.like(1.0)

    def next_term(i: Node, term: Number, total: Number) -> tuple[Number, Number]:
        term = term * x / (a + Number(n.cast(n.add(i, 1), a.type)))
        return term, total + term

    _, total = w.fold(
        steps(maximum(a, 1.0)), (one / a, one / a), next_term,
        go=lambda i, term, total: n.call("and", series, (total * eps) < term),
    )  # fmt: skip

    def fraction(i: Node, b: Number, c: Number, d: Number, h: Number, change: Number) -> tuple[Number, ...]:
        k = Number(n.cast(n.add(i, 1), a.type))
        top = (a - k) * k
        b = b + 2.0
        d = 1.0 / away_from_zero(b + top * d)
        c = away_from_zero(b + top / c)
        return b, c, d, h * c * d, c * d

    b = x + 1.0 - a
    first = 1.0 / away_from_zero(b)
    *_, h, _ = w.fold(
        steps(maximum(a, x)), (b, one / SMALL[a.type], first, first, one * 2.0), fraction,
        go=lambda i, b, c, d, h, change: n.call("and", n.call("not", series), one * eps < (change - 1.0).size()),
    )  # fmt: skip
    p, q = total * factor, h * factor
    value = where(series, p, 1.0 - q) if lower else where(series, 1.0 - p, q)
    at_0, at_infinity = (0.0, 1.0) if lower else (1.0, 0.0)
    value = where(n.eq(x.re, 0.0), a.like(at_0), value)
    value = where(disjunction(n.eq(x.re, math.inf), n.eq(a.re, 0.0)), a.like(at_infinity), value)
    value = where(n.eq(a.re, math.inf), a.like(at_0), value)
    zeros = n.call("and", n.eq(a.re, 0.0), n.eq(x.re, 0.0))
    infinite = n.call("and", n.eq(a.re, math.inf), n.eq(x.re, math.inf))
    wrong = disjunction(a < 0.0, x < 0.0, is_nan(a), is_nan(x), zeros, infinite)
    out[()] = where(wrong, a.like(math.nan), value)


@algorithm(elementwise.Igamma)
def igamma(w: Writer) -> None:
    incomplete_gamma(w, lower=True)


@algorithm(elementwise.Igammac)
def igammac(w: Writer) -> None:
    incomplete_gamma(w, lower=False)


@algorithm(elementwise.Betainc)
def betainc(w: Writer) -> None:
    (a, b, x), out = elements(w)
    eps = PRECISION[a.type]
    # The fraction converges on this side of the mean; the other side is 1 - I(b, a, 1 - x).
    swap = (a + 1.0) / (a + b + 2.0) < x
    p, q, z = w.let(where(swap, b, a), where(swap, a, b), where(swap, 1.0 - x, x))
    other = where(swap, x, 1.0 - x)
    logarithm = function("lgamma", p + q) - function("lgamma", p) - function("lgamma", q)
    factor = w.let(exp(logarithm + p * log(z) + q * log(other)) / p)
    one = a.like(1.0)

    def fraction(i: Node, c: Number, d: Number, h: Number, change: Number) -> tuple[Number, ...]:
        m = Number(n.cast(n.add(i, 1), a.type))
        twice = p + m * 2.0
        for top in (m * (q - m) * z / ((twice - 1.0) * twice), -((p + m) * (p + q + m) * z / (twice * (twice + 1.0)))):
            d = 1.0 / away_from_zero(1.0 + top * d)
            c = away_from_zero(1.0 + top / c)
            h = h * c * d
        return c, d, h, c * d

    first = 1.0 / away_from_zero(1.0 - (p + q) * z / (p + 1.0))
    *_, h, _ = w.fold(
        steps(maximum(p, q)), (one, first, first, one * 2.0), fraction,
        go=lambda i, c, d, h, change: one * eps < (change - 1.0).size(),
    )  # fmt: skip
    value = where(swap, 1.0 - factor * h, factor * h)
    value = where(n.eq(x.re, 0.0), one * 0.0, where(n.eq(x.re, 1.0), one, value))
    inside = n.call("and", Number(n.const(0.0, a.type)) < a, Number(n.const(0.0, a.type)) < b)
    inside = n.call("and", inside, n.call("and", n.le(n.const(0.0, a.type), x.re), n.le(x.re, n.const(1.0, a.type))))
    out[()] = where(inside, value, a.like(math.nan))


def power(x: Number, count: int) -> Number:
    """``x**count`` for a number that the code knows."""
    result = None
    while count:
        if count & 1:
            result = x if result is None else result * x
        x, count = x * x, count >> 1
    assert result is not None
    return result


@algorithm(elementwise.Polygamma)
def polygamma(w: Writer) -> None:
    """By Hurwitz's zeta function, for whose sum the first terms are added up and the others integrated."""
    (x,), out = elements(w)
    order = w.op.n
    if order == 0:
        out[()] = function("digamma", x)
        return
    s = order + 1
    shift = n.cast(Number(n.call("ceil", maximum(x.like(float(SHIFT)) - x, 0.0).re)).re, I64)
    shift = w.let(n.minimum(shift, n.i64(STEPS)))
    total = w.sum(shift, lambda k: 1.0 / power(x + Number(n.cast(k, x.type)), s), x.like(0.0))
    far = w.let(x + Number(n.cast(shift, x.type)))
    inverse = 1.0 / far
    term = power(inverse, s)
    rest = power(inverse, s - 1) * (1.0 / (s - 1)) + term * 0.5
    rising = float(s)
    term = term * inverse
    for j, coefficient in enumerate(BERNOULLI):
        rest = rest + term * (coefficient * rising)
        term = term * inverse * inverse
        rising *= (s + 2 * j + 1) * (s + 2 * j + 2)
    value = (total + rest) * (math.factorial(order) * (-1.0 if order % 2 == 0 else 1.0))
    pole_here = n.call("and", n.le(x.re, n.const(0.0, x.type)), n.eq(n.call("floor", x.re), x.re))
    pole = -math.inf if order % 2 == 0 else math.inf
    out[()] = where(pole_here, x.like(pole), value)


@algorithm(elementwise.Gcd)
def gcd(w: Writer) -> None:
    (a, b), out = elements(w)
    type_: ScalarType = a.type
    count = 3 * (64 if type_.is_integer else 1100)  # steps of Euclid's algorithm for Fibonacci's numbers, and more

    def step(_: Node, x: Number, y: Number) -> tuple[Number, Number]:
        return y, Number(n.rem(x.re, y.re))

    def go(_: Node, x: Number, y: Number) -> Node:
        left = n.ne(y.re, n.const(0, type_))
        return n.call("and", left, n.eq(y.re, y.re)) if type_.is_float else left

    x, y = w.fold(count, (a.size(), b.size()), step, go=go)
    out[()] = where(is_nan(y), y, x) if type_.is_float else x
