"""Distinct elements, or slices along an axis: sorted by a block of threads, then counted one after the other."""

from __future__ import annotations

from typing import Any

from umiak.compiler.algorithms.number import Number
from umiak.compiler.algorithms.sorting import less, positions, put_in_order
from umiak.compiler.algorithms.writer import Array, Writer, algorithm
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import BOOL, I64
from umiak.ir import sym as dim
from umiak.ops import index


class Slices:
    """The operand as a row of slices: elements, or what has one index on an axis."""

    def __init__(self, w: Writer) -> None:
        self.writer, self.shape, self.axis = w, w.shape(0), w.op.axis
        self.x = w.operand(0, ())
        every = range(len(self.shape)) if self.axis is None else (self.axis,)
        self.count = dim.product(tuple(self.shape[d] for d in every))
        self.inner = tuple(size for d, size in enumerate(self.shape) if d not in every)
        self.size = dim.product(self.inner)

    def coordinates(self, i: Node, sizes: Any) -> list[Node]:
        found = []
        for size in reversed(sizes):
            count = self.writer.integer(size)
            found.append(n.rem(i, count))
            i = n.div(i, count)
        return found[::-1]

    def element(self, i: Node, k: Node) -> Number:
        """Element ``k`` of slice ``i``."""
        if self.axis is None:
            return self.x[tuple(self.coordinates(i, self.shape))]
        inner = self.coordinates(k, self.inner)
        full = (*inner[: self.axis], i, *inner[self.axis :])
        return self.x[full]

    def in_order(self) -> Array:
        """Memory with the slices' positions in order: sorted by their last elements first, by their first ones last."""
        w = self.writer
        order = positions(w, self.count)
        with w.down(self.size) as k:
            half = w.let(put_in_order(w, order, self.count, lambda i, j: less(self.element(i, k), self.element(j, k))))
            with w.loop(self.count, lanes=True) as i:
                order[0, i] = w.let(order[half, i].re)
        return order

    def differ(self, i: Node, j: Node) -> Node:
        """Return whether two slices differ. Of those in order a NaN equals a NaN; in runs it does not."""
        w = self.writer

        def compare(k: Node, so_far: Node) -> tuple[Node]:
            a, b = self.element(i, k).re, self.element(j, k).re
            other = n.call("xor", a, b) if a.type is BOOL else n.ne(a, b)
            if a.type.is_float and not w.op.consecutive and self.axis is None:
                other = n.call("and", other, n.call("or", n.eq(a, a), n.eq(b, b)))
            return (n.call("or", so_far, other),)

        return w.fold(self.size, (n.const(False, BOOL),), compare)


def groups(w: Writer) -> tuple[Slices, Any]:
    """The slices, and the position of the one that comes at each place."""
    w.points()
    slices = Slices(w)
    if w.op.consecutive:
        return slices, lambda i: i
    order = slices.in_order()
    return slices, lambda i: order[0, i].re


def numbered(w: Writer, slices: Slices, at: Any, visit: Any) -> Array:
    """Walk the places in order; ``visit(i, position, number)`` with the number of its group, ``first`` of those that
    begin one. Memory with the number of groups."""
    group = w.memory(I64)
    group[()] = n.i64(-1)
    with w.loop(slices.count) as i:
        here, before = w.let(at(i), at(n.maximum(n.sub(i, 1), n.i64(0))))
        new = w.let(n.call("or", n.eq(i, 0), slices.differ(here, before)))
        group[()] = n.add(group[()].re, n.cast(new, I64))
        visit(i, here, w.let(group[()].re), new)
    return group


@algorithm(index.UniqueCount)
def unique_count(w: Writer) -> None:
    slices, at = groups(w)
    group = numbered(w, slices, at, lambda *_: None)
    w.result(0)[()] = n.add(group[()].re, 1)


@algorithm(index.UniqueSized)
def unique_sized(w: Writer) -> None:
    slices, at = groups(w)
    values, first, inverse, counts = (w.result(k, ()) for k in range(4))
    (room,) = w.operation.params

    def visit(i: Node, here: Node, number: Node, new: Node) -> None:
        w.fail(n.le(w.integer(room), number))
        inverse[here] = number
        with w.when(n.call("and", new, n.lt(number, w.integer(room)))):
            first[number] = here
            counts[number] = n.i64(0)
            with w.loop(slices.size) as k:
                if slices.axis is None:
                    values[number] = slices.element(here, k)
                else:
                    inner = slices.coordinates(k, slices.inner)
                    full = (*inner[: slices.axis], number, *inner[slices.axis :])
                    values[full] = slices.element(here, k)
        with w.when(n.lt(number, w.integer(room))):
            counts[number] = n.add(counts[number].re, 1)

    numbered(w, slices, at, visit)
