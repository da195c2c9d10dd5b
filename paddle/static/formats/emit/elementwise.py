"""Functions of each element, comparisons, and activations."""

from __future__ import annotations

import math
from typing import Any

from paddle.static.formats.emit.emitter import (
    TABLE,
    Emitter,
    Result,
    TensorType,
    element,
    emits,
    f32,
    f64,
    fixed,
    flag,
    i32,
    text,
    type_of,
    typed,
)
from paddle.tensor._args import equal_shapes
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir import program as ir
from umiak.ir.meta import identical
from umiak.ir.registry import REGISTRY
from umiak.runtime.regions import while_loop


@emits(F.Gcd)
def gcd(e: Emitter, o: ir.Operation) -> Result | None:
    """Euclid's algorithm, on all elements at once."""
    meta = o.results[0].meta
    if meta.dtype is None or not meta.dtype.is_integer:
        return None

    def divisor(*those: Any) -> Any:
        wide = meta.dtype if meta.dtype in (dt.int32, dt.int64) else dt.int32
        parts = [F.full(x, shape=(), dtype=wide) if not isinstance(x, Tensor) else F.cast(x, dtype=wide) for x in those]
        x, y = (F.broadcast_to(F.abs(v), shape=tuple(meta.shape)) for v in parts)

        def goes_on(state: list[Any]) -> Any:
            return F.any(F.ne(state[1], 0), axes=tuple(range(meta.ndim)))

        def step(state: list[Any]) -> list[Any]:
            x, y = state
            left = F.ne(y, 0)
            rest = F.remainder(x, F.where(left, y, 1))
            return [F.where(left, y, x), F.where(left, rest, 0)]

        return F.cast(while_loop(goes_on, step, [x, y])[0], dtype=meta.dtype)

    return e.traced(divisor, o.operands)[0]


# Ops whose operator has the same operands and no attributes, by our names.
_SAME = {name: name for name in (
    "abs", "sign", "floor", "ceil", "trunc", "reciprocal", "exp", "expm1", "log", "log2", "log10", "log1p", "sqrt",
    "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf",
    "erfinv", "digamma", "i0", "i0e", "i1", "i1e", "isnan", "isinf", "isfinite", "conj", "real", "imag", "angle",
    "relu", "relu6", "silu", "softsign", "square", "as_real", "as_complex",
)} | {
    "logistic": "sigmoid", "lgamma": "lgamma", "log_sigmoid": "logsigmoid", "tanhshrink": "tanh_shrink",
    "logical_not": "logical_not", "bitwise_not": "bitwise_not", "copy": "assign", "detached": "assign",
    "optimization_barrier": "assign",
}  # fmt: skip
_BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "floor_div": "floor_divide",
    "remainder": "remainder", "pow": "elementwise_pow", "maximum": "maximum", "minimum": "minimum", "fmax": "fmax",
    "fmin": "fmin", "atan2": "atan2", "copysign": "copysign", "nextafter": "nextafter", "heaviside": "heaviside",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor",
    "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor", "eq": "equal",
    "ne": "not_equal", "lt": "less_than", "le": "less_equal", "gt": "greater_than", "ge": "greater_equal",
    "swiglu": "swiglu", "complex": "complex",
}  # fmt: skip


def _unary(e: Emitter, o: ir.Operation) -> Result:
    return e.one(_SAME[o.name], [e.of(o.operands[0])], e.type(o))


def of_both(e: Emitter, o: ir.Operation) -> list[Result]:
    """The operands of which one may be a number; it gets the dtype of the other."""
    dtype = next((x.meta.dtype for x in o.operands if type(x) is ir.Value), o.results[0].meta.dtype)
    return [e.of(x, dtype) for x in o.operands]


_OF_ONE_SHAPE = "atan2", "swiglu"  # operators that do not broadcast


def _spread(e: Emitter, o: ir.Operation) -> list[Result]:
    """The operands in the shape of the result."""
    shape = o.results[0].meta.shape
    same = all(type(x) is ir.Value and equal_shapes(x.meta.shape, shape) for x in o.operands)
    return of_both(e, o) if same else [e.expand(x, shape) for x in of_both(e, o)]


def _both(e: Emitter, o: ir.Operation) -> Result | None:
    if o.name in _OF_ONE_SHAPE:
        return e.one(_BINARY[o.name], _spread(e, o), e.type(o))
    if o.name in ("add", "mul", "sub") and o.results[0].meta.dtype.name == "bool":  # type: ignore[union-attr]
        return e.one("logical_and" if o.name == "mul" else "logical_or", of_both(e, o), e.type(o))
    scaled = _scaled(e, o)
    return e.one(_BINARY[o.name], of_both(e, o), e.type(o)) if scaled is None else scaled


def _scaled(e: Emitter, o: ir.Operation) -> Result | None:
    """Arithmetic of float16 beside a number: of these PaddlePaddle has no kernel on processors but ``scale``, which its
    own files have there. Sizes and quotients are computed in float32, which rounds to the same."""
    if o.results[0].meta.dtype.name != "float16":  # type: ignore[union-attr]
        return None
    match o.name, *o.operands:
        case ("mul", ir.Value() as x, int() | float() as n) | ("mul", int() | float() as n, ir.Value() as x):
            return e.scaled(e.of(x), float(n))
        case ("add", ir.Value() as x, int() | float() as n) | ("add", int() | float() as n, ir.Value() as x):
            return e.scaled(e.of(x), 1.0, float(n))
        case "sub", ir.Value() as x, int() | float() as n:
            return e.scaled(e.of(x), 1.0, -float(n))
        case "sub", int() | float() as n, ir.Value() as x:
            return e.scaled(e.of(x), -1.0, float(n))
        case (("add" | "sub" | "mul" | "div"), *those) if not all(type(x) is ir.Value for x in those):
            wide = [e.cast(x, "float32") for x in of_both(e, o)]
            return e.cast(e.one(_BINARY[o.name], wide, e.type(o)._replace(dtype="float32")), "float16")
    return None


TABLE.update({REGISTRY[name]: _unary for name in _SAME})
TABLE.update({REGISTRY[name]: _both for name in _BINARY})


def _on(*names: str) -> Any:
    return emits(*(REGISTRY[n] for n in names))


@_on("neg")
def neg(e: Emitter, o: ir.Operation) -> Result:
    kind = e.type(o)
    return (
        e.one("subtract", [e.full((), 0, kind.dtype), e.of(o.operands[0])], kind)
        if kind.dtype.startswith(("int", "complex"))
        else e.scaled(e.of(o.operands[0]), -1.0)
    )


@_on("probability")
def probability(e: Emitter, o: ir.Operation) -> Result:
    return e.of(o.operands[0])


@_on("exp2")
def exp2(e: Emitter, o: ir.Operation) -> Result:
    x = e.of(o.operands[0])
    return e.one("elementwise_pow", [e.full((), 2.0, typed(x).dtype), x], e.type(o))


@_on("erfc")
def erfc(e: Emitter, o: ir.Operation) -> Result:
    x = e.of(o.operands[0])
    return e.one("subtract", [e.full((), 1.0, typed(x).dtype), e.one("erf", [x], e.type(o))], e.type(o))


@_on("round")
def round_(e: Emitter, o: ir.Operation) -> Result:
    return e.one("round", [e.of(o.operands[0])], e.type(o), decimals=i32(0))


@_on("polygamma")
def polygamma(e: Emitter, o: ir.Operation) -> Result:
    return e.one("polygamma", [e.of(o.operands[0])], e.type(o), n=i32(o.op.n))


def _nearest_power(x: Tensor) -> Tensor:
    """The power of two that float8_e8m0fnu keeps of a float32, as float32: files know no such elements."""
    power = F.where(F.lt(x, 1.0), 2.0**-126, F.full(1.0, dtype=x.dtype, shape=()))
    for step in (64, 32, 16, 8, 4, 2, 1):
        higher = F.mul(power, 2.0**step)
        power = F.where(F.ge(x, higher), higher, power)
    power = F.where(F.ge(x, F.mul(power, 1.5)), F.mul(power, 2.0), power)
    power = F.where(F.lt(x, 0.75 * 2.0**-126), 2.0**-127, power)
    return F.where(F.logical_and(F.gt(x, 0.0), F.lt(x, 1.5 * 2.0**127)), power, math.nan)


@_on("cast")
def cast(e: Emitter, o: ir.Operation) -> Result:
    kind = e.type(o)
    if kind.dtype == "float8_e8m0fnu" and o.operands[0].meta.dtype.name == "float32":  # type: ignore[union-attr]
        return e.traced(_nearest_power, o.operands)[0]
    return e.one("cast", [e.of(o.operands[0])], kind, dtype=element(kind.dtype))


@_on("fmod")
def fmod(e: Emitter, o: ir.Operation) -> Result | None:
    dtype = o.results[0].meta.dtype

    def rest(*those: Any) -> Any:
        x, y = (v if isinstance(v, Tensor) else F.full(v, shape=(), dtype=dtype) for v in those)
        if dtype is not None and dtype.is_integer:
            found = F.remainder(x, y)
            apart = F.logical_and(F.ne(found, 0), F.ne(F.lt(x, 0), F.lt(y, 0)))
            return F.where(apart, F.sub(found, y), found)
        found = F.remainder(F.abs(x), F.abs(y))  # exact, as quotients are not
        return F.where(F.lt(x, 0), F.neg(found), found)

    return e.traced(rest, o.operands)[0]


@_on("shift_left", "shift_right", "shift_right_logical")
def shift(e: Emitter, o: ir.Operation) -> Result:
    name = "bitwise_left_shift" if o.name == "shift_left" else "bitwise_right_shift"
    return e.one(name, of_both(e, o), e.type(o), is_arithmetic=flag(o.name != "shift_right_logical"))


@_on("igamma", "igammac")
def igamma(e: Emitter, o: ir.Operation) -> Result:
    made = e.one("gammaincc", _spread(e, o), e.type(o))
    return made if o.name == "igammac" else e.scaled(made, -1.0, 1.0)


@_on("where")
def where(e: Emitter, o: ir.Operation) -> Result:
    kind, shape = e.type(o), o.results[0].meta.shape

    def spread(x: ir.Value) -> Result:
        return e.of(x) if equal_shapes(x.meta.shape, shape) else e.expand(e.of(x), shape)

    first, *others = o.operands
    cond = spread(first) if type(first) is ir.Value else e.expand(e.of(first, "bool"), shape)
    chosen = [spread(x) if type(x) is ir.Value else _like(e, e.of(x, kind.dtype), cond, kind) for x in others]
    return e.one("where", [cond, *chosen], kind)


def _like(e: Emitter, x: Result, other: Result, kind: TensorType) -> Result:
    """A number repeated to the shape of another tensor."""
    if not kind.shape:
        return x
    if -1 not in kind.shape:
        return e.one("expand", [x, e.ints(kind.shape)], kind)
    sizes = e.one("shape64", [other], TensorType("int64", (len(kind.shape),)))
    return e.one("expand", [x, sizes], kind)


@_on("clip")
def clip(e: Emitter, o: ir.Operation) -> Result | None:
    x, *limits = o.operands
    if any(type(v) in (ir.Value, bool) or not fixed(v) for v in limits):
        return None
    kind = e.type(o)
    floating = kind.dtype.startswith(("float", "bfloat"))
    if not floating and None in limits:
        return None
    low, high = (end if v is None else v for v, end in zip(limits, (float("-inf"), float("inf")), strict=True))
    given = [e.full((1,), v, kind.dtype) for v in (low, high)]
    return e.one("clip", [e.of(x), *given], kind)


@_on("scale")
def scale(e: Emitter, o: ir.Operation) -> Result | None:
    factor, bias = o.params
    kind = e.type(o)
    if not fixed(o.params) or not kind.dtype.startswith(("float32", "float16", "bfloat16")):
        return None
    by = e.attribute(factor, "float32")
    after = flag(o.op.bias_after_scale)
    return e.one("scale", [e.of(o.operands[0]), by], kind, bias=f32(bias), bias_after_scale=after)


# --- activations -----------------------------------------------------------------------------------------------------


def _activation(op: str, name: str, *attributes: tuple[str, Any]) -> None:
    """An op whose params are these attributes, in order."""

    def emit(e: Emitter, o: ir.Operation) -> Result | None:
        if not fixed(o.params):
            return None
        given = {key: kind(x) for (key, kind), x in zip(attributes, o.params, strict=True)}
        return e.one(name, [e.of(o.operands[0])], e.type(o), **given)

    TABLE[REGISTRY[op]] = emit


_activation("hardtanh", "hardtanh", ("t_min", f32), ("t_max", f32))
_activation("softshrink", "softshrink", ("threshold", f32))
_activation("hardshrink", "hardshrink", ("threshold", f32))
_activation("thresholded_relu", "thresholded_relu", ("threshold", f32), ("value", f32))
_activation("leaky_relu", "leaky_relu", ("negative_slope", f64))
_activation("hardsigmoid", "hardsigmoid", ("slope", f32), ("offset", f32))
_activation("elu", "elu", ("alpha", f32))
_activation("selu", "selu", ("scale", f32), ("alpha", f32))
_activation("celu", "celu", ("alpha", f32))
_activation("softplus", "softplus", ("beta", f64), ("threshold", f64))
_activation("stanh", "stanh", ("scale_a", f32), ("scale_b", f32))
_activation("logit", "logit", ("eps", f64))


@_on("mish")
def mish(e: Emitter, o: ir.Operation) -> Result:
    return e.one("mish", [e.of(o.operands[0])], e.type(o), **{"lambda": f32(20.0)})


@_on("hardswish")
def hardswish(e: Emitter, o: ir.Operation) -> Result | None:
    if o.params != (6.0, 6.0, 3.0):  # others are attributes of older programs alone
        return None
    return e.one("hardswish", [e.of(o.operands[0])], e.type(o))


@_on("swish")
def swish(e: Emitter, o: ir.Operation) -> Result | None:
    return e.one("swish", [e.of(o.operands[0])], e.type(o)) if o.params == (1.0,) else None


@_on("gelu")
def gelu(e: Emitter, o: ir.Operation) -> Result:
    return e.one("gelu", [e.of(o.operands[0])], e.type(o), approximate=flag(o.op.approximate))


@_on("softmax", "log_softmax")
def softmax(e: Emitter, o: ir.Operation) -> Result | None:
    if not o.results[0].meta.shape:
        return None
    return e.one(o.name, [e.of(o.operands[0])], e.type(o), axis=i32(o.op.axis))


@_on("maxout")
def maxout(e: Emitter, o: ir.Operation) -> Result | None:
    if not fixed(o.params) or len(o.results[0].meta.shape) != 4:
        return None
    return e.one("maxout", [e.of(o.operands[0])], e.type(o), groups=i32(o.params[0]), axis=i32(o.op.axis))


@_on("prelu")
def prelu(e: Emitter, o: ir.Operation) -> Result | None:
    x, weight = o.operands
    shape, own = x.meta.shape, weight.meta.shape  # type: ignore[union-attr]
    count = 1
    for n in own:
        count = count * n
    if not fixed(count):  # 1, or that of the channels: attributes say which
        return None
    if count == 1:
        mode = "all"
    elif len(shape) > 1 and len(own) == len(shape) and own[1] == count:
        mode = "channel"
    else:
        return None
    flat = e.reshape(e.of(weight), (count,)) if len(own) != 1 else e.of(weight)
    return e.one("prelu", [e.of(x), flat], e.type(o), data_format=text("NCHW"), mode=text(mode))


@_on("lerp")
def lerp(e: Emitter, o: ir.Operation) -> Result | None:
    x, y, weight = o.operands
    if type(x) is not ir.Value or type(y) is not ir.Value or not identical(x.meta.shape, y.meta.shape):
        return None
    return e.one("lerp", [e.of(x), e.of(y), e.of(weight, x.meta.dtype)], type_of(o.results[0].meta))
