"""Gradients: of queries by tiles of queries, of keys and values by tiles of keys. Nothing is added by several blocks,
so results are the same bits in every run."""

from __future__ import annotations

from typing import NamedTuple

from umiak.compiler.attention.form import Form
from umiak.compiler.attention.forward import row_block
from umiak.compiler.attention.text import LOG2_E, POINT, Memory, Place, Product, Text, divided
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.tree import SERIAL, Kernel


def numbers(form: Form) -> Kernel:
    """Two numbers for each query, a thread each. ``moved``: the sum of results times their gradients, less the gradient
    of the log-sum-exp. ``base``: what scores are relative to, in units of log 2."""
    w = Text(form)
    a = w.arguments
    lead = n.div(POINT, a.size("queries"))
    query = n.sub(POINT, n.mul(lead, a.size("queries")))
    batch = n.div(lead, a.size("heads"))
    head = n.sub(lead, n.mul(batch, a.size("heads")))

    def step(d: Node, s: Node) -> tuple[Node]:
        x, g = (n.cast(a.load(name, batch, query, head, d), form.computed) for name in ("out", "grad"))
        return (n.fma(x, g, s),)

    total = w.fold(form.value_dim, (w.const(0.0),), step)
    if form.has("grad_lse"):
        total = n.sub(total, a.load("grad_lse", batch, head, query))
    w.store("moved", POINT, total)
    lse = n.mul(a.load("lse", batch, head, query), w.const(LOG2_E))
    # A query that sees nothing has no weights; relative to 0 they are 0 and not NaN.
    w.store("base", POINT, n.select(n.eq(lse, float("-inf")), w.const(0.0), lse))
    points = n.mul(n.mul(a.size("batch"), a.size("heads")), a.size("queries"))
    return w.kernel("numbers", points, ["moved", "base"], SERIAL)


class Rows(NamedTuple):
    """Operands of a tile of queries, in memory of the block."""

    query: Memory
    grad: Memory
    base: Memory
    moved: Memory


class Columns(NamedTuple):
    key: Memory
    value: Memory


def row_memory(w: Text) -> Rows:
    f = w.form
    return Rows(
        w.memory("query", f.tile, f.padded_dim), w.memory("grad", f.tile, f.padded_value_dim),
        w.memory("base", f.tile, 1, padded=False), w.memory("moved", f.tile, 1, padded=False),
    )  # fmt: skip


def column_memory(w: Text) -> Columns:
    f = w.form
    return Columns(w.memory("key", f.tile, f.padded_dim), w.memory("value", f.tile, f.padded_value_dim))


def copy_rows(w: Text, to: Rows, place: Place, first: Node) -> None:
    f, a = w.form, w.arguments
    w.copy(to.query, "query", place, first, a.size("queries"), f.dim)
    w.copy(to.grad, "grad", place, first, a.size("queries"), f.value_dim)
    with w.loop(f.tile, lanes=True) as i:
        query = n.add(first, i)
        inside = n.lt(query, a.size("queries"))
        at = a.query_number(place, query)
        w.store(to.base, to.base.at(i), n.load("base", f.computed, at, inside))
        w.store(to.moved, to.moved.at(i), n.load("moved", f.computed, at, inside))


def copy_columns(w: Text, to: Columns, place: Place, first: Node) -> None:
    f, a = w.form, w.arguments
    scale = n.mul(a.number(0), w.const(LOG2_E))
    w.copy(to.key, "key", place, first, a.size("keys"), f.dim, lambda x: n.mul(x, scale))
    w.copy(to.value, "value", place, first, a.size("keys"), f.value_dim)


def weights(
    w: Text, rows: Rows, columns: Columns, scores: Memory, changes: Memory, place: Place, first: Node, begin: Node,
    partial: Node,
) -> None:  # fmt: skip
    """``scores`` become weights, with dropout the kept ones, ``changes`` the gradients of scores."""
    f, a, tile = w.form, w.arguments, w.form.tile
    zero, to = w.const(0.0), (scores, changes)
    products = [
        Product(f.padded_dim, rows.query, lambda d, j: columns.key(j, d)),
        Product(f.padded_value_dim, rows.grad, lambda d, j: columns.value(j, d)),
    ]
    w.multiply(
        tile, tile, products, lambda *_: zero, lambda k, i, j, x: w.store(to[k], to[k].at(i, j), x)
    )  # fmt: skip
    for looks in (True, False):
        with w.when(partial if looks else n.call("not", partial)), w.loop(tile * tile, lanes=True) as e:
            i, j = divided(e, tile)
            query, key = n.add(first, i), n.add(begin, j)
            raw = w.capped(scores(i, j))
            raw = w.let(raw) if f.softcap else raw
            score = w.masked(raw, place, query, key) if looks else raw
            inside = n.lt(key, a.size("keys"))
            score = n.select(inside, score, w.const(float("-inf")))
            weight = w.let(n.call("exp2", n.sub(score, rows.base(i))))
            change = changes(i, j)
            kept = weight
            if f.dropout:
                keeps, by = w.let(w.kept(place, query, key)), w.kept_scale
                change = n.select(keeps, n.mul(change, by), zero)
                kept = n.select(keeps, n.mul(weight, by), zero)
            change = n.mul(weight, n.sub(change, rows.moved(i)))
            change = n.mul(change, w.capped_slope(raw)) if f.softcap else change
            # A weight of 0 has no part in gradients, whatever the value of its key is.
            w.store(changes, changes.at(i, j), n.select(n.eq(weight, 0.0), zero, change))
            w.store(scores, scores.at(i, j), kept)


def gradient_of_queries(form: Form) -> Kernel:
    """A block for each tile of queries, over the tiles of keys that are listed for it."""
    w = Text(form)
    f, a, tile = form, w.arguments, form.tile
    n_rows, row, place, key_place, points = row_block(w)
    first = n.mul(row, tile)
    rows, columns = row_memory(w), column_memory(w)
    scores, changes = w.memory("score", tile, tile), w.memory("change", tile, tile)
    found = w.memory("sum", tile, f.padded_dim, padded=False)
    copy_rows(w, rows, place, first)
    w.fill(found, tile, f.padded_dim, 0.0)
    count, entry = w.listed("row_counts", "row_tiles", a.unit(*place), row, n_rows, a.tiles("keys"))
    with w.loop(count) as at:
        number, partial = entry(at)
        begin = n.mul(number, tile)
        copy_columns(w, columns, key_place, begin)
        weights(w, rows, columns, scores, changes, place, first, begin, partial)
        w.accumulate(found, f.padded_dim, Product(tile, changes, columns.key))
    # Keys were multiplied by the scale and by log2(e).
    w.write("query_gradient", found, f.dim, place, first, "queries", "heads", w.const(1 / LOG2_E))
    return w.kernel("query_gradient", points, ["query_gradient"], claims="row_claims")


class ColumnBlock(NamedTuple):
    """A tile of keys, and where it is."""

    columns: Node  # of tiles
    column: Node
    key_place: Place
    points: Node  # of the grid


def column_block(w: Text) -> ColumnBlock:
    """The tile of keys at a point of the grid."""
    a = w.arguments
    columns = a.tiles("keys")
    lead = n.div(POINT, columns)
    column = n.sub(POINT, n.mul(lead, columns))
    batch = n.div(lead, a.size("key_heads"))
    key_place = Place(batch, n.sub(lead, n.mul(batch, a.size("key_heads"))))
    return ColumnBlock(columns, column, key_place, n.mul(n.mul(a.size("batch"), a.size("key_heads")), columns))


def gradient_of_keys(form: Form) -> Kernel:
    """A block for each tile of keys, over query heads and the tiles of queries that are listed for it."""
    w = Text(form)
    f, a, tile = form, w.arguments, form.tile
    n_columns, column, key_place, points = column_block(w)
    begin = n.mul(column, tile)
    rows, columns = row_memory(w), column_memory(w)
    scores, changes = w.memory("score", tile, tile), w.memory("change", tile, tile)
    of_keys = w.memory("key_sum", tile, f.padded_dim, padded=False)
    of_values = w.memory("value_sum", tile, f.padded_value_dim, padded=False)
    copy_columns(w, columns, key_place, begin)
    w.fill(of_keys, tile, f.padded_dim, 0.0)
    w.fill(of_values, tile, f.padded_value_dim, 0.0)
    with w.loop(a.size("group")) as member:
        place = key_place._replace(head=n.add(n.mul(key_place.head, a.size("group")), member))
        count, entry = w.listed("key_counts", "key_tiles", a.unit(*place), column, n_columns, a.tiles("queries"))
        with w.loop(count) as at:
            number, partial = entry(at)
            first = n.mul(number, tile)
            copy_rows(w, rows, place, first)
            weights(w, rows, columns, scores, changes, place, first, begin, partial)
            w.accumulate(of_values, f.padded_value_dim, Product(tile, lambda j, i: scores(i, j), rows.grad))
            w.accumulate(of_keys, f.padded_dim, Product(tile, lambda j, i: changes(i, j), rows.query))
    w.write("key_gradient", of_keys, f.dim, key_place, begin, "keys", "key_heads", a.number(0))
    w.write("value_gradient", of_values, f.value_dim, key_place, begin, "keys", "key_heads", w.const(1.0))
    return w.kernel("key_gradient", points, ["key_gradient", "value_gradient"], claims="key_claims")
