"""Captured functions whose numbers differ between calls. ``docs/design/fuzzing.md`` has the counts."""

from __future__ import annotations

import pytest

from tests.fuzz.varied_numbers import STATEMENTS, check, draw

SAMPLE = 3


@pytest.mark.parametrize("seed", range(SAMPLE))
def test_a_sample(seed):
    assert check(draw(seed)) is None


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SAMPLE, 303, 50))
def test_all(first):
    assert not [text for text in map(check, map(draw, range(first, first + 50))) if text]


def test_cases_have_every_statement():
    texts = "\n".join(draw(seed).text for seed in range(300))
    parts = [s.partition("{x}")[2].partition("{x}")[0] or s for s in STATEMENTS]
    assert not [part for part in parts if part not in texts]


def test_a_planted_mistake_is_seen(monkeypatch):
    """A captured function that keeps the first number it was called with."""
    case = draw(0)
    first = []

    def keeping(f, **settings):
        return lambda x, k: f(x, (first.append(k), first[0])[1])

    monkeypatch.setattr("paddle.jit.to_static", keeping)
    assert check(case) is not None
