"""Writes ``paddle/_absent_names.py``: the reference's public names that are not here, by module.

Those are the documented names (``tests/data/api_surface.txt``) and what programs reach beside them
(``tests/data/api_reachable.json``).

``python tools/absent_names.py`` after names were added; a test fails while the file is not what this makes.
"""

from __future__ import annotations

import importlib
import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import api_surface

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "paddle" / "_absent_names.py"
REACHABLE = ROOT / "tests" / "data" / "api_reachable.json"
HEAD = '''"""Public names of the reference that are not here yet, by module. Made by ``tools/absent_names.py``."""

NAMES = {
'''


def _module(name: str) -> Any:
    if name == "Tensor":
        return importlib.import_module("paddle").Tensor
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def absent() -> dict[str, list[str]]:
    """Names by module, for modules that are here; a module that is not is a name of its parent."""
    surface = {module: {n.name for n in names} for module, names in api_surface.read().items()}
    for module, names in json.loads(REACHABLE.read_text()).items():
        surface[module] = surface.get(module, set()).union(names)
    found: dict[str, set[str]] = {}
    for module, names in surface.items():
        owner = _module(module)
        if owner is not None:
            wanted = {n for n in names if not n.startswith("_")}
            found.setdefault(module, set()).update(n for n in wanted if not hasattr(owner, n))
        else:
            parent, _, leaf = module.rpartition(".")
            if (above := _module(parent)) is not None and not hasattr(above, leaf):
                found.setdefault(parent, set()).add(leaf)
    return {module: sorted(names) for module, names in sorted(found.items()) if names}


def entry(key: str, names: list[str], indent: int = 4) -> list[str]:
    """The lines of a table for a key and its names, which are indented by so much in the end."""
    rows = textwrap.wrap(" ".join(names), 104)
    if len(rows) == 1 and len(key) + len(rows[0]) <= 113 - indent:  # a line of 120, with what stands around
        return [f'    "{key}": "{rows[0]}",\n']
    return [f'    "{key}": (\n', *(f'        "{r} "\n' for r in rows), "    ),\n"]


def text() -> str:
    """The file."""
    return HEAD + "".join(line for module, names in absent().items() for line in entry(module, names)) + "}\n"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    TARGET.write_text(text())
