"""Rules of random bits: Philox4x32-10 by the place of an element in the whole tensor."""

from __future__ import annotations

from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node, call
from umiak.compiler.loop.types import I64, U32, U64
from umiak.compiler.lower.builder import Builder, Element, Index, rule
from umiak.ir.meta import dense
from umiak.ir.program import Operation
from umiak.ops import random

# Constants of Philox4x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
M0, M1 = 0xD2511F53, 0xCD9E8D57
W0, W1 = 0x9E3779B9, 0xBB67AE85


def product(a: Node, factor: int) -> tuple[Node, Node]:
    """High and low halves of a 32-bit product."""
    whole = n.mul(n.cast(a, U64), n.const(factor, U64))
    return n.cast(call("shr", whole, n.const(32, U64)), U32), n.cast(whole, U32)


def words(place: Node, seed: Node) -> Node:
    """The word at a place (u64) of the stream ``seed`` (i64)."""
    bits = n.bitcast(seed, U64)
    half = n.const(32, U64)
    key = [n.cast(bits, U32), n.cast(call("shr", bits, half), U32)]
    block = call("shr", place, n.const(2, U64))
    c = [n.cast(block, U32), n.cast(call("shr", block, half), U32), n.const(0, U32), n.const(0, U32)]
    for _ in range(10):
        (h0, l0), (h1, l1) = product(c[0], M0), product(c[2], M1)
        c = [
            call("xor", call("xor", h1, c[1]), key[0]),
            l1,
            call("xor", call("xor", h0, c[3]), key[1]),
            l0,
        ]
        key = [n.add(key[0], W0), n.add(key[1], W1)]
    lane = n.cast(call("and", place, n.const(3, U64)), U32)
    low = n.select(n.eq(lane, 0), c[0], c[1])
    high = n.select(n.eq(lane, 2), c[2], c[3])
    return n.select(n.lt(lane, 2), low, high)


@rule(random.Philox)
def philox(b: Builder, o: Operation, k: int, at: Index) -> Element:
    shape, seed, offset = o.params
    flat = n.i64(0)
    for i, stride in zip(at, dense(tuple(shape)).strides, strict=True):
        flat = n.add(flat, n.mul(i, b.leaf(stride)))
    place = n.add(b.affine(flat), b.leaf(offset))
    return n.cast(words(n.bitcast(place, U64), b.leaf(seed)), I64)


@rule(random.PhiloxPart)
def philox_part(b: Builder, o: Operation, k: int, at: Index) -> Element:
    _, starts, whole, seed, offset = o.params
    flat = n.i64(0)
    for i, start, stride in zip(at, starts, dense(tuple(whole)).strides, strict=True):
        flat = n.add(flat, n.mul(n.add(i, b.leaf(start)), b.leaf(stride)))
    place = n.add(b.affine(flat), b.leaf(offset))
    return n.cast(words(n.bitcast(place, U64), b.leaf(seed)), I64)
