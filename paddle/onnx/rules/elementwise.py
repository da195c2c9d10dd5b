"""Arithmetic, comparisons, logic and functions of single elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.elements import FLOATS, INTEGERS
from paddle.onnx.shapes import known, reduce, reshape, unsqueeze
from paddle.onnx.table import Call, rule

_BINARY = {
    "add": "Add", "subtract": "Sub", "elementwise_pow": "Pow", "minimum": "Min", "maximum": "Max", "less_than": "Less",
    "greater_than": "Greater", "fused_elementwise_add": "Add", "fused_elementwise_sub": "Sub",
}  # fmt: skip
_UNARY = (
    "acos acosh asin asinh atan atanh ceil cos cosh erf exp floor log reciprocal sigmoid sign sin sinh sqrt tan tanh"
)


def _declare() -> None:
    def binary(kind: str) -> Any:
        return lambda g, o: _same(o, g.node(kind, *_aligned(g, o)))

    def unary(kind: str) -> Any:
        return lambda g, o: _same(o, g.node(kind, o[0]))

    for name, kind in _BINARY.items():
        rule(name)(binary(kind))
    for name in _UNARY.split():
        rule(name)(unary(name.capitalize()))


def _same(o: Call, y: Value) -> Value:
    """The result in x's type, which 32-bit pairs of complex numbers need said."""
    return Value(y.builder, y.name, o[0].dtype) if o[0].complex else y


def _aligned(g: Builder, o: Call) -> tuple[Value, Value]:
    """Both operands. Files of older programs may say the axis of x at which those of y begin."""
    x, y = o[0], o[1]
    axis = o("axis", -1)
    if axis != -1 and y.rank < x.rank - axis:
        y = unsqueeze(g, y, range(y.rank, x.rank - axis))
    return x, y


_declare()


@rule("multiply", "fused_elementwise_mul")
def multiply(g: Builder, o: Call) -> Value:
    x, y = _aligned(g, o)
    if not x.complex:
        product: Value = x * y
        return product
    a, b, c, d = *parts(g, x), *parts(g, y)
    return paired(g, a * c - b * d, a * d + b * c, x.dtype)


def parts(g: Builder, x: Value) -> tuple[Value, Value]:
    """Real and imaginary part of complex numbers, or of pairs in the last axis."""
    return g.node("Gather", x, 0, axis=-1, made=real(x)), g.node("Gather", x, 1, axis=-1, made=real(x))


def real(x: Value) -> str:
    """The type of the parts of complex numbers."""
    return {"complex64": "float32", "complex128": "float64"}.get(x.dtype, x.dtype)


def paired(g: Builder, a: Value, b: Value, dtype: str) -> Value:
    """Complex numbers of their parts."""
    y = g.node("Concat", unsqueeze(g, a, [-1]), unsqueeze(g, b, [-1]), axis=-1)
    return Value(g, y.name, dtype)


@rule("divide", "fused_elementwise_div")
def divide(g: Builder, o: Call) -> Value:
    x, y = _aligned(g, o)
    if not x.complex:
        return g.node("Div", x, y)
    a, b, c, d = *parts(g, x), *parts(g, y)
    below = c * c + d * d
    return paired(g, (a * c + b * d) / below, (b * c - a * d) / below, x.dtype)


@rule("floor_divide")
def floor_divide(g: Builder, o: Call) -> Value:
    x, y = _aligned(g, o)
    if x.dtype in FLOATS:
        return g.node("Floor", x / y)
    quotient = x / y  # towards zero
    below = g.node("Equal", quotient * y, x)
    mixed = g.node("Xor", x < 0, y < 0)
    return g.node("Where", ~below & mixed, quotient - 1, quotient)


@rule("trunc_divide")
def trunc_divide(g: Builder, o: Call) -> Value:
    return o[0] / o[1] if o[0].dtype in INTEGERS else truncated(g, o[0] / o[1])


@rule("remainder")
def remainder(g: Builder, o: Call) -> Value:
    x, y = _aligned(g, o)
    if x.dtype in INTEGERS:
        return g.node("Mod", x, y)
    rest = g.node("Mod", x, y, fmod=1)  # of x's sign; ours has y's
    moved = ~g.node("Equal", rest, 0.0) & g.node("Xor", rest < 0.0, y < 0.0)
    return g.node("Where", moved, rest + y, rest)


@rule("fmax", "fmin")
def fmax(g: Builder, o: Call) -> Value:
    x, y = o[0], o[1]
    y0 = g.node("Max" if o.name == "fmax" else "Min", x, y)
    if x.dtype not in FLOATS:
        return y0
    return g.node("Where", g.node("IsNaN", x), y, g.node("Where", g.node("IsNaN", y), x, y0))


@rule("atan2")
def atan2(g: Builder, o: Call) -> Value:
    return angle_of(g, o[0], o[1])


def angle_of(g: Builder, y: Value, x: Value) -> Value:
    """The angle of (x, y)."""
    half_turn = g.node("Where", y < 0.0, g.constant(-math.pi, y.dtype), math.pi)
    quotient_angle = g.node("Atan", y / x)
    sided = g.node("Where", x < 0.0, quotient_angle + half_turn, quotient_angle)
    upright = g.node("Where", g.node("Equal", x, 0.0), g.node("Sign", y) * (math.pi / 2), sided)
    return upright


@rule("heaviside")
def heaviside(g: Builder, o: Call) -> Value:
    x = o[0]
    return g.node("Where", g.node("Equal", x, 0), o[1], g.cast(x > 0, x.dtype))


@rule("copysign")
def copysign(g: Builder, o: Call) -> Value:
    x = g.node("Abs", o[0])
    # The sign of -0 shows in its reciprocal.
    y = o[1]
    negative = (y < 0.0) | (g.node("Reciprocal", y) < 0.0)
    return g.node("Where", negative, -x, x)


@rule("lerp")
def lerp(g: Builder, o: Call) -> Value:
    return o[0] + o[2] * (o[1] - o[0])


@rule("add_n")
def add_n(g: Builder, o: Call) -> Value:
    xs = o[0]
    return g.node("Identity", xs[0]) if len(xs) == 1 else g.node("Sum", *xs)


@rule("equal", "not_equal")
def equal(g: Builder, o: Call) -> Value:
    y = g.node("Equal", *_aligned(g, o))
    return y if o.name == "equal" else ~y


@rule("less_equal")
def less_equal(g: Builder, o: Call) -> Value:
    x, y = _aligned(g, o)
    return at_most(g, x, y)


@rule("greater_equal")
def greater_equal(g: Builder, o: Call) -> Value:
    x, y = _aligned(g, o)
    return at_most(g, y, x)


def at_most(g: Builder, x: Value, y: Any) -> Value:
    """``x <= y``, false for NaN."""
    if g.opset >= 12:
        return g.node("LessOrEqual", x, y)
    return g.node("Less", x, y) | g.node("Equal", x, y)


@rule("equal_all")
def equal_all(g: Builder, o: Call) -> Value:
    return everywhere(g, g.node("Equal", o[0], o[1]), None)


def everywhere(g: Builder, x: Value, axes: list[int] | None, keepdims: bool = False) -> Value:
    """Are all of x true?"""
    return g.cast(reduce(g, "Min", g.cast(x, "int32"), axes, keepdims), "bool")


def somewhere(g: Builder, x: Value, axes: list[int] | None, keepdims: bool = False) -> Value:
    """Is one of x true?"""
    return g.cast(reduce(g, "Sum", g.cast(x, "int32"), axes, keepdims), "bool")


@rule("isclose")
def isclose(g: Builder, o: Call) -> Value:
    x, y, near, part = o[0], o[1], o.number(3, "atol", 1e-8), o.number(2, "rtol", 1e-5)
    if isinstance(near, Value):
        near = g.cast(near, x.dtype)
    if isinstance(part, Value):
        part = g.cast(part, x.dtype)
    difference = g.node("Abs", x - y)
    close = at_most(g, difference, g.node("Abs", y) * part + near)
    # An infinite number is close to itself alone.
    finite = difference < math.inf
    close = (close & finite) | g.node("Equal", x, y)
    if o("equal_nan", False):
        close = close | (g.node("IsNaN", x) & g.node("IsNaN", y))
    return close


@rule("allclose")
def allclose(g: Builder, o: Call) -> Value:
    return everywhere(g, isclose(g, o), None)


@rule("logical_and", "logical_or", "logical_xor")
def logical(g: Builder, o: Call) -> Value:
    kind = {"and": "And", "or": "Or", "xor": "Xor"}[o.name.removeprefix("logical_")]
    return g.node(kind, truth(g, o[0]), truth(g, o[1]))


def truth(g: Builder, x: Value) -> Value:
    """x as bools."""
    return x if x.dtype == "bool" else g.cast(x, "bool")


@rule("logical_not")
def logical_not(g: Builder, o: Call) -> Value:
    return ~truth(g, o[0])


@rule("bitwise_and", "bitwise_or", "bitwise_xor")
def bitwise(g: Builder, o: Call) -> Value:
    kind = {"and": "And", "or": "Or", "xor": "Xor"}[o.name.removeprefix("bitwise_")]
    return g.node(kind if o[0].dtype == "bool" else f"Bitwise{kind}", o[0], o[1])


@rule("bitwise_not")
def bitwise_not(g: Builder, o: Call) -> Value:
    x = o[0]
    if x.dtype == "bool":
        return ~x
    # ~x = -1 - x in two's complement, at every opset; of an unsigned x the largest number less x.
    return (255 if x.dtype == "uint8" else -1) - x


@rule("bitwise_left_shift", "bitwise_right_shift")
def shift(g: Builder, o: Call) -> Value:
    x, y = o[0], o[1]
    power = g.node("Pow", g.constant(2.0, "float64"), g.cast(y, "float64"))
    power = g.cast(power, x.dtype)
    if o.name == "bitwise_left_shift":
        return x * power
    if not o("is_arithmetic", True):
        unsigned = {"int8": "uint8", "int16": "uint16", "int32": "uint32", "int64": "uint64"}
        kind = unsigned.get(x.dtype, x.dtype)
        return g.cast(g.node("BitShift", g.cast(x, kind), g.cast(y, kind), direction="RIGHT"), x.dtype)
    rounded = x / power
    inexact = ~g.node("Equal", rounded * power, x) & (x < 0)
    return g.node("Where", inexact, rounded - 1, rounded)


@rule("abs")
def abs_(g: Builder, o: Call) -> Value:
    x = o[0]
    if not x.complex:
        return g.node("Abs", x)
    return reduce(g, "L2", Value(g, x.name, real(x), (*x.shape, 2) if x.shape is not None else None), [-1])


@rule("expm1")
def expm1(g: Builder, o: Call) -> Value:
    # e^x - 1 = tanh(x/2) (e^x + 1), which keeps small numbers.
    x = o[0]
    ex = g.node("Exp", x)
    return g.node("Where", g.node("Abs", x) < 1.0, g.node("Tanh", x * 0.5) * (ex + 1.0), ex - 1.0)


@rule("log1p")
def log1p(g: Builder, o: Call) -> Value:
    # log(1 + x) = 2 atanh(x / (2 + x)), which keeps small numbers.
    x = o[0]
    small = g.node("Atanh", x / (x + 2.0)) * 2.0
    return g.node("Where", g.node("Abs", x) < 0.5, small, g.node("Log", x + 1.0))


@rule("log2")
def log2(g: Builder, o: Call) -> Value:
    return g.node("Log", o[0]) / math.log(2)


@rule("log10")
def log10(g: Builder, o: Call) -> Value:
    return g.node("Log", o[0]) / math.log(10)


@rule("logit")
def logit(g: Builder, o: Call) -> Value:
    x, eps = o[0], o("eps", 0.0)
    if eps:
        x = clipped(g, x, eps, 1 - eps)
    return g.node("Log", x / (1.0 - x))


@rule("rsqrt")
def rsqrt(g: Builder, o: Call) -> Value:
    return g.node("Reciprocal", g.node("Sqrt", o[0]))


@rule("round")
def round_(g: Builder, o: Call) -> Value:
    x, decimals = o[0], o("decimals", 0)
    if x.dtype in INTEGERS:
        return g.node("Identity", x)
    if decimals:
        return g.node("Round", x * 10.0**decimals) / 10.0**decimals
    return g.node("Round", x)


@rule("rint")
def rint(g: Builder, o: Call) -> Value:
    return g.node("Round", o[0])


@rule("square")
def square(g: Builder, o: Call) -> Value:
    return o[0] * o[0]


@rule("stanh")
def stanh(g: Builder, o: Call) -> Value:
    return g.node("Tanh", o[0] * o("scale_a", 0.67)) * o("scale_b", 1.7159)


@rule("trunc")
def trunc(g: Builder, o: Call) -> Value:
    return g.node("Identity", o[0]) if o[0].dtype in INTEGERS else truncated(g, o[0])


def truncated(g: Builder, x: Value) -> Value:
    """x rounded towards zero."""
    return g.node("Sign", x) * g.node("Floor", g.node("Abs", x))


@rule("isnan", "isinf", "isfinite")
def isnan(g: Builder, o: Call) -> Value:
    x = o[0]
    if x.dtype in INTEGERS:
        made = g.node("Equal", x, x)
        return made if o.name == "isfinite" else ~made
    if o.name == "isnan":
        return g.node("IsNaN", x)
    if o.name == "isinf":
        return g.node("IsInf", x)
    return g.node("Abs", x) < math.inf


@rule("erfinv")
def erfinv(g: Builder, o: Call) -> Value:
    # M. Giles, Approximating the erfinv function: polynomials in w = -log(1 - x²), then two steps of Newton's method.
    x = o[0]
    w = -g.node("Log", (1.0 - x) * (x + 1.0))
    near = _polynomial(w - 2.5, _NEAR)
    far = _polynomial(g.node("Sqrt", w) - 3.0, _FAR)
    y = g.node("Where", w < 5.0, near, far) * x
    for _ in range(2):
        error = g.node("Erf", y) - x
        y = y - error / (g.node("Exp", -(y * y)) * (2 / math.sqrt(math.pi)))
    edge = g.node("Equal", g.node("Abs", x), 1.0)
    return g.node("Where", edge, x * math.inf, y)


_NEAR = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
    0.246640727, 1.50140941,
)  # fmt: skip
_FAR = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
    1.00167406, 2.83297682,
)  # fmt: skip


def _polynomial(x: Value, coefficients: tuple[float, ...]) -> Value:
    y = x * coefficients[0] + coefficients[1]
    for c in coefficients[2:]:
        y = y * x + c
    return y


@rule("pow")
def pow_(g: Builder, o: Call) -> Value:
    x, y = o[0], o.number(1, "y", 1.0)
    if x.dtype in INTEGERS and not isinstance(y, Value) and y == int(y):
        return g.node("Pow", x, int(y))
    return g.node("Pow", x, y)


@rule("scale", "scale_sr")
def scale(g: Builder, o: Call) -> Value:
    x, bias = o[0], o("bias", 0.0)
    factor = o.number(1, "scale", 1.0)
    if x.complex:
        if isinstance(factor, Value) or bias:
            raise Unsayable("complex numbers that are scaled by a known number alone")
        y = Value(g, x.name, real(x)) * factor
        return Value(g, y.name, x.dtype, x.shape)
    if isinstance(factor, Value):
        factor = reshape(g, g.cast(factor, x.dtype), [])
    elif x.dtype in INTEGERS:
        if factor != int(factor) or bias != int(bias):
            y = (
                g.cast(x, "float64") * factor + bias
                if o("bias_after_scale", True)
                else (g.cast(x, "float64") + bias) * factor
            )
            return g.cast(y, x.dtype)
        factor, bias = int(factor), int(bias)
    if not o("bias_after_scale", True) and bias:
        x, bias = x + bias, 0
    y = x if not isinstance(factor, Value) and factor == 1 else x * factor
    y = y + bias if bias else y
    return g.node("Identity", y) if y is o[0] else y


@rule("clip")
def clip(g: Builder, o: Call) -> Value:
    return clipped(g, o[0], o.number(1, "min"), o.number(2, "max"))


def clipped(g: Builder, x: Value, low: Any, high: Any) -> Value:
    """x between two numbers or values."""
    bounds = []
    for b in (low, high):
        if isinstance(b, Value):
            b = reshape(g, g.cast(b, x.dtype), [])
        elif b is not None and x.dtype in INTEGERS:
            info = np.iinfo(x.dtype)
            b = int(min(max(b, info.min), info.max))
        bounds.append(b)
    if x.dtype != "float32" and g.opset < 12:  # of which alone ONNX Runtime has a Clip there
        low, high = bounds
        x = x if low is None else g.node("Where", x < low, low, x)
        return x if high is None else g.node("Where", x > high, high, x)
    return known(g.node("Clip", x, *bounds), x.shape)


@rule("hardtanh")
def hardtanh(g: Builder, o: Call) -> Value:
    return clipped(g, o[0], o("min", o("t_min", -1.0)), o("max", o("t_max", 1.0)))


@rule("increment")
def increment(g: Builder, o: Call) -> Value:
    x, by = o[0], o("value", o("step", 1.0))
    return x + (int(by) if x.dtype in INTEGERS else by)


@rule("cast")
def cast(g: Builder, o: Call) -> Value:
    dtype = o("dtype")
    x = o[0]
    if x.complex or dtype in ("complex64", "complex128"):
        if x.complex and dtype in ("complex64", "complex128"):
            y = g.cast(Value(g, x.name, real(x), None), {"complex64": "float32", "complex128": "float64"}[dtype])
            return Value(g, y.name, dtype)
        if x.complex:
            return g.cast(parts(g, x)[0], dtype)
        a = g.cast(x, {"complex64": "float32", "complex128": "float64"}[dtype])
        return paired(g, a, a * 0.0, dtype)
    return g.node("Identity", x) if x.dtype == dtype else g.cast(x, dtype)


@rule("angle")
def angle(g: Builder, o: Call) -> Value:
    x = o[0]
    if x.complex:
        a, b = parts(g, x)
        return angle_of(g, b, a)
    return g.node("Where", x < 0.0, g.constant(math.pi, x.dtype), x * 0.0)


@rule("clip_by_norm", "clip_by_norm_sr")
def clip_by_norm(g: Builder, o: Call) -> Value:
    x, most = o[0], o("max_norm")
    norm = reduce(g, "L2", x, None)
    return g.node("Where", norm > most, x * (most / norm), x)
