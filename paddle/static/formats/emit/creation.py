"""Tensors made of nothing: constants, counts, random numbers."""

from __future__ import annotations

from typing import Any

from paddle.static.formats.emit.emitter import (
    ANYWHERE,
    Emitter,
    Result,
    TensorType,
    element,
    emits,
    f32,
    fixed,
    flag,
    i32,
    text,
    typed,
)
from umiak import ops as F
from umiak.ir import program as ir


@emits(F.Full)
def full(e: Emitter, o: ir.Operation) -> Result:
    (value,), (shape,), kind = o.operands, o.params, e.type(o)
    if type(value) is ir.Value or not fixed(value):
        return e.expand(e.cast(e.of(value, kind.dtype), kind.dtype), shape)
    if kind.dtype == "bool":
        value = bool(value)
    elif kind.dtype.startswith(("int", "uint")):
        value = int(value)  # type: ignore[arg-type]
    return e.filled(shape, value, kind)


@emits(F.Iota)
def iota(e: Emitter, o: ir.Operation) -> Result:
    start: Any
    step: Any
    start, step = o.operands
    size, kind = o.params[0], e.type(o)
    integral = kind.dtype in ("int32", "int64") and all(type(x) is int for x in (start, step)) and step != 0
    first, by = (start, step) if integral else (0, 1)
    if type(size) is int:
        ends = [e.attribute(x, "int64") for x in (first, first + size * by, by)]
    else:
        ends = [e.attribute(first, "int64"), e.number(first + size * by), e.attribute(by, "int64")]
    made_as = kind.dtype if integral else "int64"
    made = e.one("arange", ends, kind._replace(dtype=made_as), dtype=element(made_as), place=ANYWHERE)
    if integral:
        return made
    wide = kind.dtype if kind.dtype not in ("float16", "bfloat16") else "float32"
    made = e.cast(made, wide)
    for name, x, none in (("multiply", step, 1), ("add", start, 0)):
        if type(x) is ir.Value or not fixed(x) or x != none:
            made = e.one(name, [made, e.of(x, wide)], typed(made))
    return e.cast(made, kind.dtype)


# --- random numbers --------------------------------------------------------------------------------------------------

# Streams of the operators are those of the machine that runs them: a seed of 0 goes on in them.
_SEED = i32(0)


def _uniform(e: Emitter, shape: Any, kind: TensorType, low: float, high: float) -> Result:
    ends = [e.attribute(low, kind.dtype), e.attribute(high, kind.dtype)]
    given = {"dtype": element(kind.dtype), "seed": _SEED, "place": ANYWHERE}
    return e.one("uniform", [e.ints(shape), *ends], kind, **given)


@emits(F.UniformRandom)
def uniform_random(e: Emitter, o: ir.Operation) -> Result | None:
    shape, _, _, low, high = o.params
    kind = e.type(o)
    return _uniform(e, shape, kind, low, high) if fixed(low, high) and kind.dtype in ("float32", "float64") else None


@emits(F.Philox)
def philox(e: Emitter, o: ir.Operation) -> Result:
    kind = e.type(o)
    drawn = _uniform(e, o.params[0], kind._replace(dtype="float64"), 0.0, 4294967296.0)
    return e.cast(drawn, kind.dtype)


@emits(F.NormalRandom)
def normal_random(e: Emitter, o: ir.Operation) -> Result | None:
    shape, _, _, mean, std = o.params
    kind = e.type(o)
    if not fixed(mean, std) or kind.dtype not in ("float32", "float64"):
        return None
    given = {"mean": f32(mean), "std": f32(std), "seed": _SEED, "dtype": element(kind.dtype), "place": ANYWHERE}
    return e.one("gaussian", [e.ints(shape)], kind, **given)


@emits(F.RandInt)
def rand_int(e: Emitter, o: ir.Operation) -> Result | None:
    shape, _, _, low, high = o.params
    kind = e.type(o)
    if not fixed(low, high) or not -(1 << 31) <= low < high < 1 << 31 or kind.dtype not in ("int32", "int64"):
        return None
    given = {"low": i32(low), "high": i32(high), "dtype": element(kind.dtype), "place": ANYWHERE}
    return e.one("randint", [e.ints(shape)], kind, **given)


@emits(F.RandPerm)
def rand_perm(e: Emitter, o: ir.Operation) -> Result | None:
    kind = e.type(o)
    if not fixed(o.params[0]) or kind.dtype not in ("int32", "int64", "float32", "float64"):
        return None
    return e.one("randperm", [], kind, n=i32(o.params[0]), dtype=element(kind.dtype), place=ANYWHERE)


@emits(F.Bernoulli)
def bernoulli(e: Emitter, o: ir.Operation) -> Result:
    return e.one("bernoulli", [e.of(o.operands[0])], e.type(o))


@emits(F.Binomial)
def binomial(e: Emitter, o: ir.Operation) -> Result:
    kind = e.type(o)
    shape = o.results[0].meta.shape
    wide = "float64" if kind.dtype == "float64" else "float32"
    given = [e.expand(e.cast(e.of(x, wide), wide), shape) for x in o.operands]
    return e.cast(e.one("binomial", given, kind._replace(dtype="int64")), kind.dtype)


@emits(F.Dropout)
def dropout(e: Emitter, o: ir.Operation) -> Result | None:
    p = o.params[0]
    kind = e.type(o)
    if o.op.axes is not None or not fixed(p):
        return None
    operands = [e.of(o.operands[0]), None, e.attribute(p, "float32")]
    given = {"is_test": flag(False), "mode": text(o.op.mode), "seed": _SEED, "fix_seed": flag(False)}
    return e.call("dropout", operands, [kind, kind._replace(dtype="uint8")], **given)[0]
