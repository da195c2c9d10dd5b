"""Random data-parallel training does captured what it does as written. ``docs/design/fuzzing.md`` has the counts."""

from __future__ import annotations

import collections
from dataclasses import replace

import pytest

from tests.fuzz import steps
from tests.fuzz.steps import CLIPS, EIGHT, OPTIMIZERS, PARTS, WAYS, check, draw
from umiak.comm.captured_buckets import CapturedReduction

SAMPLE = 3
ALL, CHUNK = 600, 20


pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")


@pytest.mark.parametrize("seed", range(SAMPLE))
def test_a_sample(seed):
    assert check(draw(seed)) is None


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SAMPLE, ALL, CHUNK))
def test_all(first):
    assert not [text for text in map(check, map(draw, range(first, first + CHUNK))) if text]


def test_a_seed_is_a_case_of_every_kind():
    cases = [draw(seed) for seed in range(500)]
    assert [draw(seed) for seed in range(5)] == cases[:5]
    assert {part for case in cases for part in case.parts} == {*PARTS, EIGHT}
    assert {case.optimizer for case in cases} == set(OPTIMIZERS) and {case.clip for case in cases} == set(CLIPS)
    counts = collections.Counter(case.ways for case in cases)
    assert counts["captured", "captured"] > 100 and len(counts) == len(WAYS) ** 2


def test_gradients_of_tables_stay_rows():
    """Which are dropped where others are cleared to zeros, and lazy optimizers leave other rows alone."""
    tables = {"parts": ("rows",), "clip": "none", "clear": "zeros", "sums": (False,) * steps.STEPS, "mixed": False}
    assert check(replace(draw(0), optimizer="lazy", ways=("captured", "as written"), **tables)) is None


def test_a_planted_defect_is_found(monkeypatch):
    """One rank's means of a bucket are wrong."""
    finish = CapturedReduction.finish

    def wrong(self, i):
        flat = self.under_way[i].flat
        finish(self, i)
        flat[0] += 1.0

    plain = replace(draw(0), parts=("linear",), ways=("captured",) * steps.RANKS, clip="none")
    assert check(plain) is None
    monkeypatch.setattr(CapturedReduction, "finish", wrong)
    text = check(plain)
    assert text is not None and "as written" in text
