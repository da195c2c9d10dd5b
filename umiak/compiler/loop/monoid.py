"""Monoids of reductions and scans: associative operations on tuples of scalars, each with an identity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from umiak.compiler.loop.node import Node, call, const, eq, lt, mul, ne, select, sub
from umiak.compiler.loop.types import ScalarType

Values = tuple[Node, ...]


@dataclass(frozen=True)
class Monoid:
    """``combine`` of two tuples; ``identity`` gives the neutral tuple for element types.

    ``commutative`` ones may take elements in any order (lanes, several accumulators); the others keep it.
    """

    name: str
    size: int
    identity: Callable[[tuple[ScalarType, ...]], Values]
    combine: Callable[[Values, Values], Values]
    commutative: bool = True
    parts: tuple[Monoid, ...] = ()  # those that stand side by side in this one

    def __repr__(self) -> str:
        return self.name


def lowest(t: ScalarType) -> Node:
    """Return the lower bound of all values of a type."""
    if t.is_float:
        return const(-math.inf, t)
    return const(-(1 << (t.bits - 1)) if t.kind == "i" else 0, t)


def highest(t: ScalarType) -> Node:
    """Return the upper bound of all values of a type."""
    if t.is_float:
        return const(math.inf, t)
    return const((1 << (t.bits - (t.kind == "i"))) - 1, t)


def _simple(name: str, op: str, identity: Callable[[ScalarType], Node]) -> Monoid:
    return Monoid(name, 1, lambda ts: (identity(ts[0]),), lambda a, b: (call(op, a[0], b[0]),))


def _better(op: Callable[[Node, Node], Node]) -> Callable[[Values, Values], Values]:
    """Of (value, index) pairs: the extreme value, at its first index. NaN is the extreme of all."""

    def combine(a: Values, b: Values) -> Values:
        (x, i), (y, j) = a, b
        first = call("and", eq(x, y), lt(i, j))
        keep = call("or", op(y, x), first)  # x is strictly better, or equal and earlier
        if x.type.is_float:
            x_nan, y_nan = ne(x, x), ne(y, y)
            keep = select(x_nan, call("or", call("not", y_nan), lt(i, j)), call("and", keep, call("not", y_nan)))
        return select(keep, x, y), select(keep, i, j)

    return combine


def _affine(a: Values, b: Values) -> Values:
    """(factor, term): the map x -> factor * x + term, and then that of ``b``."""
    (p, q), (r, s) = a, b
    return mul(p, r), call("add", mul(r, q), s)


def _complex_mul(a: Values, b: Values) -> Values:
    (p, q), (r, s) = a, b
    return sub(mul(p, r), mul(q, s)), call("add", mul(p, s), mul(q, r))


def _complex_affine(a: Values, b: Values) -> Values:
    """As ``_affine``, of complex numbers: (real, imaginary) factor, then term."""
    product = _complex_mul(b[:2], a[2:])
    return (
        *_complex_mul(a[:2], b[:2]),
        call("add", product[0], b[2]),
        call("add", product[1], b[3]),
    )


def _welford(a: Values, b: Values) -> Values:
    """(count, mean, sum of squared deviations)"""
    (n, mean, m2), (k, other, more) = a, b
    together = call("add", n, k)
    share = call("div", k, together)
    delta = sub(other, mean)
    combined = (
        together,
        call("fma", delta, share, mean),
        call("add", call("add", m2, more), mul(mul(delta, delta), mul(n, share))),
    )
    # What has seen nothing leaves the other as it is, also where that is infinite.
    first, second = eq(k, 0.0), eq(n, 0.0)
    return tuple(select(first, x, select(second, y, z)) for x, y, z in zip(a, b, combined, strict=True))


def _compensated_sum(a: Values, b: Values) -> Values:
    """(sum, sum of its rounding errors): what the addition of the sums loses is found exactly (Knuth's two-sum)."""
    (x, lost), (y, more) = a, b
    together = call("add", x, y)
    given = sub(together, x)
    error = call("add", sub(x, sub(together, given)), sub(y, given))
    return together, call("add", call("add", lost, more), error)


def _online_softmax(a: Values, b: Values) -> Values:
    """(largest, sum of exp(x - largest))"""
    (m, s), (k, t) = a, b
    top = call("max", m, k)

    def scaled(x: Node, z: Node) -> Node:
        # -inf - -inf is NaN where nothing has been seen yet.
        return mul(z, select(eq(x, top), const(1.0, z.type), call("exp", sub(x, top))))

    return top, call("add", scaled(m, s), scaled(k, t))


# Sums begin at 0.0, as those of PaddlePaddle and PyTorch do: that of nothing, and that of negative zeros, has no sign.
SUM = _simple("sum", "add", lambda t: const(0, t))
PROD = _simple("prod", "mul", lambda t: const(1, t))
MAX = _simple("max", "max", lowest)
MIN = _simple("min", "min", highest)
ANY = _simple("any", "or", lambda t: const(0, t))
ALL = _simple("all", "and", lambda t: const(-1 if t.is_integer else 1, t))
# The index of the identity is the largest, so that any element is preferred to it.
ARGMAX = Monoid("argmax", 2, lambda ts: (lowest(ts[0]), highest(ts[1])), _better(lt))
ARGMIN = Monoid("argmin", 2, lambda ts: (highest(ts[0]), highest(ts[1])), _better(lambda y, x: lt(x, y)))
WELFORD = Monoid("welford", 3, lambda ts: tuple(const(0.0, t) for t in ts), _welford)
COMPENSATED_SUM = Monoid("compensated_sum", 2, lambda ts: tuple(const(-0.0, t) for t in ts), _compensated_sum)
ONLINE_SOFTMAX = Monoid(
    "online_softmax", 2, lambda ts: (const(-math.inf, ts[0]), const(0.0, ts[1])), _online_softmax
)  # fmt: skip
COMPLEX_PROD = Monoid("complex_prod", 2, lambda ts: (const(1.0, ts[0]), const(0.0, ts[1])), _complex_mul)
AFFINE = Monoid("affine", 2, lambda ts: (const(1.0, ts[0]), const(0.0, ts[1])), _affine, False)
COMPLEX_AFFINE = Monoid(
    "complex_affine", 4, lambda ts: tuple(const(float(k == 0), t) for k, t in enumerate(ts)), _complex_affine, False
)  # fmt: skip

MONOIDS = {
    m.name: m for m in (
        SUM, COMPENSATED_SUM, PROD, MAX, MIN, ANY, ALL, ARGMAX, ARGMIN, WELFORD, ONLINE_SOFTMAX, COMPLEX_PROD, AFFINE,
        COMPLEX_AFFINE)
}  # fmt: skip
