"""The forward kernel with tensor cores: a warp for 16 queries, and one more that copies tiles of keys and values ahead.
Where four warps multiply together, operands in memory lie in panels, and two warps copy.

Scores, weights and sums stay in registers; weights are rounded to the operands' 16 bits for the second matmul, their
totals are of float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from umiak.compiler.attention.form import ADDED, RESULT, Form
from umiak.compiler.attention.forward import LN_2, relative, row_block
from umiak.compiler.attention.text import LOG2_E, Memory, Place, Text
from umiak.compiler.loop import node as n
from umiak.compiler.loop.monoid import MAX, SUM, lowest
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.tiles import (
    COLUMNS,
    PANEL,
    ROWS,
    WARP,
    Matrix,
    Panels,
    Pipeline,
    Tile,
    TileCopy,
    TileMap,
    TileProduct,
    TileReduce,
    TileStore,
)
from umiak.compiler.loop.tree import Axis, Kernel, Statement
from umiak.compiler.loop.types import I64

SLOTS = 2  # tiles of keys, and of values, in memory of the block
DEPTH = 16  # of a step of tensor cores


class Registers(NamedTuple):
    """Tiles of a block. Those of one column have a number for each query."""

    scores: Tile
    weights: Tile
    sums: Tile
    top: Tile
    total: Tile
    factor: Tile
    part: Tile


class TensorText(Text):
    """Statements on tiles in registers."""

    def __init__(self, form: Form) -> None:
        super().__init__(form)
        warps, tile = (form.tile // ROWS, 1), form.tile
        width = -(-form.value_dim // DEPTH) * DEPTH
        f32, one = form.computed, 1
        # One warp could not copy as fast as groups of four multiply; with more there would be too few registers, as
        # there are for dropout.
        self.producers = 2 if form.grouped and not form.dropout else 1
        self.tiles = Registers(
            Tile("scores", f32, tile, tile, warps), Tile("weights", form.stored, tile, tile, warps),
            Tile("sums", f32, tile, width, warps),
            *(Tile(name, f32, tile, one, warps) for name in ("top", "total", "factor", "part")),
        )  # fmt: skip

    def lines(self, name: str, count: int, columns: int) -> Memory:
        """Memory of the block for matmuls. Lines of 16 bytes more than a multiple of 128 begin in different banks;
        there are as many panels as hold one."""
        stored = self.form.stored
        if self.form.grouped:
            width = PANEL // stored.bytes
            return self.memory(name, count, -(-columns // width) * width, type_=stored, padding=0)
        return self.memory(name, count, columns, type_=stored, padding=COLUMNS)

    def matrix(self, m: Memory, slot: Node | int, transposed: bool = False) -> Matrix | Panels:
        """A tile's lines in memory of the block, the first ones or those of a slot."""
        offset = n.mul(n.add(slot, n.i64(0)), self.form.tile * m.stride)
        if self.form.grouped:
            return Panels(m.name, offset, self.form.tile, PANEL // m.type.bytes, transposed)
        return Matrix(m.name, offset, m.stride, transposed)

    def point(self) -> tuple[Node, Node]:
        return n.axis(f"row{self._fresh()}"), n.axis(f"column{self._fresh()}")

    def map(
        self, *pairs: tuple[Tile, Callable[[Node, Node], Node]], where: Callable[[Node, Node], Node] | None = None
    ) -> None:
        """Numbers of tiles of one shape, by row and column; others stay where ``where`` does not hold."""
        row, column = self.point()
        condition = None if where is None else where(row, column)
        self.emit(TileMap(tuple(t for t, _ in pairs), tuple(f(row, column) for _, f in pairs), row, column, condition))

    def copied(
        self, to: Memory, slot: Node | int, name: str, place: Place, first: Node, tokens: str, columns: int,
        late: bool = False,
    ) -> TileCopy:  # fmt: skip
        """The copy of a tile's rows of an operand into those of a slot; 0 beyond its end."""
        a = self.arguments
        row, column = self.point()
        token = n.add(first, row)
        inside = within(n.lt(token, a.size(tokens)), column, columns)
        at = a.at(name, place.batch, token, place.head, column)
        return TileCopy(
            self.matrix(to, slot),
            self.form.tile,
            -(-columns // DEPTH) * DEPTH,
            name,
            row,
            column,
            at,
            inside,
            self.form.width,
            late,
        )


def within(inside: Node, column: Node, columns: int) -> Node:
    """A row's condition and that of its columns, of which a tile may have more."""
    return n.call("and", inside, n.lt(column, columns)) if columns % DEPTH else inside


def tensor_forward(form: Form) -> Kernel:
    """Results, and the log-sum-exp where it is wanted. Scores are in units of log 2."""
    w = TensorText(form)
    f, a, tile, r = form, w.arguments, form.tile, w.tiles
    rows, row, place, key_place, points = row_block(w)
    first = n.mul(row, tile)
    depth, width = (-(-x // DEPTH) * DEPTH for x in (f.dim, f.value_dim))
    q, k, v = w.lines("query", tile, depth), w.lines("key", SLOTS * tile, depth), w.lines("value", SLOTS * tile, width)
    zero = w.const(0.0)

    w.emit(w.copied(q, 0, "query", place, first, "queries", f.dim))
    w.map((r.sums, lambda *_: zero))
    w.map((r.top, lambda *_: lowest(f.computed)), (r.total, lambda *_: zero))
    unit = a.unit(*place)
    base = n.add(n.mul(unit, rows), row)
    count = n.cast(n.load("row_counts", f.temporaries["row_counts"], base), I64)
    index, slot = n.axis("listed"), n.axis("slot")
    entry = n.cast(n.load("row_tiles", f.temporaries["row_tiles"], n.add(n.mul(base, a.tiles("keys")), index)), I64)
    partial = n.le(0, entry)
    begin = n.mul(n.select(partial, entry, n.sub(-1, entry)), tile)
    produce: list[Statement] = [
        w.copied(k, slot, "key", key_place, begin, "keys", f.dim, True),
        w.copied(v, slot, "value", key_place, begin, "keys", f.value_dim, True),
    ]
    with w.inside() as consume:
        scores(w, q, w.matrix(k, slot, True), depth, place, first, begin, partial)
        softmax(w)
        if f.dropout:
            dropped = lambda i, j: n.call("not", w.kept(place, n.add(first, i), n.add(begin, j)))  # noqa: E731
            w.map((r.scores, lambda *_: zero), where=dropped)
        w.map((r.weights, lambda *_: n.cast(r.scores.at, f.stored)))
        w.map((r.sums, lambda *_: n.mul(r.sums.at, r.factor.at)))
        w.emit(TileProduct(r.sums, r.weights, w.matrix(v, slot), tile))
    w.emit(Pipeline(Axis(index, count), slot, SLOTS, tuple(produce), tuple(consume), w.producers))
    by = w.kept_scale if f.dropout else w.const(1.0)
    w.map((r.factor, lambda *_: n.div(by, n.select(n.eq(r.total.at, 0.0), w.const(1.0), r.total.at))))
    results(w, place, first)
    written = [RESULT, "lse"] if f.has("lse") else [RESULT]
    threads = (tile // ROWS + w.producers) * WARP
    return w.kernel("tensor_forward", points, written, claims="row_claims", tiles=r, threads=threads)


def scores(
    w: TensorText, q: Memory, key: Matrix | Panels, depth: int, place: Place, first: Node, begin: Node, partial: Node
) -> None:
    """Scores of a tile. Only those of a partial one are looked at, and of one that the last key is in."""
    a, r = w.arguments, w.tiles
    scale = n.mul(a.number(0), w.const(LOG2_E))
    w.map((r.scores, lambda *_: w.const(0.0)))
    w.emit(TileProduct(r.scores, w.matrix(q, 0), key, depth))

    w.map((r.scores, lambda *_: n.mul(r.scores.at, scale)))
    if w.form.mask == ADDED:
        with w.when(partial):
            w.map((r.scores, lambda i, j: w.with_added(r.scores.at, place, n.add(first, i), n.add(begin, j))))

    def hidden(i: Node, j: Node) -> Node:
        key = n.add(begin, j)
        return n.call("or", n.le(a.size("keys"), key), w.hidden(place, n.add(first, i), key))

    with w.when(n.call("or", partial, n.lt(n.sub(a.size("keys"), begin), w.form.tile))):
        w.map((r.scores, lambda *_: lowest(w.form.computed)), where=hidden)


def softmax(w: TensorText) -> None:
    """Scores become weights relative to the largest so far; ``factor`` is what earlier results are multiplied by."""
    r = w.tiles
    w.emit(TileReduce(r.part, r.scores, MAX, r.scores.at, *w.point()))

    def top(*_: Node) -> Node:
        return n.maximum(r.top.at, r.part.at)

    w.map((r.factor, lambda *_: n.call("exp2", n.sub(r.top.at, relative(w, top())))), (r.top, top))
    w.map((r.scores, lambda *_: n.call("exp2", n.sub(r.scores.at, relative(w, r.top.at)))))
    w.emit(TileReduce(r.part, r.scores, SUM, r.scores.at, *w.point()))
    w.map((r.total, lambda *_: n.add(n.mul(r.total.at, r.factor.at), r.part.at)))


def results(w: TensorText, place: Place, first: Node) -> None:
    """Rows of the result and the log-sum-exp, from registers."""
    f, a, r = w.form, w.arguments, w.tiles
    row, column = w.point()
    query = n.add(first, row)
    lead = n.add(n.mul(n.add(n.mul(place.batch, a.size("queries")), query), a.size("heads")), place.head)
    inside = within(n.lt(query, a.size("queries")), column, f.value_dim)
    value = n.cast(n.mul(r.sums.at, r.factor.at), f.stored)
    pair = 1 if f.value_dim % 2 else 2
    w.emit(TileStore(r.sums, RESULT, row, column, n.add(n.mul(lead, f.value_dim), column), value, inside, pair))
    if f.has("lse"):
        row, column = w.point()
        query = n.add(first, row)
        at = n.add(n.mul(n.add(n.mul(place.batch, a.size("heads")), place.head), a.size("queries")), query)
        lse = n.mul(n.add(r.top.at, n.call("log2", r.total.at)), w.const(LN_2))
        w.emit(TileStore(r.top, "lse", row, column, at, lse, n.lt(query, a.size("queries"))))
