"""Devices outside of the tree import what the page on writing one allows, and nothing else of the engine."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.structure.test_layers import imports

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guide" / "writing-a-device.md"
PLUGINS = {
    **{path.name: path for path in (ROOT / "plugins").glob("*/umiak_*") if path.is_dir()},
    "fake": ROOT / "tests" / "support" / "fake_device",
}


@cache
def allowed() -> frozenset[str]:
    """The modules in the first column of the page's table."""
    text = PAGE.read_text(encoding="utf-8")
    section = text.partition("## What plug-ins may import\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return frozenset(name for row in rows for name in re.findall(r"`([\w.]+)`", row))


def module_of(name: str) -> str:
    """The module of an imported name: the longest beginning that is one."""
    while name and not _is_module(name):
        name = name.rpartition(".")[0]
    return name


@cache
def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # what stands before the last dot is a module, and no package
        return False


def foreign(folder: Path) -> list[str]:
    """Imports of modules of the engine that are not allowed."""
    return [
        f"{path.relative_to(folder)}:{line}: {module_of(name)}"
        for path in sorted(folder.rglob("*.py"))
        for line, name, _ in imports(path)
        if name.partition(".")[0] == "umiak" and module_of(name) not in allowed()
    ]


@pytest.mark.parametrize("plugin", PLUGINS)
def test_plug_ins_import_what_is_allowed(plugin):
    assert foreign(PLUGINS[plugin]) == []


@pytest.fixture
def page(tmp_path):
    """A folder with the code of the page."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) > 3
    (tmp_path / "page.py").write_text("\n".join(blocks))
    return tmp_path


def test_so_does_the_device_of_the_page(page):
    assert foreign(page) == []


def test_modules_that_are_allowed_are_there_and_used(page):
    assert all(map(_is_module, allowed()))
    used = {
        module_of(name)
        for folder in (*PLUGINS.values(), page)
        for path in folder.rglob("*.py")
        for _, name, _ in imports(path)
        if name.partition(".")[0] == "umiak"
    }
    assert allowed() - used == set()


def test_the_check_sees_others(tmp_path):
    (tmp_path / "a.py").write_text(
        "from umiak.backends.base import Backend\n"
        "from umiak.compiler import plan\n"
        "def f():\n"
        "    import umiak.core.tape\n"
    )
    assert foreign(tmp_path) == ["a.py:2: umiak.compiler.plan", "a.py:4: umiak.core.tape"]
