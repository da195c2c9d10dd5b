"""The kernels of a variant: one schedule each, from a table."""

from __future__ import annotations

from collections.abc import Callable

from umiak.compiler.nest import (
    COLUMN,
    MAP,
    ROW,
    SPLIT_COLUMN,
    SPLIT_ROW,
    STRIP,
    TILE,
    Nest,
    Phase,
    ScatterStage,
    Variant,
)
from umiak.compiler.schedule.blocks import split_row
from umiak.compiler.schedule.frame import Frame
from umiak.compiler.schedule.points import column, pointwise, row
from umiak.compiler.schedule.scatter import scatter_column, scatter_row, scatter_strip
from umiak.compiler.schedule.strips import split_column, strip
from umiak.compiler.schedule.tile import tile

SCHEDULE: dict[str, Callable[[Frame], list[Phase]]] = {
    MAP: pointwise, TILE: tile, ROW: row, COLUMN: column, STRIP: strip, SPLIT_ROW: split_row,
    SPLIT_COLUMN: split_column,
}  # fmt: skip
SCATTER: dict[str, Callable[[Frame], list[Phase]]] = {ROW: scatter_row, COLUMN: scatter_column, STRIP: scatter_strip}


def kernels(nest: Nest, variant: Variant, streaming: bool = False) -> list[Phase]:
    """The phases of a launch, in order. ``streaming``: nobody reads the outputs soon."""
    table = SCATTER if any(isinstance(s, ScatterStage) for s in nest.stages) else SCHEDULE
    make = table.get(variant.schedule)
    if make is None:
        raise ValueError(f"[{nest.name}] requires a schedule of {', '.join(table)}, got {variant.schedule!r}")
    return make(Frame(nest, variant, streaming or variant.streams))
