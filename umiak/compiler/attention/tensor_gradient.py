"""Gradients with tensor cores, in the blocks of :mod:`~umiak.compiler.attention.gradient`: a warp for 16 queries, or 16
keys, and one more that copies ahead.

Weights and gradients of scores are computed in float32 and rounded to the operands' 16 bits where they are multiplied;
sums stay in registers.
"""

from __future__ import annotations

from collections.abc import Callable

from umiak.compiler.attention.form import Form
from umiak.compiler.attention.forward import row_block
from umiak.compiler.attention.gradient import column_block
from umiak.compiler.attention.tensor_text import SLOTS, Here, TensorText, up
from umiak.compiler.attention.text import Memory
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.tiles import Matrix, Panels, Tile, TileCopy, TileProduct
from umiak.compiler.loop.tree import Kernel, Statement

LINE = 4  # elements of float32 of which lines of matrices are multiples


class Gradients(TensorText):
    """Tiles of scores and what becomes of them. With dropout, the weights of those that it takes away are negative."""

    def __init__(self, form: Form, step: int) -> None:
        super().__init__(form)
        self.step = step
        self.weights = self.tile("weights", step)
        self.changes = self.tile("changes", step)
        self.narrow = self.tile("narrow", step, form.stored)

    def exponentials(self, base: Callable[[Node, Node], Node], here: Here) -> None:
        """Scores become weights."""
        x = self.weights
        self.map((x, lambda i, j: n.call("exp2", n.sub(x.at, base(i, j)))))
        if self.form.dropout:
            self.map((x, lambda *_: n.neg(x.at)), where=self.dropped(here))

    def of_weights(self, left: Matrix | Panels, right: Matrix | Panels) -> None:
        """Gradients of weights."""
        self.map((self.changes, lambda *_: self.const(0.0)))
        self.emit(TileProduct(self.changes, left, right, up(self.form.value_dim)))

    def of_scores(self, moved: Callable[[Node, Node], Node], base: Callable[[Node, Node], Node]) -> None:
        """Gradients of scores, rounded. A weight of 0 has no part in gradients, whatever the value of its key is.

        With a cap its slope is that of the score that the weight tells: there are no registers to keep scores.
        """
        zero, weight, change = self.const(0.0), self.weights.at, self.changes.at
        if self.form.dropout:
            change = n.select(n.lt(zero, weight), n.mul(change, self.kept_scale), zero)
            weight = n.call("abs", weight)

        def value(i: Node, j: Node) -> Node:
            found = n.mul(weight, n.sub(change, moved(i, j)))
            if self.form.softcap:
                found = n.mul(found, self.capped_slope(n.add(n.call("log2", weight), base(i, j))))
            return n.cast(n.select(n.eq(weight, 0.0), zero, found), self.form.stored)

        self.map((self.narrow, value))

    def kept_weights(self) -> None:
        """Weights, rounded."""
        weight = self.weights.at
        if self.form.dropout:
            weight = n.mul(n.maximum(weight, self.const(0.0)), self.kept_scale)
        self.map((self.narrow, lambda *_: n.cast(weight, self.form.stored)))

    def sums(self, name: str, dim: int) -> Tile:
        found = self.tile(name, up(dim))
        self.map((found, lambda *_: self.const(0.0)))
        return found

    def finished(self, role: str, points: Node, written: list[str], claims: str) -> Kernel:
        return self.kernel(role, points, written, claims=claims, tiles=self.declared, threads=self.threads)


def tensor_gradient_of_queries(form: Form) -> Kernel:
    """A block for each tile of queries, over the tiles of keys that are listed for it."""
    w = Gradients(form, form.step_beside(up(form.dim)))
    f, a, tile, step = form, w.arguments, form.tile, w.step
    rows, row, place, key_place, points = row_block(w)
    first = n.mul(row, tile)
    q, g = w.lines("query", tile, up(f.dim)), w.lines("grad", tile, up(f.value_dim))
    k, v = w.lines("key", step, up(f.dim), SLOTS), w.lines("value", step, up(f.value_dim), SLOTS)
    base, moved = w.tile("base", 1), w.tile("moved", 1)
    w.emit(w.copied(q, 0, "query", place, first, "queries", f.dim))
    w.emit(w.copied(g, 0, "grad", place, first, "queries", f.value_dim))

    def of_query(name: str) -> Callable[[Node, Node], Node]:
        def number(i: Node, _: Node) -> Node:
            query = n.add(first, i)
            return n.load(name, f.computed, a.query_number(place, query), n.lt(query, a.size("queries")))

        return number

    w.map((base, of_query("base")), (moved, of_query("moved")))
    sums = w.sums("sums", f.dim)
    index, slot = n.axis("listed"), n.axis("slot")
    count, begin, partial = w.steps("row_counts", "row_tiles", a.unit(*place), row, rows, a.tiles("keys"), index, step)
    produce: list[Statement] = [
        w.copied(k, slot, "key", key_place, begin, "keys", f.dim, True),
        w.copied(v, slot, "value", key_place, begin, "keys", f.value_dim, True),
    ]
    here = Here(place, first, begin)
    with w.inside() as consume:
        w.scores(w.weights, w.matrix(q), w.matrix(k, slot, True), here, partial)
        w.exponentials(lambda *_: base.at, here)
        w.of_weights(w.matrix(g), w.matrix(v, slot, True))
        w.of_scores(lambda *_: moved.at, lambda *_: base.at)
        w.emit(TileProduct(sums, w.narrow, w.matrix(k, slot), step))
    w.pipeline(index, count, slot, produce, consume)
    w.written("query_gradient", sums, f.dim, place, first, "queries", "heads", a.number(0))
    return w.finished("query_gradient", points, ["query_gradient"], "row_claims")


def tensor_gradients_of_keys(form: Form) -> tuple[Kernel, ...]:
    """Those of keys and values, by one kernel where there are registers for both."""
    if form.parted:
        return _gradient_of_keys(form, ("value",)), _gradient_of_keys(form, ("key",))
    return (_gradient_of_keys(form, ("key", "value")),)


def _gradient_of_keys(form: Form, wanted: tuple[str, ...]) -> Kernel:
    """A block for each tile of keys, over query heads and the tiles of queries that are listed for it. Tiles of scores
    have a row for each key."""
    dims = {"key": form.dim, "value": form.value_dim}
    w = Gradients(form, form.step_beside(sum(up(dims[name]) for name in wanted)))
    f, a, tile, step = form, w.arguments, form.tile, w.step
    n_columns, column, key_place, points = column_block(w)
    begin = n.mul(column, tile)
    k = w.lines("key", tile, up(f.dim))
    q, g = w.lines("query", step, up(f.dim), SLOTS), w.lines("grad", step, up(f.value_dim), SLOTS)
    width = -(-step // LINE) * LINE
    base, moved = (w.memory(name, SLOTS, width, padded=False) for name in ("base", "moved"))
    w.emit(w.copied(k, 0, "key", key_place, begin, "keys", f.dim))
    sums = {name: w.sums(f"{name}_sums", dims[name]) for name in wanted}
    if "key" in wanted:
        v = w.lines("value", tile, up(f.value_dim))
        w.emit(w.copied(v, 0, "value", key_place, begin, "keys", f.value_dim))
    with w.loop(a.size("group")) as member:
        place = key_place._replace(head=n.add(n.mul(key_place.head, a.size("group")), member))
        index, slot = n.axis(f"listed{w._fresh()}"), n.axis(f"slot{w._fresh()}")
        count, first, partial = w.steps(
            "key_counts", "key_tiles", a.unit(*place), column, n_columns, a.tiles("queries"), index, step
        )

        def number(name: str, to: Memory) -> TileCopy:
            i, j = w.point()
            query = n.add(first, j)
            target = Matrix(to.name, n.mul(slot, width), width)
            inside = n.lt(query, a.size("queries"))
            return TileCopy(target, 1, step, name, i, j, a.query_number(place, query), inside, 1, True)

        produce: list[Statement] = [
            w.copied(q, slot, "query", place, first, "queries", f.dim, True),
            w.copied(g, slot, "grad", place, first, "queries", f.value_dim, True),
            number("base", base),
        ]
        if "key" in wanted:
            produce.append(number("moved", moved))
        here = Here(place, first, begin, True)
        with w.inside() as consume:
            w.scores(w.weights, w.matrix(k), w.matrix(q, slot, True), here, partial, ("queries",))
            w.exponentials(lambda _, j: base(slot, j), here)
            if "value" in wanted:
                w.kept_weights()
                w.emit(TileProduct(sums["value"], w.narrow, w.matrix(g, slot), step))
            if "key" in wanted:
                w.of_weights(w.matrix(v), w.matrix(g, slot, True))
                w.of_scores(lambda _, j: moved(slot, j), lambda _, j: base(slot, j))
                w.emit(TileProduct(sums["key"], w.narrow, w.matrix(q, slot), step))
        w.pipeline(index, count, slot, produce, consume)
    by = {"key": a.number(0), "value": w.const(1.0)}
    for name in wanted:
        w.written(f"{name}_gradient", sums[name], dims[name], key_place, begin, "keys", "key_heads", by[name])
    return w.finished(f"{wanted[0]}_gradient", points, [f"{name}_gradient" for name in wanted], f"{wanted[0]}_claims")
