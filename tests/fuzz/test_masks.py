"""Random attention under masks by columns does the same in every way. ``docs/design/fuzzing.md`` has the counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fuzz import masks
from tests.fuzz.masks import FAMILIES, SOURCES, TOLERANCE, WAYS, check, draw

ALL, CHUNK = 400, 20

pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")


@pytest.mark.parametrize(("seed", "ways"), [(1, WAYS[:4]), (5, WAYS[4:])])
def test_a_sample(seed, ways):
    assert check(draw(seed), ways) is None


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
def test_all(first):
    assert not [text for text in map(check, map(draw, range(first, first + CHUNK))) if text]


def test_a_seed_is_a_case_of_every_kind():
    cases = [draw(seed) for seed in range(400)]
    assert [draw(seed) for seed in range(5)] == cases[:5]
    assert {kind for case in cases for kind in case.kinds} == set(FAMILIES)
    assert {case.precision for case in cases} == set(TOLERANCE) and {case.source for case in cases} == set(SOURCES)
    assert {case.heads // case.key_heads for case in cases} == {1, 2, 4}


@pytest.mark.parametrize("way", ["eager", "saved"])
def test_a_planted_mistake_is_found(monkeypatch, way):
    """The first key is hidden from the last query."""
    case = replace(draw(1), lengths=(24,))
    visible = masks.visible

    def without(columns, causal, n):
        seen = visible(columns, causal, n).copy()
        seen[..., -1, 0] ^= True
        return seen

    assert check(case, (way,)) is None
    monkeypatch.setattr(masks, "visible", without)
    assert f"{way}, 24 tokens: out" in check(case, (way,))
