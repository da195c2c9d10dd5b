"""Layout of scratch buffers: one after the other in the order of declaration, each aligned to 64 bytes, or to what
panels repeat after."""

from __future__ import annotations

from umiak.compiler.loop.node import Node, add, div, i64, mul
from umiak.compiler.loop.tiles import PANEL, PATTERN, panelled
from umiak.compiler.loop.tree import SHARED, Kernel

ALIGN = 64


def layout(kernel: Kernel, space: str) -> tuple[dict[str, Node], Node]:
    """The offset of each buffer of a space and the size of all of them, in bytes, as expressions over the dims."""
    at: Node = i64(0)
    offsets = {}
    panels = panelled(kernel) if space == SHARED else frozenset()
    for b in kernel.buffers:
        if b.space == space:
            assert b.size is not None, b.name
            if b.name in panels:
                at = _rounded(at, PANEL * PATTERN)
            offsets[b.name] = at
            at = add(at, _rounded(mul(b.size, i64(b.type.bytes)), ALIGN))
    return offsets, at


def _rounded(x: Node, to: int) -> Node:
    return mul(div(add(x, i64(to - 1)), i64(to)), i64(to))
