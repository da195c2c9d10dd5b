"""Captured functions do with exchanged arguments what they do eagerly. ``docs/design/fuzzing.md`` has the counts."""

from __future__ import annotations

import pytest

from tests.fuzz.exchanged.check import WAYS, check
from tests.fuzz.exchanged.draw import PLACES, draw
from tests.fuzz.exchanged.kinds import CHANGES, KINDS
from tests.fuzz.seeds import right

SAMPLE = range(8)
ALL, CHUNK = 1_200, 60

pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")


def test_a_sample():
    tally = right(check, SAMPLE)
    assert all(tally[f"{way}: calls"] > 20 for way in WAYS)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
def test_all(first):
    right(check, range(first, first + CHUNK))


def test_a_seed_is_a_case():
    cases = [draw(seed) for seed in range(600)]
    assert [draw(seed) for seed in range(5)] == cases[:5]
    texts = [case.text() for case in cases]
    made = [text for kind in KINDS.values() for text in kind.values]
    for part in (*made, *CHANGES, *(place.read for place in PLACES.values())):
        assert any(part in text for text in texts), part


@pytest.mark.parametrize("way", WAYS)
def test_a_planted_mistake_is_found(monkeypatch, way):
    """What is at a fixed place is not compared with what was there."""
    monkeypatch.setattr("paddle.jit.sot.guards.Guards.place", lambda *args: None)
    assert any(check(seed, None, (way,)) for seed in range(12))
