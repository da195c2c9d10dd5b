"""Pages that programs write, and links between pages."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DESIGN = ROOT / "docs" / "design"
PAGE = re.compile(r"docs/design/(\w+\.md)")
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#+) ", re.MULTILINE)


def test_softmax_page_shows_what_its_script_prints():
    walk = runpy.run_path(str(DESIGN / "softmax_walk.py"))
    text = (DESIGN / "softmax.md").read_text()
    printed = walk["run"]()
    shown = {name: text[walk["block"](name, text)] for name in printed}
    assert walk["stable"](shown) == walk["stable"]({name: f"{stage}\n" for name, stage in printed.items()}), (
        "run `python docs/design/softmax_walk.py --write`"
    )


def pages() -> list[Path]:
    return [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    targets = [t for t in LINK.findall(page.read_text()) if "://" not in t]
    missing = [t for t in targets if not (page.parent / t).exists()]
    assert not missing


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_headings_go_down_by_one_level(page):
    levels = [len(marks) for marks in HEADING.findall(CODE.sub("", page.read_text()))]
    assert levels[0] == 1
    assert all(below <= above + 1 for above, below in zip(levels, levels[1:], strict=False))


def test_code_names_pages_that_exist():
    sources = [
        p for tree in ("umiak", "paddle", "tools", "benchmarks") for p in (ROOT / tree).rglob("*.p*") if p.is_file()
    ]
    texts = {p: p.read_text(encoding="utf-8") for p in sources if p.suffix in {".py", ".pyi", ".pyx", ".pxd"}}
    missing = [
        (str(p), name) for p, text in texts.items() for name in PAGE.findall(text) if not (DESIGN / name).exists()
    ]
    assert not missing


def test_every_page_is_in_the_table_of_contents():
    contents = (ROOT / "docs" / "README.md").read_text()
    named = {(ROOT / "docs" / t).resolve() for t in LINK.findall(contents) if "://" not in t}
    assert set((ROOT / "docs").rglob("*.md")) - {ROOT / "docs" / "README.md"} <= named


def benchmark(*options: str) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "run", *options],
        cwd=ROOT / "benchmarks",
        env={**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": str(ROOT / "plugins" / "opencl")},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_tables_of_benchmarks_have_every_row():
    page = (ROOT / "benchmarks" / "README.md").read_text()
    named = re.findall(r"^\| `([\w-]+)` \|.* `python -m run [^`]*--row \1` \|", page, re.MULTILINE)
    names = benchmark("--list").split()
    in_part = set(benchmark("--list", "--section", "functions").split())  # its page shows the slow ones alone
    assert len(set(named)) == len(named)
    assert set(named) - in_part == set(names) - in_part
    assert set(named) <= set(names)


@pytest.mark.slow
def test_benchmarks_run():
    """Every row once, unmeasured."""
    names = benchmark("--list").split()
    assert sorted(benchmark("--check").splitlines()) == sorted(f"{name} runs" for name in names)
