"""Functions of elements."""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from typing import Any

import numpy as np

import paddle
from paddle.static.formats.operators.known import Known
from paddle.static.formats.operators.table import Number, Tensors, binary, known, operator, small, unary
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.expr import Sym

_UNARY = (
    "abs acos acosh angle asin asinh atan atanh bitwise_not ceil conj cos cosh digamma erf erfinv exp expm1 floor i0 "
    "i0e i1 i1e imag isfinite isinf isnan lgamma log log10 log1p log2 logical_not real reciprocal rsqrt sign sin "
    "sinh sqrt square tan tanh trunc"
)
for _name in _UNARY.split():
    unary(getattr(paddle, _name), _name)
unary(paddle.lgamma, "gammaln")
unary(paddle.round, "rint")

_BINARY = (
    "add subtract multiply divide floor_divide remainder maximum minimum fmax fmin atan2 bitwise_and bitwise_or "
    "bitwise_xor logical_and logical_or logical_xor equal not_equal less_than less_equal greater_than greater_equal "
    "heaviside copysign nextafter gammaincc complex"
)
for _name in _BINARY.split():
    binary(getattr(paddle, _name), _name)
binary(paddle.pow, "elementwise_pow")


@operator("bitwise_left_shift")
def bitwise_left_shift(x: Tensor, y: Tensor, *, is_arithmetic: bool = True) -> Any:
    return paddle.bitwise_left_shift(x, y, is_arithmetic)


@operator("bitwise_right_shift")
def bitwise_right_shift(x: Tensor, y: Tensor, *, is_arithmetic: bool = True) -> Any:
    return paddle.bitwise_right_shift(x, y, is_arithmetic)


@operator("trunc_divide")
def trunc_divide(x: Tensor, y: Tensor) -> Any:
    return paddle.trunc(paddle.divide(x.astype("float64"), y.astype("float64"))).astype(x.dtype)


@operator("scale", "scale_sr")
def scale(x: Tensor, scale: Number = 1.0, *, bias: Any = 0.0, bias_after_scale: bool = True) -> Any:
    if isinstance(scale, Tensor):
        factor, bias = scale.reshape([]).astype(x.dtype), _whole(bias, x)
        return x * factor + bias if bias_after_scale else (x + bias) * factor
    return paddle.scale(x, scale, bias, bias_after_scale)


@operator("pow")
def power(x: Tensor, *, y: Any = 1.0) -> Any:
    return paddle.pow(x, _whole(y, x))


def _whole(y: Any, x: Tensor) -> Any:
    """A scalar, which files have as a float, as an int where it is one and x is of integers."""
    return int(y) if type(y) is float and y.is_integer() and not x.dtype.is_floating else y


@operator("cast")
def cast(x: Tensor, *, dtype: str) -> Any:
    return paddle.cast(x, dtype)


@operator("clip")
def clip(x: Tensor, min: Number, max: Number) -> Any:
    return paddle.clip(x, _bound(min, x), _bound(max, x))


def _bound(y: Any, x: Tensor) -> Any:
    return y if isinstance(y, Tensor) else _whole(y, x)


@operator("round")
def round_(x: Tensor, *, decimals: int = 0) -> Any:
    return paddle.round(x, decimals)


@operator("logit")
def logit(x: Tensor, *, eps: float = 1e-6) -> Any:
    return paddle.logit(x, eps)


@operator("polygamma")
def polygamma(x: Tensor, *, n: int) -> Any:
    return paddle.polygamma(x, n)


@operator("lerp")
def lerp(x: Tensor, y: Tensor, weight: Tensor) -> Any:
    return paddle.lerp(x, y, weight)


@operator("isclose")
def isclose(x: Tensor, y: Tensor, rtol: Number, atol: Number, *, equal_nan: bool = False) -> Any:
    return paddle.isclose(x, y, float(rtol), float(atol), equal_nan)


@operator("allclose")
def allclose(x: Tensor, y: Tensor, rtol: Number, atol: Number, *, equal_nan: bool = False) -> Any:
    return paddle.allclose(x, y, float(rtol), float(atol), equal_nan)


@operator("equal_all")
def equal_all(x: Tensor, y: Tensor) -> Any:
    return paddle.equal_all(x, y)


@operator("stanh")
def stanh(x: Tensor, *, scale_a: float = 0.67, scale_b: float = 1.7159) -> Any:
    return paddle.stanh(x, scale_a, scale_b)


@operator("label_smooth")
def label_smooth(label: Tensor, prior_dist: Tensor | None = None, *, epsilon: float = 0.0) -> Any:
    return paddle.nn.functional.label_smooth(label, prior_dist, epsilon)


@operator("add_n")
def add_n(inputs: Tensors) -> Any:
    return paddle.add_n(inputs)


@operator("where")
def where(condition: Tensor, x: Tensor, y: Tensor) -> Any:
    return paddle.where(condition, x, y)


@operator("masked_fill")
def masked_fill(x: Tensor, mask: Tensor, value: Tensor) -> Any:
    return paddle.masked_fill(x, mask, value)


@operator("as_complex")
def as_complex(x: Tensor) -> Any:
    return paddle.as_complex(x)


@operator("as_real")
def as_real(x: Tensor) -> Any:
    return paddle.as_real(x)


@operator("view_dtype")
def view_dtype(input: Tensor, *, dtype: str) -> Any:
    return input.view(dtype)


# --- of numbers that are known ---------------------------------------------------------------------------------------


def _rounded(x: Any, dtype: str) -> Any:
    """A number as an element of a dtype."""
    made = convert(dtype)
    if type(x) is Sym:
        if made.is_floating:
            return dim.to_float(x)
        if made.is_bool:
            return x if x.kind == "bool" else x != 0
        return dim.where(x, 1, 0) if x.kind == "bool" else dim.to_int(x)
    return made.numpy.type(x).item() if made.is_floating else bool(x) if made.is_bool else int(x)


def _each(function: Callable[..., Any], dtype: str, *xs: Known) -> Known | None:
    def one(*elements: Any) -> Any:
        return _rounded(function(*elements), dtype)

    try:
        made = np.frompyfunc(one, len(xs), 1)(*(x.array for x in xs))
    except (ZeroDivisionError, OverflowError, ValueError):
        return None  # the tensors' arithmetic says what that is
    return small(np.asarray(made, dtype=object), dtype)


def _rule(function: Callable[..., Any], *names: str, result: str | None = None) -> None:
    """A function of elements whose result has the operands' dtype, or ``result``."""

    def rule(x: Known, *others: Known) -> Known | None:
        return _each(function, result or x.dtype, x, *others)

    known(*names)(rule)


def _truncated(x: Any) -> Any:
    return dim.to_int(x)


def _floor(x: Any) -> Any:
    below = dim.to_int(x)
    return dim.to_float(below - dim.where(x < dim.to_float(below), 1, 0))


_rule(python.add, "add")
_rule(python.sub, "subtract")
_rule(python.mul, "multiply")
_rule(dim.maximum, "maximum", "fmax")
_rule(dim.minimum, "minimum", "fmin")
_rule(abs, "abs")
_rule(_floor, "floor")
_rule(lambda x: -_floor(-x), "ceil")
_rule(python.eq, "equal", result="bool")
_rule(python.ne, "not_equal", result="bool")
_rule(python.lt, "less_than", result="bool")
_rule(python.le, "less_equal", result="bool")
_rule(python.gt, "greater_than", result="bool")
_rule(python.ge, "greater_equal", result="bool")
_rule(lambda x, y: x & y, "logical_and", result="bool")
_rule(lambda x, y: x | y, "logical_or", result="bool")
_rule(lambda x: not x if type(x) is bool else ~x, "logical_not", result="bool")


@known("floor_divide")
def known_floor_divide(x: Known, y: Known) -> Known | None:
    return _each(python.floordiv, x.dtype, x, y) if _of_integers(x, y) else None


@known("remainder")
def known_remainder(x: Known, y: Known) -> Known | None:
    return _each(python.mod, x.dtype, x, y) if _of_integers(x, y) else None


def _of_integers(*xs: Known) -> bool:
    return all(convert(x.dtype).is_integer for x in xs)


@known("divide")
def known_divide(x: Known, y: Known) -> Known | None:
    return _each(python.truediv, "float32" if _of_integers(x, y) else x.dtype, x, y)


@known("scale")
def known_scale(x: Known, scale: Known, *, bias: Any = 0.0, bias_after_scale: bool = True) -> Known | None:
    (factor,) = scale.elements()
    if _of_integers(x):
        if factor != int(factor) or bias != int(bias):
            return None
        factor, bias = int(factor), int(bias)
    return _each(lambda n: n * factor + bias if bias_after_scale else (n + bias) * factor, x.dtype, x)


@known("cast")
def known_cast(x: Known, *, dtype: str) -> Known | None:
    if dtype.startswith(("complex", "float8")):
        return None
    return _each(lambda n: n, dtype, x)


@known("clip")
def known_clip(x: Known, min: Known, max: Known) -> Known | None:
    (low,), (high,) = min.elements(), max.elements()
    return _each(lambda n: dim.minimum(dim.maximum(n, low), high), x.dtype, x)


@known("where")
def known_where(condition: Known, x: Known, y: Known) -> Known | None:
    return _each(dim.where, x.dtype, condition, x, y)
