"""``dim.eq`` and its like answer True for a size that nobody knows, and leave a check: they serve requirements, never
choices among forms."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASKED = {"eq", "le", "lt", "one_of", "settle"}


def test_what_is_found():
    found = ["if dim.eq(n, 1):\n    y = x", "if not dim.eq(n, 1):\n    y = x", "y = a if dim.le(m, n) else b"]
    found += ["fits = dim.eq(n, 1) or dim.eq(n, m)", "if all(map(dim.eq, a, b)):\n    y = x"]
    allowed = ["if not dim.eq(n, 1):\n    raise error", "if a or not (b and dim.eq(n, 1)):\n    self.fail(x)"]
    allowed += ["fits = m is mask or dim.eq(n, 1)", "if n == 1:\n    y = x", "if dim.same(n, 1):\n    y = x"]
    assert all(choices(text) for text in found)
    assert not any(choices(text) for text in allowed)


@pytest.mark.parametrize("package", ["umiak", "paddle"])
def test_requirements_are_no_choices(package):
    found = []
    for path in sorted((ROOT / package).rglob("*.py")):
        text = path.read_text()
        if any(f"dim.{name}" in text for name in ASKED):
            found += [f"{path.relative_to(ROOT)}:{line}" for line in choices(text)]
    assert not found, f"{found}: branch on a == b, ask dim.same, or require one of several by dim.one_of"


def choices(text: str) -> list[int]:
    """The lines where an answer chooses a form: a test that it must pass, or must not without an error, and an ``or``
    whose other operands its True leaves out."""
    tree = ast.parse(text)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    asked = [
        node for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ASKED and ast.unparse(node.value) == "dim"
    ]  # fmt: skip
    return [node.lineno for node in asked if _chooses(node, parents)]


def _chooses(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    negated = False
    while not isinstance(node, ast.stmt):
        parent = parents[node]
        if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.Or) and not negated:
            if node is not parent.values[-1]:
                return True
        elif isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
            negated = not negated
        elif isinstance(parent, (ast.If, ast.IfExp, ast.While)) and node is parent.test:
            return not (negated and isinstance(parent, ast.If) and any(map(_refuses, parent.body)))
        node = parent
    return False


def _refuses(statement: ast.stmt) -> bool:
    """Does a statement end in an error?"""
    return any(
        isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".fail"))
        for node in ast.walk(statement)
    )
