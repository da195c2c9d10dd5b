"""Rules of random bits: words of a stream by the position of an element in the whole tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import I64
from umiak.compiler.lower.builder import Builder, Element, Index, rule
from umiak.ir.meta import dense
from umiak.ir.program import Operation
from umiak.ops import random


def position_of(b: Builder, at: Index, sizes: Sequence[Any], starts: Sequence[Any] | None = None) -> Node:
    """The number of an element. Short last dims of known size stay a factor of their own, from which a renderer sees
    how far apart neighbours are."""
    last = len(sizes)
    near = 1
    while last and type(sizes[last - 1]) is int and near * sizes[last - 1] in (1, 2, 4):
        last -= 1
        near *= sizes[last]
    index = at if starts is None else [n.add(i, b.leaf(s)) for i, s in zip(at, starts, strict=True)]
    parts = []
    for dims in (slice(0, last), slice(last, None)):
        flat = n.i64(0)
        for i, stride in zip(index[dims], dense(tuple(sizes[dims])).strides, strict=True):
            flat = n.add(flat, n.mul(i, b.leaf(stride)))
        parts.append(b.affine(flat))
    return n.add(n.mul(parts[0], near), parts[1])


@rule(random.Philox)
def philox(b: Builder, o: Operation, k: int, at: Index) -> Element:
    shape, seed, offset = o.params
    position = n.add(position_of(b, at, shape), b.leaf(offset))
    return n.cast(n.call("philox", position, b.leaf(seed)), I64)


@rule(random.PhiloxPart)
def philox_part(b: Builder, o: Operation, k: int, at: Index) -> Element:
    _, starts, global_shape, seed, offset = o.params
    position = n.add(position_of(b, at, global_shape, starts), b.leaf(offset))
    return n.cast(n.call("philox", position, b.leaf(seed)), I64)
