"""Random words: Philox4x32-10.

Constants from J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from umiak.compiler.loop import node as n
from umiak.compiler.loop.functions.building_blocks import Builder
from umiak.compiler.loop.node import Node, call
from umiak.compiler.loop.types import U32, U64

MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
WEYL = 0x9E3779B9, 0xBB67AE85
ROUNDS = 10


def product(a: Node, factor: int) -> tuple[Node, Node]:
    """High and low halves of a 32-bit product."""
    wide = n.mul(n.cast(a, U64), n.const(factor, U64))
    return n.cast(call("shr", wide, n.const(32, U64)), U32), n.cast(wide, U32)


def halves(x: Node) -> tuple[Node, Node]:
    """Low and high words of 64 bits."""
    bits = n.bitcast(x, U64)
    return n.cast(bits, U32), n.cast(call("shr", bits, n.const(32, U64)), U32)


def keys(key: Node) -> list[tuple[Node, Node]]:
    """The two words of the key in each round."""
    a, b = halves(key)
    return [(n.add(a, WEYL[0] * k & 0xFFFFFFFF), n.add(b, WEYL[1] * k & 0xFFFFFFFF)) for k in range(ROUNDS)]


def word(place: Node, key: Node) -> Node:
    """Word ``place`` (i64) of the stream of a key (i64): word ``place % 4`` of block ``place // 4``."""
    place = n.bitcast(place, U64)
    low, high = halves(call("shr", place, n.const(2, U64)))
    c = [low, high, n.const(0, U32), n.const(0, U32)]
    for a, b in keys(key):
        (h0, l0), (h1, l1) = product(c[0], MULTIPLIERS[0]), product(c[2], MULTIPLIERS[1])
        c = [call("xor", call("xor", h1, c[1]), a), l1, call("xor", call("xor", h0, c[3]), b), l0]
    which = n.cast(call("and", place, n.const(3, U64)), U32)
    first = n.select(n.eq(which, 0), c[0], c[1])
    second = n.select(n.eq(which, 2), c[2], c[3])
    return n.select(n.lt(which, 2), first, second)


BUILDERS: dict[str, Builder] = {"philox": word}
