"""Reading and writing by indices, embeddings."""

from __future__ import annotations

from typing import Any

from paddle.static.formats.emit.emitter import (
    UNDEFINED,
    Emitter,
    Result,
    TensorType,
    array,
    element,
    emits,
    fixed,
    flag,
    i32,
    i64,
    text,
    typed,
)
from umiak import ops as F
from umiak.ir import program as ir

# What elements are cast to before PaddlePaddle takes them along an axis: it has no kernels for these.
_TAKEN_AS = {"bool": "int32", "int8": "int32", "float16": "float32", "bfloat16": "float32"}
_MODES = {"set": "assign", "add": "add", "mul": "mul", "min": "amin", "max": "amax"}


def _count(shape: Any) -> Any:
    out: Any = 1
    for n in shape:
        out = out * n
    return out


def _int64(e: Emitter, x: Any) -> Result:
    made = e.of(x)
    return made if typed(made).dtype in ("int32", "int64") else e.cast(made, "int64")


@emits(F.Take)
def take(e: Emitter, o: ir.Operation) -> Result:
    x, index = o.operands
    shape = index.meta.shape  # type: ignore[union-attr]
    axis = e.attribute(o.op.axis, "int32")
    made = _int64(e, index)
    if len(shape) <= 1:
        return e.one("gather", [e.of(x), made, axis], e.type(o))
    flat = e.reshape(made, (_count(shape),))
    own = typed(e.of(x))
    before, after = own.shape[: o.op.axis], own.shape[o.op.axis + 1 :]
    rows = e.one("gather", [e.of(x), flat, axis], TensorType(own.dtype, (*before, *typed(flat).shape, *after)))
    return e.reshape(rows, o.results[0].meta.shape)


@emits(F.TakeAlong)
def take_along(e: Emitter, o: ir.Operation) -> Result:
    x, index = o.operands
    kind = e.type(o)
    wide = kind._replace(dtype=_TAKEN_AS.get(kind.dtype, kind.dtype))
    given = [e.cast(e.of(x), wide.dtype), _int64(e, index)]
    return e.cast(e.one("take_along_axis", given, wide, axis=i32(o.op.axis)), kind.dtype)


@emits(F.GatherNd)
def gather_nd(e: Emitter, o: ir.Operation) -> Result:
    x, index = o.operands
    return e.one("gather_nd", [e.of(x), _int64(e, index)], e.type(o))


def _put_at(e: Emitter, x: Result, indices: list[Result], values: Result, add: bool) -> Result:
    if not any(typed(i).shape for i in indices):  # the operator wants an index with a dim
        indices = [e.reshape(i, (1,)) for i in indices]
    kind = typed(x)
    given = [x, e.combine([e.cast(i, "int64") for i in indices]), values]
    return e.one("index_put", given, kind, accumulate=flag(add))


@emits(F.IndexPut)
def index_put(e: Emitter, o: ir.Operation) -> Result | None:
    """The axes that are indexed go to the front, and back."""
    x, values, *indices = o.operands
    if o.op.mode not in ("set", "add"):
        return None
    made, places = e.of(x), [_int64(e, i) for i in indices]
    axes, add, new = o.op.addressed(places), o.op.mode == "add", e.of(values, typed(made).dtype)
    if axes[-1] < len(axes):
        return _put_at(e, made, places, new, add)
    rank, picked = len(typed(made).shape), max(len(typed(i).shape) for i in places)
    forth = [*axes, *(a for a in range(rank) if a not in axes)]
    order = o.op.selected([picked + i - len(axes) for i in map(forth.index, range(rank))], axes, range(picked))
    if list(order) != sorted(order) and type(values) is ir.Value:
        new = e.unsqueeze(new, range(len(order) - len(typed(new).shape)))
        new = e.transpose(new, [order.index(i) for i in range(len(order))])
    out = _put_at(e, e.transpose(made, forth), places, new, add)
    return e.transpose(out, [forth.index(i) for i in range(rank)])


@emits(F.Put)
def put(e: Emitter, o: ir.Operation) -> Result:
    """The axis goes to the front, and the index becomes flat."""
    x, index, updates = o.operands
    axis = o.op.axis
    made, places = e.of(x), _int64(e, index)
    rank, depth = len(typed(made).shape), len(typed(places).shape)
    shape, places_shape = x.meta.shape, index.meta.shape  # type: ignore[union-attr]
    values = e.of(updates, typed(made).dtype)
    rest = [n for i, n in enumerate(shape) if i != axis]
    count = _count(places_shape)
    if type(updates) is ir.Value:
        order = [*range(axis, axis + depth), *range(axis), *range(axis + depth, rank - 1 + depth)]
        values = e.transpose(values, order)
        if depth != 1:
            values = e.reshape(values, (count, *rest))
    if depth != 1:
        places = e.reshape(places, (count,))
    forth = [axis, *range(axis), *range(axis + 1, rank)]
    front = e.transpose(made, forth)
    if o.op.mode in ("set", "add"):
        given = [front, e.combine([e.cast(places, "int64")]), values]
        out = e.one("index_put", given, typed(front), accumulate=flag(o.op.mode == "add"))
    else:
        values = e.expand(values, (count, *rest))
        places = e.expand(e.unsqueeze(places, list(range(1, rank))), (count, *rest))
        given = [front, places, values]
        modes = {"axis": i32(0), "reduce": text(_MODES[o.op.mode]), "include_self": flag(True)}
        out = e.one("put_along_axis", given, typed(front), **modes)
    return e.transpose(out, [forth.index(i) for i in range(rank)])


@emits(F.ScatterAlong)
def scatter_along(e: Emitter, o: ir.Operation) -> Result:
    x, index, updates = o.operands
    made = e.of(x)
    values = e.of(updates, typed(made).dtype)
    if type(updates) is not ir.Value:
        values = e.expand(values, index.meta.shape)  # type: ignore[union-attr]
    given = {"axis": i32(o.op.axis), "reduce": text(_MODES[o.op.mode]), "include_self": flag(o.op.include_self)}
    return e.one("put_along_axis", [made, _int64(e, index), values], e.type(o), **given)


@emits(F.ScatterNd)
def scatter_nd(e: Emitter, o: ir.Operation) -> Result | None:
    x, index, updates = o.operands
    if o.op.mode not in ("set", "add"):
        return None
    made = _int64(e, index)
    if o.op.mode == "add" and type(updates) is ir.Value:
        return e.one("scatter_nd_add", [e.of(x), made, e.of(updates)], e.type(o))
    one = typed(made)._replace(shape=typed(made).shape[:-1])
    parts = e.parts(e.one("unbind", [made], (one,) * o.op.depth, axis=i32(len(one.shape))))
    return _put_at(e, e.of(x), parts, e.of(updates, typed(e.of(x)).dtype), o.op.mode == "add")


@emits(F.Embedding)
def embedding(e: Emitter, o: ir.Operation) -> Result | None:
    if not fixed(o.params):
        return None
    index, weight = o.operands
    padding = o.params[0] if o.op.padded else -1
    given = {"padding_idx": i64(padding), "sparse": flag(False)}
    return e.one("embedding", [_int64(e, index), e.of(weight)], e.type(o), **given)


@emits(F.OneHot)
def one_hot(e: Emitter, o: ir.Operation) -> Result:
    n = o.params[0]
    kind = e.type(o)
    count = e.attribute(n, "int32") if type(n) is int else e.cast(e.ints([n]), "int32")
    made = e.one("one_hot", [_int64(e, o.operands[0]), count], kind._replace(dtype="float32"))
    return e.cast(made, kind.dtype)


@emits(F.CountTrue)
def count_true(e: Emitter, o: ir.Operation) -> Result:
    x = e.of(o.operands[0])
    counted = e.cast(e.cast(x, "bool"), "int64")
    return e.one("sum", [counted, e.ints([])], e.type(o), dtype=UNDEFINED, keepdim=flag(False))


# --- sizes that data decide ------------------------------------------------------------------------------------------


@emits(F.ReadNumber)
def read_number(e: Emitter, o: ir.Operation) -> Result:
    x = e.of(o.operands[0])
    e.know(o.params[0], e.cast(x, "int64"))
    return x


@emits(F.Sized)
def sized(e: Emitter, o: ir.Operation) -> Result:
    return e.of(o.operands[0])


@emits(F.NonzeroSized)
def nonzero_sized(e: Emitter, o: ir.Operation) -> Result | None:
    if not o.operands[0].meta.shape:  # type: ignore[union-attr]
        return None
    return e.one("nonzero", [e.of(o.operands[0])], e.type(o))


@emits(F.MaskedSelectSized)
def masked_select_sized(e: Emitter, o: ir.Operation) -> Result:
    return e.one("masked_select", [e.of(x) for x in o.operands], e.type(o))


def _distinct(e: Emitter, o: ir.Operation, count: int) -> list[Result]:
    """Values, first places, places of the values for all elements, and counts; ``count`` of results are read."""
    x, axis = e.of(o.operands[0]), [] if o.op.axis is None else [o.op.axis]
    own = typed(x).shape
    sizes = (-1,) if not axis else (*own[: axis[0]], -1, *own[axis[0] + 1 :])
    values, places = TensorType(typed(x).dtype, sizes), TensorType("int64", (-1,))
    wanted = flag(count > 1)
    given = {"return_inverse": wanted, "return_counts": wanted, "axis": array(i32, axis), "dtype": element("int64")}
    if o.op.consecutive:
        made = e.call("unique_consecutive", [x], [values, places, places], **given)
        return [made[0], made[0], *made[1:]]
    sorted_ = {"return_index": wanted, "is_sorted": flag(True)}
    return e.call("unique", [x], [values, places, places, places], **given, **sorted_)


@emits(F.UniqueCount)
def unique_count(e: Emitter, o: ir.Operation) -> Result:
    return e.size(_distinct(e, o, 1)[0], o.op.axis or 0)


@emits(F.UniqueSized)
def unique_sized(e: Emitter, o: ir.Operation) -> list[Result] | None:
    if o.op.consecutive and e.reads(o.results[1]):
        return None
    return _distinct(e, o, 1 + any(e.reads(r) for r in o.results[1:]))


@emits(F.RepeatInterleaveSized)
def repeat_interleave_sized(e: Emitter, o: ir.Operation) -> Result:
    given = {"axis": i32(o.op.axis), "output_size": i64(-1)}
    operands = [e.of(o.operands[0]), _int64(e, o.operands[1])]
    return e.one("repeat_interleave_with_tensor_index", operands, e.type(o), **given)
