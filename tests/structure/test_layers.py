"""Imports point downward only."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.syntax import Syntax

ROOT = Path(__file__).parents[2]
# Lowest first. A folder imports itself and those before it; `umiak/__init__` is the assembler and may import any.
ORDER = (
    "util masks core memory ir ops fp8 autodiff compiler backends runtime observe comm spmd checkpoint paddle".split()
)
CIMPORT = re.compile(r"^[^\S\n]*(?:from\s+([\w.]+)\s+c?import\s+(\([^)]*\)|[^\n#]+)|c?import\s+([\w.]+))", re.MULTILINE)
# Imports by name: the functions, and what the name begins with (f"umiak.ops.{family}" has its layer in front).
BY_NAME = {"import_module", "__import__", "find_spec"}
CBY_NAME = re.compile(rf"\b(?:{'|'.join(BY_NAME)})\(\s*f?[\"']([\w.]+)|\bsys\.modules(?:\[|\.get\()\s*f?[\"']([\w.]+)")


def layer(module: str) -> str | None:
    """The layer of a dotted name; None outside the project and for ``umiak`` itself."""
    top, _, rest = module.partition(".")
    if top == "paddle":
        return "paddle"
    return rest.split(".")[0] or None if top == "umiak" else None


def is_dotted(node: ast.AST, name: str) -> bool:
    # Text is made of few nodes alone: to make it takes long.
    return getattr(node, "attr", None) == name.rpartition(".")[2] and ast.unparse(node) == name


def named(node: ast.AST) -> str | None:
    """The module that a call such as ``import_module("umiak.ops")``, or a look into ``sys.modules``, names."""
    if isinstance(node, ast.Call) and node.args:
        name = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
        if name not in BY_NAME and not (name == "get" and is_dotted(node.func, "sys.modules.get")):
            return None
        node = node.args[0]
    elif isinstance(node, ast.Subscript) and is_dotted(node.value, "sys.modules"):
        node = node.slice
    else:
        return None
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


@functools.cache
def imports(path: Path) -> list[tuple[int, str, bool]]:
    """Line and dotted name of every import in a file, also of those inside functions and of those by a string; and
    whether it is for type checkers alone."""
    return list(_imports(path))


def imported(path: Path) -> list[tuple[int, str]]:
    return [(line, module) for line, module, _ in imports(path)]


def _imports(path: Path) -> Iterator[tuple[int, str, bool]]:
    text = path.read_text()
    if path.suffix in (".pyx", ".pxd"):
        for match in CIMPORT.finditer(text):
            source, names, whole = match.groups()
            for name in re.findall(r"(?:^|,)\s*([\w*]+)", names.strip("()")) if source else ():
                yield text.count("\n", 0, match.start()) + 1, f"{source}.{name}", False
            if not source:
                yield text.count("\n", 0, match.start()) + 1, whole, False
        for match in CBY_NAME.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, match[1] or match[2], False
        return
    syntax = Syntax(text)
    for_checkers = {
        n
        for node in syntax.nodes
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for statement in node.body
        for n in syntax.walk(statement)
    }
    for node in syntax.nodes:
        by_name = named(node)
        if by_name is not None:
            yield node.lineno, by_name, node in for_checkers
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, node in for_checkers
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}", node in for_checkers


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


def modules() -> dict[str, list[Path]]:
    """The modules of both packages by name; ``.pyx`` and ``.pxd`` of a name are one module."""
    found: dict[str, list[Path]] = {}
    for path in sources():
        names = path.relative_to(ROOT).with_suffix("").parts
        found.setdefault(".".join(names[:-1] if names[-1] == "__init__" else names), []).append(path)
    return found


def graph(modules: dict[str, list[Path]]) -> dict[str, set[str]]:
    """Who imports whom, also within functions; what only type checkers read is no import."""
    found = {}
    for name, paths in modules.items():
        targets = set()
        for path in paths:
            for _, target, for_checkers in imports(path):
                if not for_checkers:
                    source = target.rpartition(".")[0]
                    targets.add(target if target in modules else source)
        found[name] = {m for m in targets if m in modules and m != name}
    return found


def circles(edges: dict[str, set[str]]) -> list[str]:
    """What is left when modules that import nothing more, and that nothing more imports, are taken away in turn."""
    edges = {name: set(targets) for name, targets in edges.items()}
    while True:
        imported_by = set().union(*edges.values())
        gone = {name for name, targets in edges.items() if not targets or name not in imported_by}
        if not gone:
            return sorted(edges)
        edges = {name: targets - gone for name, targets in edges.items() if name not in gone}


def test_there_is_no_import_circle():
    assert not circles(graph(modules()))


def test_the_check_sees_circles():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["b", "c"]
    assert circles({"a": {"b"}, "b": set()}) == []


def test_the_check_sees_imports(tmp_path):
    python, cython = tmp_path / "a.py", tmp_path / "b.pyx"
    python.write_text("def f():\n    from umiak.core import tensor\n    import umiak.ir.sym\n    import paddle\n")
    cython.write_text(
        "from umiak.core.tensor cimport Tensor\ncimport umiak.ops.x\nfrom umiak import ops\nimport numpy\n"
    )
    assert [layer(m) for _, m in imported(python)] == ["core", "ir", "paddle"]
    assert [layer(m) for _, m in imported(cython)] == ["core", "ops", "ops", None]


def test_the_check_sees_imports_by_name(tmp_path):
    python, cython = tmp_path / "a.py", tmp_path / "b.pyx"
    python.write_text(
        "importlib.import_module('umiak.ops')\nimport_module(f'umiak.ir.{name}')\n__import__('umiak.spmd.mesh')\n"
        "sys.modules['umiak.comm.mpi']\nsys.modules.get('paddle')\nimport_module(name)\nother('umiak.memory')\n"
    )
    cython.write_text("def f():\n    return __import__('umiak.runtime').x\n")
    assert sorted((line, layer(m)) for line, m in imported(python)) == [
        (1, "ops"), (2, "ir"), (3, "spmd"), (4, "comm"), (5, "paddle")
    ]  # fmt: skip
    assert [layer(m) for _, m in imported(cython)] == ["runtime"]
