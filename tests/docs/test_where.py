"""The page "Where things are" names what exists, and its paths are as short as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "design" / "where.md").read_text()
CODE = re.compile(r"`([^`]+)`")
# A row of a path: a file, then what happens there.
ROW = re.compile(r"^\| `([\w/]+\.(?:py|pyx|pxd))` \| (.*) \|$", re.MULTILINE)
PATH = re.compile(r"<!-- path: (\d+) -->\n((?:\|.*\n)+)")


def test_files_and_folders_exist():
    named = [
        name
        for name in CODE.findall(TEXT)
        if re.fullmatch(r"(paddle|umiak|tests|benchmarks|examples|tools)/[\w/.]*", name)
    ]
    assert len(named) > 50
    assert not [name for name in named if not (ROOT / name).exists()]


def test_every_folder_is_there():
    below = [p for top in ("umiak",) for p in (ROOT / top).iterdir() if (p / "__init__.py").exists()]
    assert below and not [p.name for p in below if f"`umiak/{p.name}/`" not in TEXT]


@pytest.mark.parametrize(("file", "text"), ROW.findall(TEXT))
def test_names_are_in_their_files(file, text):
    names = [n.rpartition(".")[2] for n in CODE.findall(text) if "/" not in n]
    source = (ROOT / file).read_text()
    missing = [n for n in names if not re.search(rf"\b{n}\b", source)]
    assert names or "rules" in text
    assert not missing


def test_paths_are_as_short_as_they_say():
    found = PATH.findall(TEXT)
    assert [int(most) for most, _ in found] == [5, 7, 7, 7]
    for most, table in found:
        assert 0 < len(ROW.findall(table)) <= int(most)
