"""Imports point downward only."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Lowest first. A folder imports itself and those before it; `umiak/__init__` is the assembler and may import any.
ORDER = "util core memory ir ops autodiff compiler backends runtime observe comm spmd checkpoint paddle".split()
CIMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+c?import\s+(\w+)|c?import\s+([\w.]+))", re.MULTILINE)


def layer(module: str) -> str | None:
    """The layer of a dotted name; None outside the project and for ``umiak`` itself."""
    top, _, rest = module.partition(".")
    if top == "paddle":
        return "paddle"
    return rest.split(".")[0] or None if top == "umiak" else None


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import in a file, also of those inside functions."""
    text = path.read_text()
    if path.suffix in (".pyx", ".pxd"):
        for match in CIMPORT.finditer(text):
            source, name, whole = match.groups()
            yield text.count("\n", 0, match.start()) + 1, f"{source}.{name}" if source else whole
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def sources() -> list[Path]:
    found = [
        p for package in ("umiak", "paddle") for p in (ROOT / package).rglob("*") if p.suffix in (".py", ".pyx", ".pxd")
    ]
    return sorted(p for p in found if p != ROOT / "umiak" / "__init__.py")


def test_every_folder_has_its_place_in_the_order():
    folders = {p.relative_to(ROOT).parts[1] for p in sources() if p.relative_to(ROOT).parts[0] == "umiak"}
    assert folders <= set(ORDER)


@pytest.mark.parametrize("name", ORDER)
def test_imports_point_downward(name):
    allowed = set(ORDER[: ORDER.index(name) + 1])
    upward = []
    for path in sources():
        relative = path.relative_to(ROOT)
        if layer(".".join(relative.parts)) != name:
            continue
        for line, module in imported(path):
            target = layer(module)
            # `from umiak import __version__` names no layer
            if target in ORDER and target not in allowed:
                upward.append(f"{relative}:{line}: {name} imports {module}")
    assert not upward, "\n".join(upward)


def test_the_check_sees_imports(tmp_path):
    python, cython = tmp_path / "a.py", tmp_path / "b.pyx"
    python.write_text("def f():\n    from umiak.core import tensor\n    import umiak.ir.sym\n    import paddle\n")
    cython.write_text(
        "from umiak.core.tensor cimport Tensor\ncimport umiak.ops.x\nfrom umiak import ops\nimport numpy\n"
    )
    assert [layer(m) for _, m in imported(python)] == ["core", "ir", "paddle"]
    assert [layer(m) for _, m in imported(cython)] == ["core", "ops", "ops", None]
