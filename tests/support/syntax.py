"""The syntax of a Python file as a list of nodes, of which every subtree is a slice.

``ast.walk`` looks at all fields of a node each time, so checks that go through functions of functions walk a file again
and again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from tests.support.garbage import without_collections

# The rest says how a name is used, or which operator stands there.
_WALKED = (
    ast.stmt, ast.expr, ast.comprehension, ast.excepthandler, ast.arguments, ast.arg, ast.keyword, ast.alias,
    ast.withitem, ast.match_case, ast.pattern,
)  # fmt: skip


def _subclasses(kind: type[ast.AST]) -> Iterator[type[ast.AST]]:
    return chain([kind], *map(_subclasses, kind.__subclasses__()))


# By the type itself, which is looked up faster than its bases.
_TYPES = frozenset(chain(*map(_subclasses, _WALKED)))


class Syntax:
    """``nodes`` in the order of the text, without operators and contexts of names."""

    def __init__(self, text: str) -> None:
        self.nodes: list[ast.AST] = []
        self._spans: dict[ast.AST, tuple[int, int]] = {}
        with without_collections():  # nodes are many, and all of them stay: collections took three quarters of the time
            self.tree = ast.parse(text)
            self._add(self.tree)

    @classmethod
    def of(cls, path: Path) -> Syntax:
        return cls(path.read_text(encoding="utf-8"))

    def _add(self, node: ast.AST) -> None:
        begin = len(self.nodes)
        self.nodes.append(node)
        for value in node.__dict__.values():
            if type(value) in _TYPES:
                self._add(value)
            elif type(value) is list:
                for part in value:
                    if type(part) in _TYPES:
                        self._add(part)
        self._spans[node] = begin, len(self.nodes)

    def walk(self, node: ast.AST) -> list[ast.AST]:
        """A node and all below it."""
        begin, end = self._spans[node]
        return self.nodes[begin:end]
