"""The order in which expressions are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from umiak.compiler.loop.node import Node


def walk(roots: Iterable[Node]) -> Iterator[Node]:
    """Every node below the roots once, operands first."""
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(r, False) for r in roots][::-1]
    while stack:
        x, ready = stack.pop()
        if x in seen:
            continue
        if ready:
            seen.add(x)
            yield x
        else:
            stack.append((x, True))
            stack.extend((a, False) for a in reversed(x.args) if a not in seen)
