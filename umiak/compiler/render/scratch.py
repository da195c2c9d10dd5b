"""Layout of scratch buffers: one after the other in the order of declaration, each aligned to 64 bytes."""

from __future__ import annotations

from umiak.compiler.loop.node import Node, add, div, i64, mul
from umiak.compiler.loop.tree import Kernel

ALIGN = 64


def layout(kernel: Kernel, space: str) -> tuple[dict[str, Node], Node]:
    """The offset of each buffer of a space and the size of all of them, in bytes, as expressions over the dims."""
    at: Node = i64(0)
    offsets = {}
    for b in kernel.buffers:
        if b.space == space:
            assert b.size is not None, b.name
            offsets[b.name] = at
            bytes_ = mul(b.size, i64(b.type.bytes))
            at = add(at, mul(div(add(bytes_, i64(ALIGN - 1)), i64(ALIGN)), i64(ALIGN)))
    return offsets, at
