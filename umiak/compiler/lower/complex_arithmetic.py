"""Functions of complex numbers, which are pairs of real ones.

The branch cuts and most formulas are those of W. Kahan, "Branch cuts for complex elementary functions", 1987. Zeros,
infinities and NaN give what C's Annex G says, as far as that is one answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node, call

Pair: TypeAlias = "tuple[Node, Node]"


def const(value: float, like: Node) -> Node:
    return n.const(value, like.type)


def disjunction(*conditions: Node) -> Node:
    """Return the ``or`` of conditions."""
    condition = conditions[0]
    for c in conditions[1:]:
        condition = call("or", condition, c)
    return condition


def conjunction(*conditions: Node) -> Node:
    condition = conditions[0]
    for c in conditions[1:]:
        condition = call("and", condition, c)
    return condition


def no(x: Node) -> Node:
    return call("not", x)


def absolute(x: Node) -> Node:
    return call("abs", x)


def signed(x: Node, like: Node) -> Node:
    """|x| with the sign of ``like``."""
    return call("copysign", x, like)


def is_infinite(x: Node) -> Node:
    return n.eq(absolute(x), math.inf)


def is_finite(x: Node) -> Node:
    return n.lt(absolute(x), math.inf)


def pick(where: Node, x: Pair, y: Pair) -> Pair:
    return n.select(where, x[0], y[0]), n.select(where, x[1], y[1])


def negative(x: Pair) -> Pair:
    return n.neg(x[0]), n.neg(x[1])


def times(x: Pair, y: Pair) -> Pair:
    (a, b), (p, q) = x, y
    return n.sub(n.mul(a, p), n.mul(b, q)), n.add(n.mul(a, q), n.mul(b, p))


def rotated(f: Callable[[Pair], Pair]) -> Callable[[Pair], Pair]:
    """i f(-iz)"""

    def g(x: Pair) -> Pair:
        p, q = f((x[1], n.neg(x[0])))
        return n.neg(q), p

    return g


def divide(x: Pair, y: Pair) -> Pair:
    """Smith's method: scaled by the larger part, so that nothing overflows on the way."""
    (a, b), (p, q) = x, y
    wide = n.le(absolute(q), absolute(p))
    big, small = n.select(wide, p, q), n.select(wide, q, p)
    zero = conjunction(n.eq(p, 0), n.eq(q, 0))
    ratio = n.select(zero, const(0, big), n.div(small, big))
    scale = n.select(zero, absolute(big), n.add(big, n.mul(small, ratio)))
    re = n.select(wide, n.add(a, n.mul(b, ratio)), n.add(n.mul(a, ratio), b))
    im = n.select(wide, n.sub(b, n.mul(a, ratio)), n.sub(n.mul(b, ratio), a))
    # By zero: the parts by themselves, without 0 times infinity among them.
    return n.div(n.select(zero, a, re), scale), n.div(n.select(zero, b, im), scale)


def reciprocal(x: Pair) -> Pair:
    return divide((const(1, x[0]), const(0, x[0])), x)


def ordered(x: Pair) -> tuple[Node, Node]:
    """The larger and the smaller of |re| and |im|."""
    a, b = absolute(x[0]), absolute(x[1])
    return n.maximum(a, b), n.minimum(a, b)


def modulus(x: Pair) -> Node:
    """|x| without overflow on the way."""
    big, small = ordered(x)
    ratio = n.div(small, n.select(n.eq(big, 0), const(1, big), big))
    length = n.mul(big, call("sqrt", n.fma(ratio, ratio, 1.0)))
    return n.select(disjunction(is_infinite(x[0]), is_infinite(x[1])), const(math.inf, big), length)


def log_modulus(x: Pair) -> Node:
    """log |x|, also near 1, where |x| itself has lost what counts."""
    big, small = ordered(x)
    near = n.fma(n.sub(big, 1), n.add(big, 1), n.mul(small, small))
    ratio = n.div(small, n.select(n.eq(big, 0), const(1, big), big))
    is_near = conjunction(n.le(const(0.5, big), big), n.le(big, const(2, big)))
    rest = n.select(is_near, near, n.mul(ratio, ratio))
    log_length = n.fma(call("log1p", rest), 0.5, n.select(is_near, const(0, big), call("log", big)))
    return n.select(disjunction(is_infinite(x[0]), is_infinite(x[1])), const(math.inf, big), log_length)


def exp(x: Pair) -> Pair:
    """exp, in two halves where exp(re) alone would overflow."""
    a, b = x
    far = n.lt(const(709 if a.type.bits == 64 else 88, a), a)
    e = call("exp", n.select(far, n.mul(a, 0.5), a))
    scale = n.select(far, e, const(1, a))
    re, im = (n.mul(n.mul(e, call(f, b)), scale) for f in ("cos", "sin"))
    im = n.select(n.eq(b, 0), b, im)
    re = n.select(n.eq(b, 0), n.mul(e, scale), re)
    # At infinities the angle may mean nothing.
    lost = conjunction(is_infinite(a), no(is_finite(b)))
    below = n.lt(a, 0)
    re = n.select(lost, n.select(below, const(0, a), const(math.inf, a)), re)
    im = n.select(conjunction(lost, below), const(0, a), im)
    return re, im


def scaled_by(factor: float, f: Callable[[Pair], Pair]) -> Callable[[Pair], Pair]:
    """f(x) * factor"""

    def g(x: Pair) -> Pair:
        p, q = f(x)
        return n.mul(p, factor), n.mul(q, factor)

    return g


def exp2(x: Pair) -> Pair:
    return exp((n.mul(x[0], math.log(2)), n.mul(x[1], math.log(2))))


def expm1(x: Pair) -> Pair:
    a, b = x
    half = call("sin", n.mul(b, 0.5))
    re = n.sub(n.mul(call("expm1", a), call("cos", b)), n.mul(n.mul(half, half), 2.0))
    return re, n.mul(call("exp", a), call("sin", b))


def log(x: Pair) -> Pair:
    return log_modulus(x), call("atan2", x[1], x[0])


def log1p(x: Pair) -> Pair:
    a, b = x
    one_more = (n.add(a, 1), b)
    small = n.lt(n.maximum(absolute(a), absolute(b)), const(0.5, a))
    near = n.mul(call("log1p", n.select(small, n.fma(a, n.add(a, 2), n.mul(b, b)), const(0, a))), 0.5)
    return n.select(small, near, log_modulus(one_more)), call("atan2", b, one_more[0])


def sqrt(x: Pair) -> Pair:
    """Scaled, so that |x| neither overflows nor loses digits to underflow."""
    a, b = x
    big, _ = ordered(x)
    huge, tiny = n.lt(const(1e30, big), big), n.lt(big, const(1e-30, big))
    up, back = (
        n.select(huge, const(p, a), n.select(tiny, const(q, a), const(1, a)))
        for p, q in ((0.25, 2.0**60), (2.0, 2.0**-30))
    )
    p, q = n.mul(a, up), n.mul(b, up)
    t = call("sqrt", n.mul(n.add(absolute(p), modulus((p, q))), 0.5))
    other = n.div(q, n.select(n.eq(t, 0), const(1, t), n.mul(t, 2.0)))
    t, other = n.mul(t, back), n.mul(other, back)
    right = n.le(const(0, a), a)
    re, im = n.select(right, t, absolute(other)), n.select(right, other, signed(t, b))
    nan = n.ne(a, a)
    endless = is_infinite(b)
    return (
        n.select(endless, const(math.inf, a), n.select(nan, a, re)),
        n.select(endless, b, n.select(nan, a, im)),
    )


def rsqrt(x: Pair) -> Pair:
    return reciprocal(sqrt(x))


def hyperbolic(a: Node) -> tuple[Node, Node, Node]:
    """sinh a and cosh a, and a factor that is to be applied last: alone they may overflow where a product does not."""
    far = n.lt(const(700 if a.type.bits == 64 else 87, a), absolute(a))
    near = n.select(far, const(0, a), a)
    half = call("exp", n.select(far, n.mul(absolute(a), 0.5), const(0, a)))
    halved = n.mul(half, 0.5)
    return (
        n.select(far, signed(halved, a), call("sinh", near)),
        n.select(far, halved, call("cosh", near)),
        half,
    )


def sinh(x: Pair) -> Pair:
    a, b = x
    s, c, scale = hyperbolic(a)
    re, im = (n.mul(n.mul(p, call(f, b)), scale) for p, f in ((s, "cos"), (c, "sin")))
    lost = conjunction(is_infinite(a), no(is_finite(b)))
    re = n.select(n.eq(a, 0), a, n.select(n.eq(b, 0), n.mul(s, scale), re))
    return n.select(lost, absolute(a), re), n.select(n.eq(b, 0), b, im)


def cosh(x: Pair) -> Pair:
    a, b = x
    s, c, scale = hyperbolic(a)
    re, im = (n.mul(n.mul(p, call(f, b)), scale) for p, f in ((c, "cos"), (s, "sin")))
    lost = conjunction(is_infinite(a), no(is_finite(b)))
    re = n.select(lost, absolute(a), n.select(n.eq(b, 0), n.mul(c, scale), re))
    none = disjunction(n.eq(b, 0), n.eq(a, 0))
    return re, n.select(none, n.mul(signed(const(1, a), a), signed(const(0, a), b)), im)


def tanh(x: Pair) -> Pair:
    a, b = x
    far = n.lt(const(20 if a.type.bits == 64 else 10, a), absolute(a))
    near = n.select(far, const(0, a), a)
    t, s = call("tan", b), call("sinh", near)
    beta = n.fma(t, t, 1.0)
    rho = call("sqrt", n.fma(s, s, 1.0))
    below = n.fma(n.mul(beta, s), s, 1.0)
    re, im = n.div(n.mul(n.mul(beta, rho), s), below), n.div(t, below)
    # Where the tangent is infinite only its limit is left.
    steep = is_infinite(t)
    re, im = n.select(steep, n.div(rho, s), re), n.select(steep, const(0, a), im)
    decay = call("exp", n.mul(absolute(a), -2.0))
    angle = n.mul(n.mul(call("sin", b), call("cos", b)), 4.0)
    angle = n.select(conjunction(is_infinite(a), no(is_finite(b))), signed(const(0, a), b), n.mul(angle, decay))
    im = n.select(n.eq(b, 0), b, n.select(far, angle, im))
    # b - b is 0 or NaN.
    one = n.select(is_infinite(a), const(1, a), n.add(n.sub(b, b), 1))
    return n.select(far, signed(one, a), n.select(n.eq(a, 0), a, re)), im


def _log_far(x: Pair) -> Node:
    """log |2 x|, where |x| may be too large to be squared."""
    return n.add(log_modulus((n.mul(x[0], 0.5), n.mul(x[1], 0.5))), 2 * math.log(2))


def _is_far(x: Pair) -> Node:
    limit = const(1e150 if x[0].type.bits == 64 else 1e18, x[0])
    return disjunction(n.lt(limit, absolute(x[0])), n.lt(limit, absolute(x[1])))


def _near(x: Pair, far: Node) -> Pair:
    """The number, or 0 where another formula serves."""
    zero = const(0, x[0])
    return n.select(far, zero, x[0]), n.select(far, zero, x[1])


def asinh(x: Pair) -> Pair:
    far = _is_far(x)
    a, b = _near(x, far)
    (p, q), (r, s) = sqrt((n.add(b, 1), n.neg(a))), sqrt((n.sub(1, b), a))
    re = call("asinh", n.sub(n.mul(p, s), n.mul(r, q)))
    im = n.select(n.eq(b, 0), b, call("atan2", b, n.sub(n.mul(p, r), n.mul(q, s))))
    return pick(far, (signed(_log_far(x), x[0]), call("atan2", x[1], absolute(x[0]))), (re, im))


def acos(x: Pair) -> Pair:
    far = _is_far(x)
    a, b = _near(x, far)
    (p, q), (r, s) = sqrt((n.sub(1, a), n.neg(b))), sqrt((n.add(a, 1), b))
    re = n.select(n.eq(a, 0), const(math.pi / 2, a), n.mul(call("atan2", p, r), 2.0))
    im = call("asinh", n.sub(n.mul(r, q), n.mul(s, p)))
    return pick(far, (call("atan2", absolute(x[1]), x[0]), signed(_log_far(x), n.neg(x[1]))), (re, im))


def acosh(x: Pair) -> Pair:
    far = _is_far(x)
    a, b = _near(x, far)
    (p, q), (r, s) = sqrt((n.sub(a, 1), b)), sqrt((n.add(a, 1), b))
    re = call("asinh", n.add(n.mul(p, r), n.mul(q, s)))
    im = n.select(n.eq(a, 0), signed(const(math.pi / 2, a), b), n.mul(call("atan2", q, r), 2.0))
    return pick(far, (_log_far(x), call("atan2", x[1], x[0])), (re, im))


def atanh(x: Pair) -> Pair:
    """On the right half plane; the left one by symmetry."""
    far = _is_far(x)
    a, b = absolute(x[0]), x[1]
    near, y = _near((a, b), far)
    small = const(1e-154 if a.type.bits == 64 else 1e-19, a)
    pole = conjunction(n.eq(near, 1), n.lt(absolute(y), small))
    away = n.sub(1, near)
    below = n.fma(away, away, n.mul(y, y))
    re = n.mul(call("log1p", n.div(n.mul(near, 4.0), n.select(pole, const(1, a), below))), 0.25)
    im = n.mul(call("atan2", n.mul(y, -2.0), n.sub(n.mul(away, n.add(near, 1)), n.mul(y, y))), -0.5)
    at_pole = n.mul(call("log", n.mul(absolute(y), 0.5)), -0.5)
    re = n.select(pole, at_pole, re)
    im = n.select(conjunction(pole, n.eq(y, 0)), y, n.select(pole, signed(const(math.pi / 4, a), y), im))
    # 1 / x, of which the real part is all that is left.
    m = modulus((n.mul(a, 0.5), n.mul(b, 0.5)))
    far_re = n.select(disjunction(is_infinite(a), is_infinite(b)), const(0, a), n.div(n.div(n.mul(a, 0.25), m), m))
    turn = n.select(n.ne(b, b), b, signed(const(math.pi / 2, a), b))
    turn = n.select(conjunction(n.ne(a, a), is_finite(b)), a, turn)
    re, im = n.select(far, far_re, re), n.select(far, turn, im)
    return n.select(n.eq(a, 0), x[0], signed(re, x[0])), im


def power(x: Pair, y: Pair) -> Pair:
    (a, b), (p, q) = x, y
    result = exp(times(y, log(pick(conjunction(n.eq(a, 0), n.eq(b, 0)), (const(1, a), const(0, a)), x))))
    zero, one, nan = const(0, a), const(1, a), const(math.nan, a)
    none = conjunction(n.eq(a, 0), n.eq(b, 0))
    rises = conjunction(n.lt(zero, p), n.eq(q, 0))
    result = pick(none, (n.select(rises, zero, nan), n.select(rises, zero, nan)), result)
    return pick(conjunction(n.eq(p, 0), n.eq(q, 0)), (one, zero), result)


def logistic(x: Pair) -> Pair:
    e = exp(negative(x))
    return reciprocal((n.add(e[0], 1), e[1]))


def sign(x: Pair) -> Pair:
    """x / |x|; of an infinite part beside a finite one only the direction is left."""
    m = modulus(x)
    safe = n.select(n.eq(m, 0), const(1, m), m)
    a, b = (is_infinite(p) for p in x)
    one, zero = const(1, m), const(0, m)
    on_axis = [n.select(here, signed(one, p), zero) for here, p in zip((a, b), x, strict=True)]
    return pick(call("xor", a, b), (on_axis[0], on_axis[1]), (n.div(x[0], safe), n.div(x[1], safe)))


def angle(x: Pair) -> Node:
    a, b = x
    return n.select(disjunction(n.ne(a, a), n.ne(b, b)), modulus(x), call("atan2", b, a))


def truth(x: Pair) -> Node:
    return disjunction(n.ne(x[0], 0), n.ne(x[1], 0))


def before(x: Pair, y: Pair, order: Callable[[Node, Node], Node]) -> Node:
    """NumPy's order: that of the real parts, and of the imaginary ones (``order``: with or without equality) where
    those are equal. NaN comes before nothing."""
    ordered_parts = conjunction(n.lt(x[0], y[0]), n.eq(x[1], x[1]), n.eq(y[1], y[1]))
    return disjunction(ordered_parts, conjunction(n.eq(x[0], y[0]), order(x[1], y[1])))


def remainder(x: Pair, y: Pair) -> Pair:
    """``x - y*q`` with the Gaussian integer q that is nearest to ``x / y``; ties away from 0."""
    re, im = (call("trunc", n.add(part, signed(const(0.5, part), part))) for part in divide(x, y))
    re, im = times(y, (re, im))
    return n.sub(x[0], re), n.sub(x[1], im)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": modulus, "div": divide, "reciprocal": reciprocal, "exp": exp, "exp2": exp2, "expm1": expm1, "log": log,
    "log2": scaled_by(1 / math.log(2), log), "log10": scaled_by(1 / math.log(10), log), "log1p": log1p,
    "sqrt": sqrt, "rsqrt": rsqrt, "sinh": sinh, "cosh": cosh, "tanh": tanh, "sin": rotated(sinh),
    "cos": lambda x: cosh((n.neg(x[1]), x[0])), "tan": rotated(tanh), "asinh": asinh, "acosh": acosh, "atanh": atanh,
    "asin": rotated(asinh), "acos": acos, "atan": rotated(atanh), "pow": power, "logistic": logistic, "sign": sign,
    "angle": angle, "remainder": remainder,
    "isinf": lambda x: disjunction(is_infinite(x[0]), is_infinite(x[1])),
    "isfinite": lambda x: conjunction(is_finite(x[0]), is_finite(x[1])),
    "logical_not": lambda x: no(truth(x)),
    "logical_and": lambda x, y: conjunction(truth(x), truth(y)),
    "logical_or": lambda x, y: disjunction(truth(x), truth(y)),
    "logical_xor": lambda x, y: call("xor", truth(x), truth(y)),
}  # fmt: skip
