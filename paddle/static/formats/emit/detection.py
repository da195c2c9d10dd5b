"""Operators of detection."""

from __future__ import annotations

from paddle.static.formats.emit.emitter import Emitter, Result, emits, f32, fixed, flag, i32
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
