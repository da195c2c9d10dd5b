"""The forward kernel: a block of threads takes a tile of queries and walks the tiles of keys that are listed for it."""

from __future__ import annotations

import math
from typing import NamedTuple

from umiak.compiler.attention.form import RESULT, Form
from umiak.compiler.attention.text import LOG2_E, PARTS, POINT, Memory, Place, Product, Text, divided
from umiak.compiler.loop import node as n
from umiak.compiler.loop.monoid import lowest
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.tree import Kernel

LN_2 = math.log(2)


def forward(form: Form) -> Kernel:
    """Results, and the log-sum-exp where it is wanted. Scores are in units of log 2."""
    w = Text(form)
    f, a, tile = form, w.arguments, form.tile
    queries, keys = a.size("queries"), a.size("keys")
    rows, row, place, key_place, points = row_block(w)
    first = n.mul(row, tile)

    q, k = w.memory("query", tile, f.padded_dim), w.memory("key", tile, f.padded_dim)
    v, out = w.memory("value", tile, f.padded_value_dim), w.memory("sum", tile, f.padded_value_dim, padded=False)
    scores = w.memory("score", tile, tile)
    top, total, factor = (w.memory(name, tile, 1, padded=False) for name in ("top", "total", "factor"))
    tops, totals = (w.memory(name, tile, PARTS, padded=False) for name in ("tops", "totals"))

    scale = n.mul(a.number(0), w.const(LOG2_E))
    w.copy(q, "query", place, first, queries, f.dim, lambda x: n.mul(x, scale))
    w.fill(out, tile, f.padded_value_dim, 0.0)
    w.fill(top, tile, 1, -math.inf)
    w.fill(total, tile, 1, 0.0)
    unit = a.unit(*place)
    count, entry = w.listed("row_counts", "row_tiles", unit, row, rows, a.tiles("keys"))
    with w.loop(count) as at:
        number, partial = entry(at)
        begin = n.mul(number, tile)
        w.copy(k, "key", key_place, begin, keys, f.dim)
        w.copy(v, "value", key_place, begin, keys, f.value_dim)

        def end(_: int, i: Node, j: Node, x: Node) -> None:
            inside = n.lt(j, n.sub(keys, begin))
            w.store(scores, scores.at(i, j), n.select(inside, w.capped(x), lowest(f.computed)))

        zero = w.const(0.0)
        w.multiply(tile, tile, [Product(f.padded_dim, q, lambda d, j: k(j, d))], lambda *_: zero, end)
        with w.when(partial), w.loop(tile * tile, lanes=True) as e:
            i, j = divided(e, tile)
            seen = w.masked(scores(i, j), place, n.add(first, i), n.add(begin, j))
            w.store(scores, scores.at(i, j), seen)
        softmax(w, scores, top, total, factor, tops, totals)
        if f.dropout:
            with w.loop(tile * tile, lanes=True) as e:
                i, j = divided(e, tile)
                kept = w.kept(place, n.add(first, i), n.add(begin, j))
                w.store(scores, scores.at(i, j), n.select(kept, scores(i, j), w.const(0.0)))
        w.accumulate(out, f.padded_value_dim, Product(tile, scores, v), factor)
    by = w.kept_scale if f.dropout else w.const(1.0)
    with w.loop(tile, lanes=True) as i:
        w.store(factor, factor.at(i), n.div(by, n.select(n.eq(total(i), 0.0), w.const(1.0), total(i))))
    w.write(RESULT, out, f.value_dim, place, first, "queries", "heads", factor)
    if f.has("lse"):
        with w.loop(tile, lanes=True) as i:
            query = n.add(first, i)
            to = a.query_number(place, query)
            value = n.mul(n.add(top(i), n.call("log2", total(i))), w.const(LN_2))
            w.store("lse", to, value, n.lt(query, queries))
    return w.kernel("forward", points, [RESULT, "lse"] if f.has("lse") else [RESULT], claims="row_claims")


class RowBlock(NamedTuple):
    """A tile of queries, and where it is."""

    rows: Node  # of tiles
    row: Node
    place: Place
    key_place: Place
    points: Node  # of the grid


def row_block(w: Text) -> RowBlock:
    """The tile of queries at a point of the grid. The last come first: of causal attention they take longest."""
    a = w.arguments
    rows = a.tiles("queries")
    lead = n.div(POINT, rows)
    row = n.sub(n.sub(rows, 1), n.sub(POINT, n.mul(lead, rows)))
    batch = n.div(lead, a.size("heads"))
    place = Place(batch, n.sub(lead, n.mul(batch, a.size("heads"))))
    key_place = place._replace(head=n.div(place.head, a.size("group")))
    return RowBlock(rows, row, place, key_place, n.mul(n.mul(a.size("batch"), a.size("heads")), rows))


def softmax(w: Text, scores: Memory, top: Memory, total: Memory, factor: Memory, tops: Memory, totals: Memory) -> None:
    """Scores become weights relative to the largest so far; ``factor`` is what earlier results are multiplied by."""
    f, tile = w.form, w.form.tile
    each = tile // PARTS
    with w.loop(tile * PARTS, lanes=True) as e:
        i, part = divided(e, PARTS)
        largest = w.fold(
            each, (lowest(f.computed),),
            lambda c, x: (n.maximum(x, scores(i, n.add(n.mul(c, PARTS), part))),),
        )  # fmt: skip
        w.store(tops, tops.at(i, part), largest)
    with w.loop(tile * PARTS, lanes=True) as e:
        i, part = divided(e, PARTS)
        base = w.let(relative(w, largest_of(top, tops, i)))
        with w.loop(each) as c:
            j = n.add(n.mul(c, PARTS), part)
            w.store(scores, scores.at(i, j), n.call("exp2", n.sub(scores(i, j), base)))
        found = w.fold(
            each, (w.const(0.0),), lambda c, s: (n.add(s, scores(i, n.add(n.mul(c, PARTS), part))),)
        )  # fmt: skip
        w.store(totals, totals.at(i, part), found)
    with w.loop(tile, lanes=True) as i:
        new = w.let(largest_of(top, tops, i))
        by = w.let(n.call("exp2", n.sub(top(i), relative(w, new))))
        sum_ = n.mul(total(i), by)
        for k in range(PARTS):
            sum_ = n.add(sum_, totals(i, n.i64(k)))
        w.store(total, total.at(i), sum_)
        w.store(factor, factor.at(i), by)
        w.store(top, top.at(i), new)


def largest_of(top: Memory, tops: Memory, i: Node) -> Node:
    largest = top(i)
    for part in range(PARTS):
        largest = n.maximum(largest, tops(i, part))
    return largest


def relative(w: Text, top: Node) -> Node:
    """The score that weights are relative to: 0 for a row that has seen nothing."""
    return n.select(n.eq(top, -math.inf), w.const(0.0), top)
