"""Mathematical composites: short formulas over the primitives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import (
    accept,
    aligned,
    as_tensor,
    back,
    broadcast_shape,
    cast_to,
    check_axes,
    conj,
    draw,
    factor_names,
    in_compute_type,
    is_tensor,
    once,
    reduced_shape,
    same_dtype,
    same_shape,
    shard_except,
    shard_pointwise,
    shard_string,
    sizes,
    vjp_in_compute_type,
    widen,
)
from umiak.ops.base import Op, OpMeta, Sample, param, register
from umiak.ops.elementwise import Binary, Unary, square


def formula(
    family: type[Op], name: str, doc: str, kinds: str, value: Callable, d: Callable | None = None, **members: Any
) -> type[Op]:
    """Make an elementwise composite of ``family`` from ``value(*operands)``.

    Without ``d`` it is differentiated through that.
    """

    def decompose(self: Op, *operands: Any) -> Any:
        return value(*operands)

    ns: dict[str, Any] = {
        "__doc__": doc,
        "__module__": __name__,
        "kinds": kinds,
        "decompose": in_compute_type(decompose),
        **members,
    }
    if d is not None:
        ns["vjp"] = vjp_in_compute_type(lambda self, s, g: (F.mul(g, conj(d(s.inputs[0]))),))
    return register(OpMeta(name, (family,), ns))


def unary(name: str, doc: str, kinds: str, value: Callable, d: Callable | None = None, **members: Any) -> type[Op]:
    return formula(Unary, name, doc, kinds, value, d, **members)


def binary(name: str, doc: str, kinds: str, value: Callable, **members: Any) -> type[Op]:
    return formula(Binary, name, doc, kinds, value, **members)


def _sinc(x: Any) -> Any:
    z = F.mul(x, math.pi)
    zero = F.eq(z, 0)
    return F.where(zero, 1, F.div(F.sin(z), F.where(zero, 1, z)))


def _sinc_slope(x: Any) -> Any:
    z = F.mul(x, math.pi)
    # Near 0 the quotient cancels, and its derivatives more so: the series takes over, to the last bit of float64.
    small = F.lt(F.abs(z), 0.5)
    safe = F.where(small, 1, z)
    far = F.div(F.sub(F.cos(safe), F.div(F.sin(safe), safe)), safe)
    z = F.where(small, z, 0)
    series: Any = 0.0
    for k in range(8, 0, -1):  # z**(2 k - 1) * (-1)**k * 2 k / (2 k + 1)!
        series = F.add(F.mul(square(z), series), (-1) ** k * 2 * k / math.factorial(2 * k + 1))
    near = F.mul(z, series)
    return F.mul(F.where(small, near, far), math.pi)


Square = unary(
    "Square", "x * x", "ifc", square, amp="deny", vjp=lambda self, s, g: (F.mul(g, F.mul(F.conj(s.inputs[0]), 2)),)
)
Deg2rad = unary("Deg2rad", "Degrees as radians", "fc", lambda x: F.mul(x, math.pi / 180), linear=True)
Rad2deg = unary("Rad2deg", "Radians as degrees", "fc", lambda x: F.mul(x, 180 / math.pi), linear=True)
Frac = unary(
    "Frac",
    "x without its integer part",
    "f",
    lambda x: F.sub(x, F.trunc(x)),
    avoid=(-1, 0, 1),
    vjp=lambda self, s, g: (g,),
)
Sinc = unary("Sinc", "sin(pi*x) / (pi*x), and 1 at 0", "fc", _sinc, _sinc_slope)
Signbit = unary(
    "Signbit",
    "Whether the sign bit is set, that of -0 included",
    "f",
    lambda x: F.lt(F.copysign(1.0, x), 0),
    result=dt.bool,
    vjp=None,
)
Isposinf = unary("Isposinf", "Whether x is +inf", "f", lambda x: F.eq(x, math.inf), result=dt.bool, vjp=None)
Isneginf = unary("Isneginf", "Whether x is -inf", "f", lambda x: F.eq(x, -math.inf), result=dt.bool, vjp=None)


def _logaddexp(x: Any, y: Any) -> Any:
    # Equal infinities would give inf - inf.
    top = F.maximum(x, y)
    difference = F.where(F.eq(x, y), 0, F.neg(F.abs(F.sub(x, y))))
    return F.add(top, F.log1p(F.exp(difference)))


def _logaddexp_vjp(self: Op, s: Any, g: Any) -> tuple:
    x, y = s.inputs
    weight = F.logistic(F.sub(x, y))
    return back(F.mul(g, weight), x), back(F.mul(g, F.sub(1, weight)), y)


def _hypot(x: Any, y: Any) -> Any:
    if as_tensor(x, y).dtype.is_complex:
        return F.sqrt(F.add(square(as_tensor(x, y)), square(as_tensor(y, x))))
    # Scaled by the larger, so that nothing overflows on the way.
    a, b = F.abs(as_tensor(x, y)), F.abs(as_tensor(y, x))
    top, low = F.maximum(a, b), F.minimum(a, b)
    plain = F.logical_or(F.eq(top, 0), F.isinf(top))
    ratio = F.where(plain, 0, F.div(low, F.where(plain, 1, top)))
    infinite = F.logical_or(F.isinf(a), F.isinf(b))  # even beside NaN
    return F.where(infinite, math.inf, F.mul(top, F.sqrt(F.add(square(ratio), 1))))


def _hypot_vjp(self: Op, s: Any, g: Any) -> tuple:
    (x, y), out = s.inputs, s.outputs[0]
    rate = F.where(F.eq(out, 0), 0, F.div(g, conj(F.where(F.eq(out, 0), 1, out))))
    return back(F.mul(rate, conj(x)), x), back(F.mul(rate, conj(y)), y)


def _lcm(x: Any, y: Any) -> Any:
    x, y = as_tensor(x, y), as_tensor(y, x)
    divisor = F.gcd(x, y)
    divisor = F.where(F.eq(divisor, 0), 1, divisor)
    if divisor.dtype.is_floating:
        return F.floor_div(F.abs(F.mul(x, y)), divisor)
    return F.abs(F.mul(F.floor_div(x, divisor), y))


Hypot = binary(
    "Hypot", "sqrt(x*x + y*y), of real numbers without overflow", "fc", _hypot, vjp=vjp_in_compute_type(_hypot_vjp)
)
Logaddexp = binary(
    "Logaddexp",
    "log(exp(x) + exp(y)), without overflow",
    "f",
    _logaddexp,
    vjp=vjp_in_compute_type(_logaddexp_vjp),
    amp="deny",
)
Ldexp = binary("Ldexp", "x * 2**y", "f", lambda x, y: F.mul(x, F.exp2(as_tensor(y, x))))
Lcm = binary("Lcm", "The least common multiple, not negative", "if", _lcm, vjp=None, ints_y=(-4, 6))
Xlogy = binary(
    "Xlogy", "x * log(y), and 0 where x is 0", "f", lambda x, y: _xlogy(x, y), lo_y=0.3, avoid=(0.0,), amp="deny"
)
ShiftRightLogical = binary(
    "ShiftRightLogical",
    "Bits moved down by y, zeros coming in: nothing but zeros where y is not below the width",
    "i",
    lambda x, y: _shift_right_logical(x, y),
    vjp=None,
)


def _xlogy(x: Any, y: Any) -> Any:
    x, y = as_tensor(x, y), as_tensor(y, x)
    none = F.logical_and(F.eq(x, 0), F.logical_not(F.isnan(y)))
    return F.where(none, 0, F.mul(x, F.log(F.where(none, 1, y))))


def _shift_right_logical(x: Any, y: Any) -> Any:
    x, y = as_tensor(x, y), as_tensor(y, x)
    if x.dtype is dt.uint8:
        return F.shift_right(x, y)
    # Without the sign that a shift by one brought in, the rest of the way is the arithmetic shift's, of any length.
    half = F.bitwise_and(F.shift_right(x, 1), 2 ** (8 * x.dtype.itemsize - 1) - 1)
    return F.where(F.eq(y, 0), x, F.shift_right(half, F.sub(y, 1)))


# --- one operand and params ----------------------------------------------------------------------------------------


@register
class Scale(Unary):
    """``scale*x + bias``, or ``scale*(x + bias)`` with ``bias_after_scale=False``.

    Integers scale by truncated numbers.
    """

    kinds = "ifc"
    bias_after_scale: bool = True
    scale: float = param(default=1.0)
    bias: float = param(default=0.0)
    sample_params: ClassVar[dict] = {"scale": 2.0, "bias": 3.0}

    @in_compute_type
    def decompose(self, x, scale, bias):
        if x.dtype.is_integer:
            scale, bias = dim.to_int(scale), dim.to_int(bias)
        return F.add(F.mul(x, scale), bias) if self.bias_after_scale else F.mul(F.add(x, bias), scale)

    @vjp_in_compute_type
    def vjp(self, s, g):
        return (F.mul(g, s.params.scale),)


@register
class Logit(Unary):
    """log(x / (1 - x)); x is first kept ``eps`` away from 0 and 1. With eps = 0, NaN outside [0, 1]."""

    kinds = "f"
    lo, hi = 0.15, 0.85
    amp = "deny"
    eps: float = param(default=0.0)

    @in_compute_type
    def decompose(self, x, eps):
        x = F.minimum(F.maximum(x, dim.where(eps > 0.0, eps, -math.inf)), dim.where(eps > 0.0, 1.0 - eps, math.inf))
        return F.log(F.div(x, F.sub(1, x)))

    @vjp_in_compute_type
    def vjp(self, s, g):
        x, eps = s.inputs[0], s.params.eps
        # Where x was moved, the result does not depend on it; where there is no result, there is no slope.
        moved = F.logical_or(F.lt(x, eps), F.gt(x, 1.0 - eps))
        slope = dim.where(eps > 0.0, 0.0, math.nan)
        return (F.where(moved, slope, F.div(g, F.mul(x, F.sub(1, x)))),)


@register
class NanToNum(Unary):
    """NaN and the infinities replaced by numbers."""

    kinds = "f"
    nan: float = param(default=0.0)
    posinf: float = param()
    neginf: float = param()
    sample_params: ClassVar[dict] = {"nan": 0.5, "posinf": 9.0, "neginf": -9.0}

    def decompose(self, x, nan, posinf, neginf):
        x = F.where(F.isnan(x), nan, x)
        return F.where(F.eq(x, math.inf), posinf, F.where(F.eq(x, -math.inf), neginf, x))

    def vjp(self, s, g):
        return (F.where(F.isfinite(s.inputs[0]), g, 0),)


@register
class Multigammaln(Unary):
    """Logarithm of the multivariate gamma function of dimension ``p``."""

    kinds = "f"
    lo, hi = 2.0, 5.0
    specials = False
    p: int

    def decompose(self, x):
        total = F.full(self.p * (self.p - 1) / 4 * math.log(math.pi), dtype=x.dtype, shape=())
        for j in range(self.p):
            total = F.add(F.lgamma(F.sub(x, j / 2)), total)
        return total

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for p in (1, 3):
            yield Sample((draw(rng, (2, 3), dt.float64, 2.0, 5.0),), {"p": p})


@register
class Frexp(Op):
    """x as mantissa, of size in [0.5, 1), times 2 to an exponent, both floating; 0 has the exponent 0, and an infinity,
    which is its own mantissa, 1."""

    elementwise = True

    def infer(self, x):
        accept(self, "f", x)
        return Meta(x.shape, x.dtype), Meta(x.shape, x.dtype)

    @in_compute_type
    def decompose(self, x):
        zero, infinite = F.eq(x, 0), F.isinf(x)
        size = F.abs(F.where(F.logical_or(zero, infinite), 1, x))
        exponent = F.add(F.floor(F.log2(size)), 1)
        # The logarithm may round across a power of two. Two halved steps keep 2**exponent inside the range.
        half = F.floor(F.mul(exponent, 0.5))
        mantissa = F.div(F.div(size, F.exp2(half)), F.exp2(F.sub(exponent, half)))
        high, low = F.ge(mantissa, 1), F.lt(mantissa, 0.5)
        mantissa = F.where(high, F.mul(mantissa, 0.5), F.where(low, F.mul(mantissa, 2), mantissa))
        exponent = F.where(high, F.add(exponent, 1), F.where(low, F.sub(exponent, 1), exponent))
        mantissa = F.where(zero, 0, F.where(infinite, x, F.copysign(mantissa, x)))
        return mantissa, F.where(zero, 0, exponent)

    def vjp(self, s, g, _):
        return (None if g is None else F.mul(g, F.exp2(F.neg(s.outputs[1]))),)

    def shard(self, x):
        return shard_pointwise(x, results=2)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, dtype in (((2, 3), dt.float64), ((), dt.float32), ((0,), dt.float32)):
            yield Sample((draw(rng, shape, dtype, 4.4, 7.6),))
        yield Sample(
            (np.array([0.0, 1.0, -2.0, 0.5, 3.0, -0.75, 1e30, 1e-30], np.float32),),
            differentiable=(),
            note="powers of two",
        )


# --- two and three operands ----------------------------------------------------------------------------------------


class Nary(Op):
    """Operands of one dtype that broadcast against each other; elementwise."""

    elementwise = True
    kinds: ClassVar[str] = "f"

    def infer(self, *operands: Any) -> Meta:
        n = len(self.inputs)
        there = [m for m in operands[:n] if m is not None]
        accept(self, self.kinds, *there)
        return Meta(broadcast_shape(self, *there), same_dtype(self, *there))

    def shard(self, *operands: Any) -> str:
        return shard_pointwise(*operands[: len(self.inputs)])


@register
class Clip(Nary):
    """x no smaller than ``min`` and no larger than ``max``; where they cross, max.

    At a bound the gradient goes to x.
    """

    inputs = ("x", "min?", "max?")
    kinds = "if"
    monotone = ("x", "min", "max")

    def decompose(self, x, min, max):
        if min is not None:
            x = F.maximum(x, min)
        return x if max is None else F.minimum(x, max)

    def vjp(self, s, g):
        x, lo, hi = s.inputs
        g_lo = g_hi = None
        if hi is not None:
            above = F.gt(x if lo is None else F.maximum(x, lo), hi)
            g, g_hi = F.where(above, 0, g), F.where(above, g, 0)
        if lo is not None:
            below = F.lt(x, lo)
            g, g_lo = F.where(below, 0, g), F.where(below, g, 0)
        return back(g, x), back(g_lo, lo), back(g_hi, hi)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, dtype in (((2, 3), dt.float64), ((), dt.float64), ((0, 2), dt.float32), ((4,), dt.bfloat16)):
            yield Sample((draw(rng, shape, dtype, avoid=(-1.0, 1.0)), -1.0, 1.0))
        x = draw(rng, (2, 3), avoid=(-1.0, 1.0))
        yield Sample((x, None, 1.0), note="max alone")
        yield Sample((x, -1.0, None), note="min alone")
        yield Sample((x, np.full((3,), -1.0), np.full((2, 1), 1.0)), note="tensors")
        yield Sample((x, np.full((3,), 1.5), np.full((2, 1), 0.5)), note="crossed")
        yield Sample((draw(rng, (5,), dt.int64, -5, 5), -2, 3))
        yield Sample(
            (np.array([np.nan, np.inf, -np.inf], np.float32), -1.0, 1.0), differentiable=(), note="NaN and infinities"
        )


@register
class Lerp(Nary):
    """x + weight*(y - x)."""

    inputs = ("x", "y", "weight")
    kinds = "fc"

    @in_compute_type
    def decompose(self, x, y, weight):
        return F.add(x, F.mul(F.sub(y, x), weight))

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for a, b, c, dtype in (
            ((2, 3), (2, 3), (2, 3), dt.float64),
            ((3,), (2, 1), (), dt.float64),
            ((0, 2), (2,), (1,), dt.float32),
        ):
            yield Sample((draw(rng, a, dtype), draw(rng, b, dtype), draw(rng, c, dtype)))
        yield Sample((draw(rng, (3,)), draw(rng, (3,)), 0.25))
        yield Sample((draw(rng, (3,), dt.bfloat16), draw(rng, (3,), dt.bfloat16), 0.25))


@register
class Addcmul(Nary):
    """input + value * x * y."""

    inputs = ("input", "x", "y")
    value: float = param(default=1.0)

    @in_compute_type
    def decompose(self, input, x, y, value):
        return F.add(input, F.mul(F.mul(x, y), value))

    samples = Lerp.samples


@register
class Addcdiv(Nary):
    """input + value * x / y."""

    inputs = ("input", "x", "y")
    value: float = param(default=1.0)

    @in_compute_type
    def decompose(self, input, x, y, value):
        return F.add(input, F.mul(F.div(x, y), value))

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for a, b, c, dtype in (
            ((2, 3), (2, 3), (2, 3), dt.float64),
            ((3,), (2, 1), (), dt.float64),
            ((0, 2), (2,), (1,), dt.float32),
        ):
            yield Sample((draw(rng, a, dtype), draw(rng, b, dtype), draw(rng, c, dtype, 0.5)), params={"value": 0.7})


@register
class Polar(Nary):
    """The complex number of size ``r`` and argument ``angle``."""

    inputs = ("r", "angle")
    amp = "deny"

    def infer(self, r, angle):
        m = super().infer(r, angle)
        if m.dtype not in (dt.float32, dt.float64):
            self.fail(TypeError, "float32 or float64 operands", m.dtype.name)
        return Meta(m.shape, dt.complex64 if m.dtype is dt.float32 else dt.complex128)

    def decompose(self, r, angle):
        angle = as_tensor(angle, r)
        return F.complex(F.mul(F.cos(angle), r), F.mul(F.sin(angle), r))

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for a, b, dtype in (((2, 3), (3,), dt.float64), ((), (), dt.float64), ((0,), (1,), dt.float32)):
            yield Sample((draw(rng, a, dtype), draw(rng, b, dtype)))


@register
class Isclose(Nary):
    """True where |x - y| <= atol + rtol*|y|; infinities are close to equals; NaN is close to NaN with ``equal_nan``."""

    inputs = ("x", "y")
    kinds = "bifc"
    vjp = None
    equal_nan: bool = False
    rtol: float = param(default=1e-5)
    atol: float = param(default=1e-8)

    def infer(self, x, y, rtol, atol):
        m = super().infer(x, y)
        return Meta(m.shape, dt.bool)

    def decompose(self, x, y, rtol, atol):
        if not (x.dtype.is_floating or x.dtype.is_complex):
            x, y = F.cast(x, dtype=dt.float64), F.cast(y, dtype=dt.float64)
        x, y = widen(x), widen(y)
        bound = F.add(F.mul(F.abs(y), rtol), atol)
        near = F.logical_and(F.le(F.abs(F.sub(x, y)), bound), F.isfinite(y))
        close = F.logical_or(F.eq(x, y), near)
        return F.logical_or(close, F.logical_and(F.isnan(x), F.isnan(y))) if self.equal_nan else close

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        x = np.array([1.0, 1.0, np.nan, np.inf, np.inf, -np.inf, 0.0])
        y = np.array([1.0 + 1e-6, 1.1, np.nan, np.inf, -np.inf, 1.0, -0.0])
        for equal_nan in (False, True):
            yield Sample((x, y), {"equal_nan": equal_nan})
        yield Sample((draw(rng, (2, 3), dt.float32), draw(rng, (3,), dt.float32)), params={"atol": 1.0})
        yield Sample((np.array([1, 2]), np.array([1, 3])))
        yield Sample((draw(rng, (3,), dt.complex64), draw(rng, (3,), dt.complex64)))


# --- products and distances ----------------------------------------------------------------------------------------


@register
class Outer(Op):
    """Every element of a vector times every element of another."""

    inputs = ("x", "y")
    linear = ("x", "y")

    def infer(self, x, y):
        if len(x.shape) != 1 or len(y.shape) != 1:
            self.fail(ValueError, "two vectors", f"{tuple(x.shape)} and {tuple(y.shape)}")
        return Meta((*x.shape, *y.shape), same_dtype(self, x, y))

    def decompose(self, x, y):
        return F.mul(F.unsqueeze(x, axes=(1,)), y)

    def shard(self, x, y):
        return shard_string([["a"], ["b"]], [["a", "b"]])

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for m, n, dtype in (
            (2, 3, dt.float64),
            (1, 4, dt.float32),
            (0, 2, dt.float32),
            (2, 2, dt.complex128),
            (3, 2, dt.int64),
        ):
            yield Sample((draw(rng, (m,), dtype), draw(rng, (n,), dtype)))


@register
class Dot(Op):
    """Products along the last dim added up. Nothing is conjugated."""

    inputs = ("x", "y")
    linear = ("x", "y")

    def infer(self, x, y):
        if not x.shape:
            self.fail(ValueError, "rank 1 or more", "0-d tensors")
        same_shape(self, x.shape, y.shape)
        return Meta(tuple(x.shape[:-1]), same_dtype(self, x, y))

    @in_compute_type
    def decompose(self, x, y):
        return F.sum(F.mul(x, y), axes=(x.ndim - 1,))

    def shard(self, x, y):
        names = factor_names(len(x.shape))
        return shard_string([names, names], [names[:-1]], **{names[-1]: "sum"})

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, dtype in (
            ((4,), dt.float64),
            ((2, 3), dt.float64),
            ((0, 3), dt.float32),
            ((3,), dt.complex128),
            ((3,), dt.bfloat16),
            ((3,), dt.int64),
        ):
            yield Sample((draw(rng, shape, dtype), draw(rng, shape, dtype)))


@register
class Dist(Op):
    """The norm of x - y over all elements; ``ord`` and ``p`` as in vector_norm."""

    inputs = ("x", "y")
    amp = "deny"
    ord: str = "2"
    p: float = param(default=2.0)

    def infer(self, x, y, p):
        accept(self, "f", x, y)
        broadcast_shape(self, x, y)
        return Meta((), same_dtype(self, x, y))

    @in_compute_type
    def decompose(self, x, y, p):
        z = F.sub(x, y)
        return F.vector_norm(z, tuple(range(z.ndim)), False, self.ord, p)

    def shard(self, x, y, p):
        names = factor_names(max(len(x.shape), len(y.shape)))
        return shard_string([aligned(names, x), aligned(names, y)], [[]], **dict.fromkeys(names, "replicated"))

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for order in ("0", "1", "2", "inf", "p"):
            yield Sample((draw(rng, (2, 3)), draw(rng, (3,), lo=2.2, hi=4.0)), {"ord": order}, {"p": 3.0})
        yield Sample((draw(rng, (0,)), draw(rng, (0,))), note="0-size")


@register
class Addmm(Op):
    """beta*input + alpha*(x @ y), for matrices or batches of them."""

    inputs = ("input", "x", "y")
    linear = (("input", "x"), ("input", "y"))
    amp = "allow"
    beta: float = param(default=1.0)
    alpha: float = param(default=1.0)

    def infer(self, input, x, y, beta, alpha):
        accept(self, "ifc", input, x, y)
        if len(x.shape) < 2 or len(x.shape) != len(y.shape):
            self.fail(ValueError, "matrices, or batches of one rank", f"{tuple(x.shape)} and {tuple(y.shape)}")
        if not dim.eq(x.shape[-1], y.shape[-2]):
            self.fail(ValueError, "x.shape[-1] == y.shape[-2]", f"{tuple(x.shape)} and {tuple(y.shape)}")
        same_shape(self, x.shape[:-2], y.shape[:-2], "equal batches")
        dtype = same_dtype(self, input, x, y)
        shape = (*x.shape[:-1], y.shape[-1])
        same_shape(
            self, broadcast_shape(self, input, Meta(shape, dtype)), shape, "an input that broadcasts to the product"
        )
        return Meta(shape, dtype)

    def decompose(self, input, x, y, beta, alpha):
        if x.dtype.is_integer:
            beta, alpha = dim.to_int(beta), dim.to_int(alpha)
        return F.add(F.mul(input, beta), F.mul(F.matmul(x, y), alpha))

    def shard(self, input, x, y, beta, alpha):
        batch = [f"n{i}" for i in range(len(x.shape) - 2)]
        out = [*batch, "i", "j"]
        own = aligned(out, input)
        return shard_string([own, [*batch, "i", "k"], [*batch, "k", "j"]], [out], k="sum")

    def on_shard(self, shard, input, x, y, beta, alpha):
        return F.addmm(once(shard, input, "k"), x, y, beta, alpha)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        scale = {"beta": 0.5, "alpha": 2.0}
        for a, b, c, dtype in (
            ((2, 4), (2, 3), (3, 4), dt.float64),
            ((4,), (2, 3), (3, 4), dt.float32),
            ((1, 2, 2), (3, 2, 3), (3, 3, 2), dt.float64),
            ((2, 0), (2, 3), (3, 0), dt.float32),
            ((2, 2), (2, 0), (0, 2), dt.float32),
        ):
            yield Sample((draw(rng, a, dtype), draw(rng, b, dtype), draw(rng, c, dtype)), params=scale)


@register
class CosineSimilarity(Op):
    """x . y / max(|x| * |y|, eps) along ``axis``; the operands broadcast."""

    inputs = ("x", "y")
    amp = "deny"
    axis: int
    eps: float = param(default=1e-8)

    def infer(self, x, y, eps):
        accept(self, "f", x, y)
        shape = broadcast_shape(self, x, y)
        check_axes(self, (self.axis,), len(shape))
        return Meta(reduced_shape(shape, (self.axis,), False), same_dtype(self, x, y))

    @in_compute_type
    def decompose(self, x, y, eps):
        shape = sizes(F.add(x, y))
        x, y = F.broadcast_to(x, shape=shape), F.broadcast_to(y, shape=shape)
        along = (self.axis,)
        a, b = (F.vector_norm(v, along, False, "2") for v in (x, y))
        return F.div(F.sum(F.mul(x, y), axes=along), F.maximum(F.mul(a, b), eps))

    def shard(self, x, y, eps):
        names = factor_names(max(len(x.shape), len(y.shape)))
        own = [aligned(names, x), aligned(names, y)]
        return shard_string(
            own, [[f for i, f in enumerate(names) if i != self.axis]], **{names[self.axis]: "replicated"}
        )

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for a, b, axis, dtype in (
            ((2, 3), (2, 3), 1, dt.float64),
            ((2, 3, 2), (3, 1), 1, dt.float64),
            ((0, 2), (0, 2), 1, dt.float32),
            ((3,), (3,), 0, dt.bfloat16),
        ):
            yield Sample((draw(rng, a, dtype, 0.2), draw(rng, b, dtype, 0.2)), {"axis": axis})


@register
class PairwiseDistance(Op):
    """The norm of x - y + eps along the last dim."""

    inputs = ("x", "y")
    amp = "deny"
    keepdim: bool = False
    ord: str = "2"
    p: float = param(default=2.0)
    eps: float = param(default=1e-6)

    def infer(self, x, y, p, eps):
        accept(self, "f", x, y)
        shape = broadcast_shape(self, x, y)
        if not shape:
            self.fail(ValueError, "rank 1 or more", "0-d tensors")
        return Meta(reduced_shape(shape, (len(shape) - 1,), self.keepdim), same_dtype(self, x, y))

    @in_compute_type
    def decompose(self, x, y, p, eps):
        z = F.add(F.sub(x, y), eps)
        return F.vector_norm(z, (z.ndim - 1,), self.keepdim, self.ord, p)

    def shard(self, x, y, p, eps):
        names = factor_names(max(len(x.shape), len(y.shape)))
        own = [aligned(names, x), aligned(names, y)]
        out = [f if any(f in o for o in own) else "1" for f in names[:-1]]
        return shard_string(own, [out + (["1"] if self.keepdim else [])], **{names[-1]: "replicated"})

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for order, keepdim in (("2", False), ("1", True), ("inf", False), ("p", False)):
            yield Sample(
                (draw(rng, (2, 3)), draw(rng, (3,), lo=2.2, hi=4.0)), {"ord": order, "keepdim": keepdim}, {"p": 3.0}
            )
        yield Sample((draw(rng, (0, 3)), draw(rng, (0, 3))), note="0-size")


@register
class Renorm(Op):
    """Each slice along ``axis`` scaled down to a norm of at most ``max_norm``."""

    amp = "deny"
    axis: int
    ord: str = "2"
    p: float = param(default=2.0)
    max_norm: float = param()

    def infer(self, x, p, max_norm):
        accept(self, "f", x)
        check_axes(self, (self.axis,), len(x.shape))
        return Meta(x.shape, x.dtype)

    @in_compute_type
    def decompose(self, x, p, max_norm):
        others = tuple(i for i in range(x.ndim) if i != self.axis)
        length = F.vector_norm(x, others, True, self.ord, p)
        # The small term keeps a slice that is scaled just inside the bound.
        scale = F.where(F.gt(length, max_norm), F.div(max_norm, F.add(length, 1e-7)), 1)
        return F.mul(x, scale)

    def shard(self, x, *params):
        return shard_except(x, [i for i in range(len(x.shape)) if i != self.axis])

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for order, axis in (("2", 0), ("1", 1), ("p", 0)):
            yield Sample((draw(rng, (3, 4), avoid=(0.0,)),), {"axis": axis, "ord": order}, {"p": 3.0, "max_norm": 1.5})
        yield Sample((draw(rng, (0, 4)),), {"axis": 0}, {"max_norm": 1.0}, note="0-size")


# --- sequences -----------------------------------------------------------------------------------------------------


class Spaced(Op):
    """Numbers spaced evenly from ``start`` to ``stop``, both included."""

    inputs = ("start", "stop")
    vjp = None
    dtype: Any
    size: int = param("int")

    def infer(self, start, stop, size, *params):
        if not dim.le(1, size):
            self.fail(ValueError, "a size of 1 or more", size)
        accept(self, "if", Meta((), self.dtype))
        return Meta((size,), self.dtype)

    def decompose(self, start, stop, size, *params):
        return self.elements(0, size, start, stop, size, *params)

    def on_shard(self, shard, *args):
        return self.elements(*shard.results[0].starts, *shard.results[0].sizes, *args)

    def elements(self, first: Any, count: Any, *args: Any) -> Any:
        """``count`` of the numbers, from that with the index ``first``."""
        raise TypeError(f"[{self.name}] defines no numbers")

    def spaced(self, first: Any, count: Any, start: Any, stop: Any, size: Any) -> Any:
        """Compute the values, in float64 for integers and float64, otherwise in float32.

        Counted from both ends, so that the last is ``stop``.
        """
        work = dt.float32 if self.dtype.is_floating and self.dtype is not dt.float64 else dt.float64
        start, stop = (cast_to(v, work) if is_tensor(v) else F.full(v, dtype=work, shape=()) for v in (start, stop))
        i = F.iota(first, 1, dtype=dt.int64, size=count)
        step = F.div(F.sub(stop, start), dim.to_float(dim.maximum(size - 1, 1)))
        low = F.add(F.mul(F.cast(i, dtype=work), step), start)
        high = F.sub(stop, F.mul(F.cast(F.sub(size - 1, i), dtype=work), step))
        return F.where(F.lt(i, (size + 1) // 2), low, high)

    def shard(self, start, stop, *params):
        return shard_string([[], []], [["a"]])


@register
class Linspace(Spaced):
    """``size`` numbers spaced evenly from ``start`` to ``stop``, both included."""

    def elements(self, first, count, start, stop, size):
        return cast_to(self.spaced(first, count, start, stop, size), self.dtype)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for start, stop, size, dtype in (
            (0.0, 1.0, 5, dt.float32),
            (5, -5, 4, dt.float64),
            (2.0, 9.0, 1, dt.float32),
            (0, 10, 4, dt.int64),
            (0.0, 1.0, 2, dt.bfloat16),
        ):
            yield Sample((start, stop), {"dtype": dtype}, {"size": size})
        yield Sample((np.array(1.0), np.array(2.0)), {"dtype": dt.float64}, {"size": 3}, note="tensors")


@register
class Logspace(Spaced):
    """``base`` to the power of numbers spaced evenly from ``start`` to ``stop``, both included."""

    base: float = param(default=10.0)

    def elements(self, first, count, start, stop, size, base):
        return cast_to(F.pow(base, self.spaced(first, count, start, stop, size)), self.dtype)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for start, stop, size, dtype in ((0.0, 2.0, 5, dt.float32), (1, -1, 3, dt.float64), (2.0, 3.0, 1, dt.float32)):
            yield Sample((start, stop), {"dtype": dtype}, {"size": size, "base": 2.0})


@register
class Diff(Op):
    """Differences of neighbours along ``axis``."""

    axis: int
    linear = True

    def infer(self, x):
        check_axes(self, (self.axis,), len(x.shape))
        if not dim.le(1, x.shape[self.axis]):
            self.fail(ValueError, f"at least one element along axis {self.axis}", tuple(x.shape))
        return Meta(tuple(n - 1 if i == self.axis else n for i, n in enumerate(x.shape)), x.dtype)

    def decompose(self, x):
        n = x.shape[self.axis] - 1
        a, b = (F.slice(x, axes=(self.axis,), starts=(i,), sizes=(n,), steps=(1,)) for i in (0, 1))
        return F.logical_xor(b, a) if x.dtype.is_bool else F.sub(b, a)

    def shard(self, x):
        names = factor_names(len(x.shape))
        return shard_string(
            [names], [["1" if i == self.axis else f for i, f in enumerate(names)]], **{names[self.axis]: "replicated"}
        )

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, axis, dtype in (
            ((2, 4), 1, dt.float64),
            ((4,), 0, dt.float32),
            ((1, 2), 0, dt.float32),
            ((0, 3), 1, dt.float32),
            ((4,), 0, dt.int64),
            ((4,), 0, dt.bool),
        ):
            yield Sample((draw(rng, shape, dtype),), {"axis": axis})


@register
class Trapezoid(Op):
    """The integral of samples y, at positions x or ``dx`` apart, along ``axis``.

    ``cumulative`` gives every partial one.
    """

    inputs = ("y", "x?")
    linear = ("y",)
    axis: int
    cumulative: bool = False
    dx: float = param(default=1.0)

    def infer(self, y, x, dx):
        accept(self, "f", y, x)
        check_axes(self, (self.axis,), len(y.shape))
        if x is not None:
            same_shape(self, y.shape, x.shape)
        if not dim.le(1, y.shape[self.axis]):
            self.fail(ValueError, f"at least one sample along axis {self.axis}", tuple(y.shape))
        n = y.shape[self.axis] - 1
        shape = (
            tuple(n if i == self.axis else m for i, m in enumerate(y.shape))
            if self.cumulative
            else reduced_shape(y.shape, (self.axis,), False)
        )
        return Meta(shape, same_dtype(self, y, x))

    @in_compute_type
    def decompose(self, y, x, dx):
        n, a = y.shape[self.axis] - 1, self.axis
        low, high = (F.slice(y, axes=(a,), starts=(i,), sizes=(n,), steps=(1,)) for i in (0, 1))
        areas = F.mul(F.mul(F.add(low, high), 0.5), dx if x is None else F.diff(x, axis=a))
        return F.cumsum(areas, axis=a) if self.cumulative else F.sum(areas, axes=(a,))

    def shard(self, y, x, dx):
        names = factor_names(len(y.shape))
        out = ["1" if i == self.axis else f for i, f in enumerate(names) if self.cumulative or i != self.axis]
        return shard_string([names, names if x is not None else []], [out], **{names[self.axis]: "replicated"})

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for cumulative in (False, True):
            yield Sample((draw(rng, (2, 4)), None), {"axis": 1, "cumulative": cumulative}, {"dx": 0.5})
            yield Sample((draw(rng, (4, 2)), draw(rng, (4, 2))), {"axis": 0, "cumulative": cumulative})
        yield Sample((draw(rng, (0, 3), dt.float32), None), {"axis": 1}, note="0-size")
