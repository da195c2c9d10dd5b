"""Lists of the tiles that a mask leaves: of each row of tiles, and of each column, in order.

An entry is the number of a tile whose scores are looked at one by one, or ``-1 - number`` of one that all of its
queries see. What is what, the rules of :mod:`umiak.masks.bounds` say, here over the numbers of a kernel.
"""

from __future__ import annotations

from typing import NamedTuple

from umiak.compiler.attention.form import BLOCKS, COLUMNS, Form
from umiak.compiler.attention.text import POINT, Text, divided
from umiak.compiler.loop import node as n
from umiak.compiler.loop.monoid import SUM
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.tree import LANE, SERIAL, Axis, Kernel, Reduce, Scan, Store
from umiak.compiler.loop.types import BOOL, I32, I64
from umiak.masks.bounds import Interval, Logic, hidden_and_touched, later_and_crossed
from umiak.ops.dot_product_attention import BLOCK

NODES = Logic(n.lt, n.le, lambda a, b: n.call("and", a, b), lambda a, b: n.call("or", a, b))
NUMBERS = 8  # of a tile of keys: least and largest begin, least and largest end, of two intervals


def bounds(form: Form) -> Kernel:
    """Bounds of the intervals of each tile of keys and head of the mask; a thread each."""
    w = Text(form)
    a = w.arguments
    tiles, queries = a.tiles("keys"), a.size("queries")
    unit = n.div(POINT, tiles)
    tile = n.sub(POINT, n.mul(unit, tiles))
    batch = n.div(unit, a.size("mask_heads"))
    head = n.sub(unit, n.mul(batch, a.size("mask_heads")))
    first = n.mul(tile, form.tile)

    def step(key: Node, *states: Node) -> list[Node]:
        found: list[Node] = []
        for k, (begin, end) in enumerate(w.intervals(batch, head, key, None)):
            begin, end = (n.minimum(n.maximum(x, 0), queries) for x in (begin, end))
            there = n.lt(begin, end)  # one that holds no query hides nothing
            begin, end = n.select(there, begin, queries), n.select(there, end, 0)
            least_a, most_a, least_b, most_b = states[4 * k : 4 * k + 4]
            found += [
                n.minimum(least_a, begin),
                n.maximum(most_a, begin),
                n.minimum(least_b, end),
                n.maximum(most_b, end),
            ]
        return found

    initial = [queries, n.i64(0), queries, n.i64(0)] * 2
    last = n.minimum(n.add(first, form.tile), a.size("keys"))
    for k, x in enumerate(w.fold(last, initial, step, lo=first)):
        w.store("bounds", n.add(n.mul(POINT, NUMBERS), k), n.cast(x, I32))
    units = n.mul(n.select(n.eq(a.size("mask_step"), 0), 1, a.size("batch")), a.size("mask_heads"))
    return w.kernel("bounds", n.mul(units, tiles), ["bounds"], SERIAL)


class TileClass(NamedTuple):
    seen: Node  # some score counts, as far as bounds say
    partial: Node  # some score may not


def class_of(w: Text, unit: Node, row: Node, column: Node) -> TileClass:
    """The class of a tile of queries and keys."""
    f, a = w.form, w.arguments
    low, first = n.mul(row, f.tile), n.mul(column, f.tile)
    high = n.minimum(n.add(low, f.tile), a.size("queries"))
    end = n.minimum(n.add(first, f.tile), a.size("keys"))
    shift = a.size("shift")
    seen_by = n.add(low, shift), n.add(n.sub(high, 1), shift)
    hidden, touched = later_and_crossed(NODES, *seen_by, first, n.sub(end, 1))
    if f.mask == COLUMNS:
        at = n.mul(n.add(n.mul(unit, a.tiles("keys")), column), NUMBERS)
        numbers = [n.cast(n.load("bounds", I32, n.add(at, k)), I64) for k in range(NUMBERS)]
        inside, met = hidden_and_touched(NODES, low, high, [Interval(*numbers[:4]), Interval(*numbers[4:])])
        hidden, touched = n.call("or", hidden, inside), n.call("or", touched, met)
    elif f.mask is not None:
        touched = n.const(True, BOOL)
    seen = n.call("not", hidden)
    if f.has(BLOCKS):
        batch = n.div(unit, a.size("mask_heads"))
        head = n.sub(unit, n.mul(batch, a.size("mask_heads")))
        block = [divided(x, BLOCK)[0] for x in (low, first)]
        seen = n.call("and", seen, n.ne(a.load(BLOCKS, batch, head, *block), 0))
    return TileClass(seen, touched)


def lists(form: Form, of_rows: bool) -> Kernel:
    """The lists of rows of tiles (``of_rows``), else of columns; a block of threads for each."""
    w = Text(form)
    a = w.arguments
    outer, inner = (a.tiles(x) for x in (("queries", "keys") if of_rows else ("keys", "queries")))
    counts, tiles = ("row_counts", "row_tiles") if of_rows else ("key_counts", "key_tiles")
    unit = n.div(POINT, outer)
    here = n.sub(POINT, n.mul(unit, outer))
    first, second = n.axis("entry"), n.axis("counted")

    def kind(other: Node) -> TileClass:
        return class_of(w, unit, here, other) if of_rows else class_of(w, unit, other, here)

    found = kind(first)
    before, count = n.var("before", I64), n.var("count", I64)
    entry = n.cast(n.select(found.partial, first, n.sub(-1, first)), I32)
    to = n.add(n.mul(POINT, inner), before)
    lanes = Axis(first, inner, kind=LANE)
    w.emit(Scan((before,), SUM, lanes, (n.cast(found.seen, I64),), (Store(tiles, to, entry, found.seen),), None, True))
    seen = n.cast(kind(second).seen, I64)
    w.emit(Reduce((count,), SUM, (Axis(second, inner, kind=LANE),), (seen,)))
    w.store(counts, POINT, n.cast(count, I32))
    claims = ("row_claims",) if of_rows else w.form.key_claims
    for name in claims:
        w.store(name, n.i64(0), n.const(0, I32), n.eq(POINT, 0))
    units = n.mul(n.select(n.eq(a.size("mask_step"), 0), 1, a.size("batch")), a.size("mask_heads"))
    return w.kernel("rows" if of_rows else "columns", n.mul(units, outer), [counts, tiles, *claims])
