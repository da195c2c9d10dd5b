"""Random attention of sequences that several ranks share. ``docs/design/fuzzing.md`` has the counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fuzz.sequences import FAMILIES, FORMS, WAYS, check, draw
from umiak.spmd.context_parallel.layout import Layout

SAMPLE = 6
ALL, CHUNK = 1_006, 50

pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")


@pytest.mark.parametrize("seed", range(SAMPLE))
def test_a_sample(seed):
    assert check(draw(seed)) is None


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SAMPLE, ALL, CHUNK))
def test_all(first):
    assert not [text for text in map(check, map(draw, range(first, first + CHUNK))) if text]


def test_a_seed_is_a_case_of_every_kind():
    cases = [draw(seed) for seed in range(400)]
    assert [draw(seed) for seed in range(5)] == cases[:5]
    assert {case.family for case in cases} == set(FAMILIES) and {case.form for case in cases} == set(FORMS)
    assert {case.ranks for case in cases} == {1, 2, 3, 4}
    assert {way for case in cases for way in case.ways} == set(WAYS)


@pytest.mark.parametrize("form", FORMS)
def test_a_planted_defect_is_found(form, monkeypatch):
    """One key of each block is hidden from all."""
    local_mask = Layout.local_mask

    def wrong(self, rank, block):
        mask = local_mask(self, rank, block).copy()
        mask[:, :, 0, :2] = 0, 2**30
        return mask

    plain = replace(
        draw(0), ranks=2, tokens=16, chunks=2, family="causal", form=form, dtype="float64", ways=(WAYS[0],) * 2
    )
    assert check(plain) is None
    monkeypatch.setattr(Layout, "local_mask", wrong)
    text = check(replace(plain, tokens=24))  # layouts of plans are kept
    assert text is not None and "off" in text
