"""The guide and the README say only what runs: their fenced blocks are executed in order, page by page."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import paddle
from umiak.ir.registry import REGISTRY
from umiak.ops.base import FUNCTIONS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
FENCE = re.compile(r"^```(python|pycon)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(autouse=True)
def ops_of_the_engine_alone():
    """A page may register an op, which no other test shall find."""
    before = dict(REGISTRY), dict(FUNCTIONS)
    yield
    paddle.disable_static()  # where a page in static mode has failed
    for table, kept in zip((REGISTRY, FUNCTIONS), before):
        table.clear()
        table.update(kept)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # pages may write files
    text = page.read_text()
    names: dict = {}
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    blocks = list(FENCE.finditer(text))
    assert blocks, f"{page.name} has no code"
    for block in blocks:
        kind, source = block.groups()
        line = text.count("\n", 0, block.start()) + 1
        if kind == "python":
            # Lines are those of the page, so that a traceback points there.
            exec(compile("\n" * line + source, str(page), "exec", dont_inherit=True), names)
            continue
        test = parser.get_doctest(source, names, page.name, str(page), line)
        report: list[str] = []
        runner.run(test, out=report.append, clear_globs=False)
        assert not report, "".join(report)
        names.update(test.globs)
