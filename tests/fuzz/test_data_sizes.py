"""Random functions in which data decide sizes do from a file what they do as they are written.
``docs/design/fuzzing.md`` has the counts.
"""

from __future__ import annotations

import re

import pytest

from tests.fuzz.data_sizes import WAYS, check, function_of, reduced, written
from tests.fuzz.seeds import right

SAMPLE = range(3)
ALL, CHUNK = 600, 20

pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")


def test_a_sample():
    assert {*WAYS, "clone"} <= {*+right(check, SAMPLE)}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
def test_all(first):
    tally = right(check, range(first, first + CHUNK))
    assert tally["loaded"] > CHUNK // 4


def test_functions_have_branches_of_other_sizes():
    texts = [written(seed) for seed in range(200)]
    assert [written(seed) for seed in range(5)] == texts[:5]
    assert sum("else:" in t for t in texts) > 50 and sum("for i in" in t for t in texts) > 20
    assert max(len(re.findall(r"\bif\b", t)) for t in texts) > 3
    for text in texts:
        function_of(text, 0)


def test_a_planted_mistake_is_found_and_reduced(monkeypatch):
    """Sizes of a branch are taken to be those of its first way."""
    monkeypatch.setattr("umiak.runtime.regions._sizes_of_both", lambda tracer, a, b: None)
    seed, wrong = next((seed, w) for seed in range(20) if (w := check(seed, None, ("loaded",))))
    fewer = reduced(seed, wrong, ("loaded",))
    assert len(fewer.splitlines()) < len(wrong.splitlines())
    monkeypatch.undo()
    assert check(seed, None, ("loaded",)) is None
