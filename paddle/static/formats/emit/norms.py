"""Norms of activations."""

from __future__ import annotations

from math import prod
from typing import Any

from paddle.static.formats.emit.emitter import (
    Emitter,
    Result,
    TensorType,
    emits,
    f32,
    f64,
    fixed,
    flag,
    i32,
    text,
    typed,
)
from umiak import ops as F
from umiak.ir import program as ir

_RESERVED = TensorType("uint8", (-1,))  # what the operator keeps for a gradient on a GPU


def _flat(e: Emitter, x: Any) -> Result | None:
    """A weight as one dim."""
    if x is None:
        return None
    made = e.of(x)
    return made if len(typed(made).shape) == 1 else e.reshape(made, (prod(typed(made).shape),))


def _product(sizes: tuple[int, ...]) -> int:
    return -1 if -1 in sizes else prod(sizes)


MOST_EPSILON = 1e-3  # that the operator of layer norms takes


@emits(F.LayerNorm)
def layer_norm(e: Emitter, o: ir.Operation) -> Result | None:
    x, weight, bias = o.operands
    kind = e.type(o)
    axis = o.op.axis % len(kind.shape)
    if axis == 0 or not fixed(o.params) or o.params[0] > MOST_EPSILON:
        return None
    if not fixed(*(v.meta.shape for v in (weight, bias) if v is not None)):  # type: ignore[union-attr]
        return None
    shape: Any = x.meta.shape  # type: ignore[union-attr]
    several = kind.dtype == "float32" and axis < len(shape) - 1  # oneDNN's kernel takes one axis
    if several and not fixed(shape[axis:]):
        return None
    first, wide = e.of(x), kind
    if several:
        first = e.reshape(first, (*shape[:axis], prod(shape[axis:])))
        wide = typed(first)
    rows = TensorType("float64" if kind.dtype == "float64" else "float32", (_product(kind.shape[:axis]),))
    scale, shift = _flat(e, weight), _flat(e, bias)
    # oneDNN's kernel leaves out a weight or a bias that is alone.
    if scale is not None and shift is None:
        shift = e.full(typed(scale).shape, 0.0, typed(scale).dtype)
    elif shift is not None and scale is None:
        scale = e.full(typed(shift).shape, 1.0, typed(shift).dtype)
    operands = [first, scale, shift]
    given = {"epsilon": f32(o.params[0]), "begin_norm_axis": i32(axis)}
    y = e.call("layer_norm", operands, [wide, rows, rows], **given)[0]
    return e.reshape(y, shape) if several else y


@emits(F.BatchNormInfer)
def batch_norm_infer(e: Emitter, o: ir.Operation) -> Result | None:
    x, mean, var, weight, bias = o.operands
    rank, axis = len(e.type(o).shape), o.op.axis
    if axis not in (1, rank - 1) or not 2 <= rank <= 5 or not fixed(o.params):
        return None
    # Of what oneDNN has made, its kernel takes the second axis for channels, whatever the layout is.
    forth, back = ([0, rank - 1, *range(1, rank - 1)], [0, *range(2, rank), 1]) if axis != 1 else ([], [])
    first = e.transpose(e.of(x), forth) if forth else e.of(x)
    moments = [e.of(mean), e.of(var)]
    own = typed(moments[0])
    scale = e.full(own.shape, 1.0, own.dtype) if weight is None else e.of(weight)
    shift = e.full(own.shape, 0.0, own.dtype) if bias is None else e.of(bias)
    types = [typed(first), own, own, own, own, _RESERVED]
    y = e.call(
        "batch_norm_", [first, *moments, scale, shift], types, is_test=flag(True), momentum=f32(0.9),
        epsilon=f32(o.params[0]), data_format=text("NCHW"), use_global_stats=flag(True),
        trainable_statistics=flag(False),
    )[0]  # fmt: skip
    return e.transpose(y, back) if back else y


@emits(F.GroupNorm)
def group_norm(e: Emitter, o: ir.Operation) -> Result | None:
    x, weight, bias = o.operands
    kind = e.type(o)
    if o.op.axis != 1 or not fixed(o.params):
        return None
    groups, eps = o.params
    per_group = TensorType("float32", (kind.shape[0], groups))
    given = {"epsilon": f64(eps), "groups": i32(groups), "data_format": text("NCHW")}
    operands = [e.of(x), *(None if v is None else e.of(v) for v in (weight, bias))]
    return e.call("group_norm", operands, [kind, per_group, per_group], **given)[0]


@emits(F.InstanceNorm)
def instance_norm(e: Emitter, o: ir.Operation) -> Result | None:
    x, weight, bias = o.operands
    kind = e.type(o)
    if o.op.axis != 1 or not fixed(o.params) or len(kind.shape) < 3:
        return None
    saved = TensorType("float32", (_product(kind.shape[:2]),))
    operands = [e.of(x), *(None if v is None else e.of(v) for v in (weight, bias))]
    return e.call("instance_norm", operands, [kind, saved, saved], epsilon=f32(o.params[0]))[0]
