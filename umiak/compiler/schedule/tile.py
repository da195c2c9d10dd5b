"""TILE: an access runs along another axis than the lanes do; blocks of both axes, tiles of them transposed in
registers."""

from __future__ import annotations

from umiak.compiler.codes import TILE_BLOCKS
from umiak.compiler.loop.node import add, axis, div, i64, minimum, mul, sub
from umiak.compiler.loop.tree import LANE, SERIAL, TILE, Axis, Loop
from umiak.compiler.nest import Phase
from umiak.compiler.schedule.frame import Frame, product, unflatten, without_axes
from umiak.compiler.schedule.points import LANE_INDEX, POINT, at_point

BLOCK = 64  # elements: input and output of a block of f32 fit the L1 cache, their pages its translation buffer


def tile(f: Frame) -> list[Phase]:
    """Schedule a nest without R in square blocks of the last axis and the axis ``variant.tile``."""
    k = f.variant.tile
    if f.r or not 0 <= k < f.p - 1:
        raise ValueError(f"[{f.nest.name}] requires an outer axis of P as tile and no R, got {k} of {f.p}, R {f.r}")
    others = [s for n, s in enumerate(f.p_sizes[:-1]) if n != k]
    rows, columns = f.p_sizes[k], f.p_sizes[-1]
    block, row = axis("b"), axis("t")
    if others:
        count = div(add(rows, BLOCK - 1), BLOCK)
        outer = div(POINT, count)
        start = mul(sub(POINT, mul(outer, count)), BLOCK)
        points = unflatten(outer, others)
        parallel = Axis(POINT, mul(product(others), count))
    else:
        start, points = mul(POINT, BLOCK), []
        parallel = Axis(POINT, div(add(rows, BLOCK - 1), BLOCK))
    points = [*points[:k], row, *points[k:], LANE_INDEX]
    body = at_point(f, without_axes(f.nest.stages), points, SERIAL)
    lanes = Loop(Axis(LANE_INDEX, minimum(add(block, BLOCK), columns), block, LANE), tuple(body))
    tiles = Loop(Axis(row, minimum(add(start, BLOCK), rows), start, TILE), (lanes,))
    across = Loop(Axis(block, columns, i64(0), SERIAL, BLOCK), (tiles,))
    return [Phase(f.kernel("", (Loop(parallel, (across,), parallel=True),)), TILE_BLOCKS, BLOCK)]
