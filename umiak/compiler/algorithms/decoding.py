"""Searches that walk a sequence: beams, best paths, boxes that suppress each other."""

from __future__ import annotations

from typing import Any

from umiak.compiler.algorithms.number import Number, maximum, where
from umiak.compiler.algorithms.writer import Writer, algorithm
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import BOOL, I64
from umiak.compiler.lower.builder import compute_type, storage_type
from umiak.ops import boxes, decoding


@algorithm(decoding.GatherTree)
def gather_tree(w: Writer) -> None:
    steps, batch, beams = w.shape(0)
    b, k = w.points(batch, beams)
    ids, parents, out = w.operand(0, ()), w.operand(1, ()), w.result(0, ())
    at = w.memory(I64)
    at[()] = k
    with w.down(steps) as t:
        here = w.let(at[()].re)
        w.fail(n.call("not", n.call("and", n.le(n.i64(0), here), n.lt(here, w.integer(beams)))))
        # A bad beam fails the launch; it is not followed.
        inside = n.minimum(n.maximum(here, n.i64(0)), n.sub(w.integer(beams), 1))
        out[t, b, k] = ids[t, b, inside]
        at[()] = n.cast(parents[t, b, inside].re, I64)


def better(a: Number, b: Number) -> Node:
    """Return whether a is larger than b."""
    return b < a


@algorithm(decoding.ViterbiDecode)
def viterbi_decode(w: Writer) -> None:
    batch, time, tags = w.shape(0)
    (b,) = w.points(batch)
    potentials, transitions, lengths = w.operand(0), w.operand(1, ()), w.operand(2)
    scores, paths = w.result(0), w.result(1)
    type_ = compute_type(w.operation.operands[0].meta.dtype)
    storage = w.operation.results[0].meta.dtype

    def rounded(x: Number) -> Number:
        """As memory of the operands' type would hold it."""
        return x.cast(storage_type(storage)).cast(type_)

    row, source = w.memory(type_, 2, tags), w.memory(I64, time, tags)
    length = w.let(n.cast(lengths[()].re, I64))
    w.fail(n.lt(w.integer(time), length))
    last = n.sub(w.integer(tags), 1)
    with w.loop(tags) as i:
        first = potentials[0, i]
        row[0, i] = rounded(first + transitions[last, i]) if w.op.with_ends else first
    with w.loop(n.minimum(length, w.integer(time)), lo=1) as t:
        half = n.call("and", t, n.i64(1))
        with w.loop(tags) as j:

            def into(i: Node) -> Number:
                return rounded(row[n.sub(1, half), i] + transitions[i, j])

            def choose(i: Node, best: Number, at: Node) -> tuple[Number, Node]:
                x = into(i)
                take = better(x, best)
                return where(take, x, best), n.select(take, i, at)

            best, at = w.fold(tags, (into(n.i64(0)), n.i64(0)), choose, lo=1)
            source[t, j] = at
            row[half, j] = rounded(best + potentials[t, j])
    half = n.call("and", n.maximum(n.sub(length, 1), n.i64(0)), n.i64(1))

    def final(i: Node) -> Number:
        x = row[half, i]
        if not w.op.with_ends:
            return x
        return where(n.lt(0, length), rounded(x + transitions[n.sub(last, 1), i]), x)

    def choose_last(i: Node, best: Number, at: Node) -> tuple[Number, Node]:
        x = final(i)
        take = better(x, best)
        return where(take, x, best), n.select(take, i, at)

    best, found = w.fold(tags, (final(n.i64(0)), n.i64(0)), choose_last, lo=1)
    scores[()] = best
    at = w.memory(I64)
    at[()] = found
    with w.loop(time) as t:
        paths[t] = n.i64(0)
    with w.down(n.minimum(length, w.integer(time))) as t:
        here = w.let(at[()].re)
        paths[t] = here
        with w.when(n.lt(0, t)):
            at[()] = w.let(source[t, here].re)


@algorithm(boxes.SuppressBoxes)
def suppress_boxes(w: Writer) -> None:
    """Box after box, each against those that stay."""
    count = w.shape(0)[0]
    w.points()
    x, out = w.operand(0), w.result(0)
    group, valid = (None if w.operation.operands[k] is None else w.operand(k) for k in (1, 2))
    type_ = compute_type(w.operation.operands[0].meta.dtype)
    limit, eta, offset = (w.number(p, type_) for p in w.operation.params)
    threshold = w.memory(type_)
    threshold[()] = limit
    with w.loop(count) as i:
        for k in range(4):
            w.fail(n.ne(x[i, k].re, x[i, k].re))
        now = w.let(threshold[()])

        def side(j: Node, axis: int) -> Number:
            return x[j, axis + 2] - x[j, axis] + offset

        def overlaps(j: Node, so_far: Node) -> tuple[Node]:
            common: Any = None
            for axis in (0, 1):
                high = Number(n.minimum(x[i, axis + 2].re, x[j, axis + 2].re))
                low = Number(n.maximum(x[i, axis].re, x[j, axis].re))
                length = maximum(high - low + offset, 0.0)
                common = length if common is None else common * length
            union = side(i, 0) * side(i, 1) + side(j, 0) * side(j, 1) - common
            over = n.call("and", now < common / union, out[j].re)
            if group is not None:
                over = n.call("and", over, n.eq(group[i].re, group[j].re))
            return (n.call("or", so_far, over),)

        covered = w.fold(i, (n.const(False, BOOL),), overlaps)
        stays = n.call("not", covered)
        if valid is not None:
            stays = n.call("and", stays, valid[i].re)
        stays = w.let(stays)
        out[i] = stays
        shrinks = n.call("and", n.call("and", eta < 1.0, now.like(0.5) < now), stays)
        threshold[()] = where(shrinks, now * eta, now)
