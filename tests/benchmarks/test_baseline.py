"""Ratios compared with those of an earlier day: what is worth a warning, and what a file of them may hold."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
baseline = runpy.run_path(str(BENCHMARKS / "baseline.py"))
measure = runpy.run_path(str(BENCHMARKS / "measure.py"))
read, store, report, fell, LEAST = (baseline[name] for name in ("read", "store", "report", "fell", "LEAST"))

HERE, THERE = "a processor", "another processor"
RATIOS = st.floats(1e-3, 1e3)


@given(RATIOS, st.floats(0.5, 1.5))
def test_what_falls_below_nine_tenths_is_worth_a_warning(stored, share):
    lines, warnings = report(HERE, {HERE: {"add": stored}}, ["add"], {"add": stored * share})
    assert len(lines) == 1
    assert bool(warnings) == (stored * share < LEAST * stored)
    assert all("add" in text for text in (*lines, *warnings))


@pytest.mark.parametrize(("share", "warned"), [(0.89, True), (0.91, False), (1.0, False), (3.0, False)])
def test_the_border(share, warned):
    assert fell("add", {"add": 8.0}, 8.0 * share) is warned


@given(st.dictionaries(st.sampled_from("abcdef"), RATIOS), st.dictionaries(st.sampled_from("abcdef"), RATIOS))
def test_every_row_is_spoken_of(stored, measured):
    names = sorted({*stored, *measured})
    lines, warnings = report(HERE, {HERE: stored}, names, measured)
    for name in names:
        assert sum(text.startswith(f"{name}: ") for text in lines) == (name in measured)
        missing = any(text.startswith(f"{name} did not run") for text in warnings)
        assert missing == (name not in measured)


def test_a_row_that_nobody_stored_cannot_fall():
    lines, warnings = report(HERE, {HERE: {"add": 2.0}}, ["matmul"], {"matmul": 0.01})
    assert "nothing" in lines[0]
    assert not warnings


@pytest.mark.parametrize("known", [{}, {THERE: {"add": 2.0}}], ids=["no file", "another processor"])
def test_ratios_of_another_processor_say_nothing(known):
    lines, warnings = report(HERE, known, ["add"], {})
    assert not lines
    assert len(warnings) == 1
    assert HERE in warnings[0]
    assert all(other in warnings[0] for other in known)


def test_stored_rows_join_what_is_there(tmp_path):
    path = tmp_path / "baseline.json"
    assert read(path) == {}
    store(path, HERE, {"add": 2.0, "matmul": 3.0})
    store(path, THERE, {"add": 4.0})
    store(path, HERE, {"add": 2.34567})
    assert read(path) == {HERE: {"add": 2.35, "matmul": 3.0}, THERE: {"add": 4.0}}


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "1", '{"a": 1}', '{"a": [1.0]}', '{"a": {"add": "2"}}', '{"a": {"add": 0}}',
        '{"a": {"add": -1.0}}', '{"a": {"add": NaN}}', '{"a": {"add": Infinity}}', '{"a": {"add": true}}',
        '{"a": {"add": null}}',
    ],
)  # fmt: skip
def test_a_malformed_file_is_named(tmp_path, text):
    path = tmp_path / "baseline.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"\[baseline\] requires {re.escape(str(path))} to be JSON"):
        read(path)
    with pytest.raises(ValueError, match="requires"):
        store(path, HERE, {"add": 2.0})
    assert path.read_text() == text


def test_the_stored_file_has_rows_that_there_are():
    page = (BENCHMARKS / "README.md").read_text()
    there = set(re.findall(r"`python -m run --row ([\w-]+)`", page))
    assert set(baseline["ROWS"]) <= there
    for rows in read(baseline["STORED"]).values():
        assert set(rows) <= there


CPUINFO = """processor	: 0
vendor_id	: X
cpu family	: {}
model		: {}
model name	: Fast
cpu MHz		: {}

processor	: 1
"""


def test_processors_of_one_name_differ_by_family_and_model():
    name = measure["processor"]
    assert name(CPUINFO.format(25, 1, 2600)) == name(CPUINFO.format(25, 1, 3100))
    assert len({name(CPUINFO.format(*kind, 2600)) for kind in ((25, 1), (25, 17), (26, 1))}) == 3
    assert name("") == name("\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("processor", "ratio", "code", "text"),
    [
        (None, 1e-6, 0, "cpu-add: "),
        (None, 1e6, 2, "warning: cpu-add: "),
        ("another", 1.0, 1, "warning: there are no stored ratios of "),
    ],
    ids=["above", "below", "another processor"],
)
def test_the_command_warns_and_writes_nothing(tmp_path, processor, ratio, code, text):
    path = tmp_path / "baseline.json"
    store(path, processor or measure["processor"](), {"cpu-add": ratio})
    before = path.read_text()
    run = subprocess.run(
        [sys.executable, "-m", "run", "--against", str(path), "--row", "cpu-add", "--rounds", "3"],
        cwd=BENCHMARKS,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == code, run.stderr
    assert any(line.startswith(text) for line in run.stdout.splitlines())
    assert json.loads(path.read_text()) == json.loads(before)
