"""Primitives that work element by element: arithmetic, logic, bits, transcendentals, casts.

Operands of one dtype broadcast against each other; Python scalars take the dtype of the tensor. Two constructors make
the families: ``unary`` and ``binary``. Derivatives follow the conjugate convention: for holomorphic f, grad = g *
conj(f').
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import (
    accept,
    as_tensor,
    back,
    broadcast_shape,
    cast_to,
    conj,
    draw,
    is_tensor,
    same_dtype,
    shard_pointwise,
    zeros,
)
from umiak.ops.base import Op, OpMeta, Sample, register

SPECIAL = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan], np.float32)


class Elementwise(Op):
    """Base of elementwise ops. ``kinds``: accepted dtypes; ``result``: dtype of the result, None for the
    operand's.

    ``lo``, ``hi``, ``avoid`` and their ``_y`` forms bound the samples to where derivatives are smooth.
    """

    elementwise = True
    kinds: ClassVar[str] = "fc"
    result: ClassVar[Any] = None
    lo: ClassVar[float] = -2.0
    hi: ClassVar[float] = 2.0
    avoid: ClassVar[tuple] = ()
    ints: ClassVar[tuple] = (-5, 5)
    specials: ClassVar[bool] = True  # whether NaN, infinities and zeros are among the samples
    sample_params: ClassVar[dict] = {}

    def infer(self, *args: Any) -> Meta:
        operands = args[: len(self.inputs)]
        dtype = same_dtype(self, *operands)
        accept(self, self.kinds, *operands)
        return Meta(broadcast_shape(self, *operands), self.result_dtype(dtype))

    def result_dtype(self, dtype: DType) -> DType:
        return dtype if self.result is None else self.result

    def shard(self, *args: Any) -> str:
        return shard_pointwise(*args[: len(self.inputs)])


class Unary(Elementwise):
    """One operand; the result has its shape."""

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        def case(shape: tuple, dtype: DType) -> Sample:
            return Sample(
                (draw(rng, shape, dtype, *(cls.ints if dtype.is_integer else (cls.lo, cls.hi)), cls.avoid),),
                params=cls.sample_params,
            )

        if "f" in cls.kinds:
            yield from (
                case(*c) for c in (((2, 3), dt.float32), ((3,), dt.float64), ((), dt.float64), ((0, 3), dt.float32))
            )
            yield from (case((4,), d) for d in (dt.bfloat16, dt.float16))
            if cls.specials:
                yield Sample((SPECIAL,), {}, cls.sample_params, (), "zeros, infinities, NaN")
        if "c" in cls.kinds:
            yield from (case(*c) for c in (((2, 2), dt.complex128), ((3,), dt.complex64)))
        if "i" in cls.kinds:
            yield from (case((4,), d) for d in (dt.int64, dt.int32, dt.uint8))
        if "b" in cls.kinds:
            yield case((3,), dt.bool)


def unary(
    name: str, doc: str, kinds: str = "fc", d: Callable[[Any, Any], Any] | None = None, **members: Any
) -> type[Op]:
    """Make a unary op. ``d(x, y)`` is its derivative at ``x``, where the value is ``y``; or give ``vjp``."""
    if d is not None:
        members["vjp"] = lambda self, s, g: (F.mul(g, conj(d(s.inputs[0], s.outputs[0]))),)
    members.setdefault("vjp", None)
    return register(OpMeta(name, (Unary,), {"__doc__": doc, "__module__": __name__, "kinds": kinds, **members}))


def flat(self: Op, s: Any, g: Any) -> tuple:
    """Derivative of steps: zero almost everywhere."""
    return (zeros(s.inputs[0]),)


def square(x: Any) -> Any:
    return F.mul(x, x)


# --- sign, rounding ------------------------------------------------------------------------------------------------


def _sign_vjp(self: Op, s: Any, g: Any) -> tuple:
    x, sgn = s.inputs[0], s.outputs[0]
    if not x.dtype.is_complex:
        return (zeros(x),)
    # sgn z = z/|z| moves only across the direction of z.
    along = F.mul(F.complex(F.real(F.mul(g, F.conj(sgn))), 0.0), sgn)
    size = F.abs(x)
    return (F.where(F.eq(size, 0), 0, F.div(F.sub(g, along), F.complex(size, 0.0))),)


def _abs_vjp(self: Op, s: Any, g: Any) -> tuple:
    x = s.inputs[0]
    return (F.mul(F.complex(g, 0.0) if x.dtype.is_complex else g, F.sign(x)),)


def _real_of(self: Any, dtype: DType) -> DType:
    return dtype.real


Neg = unary("Neg", "-x", "ifc", linear=True, vjp=lambda self, s, g: (F.neg(g),))
Abs = unary(
    "Abs", "|x|; real for complex x. At 0 the gradient is 0.", "ifc", vjp=_abs_vjp, avoid=(0.0,), result_dtype=_real_of
)
Sign = unary("Sign", "-1, 0 or 1; x/|x| for complex x.", "ifc", vjp=_sign_vjp, avoid=(0.0,), monotone=True)
Floor = unary("Floor", "The largest integer that is not above x.", "if", vjp=flat, avoid=(-1, 0, 1), monotone=True)
Ceil = unary("Ceil", "The smallest integer that is not below x.", "if", vjp=flat, avoid=(-1, 0, 1), monotone=True)
Trunc = unary("Trunc", "x without its fraction.", "if", vjp=flat, avoid=(-1, 0, 1), monotone=True)
Round = unary(
    "Round",
    "The nearest integer, ties to even; of both parts of complex numbers.",
    "ifc",
    vjp=flat,
    avoid=(-1.5, -0.5, 0.5, 1.5),
    monotone=True,
)
Probability = unary(
    "Probability",
    "x, whose elements have to be from 0 to 1; others, and NaN, are refused when the kernel runs.",
    "f",
    vjp=lambda self, s, g: (g,),
    lo=0.0,
    hi=1.0,
    specials=False,
)
Reciprocal = unary("Reciprocal", "1/x", d=lambda x, y: F.neg(square(y)), lo=0.5, amp="deny")


# --- exponentials and logarithms -----------------------------------------------------------------------------------

LN2, LN10 = math.log(2), math.log(10)

Exp = unary("Exp", "e to the x", d=lambda x, y: y, monotone=True, amp="deny")
Exp2 = unary("Exp2", "2 to the x", d=lambda x, y: F.mul(y, LN2), monotone=True, amp="deny")
Expm1 = unary("Expm1", "exp(x) - 1, accurate near 0", d=lambda x, y: F.add(y, 1), monotone=True, amp="deny")
Log = unary("Log", "Natural logarithm", d=lambda x, y: F.reciprocal(x), lo=0.2, amp="deny")
Log2 = unary("Log2", "Logarithm to base 2", d=lambda x, y: F.reciprocal(F.mul(x, LN2)), lo=0.2, amp="deny")
Log10 = unary("Log10", "Logarithm to base 10", d=lambda x, y: F.reciprocal(F.mul(x, LN10)), lo=0.2, amp="deny")
Log1p = unary("Log1p", "log(1 + x), accurate near 0", d=lambda x, y: F.reciprocal(F.add(x, 1)), lo=-0.8, amp="deny")
Sqrt = unary("Sqrt", "Square root", d=lambda x, y: F.div(0.5, y), lo=0.2)
Rsqrt = unary("Rsqrt", "1/sqrt(x)", d=lambda x, y: F.mul(F.div(y, x), -0.5), lo=0.2, amp="deny")
Logistic = unary("Logistic", "1/(1 + exp(-x)), the sigmoid", d=lambda x, y: F.mul(y, F.sub(1, y)), monotone=True)


# --- trigonometry --------------------------------------------------------------------------------------------------


def _acosh_slope(x: Any) -> Any:
    """1/sqrt(x*x - 1). For complex x 1/sqrt(x - 1)/sqrt(x + 1), which stays on the principal branch."""
    below, above = F.sub(x, 1), F.add(x, 1)
    return F.mul(F.rsqrt(below), F.rsqrt(above)) if x.dtype.is_complex else F.rsqrt(F.mul(below, above))


Sin = unary("Sin", "Sine", d=lambda x, y: F.cos(x))
Cos = unary("Cos", "Cosine", d=lambda x, y: F.neg(F.sin(x)))
Tan = unary("Tan", "Tangent", d=lambda x, y: F.add(square(y), 1), lo=-1.0, hi=1.0, amp="deny")
Asin = unary("Asin", "Inverse sine", d=lambda x, y: F.rsqrt(F.sub(1, square(x))), lo=-0.8, hi=0.8, amp="deny")
Acos = unary("Acos", "Inverse cosine", d=lambda x, y: F.neg(F.rsqrt(F.sub(1, square(x)))), lo=-0.8, hi=0.8, amp="deny")
Atan = unary("Atan", "Inverse tangent", d=lambda x, y: F.reciprocal(F.add(square(x), 1)), monotone=True)
Sinh = unary("Sinh", "Hyperbolic sine", d=lambda x, y: F.cosh(x), monotone=True, amp="deny")
Cosh = unary("Cosh", "Hyperbolic cosine", d=lambda x, y: F.sinh(x), amp="deny")
Tanh = unary("Tanh", "Hyperbolic tangent", d=lambda x, y: F.sub(1, square(y)), monotone=True)
Asinh = unary("Asinh", "Inverse hyperbolic sine", d=lambda x, y: F.rsqrt(F.add(square(x), 1)), monotone=True)
Acosh = unary("Acosh", "Inverse hyperbolic cosine", d=lambda x, y: _acosh_slope(x), lo=1.2, hi=3.0)
Atanh = unary(
    "Atanh",
    "Inverse hyperbolic tangent",
    d=lambda x, y: F.reciprocal(F.sub(1, square(x))),
    lo=-0.8,
    hi=0.8,
    amp="deny",
)


# --- special functions ---------------------------------------------------------------------------------------------

TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def _gauss(x: Any, scale: float) -> Any:
    return F.mul(F.exp(F.neg(square(x))), scale)


def _over_x(value: Any, x: Any, at_zero: float) -> Any:
    """value/x, and its limit at x = 0."""
    zero = F.eq(x, 0)
    return F.where(zero, at_zero, F.div(value, F.where(zero, 1, x)))


Erf = unary("Erf", "Error function", "f", lambda x, y: _gauss(x, TWO_OVER_SQRT_PI), monotone=True)
Erfc = unary("Erfc", "1 - erf(x), accurate for large x", "f", lambda x, y: _gauss(x, -TWO_OVER_SQRT_PI))
Erfinv = unary(
    "Erfinv",
    "Inverse of erf",
    "f",
    lambda x, y: F.mul(F.exp(square(y)), 1 / TWO_OVER_SQRT_PI),
    lo=-0.8,
    hi=0.8,
    amp="deny",
)
Lgamma = unary("Lgamma", "log |gamma(x)|", "f", lambda x, y: F.digamma(x), lo=0.3, hi=4.0)
Digamma = unary("Digamma", "Derivative of lgamma", "f", lambda x, y: F.polygamma(x, n=1), lo=0.3, hi=4.0)
I0 = unary("I0", "Modified Bessel function of order 0", "f", lambda x, y: F.i1(x))
I0e = unary("I0e", "exp(-|x|) i0(x)", "f", lambda x, y: F.sub(F.i1e(x), F.mul(F.sign(x), y)), avoid=(0.0,))
I1 = unary("I1", "Modified Bessel function of order 1", "f", lambda x, y: F.sub(F.i0(x), _over_x(y, x, 0.5)))
I1e = unary(
    "I1e",
    "exp(-|x|) i1(x)",
    "f",
    lambda x, y: F.sub(F.sub(F.i0e(x), F.mul(F.sign(x), y)), _over_x(y, x, 0.5)),
    avoid=(0.0,),
)


@register
class Polygamma(Unary):
    """The n-th derivative of digamma."""

    kinds = "f"
    lo, hi = 0.3, 4.0
    n: int

    def vjp(self, s, g):
        return (F.mul(g, F.polygamma(s.inputs[0], n=self.n + 1)),)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for n in (0, 1, 3):
            yield Sample((draw(rng, (2, 3), dt.float64, 0.3, 4.0),), {"n": n})
        yield Sample((draw(rng, (), dt.float32, 0.3, 4.0),), {"n": 2})
        yield Sample((draw(rng, (0,), dt.float32),), {"n": 1})


# --- tests, logic, bits --------------------------------------------------------------------------------------------

Isnan = unary("Isnan", "Whether x is NaN", "bifc", result=dt.bool)
Isinf = unary("Isinf", "Whether x is infinite", "bifc", result=dt.bool)
Isfinite = unary("Isfinite", "Whether x is neither infinite nor NaN", "bifc", result=dt.bool)
LogicalNot = unary("LogicalNot", "Whether x is zero", "bifc", result=dt.bool)
BitwiseNot = unary("BitwiseNot", "Every bit turned over; for bool, not", "bi")


# --- complex parts, copies, casts ----------------------------------------------------------------------------------


def _angle_vjp(self: Op, s: Any, g: Any) -> tuple:
    x = s.inputs[0]
    if not x.dtype.is_complex:
        return (zeros(x),)
    re, im = F.real(x), F.imag(x)
    rate = F.div(g, F.add(square(re), square(im)))
    return (F.complex(F.neg(F.mul(rate, im)), F.mul(rate, re)),)


Conj = unary(
    "Conj", "Complex conjugate; x itself where it is real", "bifc", linear=True, vjp=lambda self, s, g: (F.conj(g),)
)
Real = unary(
    "Real",
    "Real part of a complex x",
    "c",
    linear=True,
    result_dtype=_real_of,
    vjp=lambda self, s, g: (F.complex(g, 0.0),),
)
Imag = unary(
    "Imag",
    "Imaginary part of a complex x",
    "c",
    linear=True,
    result_dtype=_real_of,
    vjp=lambda self, s, g: (F.complex(0.0, g),),
)
Angle = unary(
    "Angle", "Argument of x: of a real one, 0 or pi", "fc", vjp=_angle_vjp, result_dtype=_real_of, avoid=(0.0,)
)
Copy = unary(
    "Copy",
    "x in new, contiguous memory",
    "bifc",
    linear=True,
    monotone=True,
    packed=True,
    amp="keep",
    vjp=lambda self, s, g: (g,),
)


@register
class Cast(Unary):
    """``x`` in another dtype.

    Floats lose their fraction on the way to integers; bool is ``x != 0``; complex to real keeps the real part.
    """

    amp = "keep"
    kinds = "bifc"
    packed = True
    dtype: Any

    @property
    def linear(self):
        return self.dtype.is_continuous

    @property
    def monotone(self):
        return self.dtype.is_floating

    def result_dtype(self, dtype):
        return self.dtype

    def vjp(self, s, g):
        return (cast_to(g, s.inputs[0].dtype),)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        pairs = (
            "float64 float32, float32 float64, float32 bfloat16, bfloat16 float32, float16 bfloat16, "
            "float32 float8_e4m3fn, float8_e5m2 float32, float32 int32, int64 float64, int64 uint8, float32 bool, "
            "bool float32, float64 complex128, complex128 float64, complex64 complex128, int32 complex64, bool int8, "
            "float32 float32"
        )
        for pair in pairs.split(", "):
            source, target = map(dt.convert, pair.split())
            exact = source.name in ("float64", "complex128") and target.name in ("float64", "complex128")
            yield Sample((draw(rng, (2, 3), source),), {"dtype": target}, differentiable=None if exact else ())
        yield Sample((draw(rng, (), dt.float32),), {"dtype": dt.float64}, differentiable=())
        yield Sample((draw(rng, (0, 2), dt.float64),), {"dtype": dt.int32})


# --- two operands --------------------------------------------------------------------------------------------------


class Binary(Elementwise):
    """Two operands, tensors or one a number, broadcast against each other."""

    inputs = ("x", "y")
    lo_y: ClassVar[float] = -2.0
    hi_y: ClassVar[float] = 2.0
    avoid_y: ClassVar[tuple] = ()
    ints_y: ClassVar[tuple] = (1, 4)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        def case(a: Any, b: Any, dtype: DType) -> Sample:
            x_range, y_range = (cls.ints, cls.ints_y) if dtype.is_integer else ((cls.lo, cls.hi), (cls.lo_y, cls.hi_y))
            x = draw(rng, a, dtype, *x_range, cls.avoid) if isinstance(a, tuple) else a
            y = draw(rng, b, dtype, *y_range, cls.avoid_y) if isinstance(b, tuple) else b
            return Sample((x, y), params=cls.sample_params)

        if "f" in cls.kinds:
            f, d = dt.float32, dt.float64
            shapes = (
                ((2, 3), (2, 3), d),
                ((2, 3), (3,), f),
                ((2, 1, 3), (4, 1), d),
                ((), (3,), d),
                ((), (), d),
                ((0, 3), (1, 3), f),
            )
            yield from (case(*c) for c in shapes)
            yield from (case(*c) for c in (((3,), 1.5, d), (1.5, (3,), d), ((2, 2), 2, f), ((4,), (4,), dt.bfloat16)))
            if cls.specials:
                pairs = tuple(np.ascontiguousarray(a) for a in np.meshgrid(SPECIAL, SPECIAL))
                yield Sample(pairs, {}, cls.sample_params, (), "zeros, infinities, NaN")
        if "c" in cls.kinds:
            yield from (
                case(*c)
                for c in (((2, 2), (2,), dt.complex128), ((2,), (2,), dt.complex64), ((2,), 1.5, dt.complex128))
            )
        if "i" in cls.kinds:
            yield from (
                case(*c)
                for c in (((2, 3), (3,), dt.int64), ((4,), (4,), dt.int32), ((3,), 3, dt.uint8), (3, (3,), dt.int8))
            )
        if "b" in cls.kinds:
            yield from (case(*c) for c in (((4,), (4,), dt.bool), ((3,), True, dt.bool)))


def binary(name: str, doc: str, kinds: str = "ifc", vjp: Callable | None = None, **members: Any) -> type[Op]:
    """Make a binary op. ``vjp(x, y, out, g)`` gives both gradients before they are summed down; None for none."""
    if vjp is not None:
        f = vjp

        def rule(self: Op, s: Any, g: Any) -> tuple:
            x, y = s.inputs
            gx, gy = f(x, y, s.outputs[0], g)
            return back(gx, x), back(gy, y)

        members["vjp"] = rule
    members.setdefault("vjp", None)
    return register(OpMeta(name, (Binary,), {"__doc__": doc, "__module__": __name__, "kinds": kinds, **members}))


# A gradient for a number is built and dropped again: ``back`` gives None, and dead code goes.


def _pow_vjp(x: Any, y: Any, out: Any, g: Any) -> tuple:
    # y * x**(y-1) is 0 where y == 0, also at x == 0, where the power alone is infinite.
    if is_tensor(y):
        power = F.where(F.eq(y, 0), 1, y)
    else:
        power = dim.where(y == 0, 1, y)
    gx = F.mul(g, conj(F.mul(F.pow(x, F.sub(power, 1) if is_tensor(y) else power - 1), y))) if is_tensor(x) else None
    if not is_tensor(y):
        return gx, None
    # x**y * log x tends to 0 as x does, where y is not negative.
    base = as_tensor(x, y)
    zero = F.eq(base, 0) if y.dtype.is_complex else F.logical_and(F.eq(base, 0), F.ge(y, 0))
    return gx, F.mul(g, conj(F.where(zero, 0, F.mul(out, F.log(F.where(zero, 1, base))))))


def _shared(larger: Callable, smaller: Callable) -> Callable:
    """Gradient of an extremum: to the operand that won, half to each where they tie."""

    def vjp(x: Any, y: Any, out: Any, g: Any) -> tuple:
        tie = F.where(F.eq(x, y), F.mul(g, 0.5), 0)
        return F.where(larger(x, y), g, tie), F.where(smaller(x, y), g, tie)

    return vjp


def _first_wins(wins: Callable) -> Callable:
    """Gradient of an extremum that ignores NaN: ties, and pairs whose second is NaN, go to the first."""

    def vjp(x: Any, y: Any, out: Any, g: Any) -> tuple:
        first = F.logical_or(wins(x, y), F.isnan(as_tensor(y, out)))
        return F.where(first, g, 0), F.where(first, 0, g)

    return vjp


def _atan2_vjp(x: Any, y: Any, out: Any, g: Any) -> tuple:
    # By the distance, as squares overflow and underflow long before the slope does.
    distance = F.hypot(x, y)
    rate = F.div(g, distance)
    return F.mul(rate, F.div(y, distance)), F.neg(F.mul(rate, F.div(x, distance)))


def _copysign_vjp(x: Any, y: Any, out: Any, g: Any) -> tuple:
    return (F.mul(g, F.mul(F.sign(x), F.sign(out))) if is_tensor(x) else None), (zeros(y) if is_tensor(y) else None)


XY = (("x", "y"),)  # in both together

Add = binary("Add", "x + y; for bool, or", "bifc", lambda x, y, out, g: (g, g), linear=XY)
Sub = binary("Sub", "x - y", "ifc", lambda x, y, out, g: (g, F.neg(g)), linear=XY)
Mul = binary(
    "Mul",
    "x * y; for bool, and",
    "bifc",
    lambda x, y, out, g: (F.mul(g, conj(y)), F.mul(g, conj(x))),
    linear=("x", "y"),
)
Div = binary(
    "Div",
    "x / y",
    "fc",
    lambda x, y, out, g: (F.div(g, conj(y)), F.neg(F.div(F.mul(g, conj(out)), conj(y)))),
    linear=("x",),
    lo_y=0.5,
    amp="deny",
)
FloorDiv = binary("FloorDiv", "The floor of x / y; integers divided by 0 are refused", "if", lo_y=0.5, avoid=(0.0,))


def _integer_quotient(x: Any, y: Any, remainder: Any) -> Any:
    """The conjugate of the integer q of ``remainder = x - y*q``."""
    if remainder.dtype.is_complex:
        return F.conj(F.round(F.div(F.sub(x, remainder), y)))
    return F.floor(F.div(x, y))


Remainder = binary(
    "Remainder",
    "x - y*floor(x/y): it has the sign of y. Integers modulo 0 are refused. Of complex numbers x - y*q with "
    "the Gaussian integer q that is nearest to x/y.",
    "ifc",
    lambda x, y, out, g: (g, F.neg(F.mul(g, _integer_quotient(x, y, out)))),
    lo=2.2,
    hi=2.8,
    lo_y=1.6,
)
Fmod = binary(
    "Fmod",
    "x - y*trunc(x/y): it has the sign of x. Integers modulo 0 are refused.",
    "if",
    lambda x, y, out, g: (g, F.neg(F.mul(g, F.trunc(F.div(x, y))))),
    lo=2.2,
    hi=2.8,
    lo_y=1.6,
)
Pow = binary(
    "Pow",
    "x to the power y. A negative power of an integer is that of a real number, truncated.",
    "ifc",
    _pow_vjp,
    lo=0.3,
    amp="deny",
)
Maximum = binary(
    "Maximum",
    "The larger; NaN where either is",
    "bif",
    _shared(lambda x, y: F.gt(x, y), lambda x, y: F.lt(x, y)),
    monotone=("x", "y"),
)
Minimum = binary(
    "Minimum",
    "The smaller; NaN where either is",
    "bif",
    _shared(lambda x, y: F.lt(x, y), lambda x, y: F.gt(x, y)),
    monotone=("x", "y"),
)
Fmax = binary("Fmax", "The larger; of a number and NaN, the number", "if", _first_wins(lambda x, y: F.ge(x, y)))
Fmin = binary("Fmin", "The smaller; of a number and NaN, the number", "if", _first_wins(lambda x, y: F.le(x, y)))
Gcd = binary(
    "Gcd",
    "The greatest common divisor; 0 of 0 and 0. Of floating numbers the largest whose whole multiples they are, which "
    "Euclid's algorithm finds without rounding.",
    "if",
    ints_y=(-4, 6),
)
Atan2 = binary("Atan2", "The angle of the point (y, x)", "f", _atan2_vjp, lo=0.3, lo_y=0.3)
Copysign = binary("Copysign", "|x| with the sign of y", "f", _copysign_vjp, avoid=(0.0,), avoid_y=(0.0,))
Nextafter = binary("Nextafter", "The next number after x towards y", "f")
Heaviside = binary(
    "Heaviside",
    "0 for x < 0, y for x == 0, 1 for x > 0",
    "if",
    lambda x, y, out, g: (zeros(g), F.where(F.eq(as_tensor(x, out), 0), g, 0)),
    avoid=(0.0,),
)

LogicalAnd = binary("LogicalAnd", "Whether neither is zero", "bifc", result=dt.bool)
LogicalOr = binary("LogicalOr", "Whether one is not zero", "bifc", result=dt.bool)
LogicalXor = binary("LogicalXor", "Whether just one is not zero", "bifc", result=dt.bool)
BitwiseAnd = binary("BitwiseAnd", "Bits set in both", "bi")
BitwiseOr = binary("BitwiseOr", "Bits set in one or both", "bi")
BitwiseXor = binary("BitwiseXor", "Bits set in just one", "bi")
ShiftLeft = binary("ShiftLeft", "Bits moved up by y; y lies below the width", "i")
ShiftRight = binary("ShiftRight", "Bits moved down by y, the sign kept; y lies below the width", "i")


class IncompleteGamma(Binary):
    """Regularised incomplete gamma functions of order x at y.

    The derivative in x has no closed form and is not given.
    """

    kinds = "f"
    sign: ClassVar[int] = 1

    def vjp(self, s, g):
        x, y = s.inputs
        if not is_tensor(y):
            return None, None
        x = as_tensor(x, y)
        # y**(x-1) exp(-y) / gamma(x), through logarithms.
        rate = F.exp(F.sub(F.sub(F.mul(F.sub(x, 1), F.log(y)), y), F.lgamma(x)))
        return None, back(F.mul(F.mul(g, rate), self.sign), y)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for a, b, dtype in (
            ((2, 3), (3,), dt.float64),
            ((), (4,), dt.float64),
            ((3,), (3,), dt.float32),
            ((0,), (0,), dt.float32),
        ):
            yield Sample((draw(rng, a, dtype, 0.5, 3.0), draw(rng, b, dtype, 0.3, 3.0)), differentiable=(1,))
        yield Sample((1.5, draw(rng, (3,), dt.float64, 0.3, 3.0)))


@register
class Igamma(IncompleteGamma):
    """The lower one, P(x, y), rising from 0 to 1 in y. The derivative in x is not given."""


@register
class Igammac(IncompleteGamma):
    """The upper one, Q(x, y) = 1 - P(x, y). The derivative in x is not given."""

    sign = -1


@register
class Betainc(Elementwise):
    """Regularised incomplete beta function I(a, b, x), rising from 0 to 1 in x. Only the derivative in x is given."""

    inputs = ("a", "b", "x")
    kinds = "f"

    def vjp(self, s, g):
        a, b, x = s.inputs
        if not is_tensor(x):
            return None, None, None
        a, b = as_tensor(a, x), as_tensor(b, x)
        # x**(a-1) (1-x)**(b-1) / B(a, b), through logarithms.
        powers = F.add(F.mul(F.sub(a, 1), F.log(x)), F.mul(F.sub(b, 1), F.log1p(F.neg(x))))
        scale = F.sub(F.lgamma(F.add(a, b)), F.add(F.lgamma(a), F.lgamma(b)))
        return None, None, back(F.mul(g, F.exp(F.add(powers, scale))), x)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shapes, dtype in (
            (((2, 3), (3,), (2, 1)), dt.float64),
            (((), (), (3,)), dt.float32),
            (((0,),) * 3, dt.float32),
        ):
            a, b, x = (draw(rng, n, dtype, lo, hi) for n, (lo, hi) in zip(shapes, ((0.5, 3), (0.5, 3), (0.1, 0.9))))
            yield Sample((a, b, x), differentiable=(2,))


def _complex_of(self: Any, dtype: DType) -> DType:
    if dtype not in (dt.float32, dt.float64):
        self.fail(TypeError, "float32 or float64 parts", dtype.name)
    return dt.complex64 if dtype is dt.float32 else dt.complex128


@register
class Complex(Binary):
    """The complex number with the given real and imaginary parts."""

    inputs = ("re", "im")
    amp = "deny"
    kinds = "f"
    linear = True

    result_dtype = _complex_of

    def vjp(self, s, g):
        x, y = s.inputs
        return back(F.real(g), x), back(F.imag(g), y)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for dtype in (dt.float64, dt.float32):
            yield Sample((draw(rng, (2, 3), dtype), draw(rng, (3,), dtype)))
        yield Sample((draw(rng, (3,)), 0.0))
        yield Sample((draw(rng, ()), draw(rng, ())))
        yield Sample((1.0, draw(rng, (0, 2))))
