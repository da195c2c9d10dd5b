"""Random functions that branch and loop on open sizes do in every form what they do as they are written.
``docs/design/fuzzing.md`` has the counts.
"""

from __future__ import annotations

import re

import pytest

from tests.fuzz.data_sizes import function_of
from tests.fuzz.seeds import right
from tests.fuzz.size_conditions import WAYS, check, reduced, written

SAMPLE = range(3)
ALL, CHUNK = 300, 20

pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")


def test_a_sample():
    assert {*WAYS, "clone"} <= {*+right(check, SAMPLE)}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
def test_all(first):
    tally = right(check, range(first, first + CHUNK))
    assert tally["loaded"] > CHUNK // 2


def test_functions_have_branches_and_loops_on_sizes():
    texts = [written(seed) for seed in range(200)]
    assert [written(seed) for seed in range(5)] == texts[:5]
    assert sum("else:" in t for t in texts) > 50 and sum("while" in t for t in texts) > 20
    assert sum("for i in range(" in t for t in texts) > 20 and max(len(re.findall(r"\bif\b", t)) for t in texts) > 5
    for text in texts:
        function_of(text, 0)


def test_a_planted_mistake_is_found_and_reduced(monkeypatch):
    """Numbers that a branch leaves are taken to be those of its first way."""
    monkeypatch.setattr("paddle.jit.source.join.where", lambda condition, x, y: x)
    seed, wrong = next((seed, w) for seed in range(40) if (w := check(seed, None, ("loaded",))))
    fewer = reduced(seed, wrong, ("loaded",))
    assert len(fewer.splitlines()) <= len(wrong.splitlines())
    monkeypatch.undo()
    assert check(seed, None, ("loaded",)) is None
