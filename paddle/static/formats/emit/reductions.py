"""Sums, extrema and their places, running sums, and sorting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from paddle.static.formats.emit.emitter import (
    UNDEFINED,
    Attribute,
    Emitter,
    Result,
    TensorType,
    array,
    element,
    emits,
    f32,
    fixed,
    flag,
    i32,
    i64,
    typed,
)
from umiak import ops as F
from umiak.ir import program as ir
from umiak.ir.expr import Sym


def _none(o: ir.Operation) -> bool:
    """Is nothing reduced? No axes would stand for all of them."""
    return not o.op.axes and bool(o.operands[0].meta.shape)  # type: ignore[union-attr]


def _axes(o: ir.Operation) -> list[int]:
    """The axes of a reduction; none stand for all of them."""
    return list(o.op.axes) if len(o.op.axes) < len(o.operands[0].meta.shape) else []  # type: ignore[union-attr]


@emits(F.Sum, F.WideSum)
def sum_(e: Emitter, o: ir.Operation) -> Result:
    """The operator adds integers up in int64; ours in their type."""
    x, kind = e.of(o.operands[0]), e.type(o)
    if _none(o):
        return e.cast(x, kind.dtype)
    integral = typed(x).dtype.startswith(("int", "uint", "bool"))
    if integral:
        x = e.cast(x, "int64")
    made = kind._replace(dtype="int64") if integral else kind
    total = e.one("sum", [x, e.ints(_axes(o))], made, dtype=UNDEFINED, keepdim=flag(o.op.keepdim))
    return e.cast(total, kind.dtype)


@emits(F.Mean)
def mean(e: Emitter, o: ir.Operation) -> Result | None:
    if _none(o) or not e.type(o).dtype.startswith(("float", "bfloat")):
        return None
    return e.one("mean", [e.of(o.operands[0]), e.ints(_axes(o))], e.type(o), keepdim=flag(o.op.keepdim))


@emits(F.Max, F.Min)
def extremum(e: Emitter, o: ir.Operation) -> Result | None:
    if _none(o):
        return e.of(o.operands[0])
    shape = o.operands[0].meta.shape  # type: ignore[union-attr]
    none = [a for a in o.op.axes if (shape[a].lo if type(shape[a]) is Sym else shape[a]) < 1]
    if o.op.empty and none:
        return e.traced(lambda x: _of_one_more(o.op, none, x), o.operands)[0]
    return e.one(o.name, [e.of(o.operands[0]), e.ints(_axes(o))], e.type(o), keepdim=flag(o.op.keepdim))


def _of_one_more(op: F.Max | F.Min, axes: list[int], x: Any) -> Any:
    """An extremum of axes that may have no elements, which the operator refuses: of one more, that none exceeds."""
    extremum, info = (F.max if op.name == "max" else F.min), None if x.dtype.is_floating else np.iinfo(x.dtype.name)
    least = -math.inf if info is None else int(info.min)
    most = math.inf if info is None else int(info.max)
    for axis in axes:
        shape = tuple(1 if i == axis else n for i, n in enumerate(x.shape))
        one = F.full(least if op.name == "max" else most, dtype=x.dtype, shape=shape)
        x = extremum(F.concat([x, one], axis=axis), axes=(axis,), keepdim=True)
    x = extremum(x, axes=op.axes, keepdim=True) if len(axes) < len(op.axes) else x
    return x if op.keepdim else F.squeeze(x, axes=op.axes)


@emits(F.Prod)
def prod(e: Emitter, o: ir.Operation) -> Result:
    x, kind = e.of(o.operands[0]), e.type(o)
    axes = _axes(o)
    if _none(o):
        return e.cast(x, kind.dtype)
    integral = typed(x).dtype in ("bool", "int32", "int64")
    made = kind._replace(dtype="int64") if integral else kind
    total = e.one("prod", [x, e.ints(axes)], made, keepdim=flag(o.op.keepdim), reduce_all=flag(not axes))
    return e.cast(total, kind.dtype)


@emits(F.Any, F.All)
def any_(e: Emitter, o: ir.Operation) -> Result:
    if _none(o):
        return e.cast(e.of(o.operands[0]), "bool")
    axes = {"axis": array(i64, _axes(o)), "keepdim": flag(o.op.keepdim)}
    return e.one(o.name, [e.of(o.operands[0])], e.type(o), **axes)


@emits(F.Argmax, F.Argmin)
def argmax(e: Emitter, o: ir.Operation) -> Result:
    flat = o.op.axis is None
    given = [e.of(o.operands[0]), e.attribute(0 if flat else o.op.axis, "int64")]
    kept = {"keepdims": flag(o.op.keepdim), "flatten": flag(flat)}
    return e.one(o.name, given, e.type(o), **kept, dtype=element(o.op.dtype))


@emits(F.Logsumexp)
def logsumexp(e: Emitter, o: ir.Operation) -> Result | None:
    axes = _axes(o)
    if _none(o):
        return None
    kept = {"axis": array(i32, axes), "keepdim": flag(o.op.keepdim), "reduce_all": flag(not axes)}
    return e.one("logsumexp", [e.of(o.operands[0])], e.type(o), **kept)


@emits(F.VectorNorm)
def vector_norm(e: Emitter, o: ir.Operation) -> Result | None:
    order = {"1": 1.0, "2": 2.0, "inf": float("inf"), "-inf": float("-inf"), "0": 0.0}.get(o.op.ord)
    if len(o.op.axes) != 1 or order is None or not e.type(o).dtype.startswith(("float", "bfloat")):
        return None
    kept = {"axis": i32(o.op.axes[0]), "keepdim": flag(o.op.keepdim), "asvector": flag(False)}
    return e.one("p_norm", [e.of(o.operands[0])], e.type(o), porder=f32(order), epsilon=f32(1e-12), **kept)


@emits(F.SumTo)
def sum_to(e: Emitter, o: ir.Operation) -> Result | None:
    shape, wanted = o.operands[0].meta.shape, o.params[0]  # type: ignore[union-attr]
    lead = len(shape) - len(wanted)
    if any(type(m) is Sym and m is not n for m, n in zip(wanted, shape[lead:], strict=True)):
        made = e.of(o.operands[0])
        target = e.expand(e.full((), 0, typed(made).dtype), wanted)
        return e.one("reduce_as", [made, target], e.type(o))
    axes = [*range(lead), *(lead + i for i, n in enumerate(wanted) if type(n) is int and n == 1)]
    made = e.of(o.operands[0])
    if not axes:
        return made
    kind = typed(made)
    kept = kind._replace(shape=tuple(1 if i in axes else n for i, n in enumerate(kind.shape)))
    total = e.one("sum", [made, e.ints(axes)], kept, dtype=UNDEFINED, keepdim=flag(True))
    return e.squeeze(total, list(range(lead)))


# --- running sums ----------------------------------------------------------------------------------------------------


def _scanned(o: ir.Operation) -> dict[str, Attribute]:
    return {"exclusive": flag(o.op.exclusive), "reverse": flag(o.op.reverse)}


@emits(F.Cumsum)
def cumsum(e: Emitter, o: ir.Operation) -> Result:
    given = [e.of(o.operands[0]), e.attribute(o.op.axis, "int32")]
    return e.one("cumsum", given, e.type(o), flatten=flag(False), **_scanned(o))


@emits(F.Cumprod)
def cumprod(e: Emitter, o: ir.Operation) -> Result:
    return e.one("cumprod", [e.of(o.operands[0])], e.type(o), dim=i32(o.op.axis), **_scanned(o))


@emits(F.LogCumsumExp)
def log_cumsum_exp(e: Emitter, o: ir.Operation) -> Result:
    axis = {"axis": i32(o.op.axis), "flatten": flag(False)}
    return e.one("logcumsumexp", [e.of(o.operands[0])], e.type(o), **axis, **_scanned(o))


@emits(F.Cummax, F.Cummin)
def cummax(e: Emitter, o: ir.Operation) -> list[Result] | None:
    if o.op.reverse:
        return None
    given = {"axis": i32(o.op.axis), "dtype": element(o.op.dtype)}
    return e.call(o.name, [e.of(o.operands[0])], e.types(o), **given)


# --- sorting ---------------------------------------------------------------------------------------------------------


@emits(F.Sort)
def sort(e: Emitter, o: ir.Operation) -> list[Result]:
    given = {"axis": i32(o.op.axis), "descending": flag(o.op.descending), "stable": flag(o.op.stable)}
    return e.call("argsort", [e.of(o.operands[0])], e.types(o), **given)


@emits(F.TopK)
def top_k(e: Emitter, o: ir.Operation) -> list[Result]:
    k = o.params[0]
    count = e.attribute(k, "int32") if type(k) is int else e.cast(e.ints([k]), "int32")
    given = {"axis": i32(o.op.axis), "largest": flag(o.op.largest), "sorted": flag(o.op.sorted)}
    return e.call("topk", [e.of(o.operands[0]), count], e.types(o), **given)


@emits(F.Kthvalue)
def kthvalue(e: Emitter, o: ir.Operation) -> list[Result] | None:
    if not fixed(o.params) or len(o.results) != 2:
        return None
    given = {"k": i64(o.params[0]), "axis": i32(o.op.axis), "keepdim": flag(o.op.keepdim)}
    return e.call("kthvalue", [e.of(o.operands[0])], e.types(o), **given)


@emits(F.Mode)
def mode(e: Emitter, o: ir.Operation) -> list[Result] | None:
    if len(o.results) != 2:
        return None
    given = {"axis": i32(o.op.axis), "keepdim": flag(o.op.keepdim)}
    return e.call("mode", [e.of(o.operands[0])], e.types(o), **given)


@emits(F.SearchSorted)
def search_sorted(e: Emitter, o: ir.Operation) -> Result:
    given = {"out_int32": flag(o.op.dtype.name == "int32"), "right": flag(o.op.right)}
    return e.one("searchsorted", [e.of(x) for x in o.operands], e.type(o), **given)


@emits(F.Histogram)
def histogram(e: Emitter, o: ir.Operation) -> Result | None:
    x, weights = o.operands
    if weights is not None or not fixed(o.params):
        return None
    bins, lo, hi = o.params
    given = {"bins": i64(bins), "min": f32(lo), "max": f32(hi), "density": flag(False)}
    counts = e.one("histogram", [e.of(x), None], TensorType("int64", (bins,)), **given)
    return e.cast(counts, e.type(o).dtype)
