"""`__init__` files of the public package are tables of contents: imports, ``__all__``, and nothing else.

What is imported under ``TYPE_CHECKING`` is loaded when it is used; the table that says so is made of these imports.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INITS = sorted((ROOT / "paddle").rglob("__init__.py"))


def names_of(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple) else [target]


def logic(text: str) -> list[str]:
    """The statements of a module that are more than a re-export."""
    return logic_of(ast.parse(text).body)


def logic_of(body: list[ast.stmt]) -> list[str]:
    found = []
    for node in body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        imports = isinstance(node, ast.Import | ast.ImportFrom)
        late = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not logic_of(node.body)
        listing = isinstance(node, ast.Assign) and all(
            isinstance(t, ast.Name) and t.id.startswith("__") for target in node.targets for t in names_of(target)
        )
        alias = isinstance(node, ast.Assign) and isinstance(node.value, ast.Name | ast.Attribute)
        if not (docstring or imports or late or listing or alias):
            found.append(f"line {node.lineno}: {ast.unparse(node).splitlines()[0]}")
    return found


@pytest.mark.parametrize("path", INITS, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_reexports(path):
    assert not logic(path.read_text())


def test_the_check_sees_logic():
    assert logic('"""Doc."""\nfrom a import b\n__all__ = ["b"]\nc = b\nd = a.b\n') == []
    assert logic("if TYPE_CHECKING:\n    from a import b\n__getattr__, __dir__ = f(__name__)\n") == []
    assert logic("if TYPE_CHECKING:\n    b = f()\n") == ["line 1: if TYPE_CHECKING:"]
    assert logic("if DEBUG:\n    import b\nx, __all__ = f()\n") == ["line 1: if DEBUG:", "line 3: x, __all__ = f()"]
    assert logic("x = f()\n") == ["line 1: x = f()"]
    assert logic("def f(): pass\nfor i in y: pass\nf()\n") == ["line 1: def f():", "line 2: for i in y:", "line 3: f()"]
