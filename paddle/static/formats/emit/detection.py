"""Operators of detection."""

from __future__ import annotations

from functools import partial
from typing import Any

from paddle.static.formats.emit.emitter import (
    Emitter,
    Result,
    TensorType,
    array,
    emits,
    f32,
    fixed,
    flag,
    i32,
    i64,
    typed,
)
from paddle.static.formats.graph import YIELD
from umiak import ops as F
from umiak.ir import program as ir


@emits(F.RoiAlign)
def roi_align(e: Emitter, o: ir.Operation) -> Result | None:
    bins, scale, ratio = o.params
    if not fixed(o.params):
        return None
    x, boxes, counts = (e.of(v) for v in o.operands)
    return e.one(
        "roi_align", [x, boxes, e.cast(counts, "int32")], e.type(o), pooled_height=i32(bins[0]),
        pooled_width=i32(bins[1]), spatial_scale=f32(scale), sampling_ratio=i32(ratio if ratio > 0 else -1),
        aligned=flag(o.op.aligned),
    )  # fmt: skip


@emits(F.PsroiPool)
def psroi_pool(e: Emitter, o: ir.Operation) -> Result | None:
    bins, scale = o.params
    if not fixed(o.params):
        return None
    x, boxes, counts = (e.of(v) for v in o.operands)
    return e.one(
        "psroi_pool", [x, boxes, e.cast(counts, "int32")], e.type(o), pooled_height=i32(bins[0]),
        pooled_width=i32(bins[1]), output_channels=i32(e.type(o).shape[1]), spatial_scale=f32(scale),
    )  # fmt: skip


@emits(F.RoiPool)
def roi_pool(e: Emitter, o: ir.Operation) -> Result | None:
    bins, scale = o.params
    if not fixed(o.params):
        return None
    x, boxes, counts = (e.of(v) for v in o.operands)
    kind = e.type(o)
    return e.call(
        "roi_pool", [x, boxes, e.cast(counts, "int32")], [kind, kind._replace(dtype="int64")],
        pooled_height=i32(bins[0]), pooled_width=i32(bins[1]), spatial_scale=f32(scale),
    )[0]  # fmt: skip


@emits(F.SuppressBoxes)
def suppress_boxes(e: Emitter, o: ir.Operation) -> Result | None:
    boxes, group, valid = o.operands
    threshold, eta, offset = o.params
    if not fixed(o.params):
        return None
    count = boxes.meta.shape[0]  # type: ignore[union-attr]
    none = e.expand(e.full((), False, "bool"), (count,))
    if group is None and valid is None and eta == 1 and offset == 0:
        kept = e.one("nms", [e.of(boxes)], TensorType("int64", (-1,)), threshold=f32(threshold))
        given = [none, e.combine([kept]), e.full((), True, "bool")]
        return e.one("index_put", given, typed(none), accumulate=flag(False))
    if eta != 1:
        return None
    operands = [boxes, *(x for x in (group, valid) if x is not None)]
    over, may = e.traced(partial(_overlaps, group is not None, valid is not None, threshold, offset), operands)
    return _one_by_one(e, none, over, may, count)


def _overlaps(grouped: bool, chosen: bool, threshold: float, offset: float, boxes: Any, *rest: Any) -> tuple[Any, Any]:
    """Masks of the boxes that suppress each other ``[M, M]``, and of those that may stay."""
    left, top, right, bottom = F.unbind(boxes, 1, 4)
    width, height = F.add(F.sub(right, left), offset), F.add(F.sub(bottom, top), offset)
    area = F.mul(width, height)

    def side(low: Any, high: Any) -> Any:
        ends = F.minimum(F.unsqueeze(high, axes=(1,)), F.unsqueeze(high, axes=(0,)))
        begins = F.maximum(F.unsqueeze(low, axes=(1,)), F.unsqueeze(low, axes=(0,)))
        return F.maximum(F.add(F.sub(ends, begins), offset), 0)

    shared = F.mul(side(left, right), side(top, bottom))
    union = F.sub(F.add(F.unsqueeze(area, axes=(1,)), F.unsqueeze(area, axes=(0,))), shared)
    over = F.gt(F.div(shared, union), threshold)
    if grouped:
        over = F.logical_and(over, F.eq(F.unsqueeze(rest[0], axes=(1,)), F.unsqueeze(rest[0], axes=(0,))))
    return over, rest[-1] if chosen else F.eq(area, area)


def _one_by_one(e: Emitter, none: Result, over: Result, may: Result, count: Any) -> Result:
    """A loop over boxes: one stays that may and that none of those which stay suppresses."""
    flags, number = TensorType("bool", ()), TensorType("int64", ())
    first, end, one = e.full((), 0, "int64"), e.number(count), e.full((), 1, "int64")
    going = e.one("less_than", [first, end], flags)
    with e.region([number, typed(none)]) as block:
        i, kept = block.arguments
        row = e.one("gather", [over, i, e.attribute(0, "int32")], typed(none))
        suppressing = e.one("logical_and", [row, kept], typed(none))
        better = e.one("any", [suppressing], flags, axis=array(i64, []), keepdim=flag(False))
        own = e.one("gather", [may, i, e.attribute(0, "int32")], flags)
        stays = e.one("logical_and", [own, e.one("logical_not", [better], flags)], flags)
        at = e.combine([e.reshape(i, (1,))])
        new = e.one("index_put", [kept, at, e.reshape(stays, (1,))], typed(kept), accumulate=flag(False))
        following = e.one("add", [i, one], number)
        e.append(YIELD, [e.one("less_than", [following, end], flags), following, new], [], {})
    return e.loop(going, [first, none], [number, typed(none)], block)[1]
