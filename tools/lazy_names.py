"""Writes ``paddle/_lazy_names.py``: the names that modules of ``paddle`` load when they are used.

These are declared names (``paddle/_public.py``) of homes that neither ``import paddle`` nor the module itself loads,
and modules that are imported under ``TYPE_CHECKING``.

``python tools/lazy_names.py`` after a change; a test fails while the file is not what this makes.
"""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import absent_names

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "paddle" / "_lazy_names.py"
HEAD = '''"""Names that are loaded when they are used, by module and by their home. Made by ``tools/lazy_names.py``."""

NAMES = {
'''


def rows() -> list:
    """Every declaration: those of modules that are not loaded yet, too."""
    import paddle
    from paddle._public import ROWS

    for module in pkgutil.walk_packages(paddle.__path__, "paddle."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return ROWS


@cache
def asking() -> list[tuple[str, Path]]:
    """The modules that ask for their attributes, and their files."""
    found = []
    for path in sorted((ROOT / "paddle").rglob("*.py")):
        text = path.read_text()
        if "_lazy.attributes_of(__name__)" in text or "_lazy.contents(__name__" in text:
            parts = path.relative_to(ROOT).with_suffix("").parts
            found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


def with_parts(modules: set[str]) -> set[str]:
    """Modules, and those that the packages among them import in their tables of contents."""
    files = {name: path for name, path in asking() if name in modules and path.name == "__init__.py"}
    more = set().union(*(imports(path)[0] for path in files.values())) - modules
    return with_parts(modules | more) if more else modules


def imports(path: Path) -> tuple[set[str], dict[str, list[str]]]:
    """The modules that a file imports with it, and what it imports under ``TYPE_CHECKING``, by home."""
    now: set[str] = set()
    lazy: dict[str, list[str]] = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            now.update(f"{node.module}.{a.name}" for a in node.names)
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for line in node.body:
                if not isinstance(line, ast.ImportFrom) or line.module is None or any(a.asname for a in line.names):
                    raise ValueError(f"requires `from module import name` under TYPE_CHECKING, got {ast.unparse(line)}")
                lazy.setdefault(line.module, []).extend(a.name for a in line.names)
    return now, lazy


def loaded_at_once() -> set[str]:
    """The modules that ``import paddle`` loads."""
    code = "import json, sys, paddle; print(json.dumps([m for m in sys.modules if m.startswith('paddle')]))"
    return set(json.loads(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout))


def lazy() -> dict[str, dict[str, list[str]]]:
    """The names, by module and home."""
    loaded, declared = loaded_at_once(), rows()
    found = {}
    for module, path in asking():
        now, names = imports(path)
        now = with_parts(now)
        for row in declared:
            if module in row.exported_by and row.home not in loaded and row.home not in now and row.home != module:
                names.setdefault(row.home, []).append(row.name)
        if names:
            found[module] = names
    return found


def text() -> str:
    """The file."""
    lines = []
    for module, homes in lazy().items():
        lines.append(f'    "{module}": {{\n')
        for home, names in sorted(homes.items()):
            lines += [f"    {row}" for row in absent_names.entry(home, sorted(names), 8)]
        lines.append("    },\n")
    return HEAD + "".join(lines) + "}\n"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    TARGET.write_text(text())
