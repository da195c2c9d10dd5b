"""Workers send what a run of several shows of its tests (``tests/support/reports.py``)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import reports

QUIET: dict[str, Any] = {"durations": None, "xmlpath": None}


def config(worker: bool = True, **changed: Any) -> Any:
    made = SimpleNamespace(option=SimpleNamespace(**{**QUIET, **changed}))
    if worker:
        made.workerinput = {}
    return made


def report(when: str, outcome: str = "passed", printed: str = "") -> pytest.TestReport:
    sections = [(f"Captured stdout {when}", printed)] if printed else []
    return pytest.TestReport("test", ("file.py", 1, "test"), {}, outcome, None, when, sections)  # type: ignore[arg-type]


@pytest.mark.parametrize("when", ["setup", "teardown"])
def test_only_reports_that_say_nothing_are_left_out(when):
    assert reports.serializable(config(), report(when)) is not None
    for shown in (report(when, "failed"), report(when, "skipped"), report(when, printed="text"), report("call")):
        assert reports.serializable(config(), shown) is None


@pytest.mark.parametrize("settings", [{"worker": False}, {"durations": 5}, {"xmlpath": "results.xml"}])
def test_all_reports_are_sent_to_who_asks_for_them(settings):
    assert reports.serializable(config(**settings), report("setup")) is None
