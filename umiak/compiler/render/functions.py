"""Expansion of operations before rendering."""

from __future__ import annotations

from umiak.compiler.loop.node import OPS, Node, walk

_FUNCTIONS = frozenset(list(OPS)[list(OPS).index("exp") :])


def expanded(roots: list[Node], native: frozenset[str]) -> list[Node]:
    """The roots with functions and casts of storage types made of basic operations."""
    for x in walk(roots):
        if x.op in _FUNCTIONS or (x.op == "cast" and (x.type.is_storage or x.args[0].type.is_storage)):
            from umiak.compiler.loop.functions import expand

            return expand(roots, native=native)
    return roots
