"""Static programs give what the reference gave for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import static_programs

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "static_programs.json").read_text())

# Products and sums in low precision are rounded elsewhere.
LOOSE = {name: 2e-2 for name in RECORDED if name.startswith("mixed precision")}


def test_every_program_is_recorded():
    assert list(RECORDED) == list(static_programs.CASES)
    assert len(RECORDED) >= 60


def compare(ours, theirs, tolerance, at):
    assert type(ours) is type(theirs) or not {type(ours), type(theirs)} & {list, str, bool, type(None)}, at
    if isinstance(theirs, list):
        assert len(ours) == len(theirs), at
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            compare(a, b, tolerance, f"{at}[{i}]")
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=tolerance, abs=tolerance / 10), at
    else:
        assert ours == theirs, at


@pytest.mark.parametrize("name", static_programs.CASES)
def test_results_are_those_of_the_reference(name, programs):
    compare(static_programs.result(name), RECORDED[name], LOOSE.get(name, 5e-5), name)
