"""Saved models are trained on and predicted in threads as the layers are. ``docs/design/fuzzing.md`` has the counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fuzz import served
from tests.fuzz.served import HOW, LAYERS, check, draw, misplaced

ALL, CHUNK = 300, 10

pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")


def test_a_sample():
    case = replace(draw(0), parts=("linear",), how="loaded, captured", optimizer="SGD", workers=0)
    assert check(case) is None


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
def test_all(first):
    assert not [text for text in map(check, map(draw, range(first, first + CHUNK))) if text]


def test_a_seed_is_a_case_of_every_kind():
    cases = [draw(seed) for seed in range(400)]
    assert [draw(seed) for seed in range(5)] == cases[:5]
    assert {part for case in cases for part in case.parts} == set(LAYERS) and {case.how for case in cases} == set(HOW)


def test_batches_that_are_not_those_of_an_epoch_are_found():
    case = replace(draw(0), rows=5, batch=2, drops_last=False, shuffles=False)
    assert misplaced(case, [[0, 1], [2, 3], [4]]) is None
    for order in ([[0, 1], [2, 3]], [[0, 1], [2, 3], [3]], [[1, 0], [2, 3], [4]], [[0, 1, 2], [3, 4]]):
        assert misplaced(case, order) is not None
    assert misplaced(replace(case, shuffles=True, drops_last=True), [[4, 1], [0, 3]]) is None


def test_a_planted_mistake_is_found(monkeypatch):
    """One of the clones answers with what another was asked."""
    case = replace(draw(0), parts=("linear",), how="state", optimizer="SGD", workers=0, epochs=(0, 1))
    numbers, calls = served.numbers, []

    def exchanged(x):
        calls.append(x)
        return numbers(x) * (1.5 if len(calls) == 7 else 1.0)

    monkeypatch.setattr(served, "numbers", exchanged)
    assert "gives another result for input" in check(case)
