"""`__init__` files of the public package are tables of contents: imports, ``__all__``, and nothing else."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INITS = sorted((ROOT / "paddle").rglob("__init__.py"))


def logic(text: str) -> list[str]:
    """The statements of a module that are more than a re-export."""
    found = []
    for node in ast.parse(text).body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        imports = isinstance(node, ast.Import | ast.ImportFrom)
        listing = isinstance(node, ast.Assign) and all(
            isinstance(t, ast.Name) and t.id.startswith("__") for t in node.targets
        )
        alias = isinstance(node, ast.Assign) and isinstance(node.value, ast.Name | ast.Attribute)
        if not (docstring or imports or listing or alias):
            found.append(f"line {node.lineno}: {ast.unparse(node).splitlines()[0]}")
    return found


@pytest.mark.parametrize("path", INITS, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_reexports(path):
    assert not logic(path.read_text())


def test_the_check_sees_logic():
    assert logic('"""Doc."""\nfrom a import b\n__all__ = ["b"]\nc = b\nd = a.b\n') == []
    assert logic("x = f()\n") == ["line 1: x = f()"]
    assert logic("def f(): pass\nfor i in y: pass\nf()\n") == ["line 1: def f():", "line 2: for i in y:", "line 3: f()"]
