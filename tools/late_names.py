"""Writes ``paddle/_late_names.py``: the names that modules of ``paddle`` load when they are used.

These are what a module that asks ``paddle/_late.py`` for its attributes imports under ``TYPE_CHECKING``.

``python tools/late_names.py`` after such an import was changed; a test fails while the file is not what this makes.
"""

from __future__ import annotations

import ast
from pathlib import Path

import absent_names

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "paddle" / "_late_names.py"
HEAD = '''"""Names that are loaded when they are used, by module and by their home. Made by ``tools/late_names.py``."""

NAMES = {
'''


def late_imports(text: str) -> dict[str, list[str]]:
    """The names that a module imports under ``TYPE_CHECKING``, by home."""
    found: dict[str, list[str]] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for line in node.body:
                if not isinstance(line, ast.ImportFrom) or line.module is None or any(a.asname for a in line.names):
                    raise ValueError(f"requires `from module import name` under TYPE_CHECKING, got {ast.unparse(line)}")
                found.setdefault(line.module, []).extend(a.name for a in line.names)
    return found


def late() -> dict[str, dict[str, list[str]]]:
    """Those of every module that asks for its attributes."""
    found = {}
    for path in sorted((ROOT / "paddle").rglob("*.py")):
        text = path.read_text()
        if "_late.attributes_of(__name__)" in text:
            parts = path.relative_to(ROOT).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            if names := late_imports(text):
                found[module] = names
    return found


def text() -> str:
    """The file."""
    lines = []
    for module, homes in late().items():
        lines.append(f'    "{module}": {{\n')
        for home, names in sorted(homes.items()):
            lines += [f"    {row}" for row in absent_names.entry(home, sorted(names))]
        lines.append("    },\n")
    return HEAD + "".join(lines) + "}\n"


if __name__ == "__main__":
    TARGET.write_text(text())
