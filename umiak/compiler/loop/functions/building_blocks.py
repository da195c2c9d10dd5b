"""Building blocks of formulas: polynomials, clamps that keep NaN, pairs, the formats of f32 and f64.

Coefficients of this package are fitted for it: minimax in the stated weight (Remez exchange in 60 digits), rounded from
the lowest power upwards with the others fitted again after each. A comment gives variable, interval and error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from umiak.compiler.loop.node import Node, add, bitcast, call, const, fma, lt, mul, neg, select, sub
from umiak.compiler.loop.types import F32, F64, I32, I64, U32, U64, ScalarType

Builder = Callable[..., Node]
T = TypeVar("T")

LOG2_E = 1 / math.log(2)


@dataclass(frozen=True)
class Format:
    """A binary floating-point format and the integers of its size."""

    float: ScalarType
    signed: ScalarType
    unsigned: ScalarType
    mantissa: int  # stored bits
    bias: int

    @property
    def sign(self) -> int:
        """The bit of the sign."""
        return 1 << (self.float.bits - 1)


FORMATS = {F32: Format(F32, I32, U32, 23, 127), F64: Format(F64, I64, U64, 52, 1023)}


def format_of(x: Node) -> Format:
    return FORMATS[x.type]


def pick(x: Node, f32: T, f64: T) -> T:
    """Return the constant for the type of ``x``."""
    return f32 if x.type is F32 else f64


def number(x: Node, value: float) -> Node:
    """A constant of the type of ``x``."""
    return const(value, x.type)


def polynomial(x: Node, coefficients: Sequence[float]) -> Node:
    """Horner's scheme; the highest power comes first."""
    result = number(x, coefficients[0])
    for c in coefficients[1:]:
        result = fma(result, x, c)
    return result


def odd_polynomial(x: Node, square: Node, coefficients: Sequence[float]) -> Node:
    """``x + x**3 * P(x**2)``. It makes +0 of -0 where P(0) < 0."""
    return fma(mul(polynomial(square, coefficients), square), x, x)


def at_least(x: Node, bound: float) -> Node:
    """``max(x, bound)``, NaN stays: one instruction where `max` takes more."""
    return select(lt(x, bound), bound, x)


def at_most(x: Node, bound: float) -> Node:
    """``min(x, bound)``, NaN stays."""
    return select(lt(number(x, bound), x), bound, x)


def magnitude(x: Node) -> Node:
    return call("abs", x)


def sqrt(x: Node) -> Node:
    return call("sqrt", x)


def every(*conditions: Node) -> Node:
    """The conjunction."""
    result = conditions[0]
    for c in conditions[1:]:
        result = call("and", result, c)
    return result


def with_sign(x: Node, of: Node) -> Node:
    return call("copysign", x, of)


def pattern(x: Node) -> Node:
    """The bits of a float, unsigned."""
    return bitcast(x, format_of(x).unsigned)


def exp2_near(x: Node, low: Node | None = None) -> Node:
    """2**(x + low) for x near the range of exponents. Where x comes rounded, the error grows with it."""
    n = call("rint", x)
    f = sub(x, n) if low is None else add(sub(x, n), low)
    return call("ldexp", fma(polynomial(f, pick(x, _EXP2_F32, EXP2_F64)), f, 1.0), n)


# (2**x - 1) / x on [-1/2, 1/2], relative error of 2**x: 2^-27.5, 2^-59.7.
_EXP2_F32 = (0.00015825909, 0.0013417745, 0.009617062, 0.055502728, 0.24022655, 0.69314724)
EXP2_F64 = (
    2.8713290973848914e-11, 4.4734149443453713e-10, 7.052958836714605e-09, 1.0177931745545063e-07,
    1.3215491312381526e-06, 1.5252734167815479e-05, 0.00015403530388901948, 0.001333355814603296,
    0.009618129107630227, 0.05550410866482338, 0.2402265069591007, 0.6931471805599453,
)  # fmt: skip

# Pairs (high, low): the number high + low, |low| at most an ulp of high.
Pair = tuple[Node, Node]


def pair(x: Node, value: tuple[float, float]) -> Pair:
    return number(x, value[0]), number(x, value[1])


def sum_of(a: Node, b: Node) -> Pair:
    """a + b exactly, for |a| >= |b| or a = 0."""
    s = add(a, b)
    return s, sub(b, sub(s, a))


def exact_sum(a: Node, b: Node) -> Pair:
    """a + b exactly, whichever is larger."""
    s = add(a, b)
    t = sub(s, a)
    return s, add(sub(a, sub(s, t)), sub(b, t))


def product_of(a: Node, b: Node) -> Pair:
    """a * b exactly, unless it underflows."""
    p = mul(a, b)
    return p, fma(a, b, neg(p))


def pair_product(a: Pair, b: Pair) -> Pair:
    p, rest = product_of(a[0], b[0])
    return p, fma(a[0], b[1], fma(a[1], b[0], rest))


def pair_sum(a: Pair, b: Pair) -> Pair:
    """For a that is larger in magnitude."""
    s, rest = sum_of(a[0], b[0])
    return s, add(rest, add(a[1], b[1]))
