"""The order in which expressions are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from umiak.compiler.loop.node import Node


def walk(roots: Iterable[Node]) -> Iterator[Node]:
    """Every node below the roots once, operands first."""
    seen: set[Node] = set()
    stack: list[Node | None] = list(reversed([*roots]))
    while stack:
        x = stack.pop()
        if x is None:  # the operands of the next one have been read
            x = stack.pop()
            assert x is not None
        elif x in seen:
            continue
        elif x.args:
            stack += (x, None)
            stack.extend([a for a in x.args[::-1] if a not in seen])
            continue
        if x not in seen:
            seen.add(x)
            yield x
