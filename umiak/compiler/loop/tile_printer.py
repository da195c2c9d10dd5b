"""Readable text of statements on tiles."""

from __future__ import annotations

from umiak.compiler.loop.expression_text import Namer
from umiak.compiler.loop.tiles import (
    Commit,
    Matrix,
    Panels,
    Pipeline,
    ProductWait,
    Tile,
    TileCopy,
    TileMap,
    TileProduct,
    TileReduce,
    TileStore,
    Wait,
)
from umiak.compiler.loop.tree import BlockStatement


def show_tile(t: Tile) -> str:
    """The declaration of a tile."""
    return f"tile {t.name}: {t.type}[{t.rows}, {t.columns}] of {t.warps[0]} x {t.warps[1]} warps"


def show_statement(s: BlockStatement, names: Namer) -> str:
    """The line of a statement; of a pipeline its head."""

    def condition() -> str:
        where = getattr(s, "where", None)
        return "" if where is None else f" where {names.text(where)}"

    def matrix(x: Matrix | Panels | Tile, rows: int, columns: int) -> str:
        if isinstance(x, Tile):
            return x.name
        transposed = " transposed" if x.transposed else ""
        by = f"in panels of {x.lines} x {x.width}" if isinstance(x, Panels) else f"by {x.pitch}"
        return f"{x.buffer}[{names.text(x.offset)}: {rows} x {columns} {by}{transposed}]"

    if isinstance(s, TileMap):
        values = ", ".join(map(names.text, s.values))
        return f"{', '.join(t.name for t in s.results)} = {values} for {s.row.attr}, {s.column.attr}{condition()}"
    if isinstance(s, TileReduce):
        return f"{s.result.name} = reduce {s.monoid} {names.text(s.value)} along {s.column.attr} of {s.tile.name}"
    if isinstance(s, TileProduct):
        a, b = matrix(s.a, s.result.rows, s.depth), matrix(s.b, s.depth, s.result.columns)
        return f"{s.result.name} += {a} @ {b}{' later' if s.asynchronous else ''}"
    if isinstance(s, TileStore):
        target = f"{s.buffer}[{names.text(s.index)}]"
        return f"{target} = {names.text(s.value)} for {s.row.attr}, {s.column.attr} of {s.tile.name}{condition()}"
    if isinstance(s, TileCopy):
        kind = "asynchronous copy" if s.asynchronous else "copy"
        target = matrix(s.target, s.rows, s.columns)
        by = f" by {s.width}" if s.width > 1 else ""
        source = f"{s.source}[{names.text(s.index)}]"
        return f"{kind} {target} = {source} for {s.row.attr}, {s.column.attr}{by}{condition()}"
    if isinstance(s, Commit):
        return "commit"
    if isinstance(s, Wait):
        return f"wait for all but {s.pending}"
    if isinstance(s, ProductWait):
        return f"wait for all products but {s.pending}"
    if isinstance(s, Pipeline):
        span = f"[{names.text(s.axis.lo)}, {names.text(s.axis.hi)})"
        producers = f", {s.producers} warps copy" if s.producers else ""
        held = f", {s.held} held" if s.held else ""
        return f"pipeline {s.axis.index.attr} in {span}, {s.slot.attr} of {s.slots} slots{held}{producers}:"
    raise TypeError(f"printer requires a statement of loop/tiles.py, got {type(s).__name__}")
