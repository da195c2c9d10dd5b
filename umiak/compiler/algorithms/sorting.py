"""Sorts of rows, and what is read off sorted rows. A block of threads sorts a row: the runs of each round are merged
by the position that every element has in the other run, which a binary search tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from umiak.compiler.algorithms.number import Number
from umiak.compiler.algorithms.writer import Array, Writer, algorithm
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import BOOL, I64
from umiak.ops import index, sorting

ROUNDS = 62  # runs double: no row has more elements

Before = Callable[[Node, Node], Node]  # whether element i comes before element j, by their positions in the row


def comparable(x: Number) -> Number:
    return x.cast(I64) if x.type is BOOL else x


def less(x: Number, y: Number) -> Node:
    """Return whether x comes before y in rising order, where NaN is the largest."""
    a, b = comparable(x).re, comparable(y).re
    if not a.type.is_float:
        return n.lt(a, b)
    return n.call("or", n.lt(a, b), n.call("and", n.eq(a, a), n.ne(b, b)))


def positions(w: Writer, size: Any) -> Array:
    """Memory of ``[2, size]`` whose first half has the positions of a row's elements as they come."""
    order = w.memory(I64, 2, size)
    with w.loop(size, lanes=True) as i:
        order[0, i] = i
    return order


def sorted_positions(w: Writer, size: Any, before: Before) -> tuple[Array, Node]:
    """Positions of a row's elements in order, equal ones as they come: memory of ``[2, size]``, and which half."""
    order = positions(w, size)
    return order, put_in_order(w, order, size, before)


def put_in_order(w: Writer, order: Array, size: Any, before: Before) -> Node:
    """Sort the positions of the first half, equal ones as they are there; the half with the result."""
    count = w.integer(size)
    with w.loop(ROUNDS) as r:
        width = n.call("shl", n.i64(1), r)
        with w.when(n.lt(width, count)):
            half = n.call("and", r, n.i64(1))
            with w.loop(count, lanes=True) as i:
                run = n.call("shr", i, r)
                is_right = n.eq(n.call("and", run, n.i64(1)), 1)
                mine = n.call("shl", run, r)
                other = n.select(is_right, n.sub(mine, width), n.add(mine, width))
                start = n.minimum(other, count)
                end = n.minimum(n.add(start, width), count)
                here = w.let(order[half, i].re)

                def halve(_: Node, lo: Node, hi: Node) -> tuple[Node, Node]:
                    middle = n.div(n.add(lo, hi), 2)
                    open_ = n.lt(lo, hi)
                    there = order[half, n.minimum(middle, n.sub(count, 1))].re
                    # Equal elements of a left run come first.
                    first = n.select(is_right, n.call("not", before(here, there)), before(there, here))
                    go = n.call("and", open_, first)
                    stay = n.call("and", open_, n.call("not", first))
                    return n.select(go, n.add(middle, 1), lo), n.select(stay, middle, hi)

                found, _ = w.fold(n.add(r, 1), (start, end), halve)
                left = n.minimum(mine, other)
                at = n.add(left, n.add(n.sub(i, mine), n.sub(found, start)))
                order[n.sub(1, half), at] = here
    rounds = w.fold(
        ROUNDS, (n.i64(0),), lambda r, s: (n.add(s, n.cast(n.lt(n.call("shl", n.i64(1), r), count), I64)),)
    )  # fmt: skip
    return n.call("and", rounds, n.i64(1))


def axis_last(w: Writer, k: int, axis: int) -> tuple[Any, Callable[[Any], tuple]]:
    """Open the dims but ``axis`` as points; the size of the axis, and the full index of a position on it."""
    shape = w.shape(k)
    lead = w.points(*(size for d, size in enumerate(shape) if d != axis))
    return shape[axis], lambda i: (*lead[:axis], i, *lead[axis:])


def ordered_row(w: Writer, axis: int, falling: bool, count: Any = None) -> None:
    """The first ``count`` elements in order, and their positions, as the two results."""
    size, full = axis_last(w, 0, axis)
    x = w.operand(0, ())

    def before(i: Node, j: Node) -> Node:
        a, b = x[full(i)], x[full(j)]
        return less(b, a) if falling else less(a, b)

    order, half = sorted_positions(w, size, before)
    values, where = w.result(0, ()), w.result(1, ())
    with w.loop(size if count is None else count, lanes=True) as i:
        at = w.let(order[half, i].re)
        values[full(i)] = x[full(at)]
        where[full(i)] = at


@algorithm(sorting.Sort)
def sort(w: Writer) -> None:
    ordered_row(w, w.op.axis, w.op.descending)


@algorithm(sorting.TopK)
def top_k(w: Writer) -> None:
    ordered_row(w, w.op.axis, w.op.largest, w.operation.params[0])


@algorithm(index.SearchSorted)
def search_sorted(w: Writer) -> None:
    rows_shape, shape = w.shape(0), w.shape(1)
    at = w.points(*shape)
    rows = w.operand(0, at[:-1] if len(rows_shape) > 1 else ())
    size = w.integer(rows_shape[-1])
    value = w.let(w.operand(1)[()])

    def halve(_: Node, lo: Node, hi: Node) -> tuple[Node, Node]:
        middle = n.div(n.add(lo, hi), 2)
        open_ = n.lt(lo, hi)
        there = Number.of(w.builder.guarded(open_, lambda: rows[middle].element))
        first = n.call("not", less(value, there)) if w.op.right else less(there, value)
        go, stay = n.call("and", open_, first), n.call("and", open_, n.call("not", first))
        return n.select(go, n.add(middle, 1), lo), n.select(stay, middle, hi)

    found, _ = w.fold(ROUNDS + 1, (n.i64(0), size), halve)
    w.result(0)[()] = found
