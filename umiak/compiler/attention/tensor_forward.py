"""The forward kernel with tensor cores: a warp for 16 queries, and one more that copies tiles of keys and values ahead.
Where four warps multiply together, operands in memory lie in panels, and two warps copy.

Scores, weights and sums stay in registers; weights are rounded to the operands' 16 bits for the second matmul, their
totals are of float32.
"""

from __future__ import annotations

from typing import NamedTuple

from umiak.compiler.attention.form import RESULT, Form
from umiak.compiler.attention.forward import LN_2, relative, row_block
from umiak.compiler.attention.tensor_text import SLOTS, Here, TensorText, up
from umiak.compiler.attention.text import Place
from umiak.compiler.loop import node as n
from umiak.compiler.loop.monoid import MAX, SUM, lowest
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.tiles import Tile, TileProduct, TileReduce, TileStore
from umiak.compiler.loop.tree import Kernel, Statement


class Registers(NamedTuple):
    """Tiles of a block. Those of one column have a number for each query."""

    scores: Tile
    weights: Tile
    sums: Tile
    top: Tile
    total: Tile
    factor: Tile
    part: Tile


def registers(w: TensorText) -> Registers:
    f = w.form
    return Registers(
        w.tile("scores", f.tile), w.tile("weights", f.tile, f.stored), w.tile("sums", up(f.value_dim)),
        *(w.tile(name, 1) for name in ("top", "total", "factor", "part")),
    )  # fmt: skip


def tensor_forward(form: Form) -> Kernel:
    """Results, and the log-sum-exp where it is wanted. Scores are in units of log 2."""
    w = TensorText(form)
    f, a, tile, r = form, w.arguments, form.tile, registers(w)
    rows, row, place, key_place, points = row_block(w)
    first = n.mul(row, tile)
    q = w.lines("query", tile, up(f.dim))
    k, v = w.lines("key", tile, up(f.dim), SLOTS), w.lines("value", tile, up(f.value_dim), SLOTS)
    zero = w.const(0.0)

    w.emit(w.copied(q, 0, "query", place, first, "queries", f.dim))
    w.map((r.sums, lambda *_: zero))
    w.map((r.top, lambda *_: lowest(f.computed)), (r.total, lambda *_: zero))
    index, slot = n.axis("listed"), n.axis("slot")
    count, begin, partial = w.steps("row_counts", "row_tiles", a.unit(*place), row, rows, a.tiles("keys"), index, tile)
    produce: list[Statement] = [
        w.copied(k, slot, "key", key_place, begin, "keys", f.dim, True),
        w.copied(v, slot, "value", key_place, begin, "keys", f.value_dim, True),
    ]
    here = Here(place, first, begin)
    with w.inside() as consume:
        w.scores(r.scores, w.matrix(q), w.matrix(k, slot, True), here, partial)
        softmax(w, r)
        if f.dropout:
            w.map((r.scores, lambda *_: zero), where=w.dropped(here))
        w.map((r.weights, lambda *_: n.cast(r.scores.at, f.stored)))
        w.map((r.sums, lambda *_: n.mul(r.sums.at, r.factor.at)))
        w.emit(TileProduct(r.sums, r.weights, w.matrix(v, slot), tile))
    w.pipeline(index, count, slot, produce, consume)
    by = w.kept_scale if f.dropout else w.const(1.0)
    w.map((r.factor, lambda *_: n.div(by, n.select(n.eq(r.total.at, 0.0), w.const(1.0), r.total.at))))
    w.written(RESULT, r.sums, f.value_dim, place, first, "queries", "heads", r.factor.at)
    if f.has("lse"):
        log_sums(w, r, place, first)
    written = [RESULT, "lse"] if f.has("lse") else [RESULT]
    return w.kernel("tensor_forward", points, written, claims="row_claims", tiles=w.declared, threads=w.threads)


def softmax(w: TensorText, r: Registers) -> None:
    """Scores become weights relative to the largest so far; ``factor`` is what earlier results are multiplied by."""
    w.emit(TileReduce(r.part, r.scores, MAX, r.scores.at, *w.point()))

    def top(*_: Node) -> Node:
        return n.maximum(r.top.at, r.part.at)

    w.map((r.factor, lambda *_: n.call("exp2", n.sub(r.top.at, relative(w, top())))), (r.top, top))
    w.map((r.scores, lambda *_: n.call("exp2", n.sub(r.scores.at, relative(w, r.top.at)))))
    w.emit(TileReduce(r.part, r.scores, SUM, r.scores.at, *w.point()))
    w.map((r.total, lambda *_: n.add(n.mul(r.total.at, r.factor.at), r.part.at)))


def log_sums(w: TensorText, r: Registers, place: Place, first: Node) -> None:
    """The log-sum-exp of each query, from registers."""
    a = w.arguments
    row, column = w.point()
    query = n.add(first, row)
    lse = n.mul(n.add(r.top.at, n.call("log2", r.total.at)), w.const(LN_2))
    w.emit(TileStore(r.top, "lse", row, column, a.query_number(place, query), lse, n.lt(query, a.size("queries"))))
