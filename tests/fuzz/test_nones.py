"""Random functions with values that are None on one way do as one graph and from a file what they do as they are
written. ``docs/design/fuzzing.md`` has the counts.
"""

from __future__ import annotations

import pytest

from tests.fuzz.data_sizes import WAYS, function_of
from tests.fuzz.nones import PLACES, check, written
from tests.fuzz.seeds import right

SAMPLE = (1, 5)
ALL, CHUNK = 300, 20

pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")


def test_a_sample():
    assert {*WAYS, "clone"} <= {*+right(check, SAMPLE)}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
def test_all(first):
    tally = right(check, range(first, first + CHUNK))
    assert tally["one graph"] == CHUNK and not tally["as written for some data"]


def test_functions_ask_in_many_ways():
    texts = [written(seed) for seed in range(200)]
    assert [written(seed) for seed in range(5)] == texts[:5]
    for part in (*PLACES, "m1", "picked(v", " is None", "is not None and", "while i", "for row in x", "else None"):
        assert sum(part in text for text in texts) > 20, part
    for text in texts:
        function_of(text, 0)


def test_a_planted_mistake_is_found(monkeypatch):
    """What may be None is the value in all branches that ask."""
    monkeypatch.setattr("paddle.jit.source.values.facts.known", lambda x: False)
    assert any(check(seed, None, ("one graph",)) for seed in range(4))
