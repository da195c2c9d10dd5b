"""Random calls of detection, sounds, texts and images in every mode. ``docs/design/fuzzing.md`` has the counts."""

from __future__ import annotations

from collections import Counter

import pytest

import paddle
from paddle.jit.sot.psdb import in_sot
from paddle.vision import ops
from tests.fuzz.calls.check import FAMILIES, MODES, calls_of, check, family_of
from tests.fuzz.calls.modes import Failure

SAMPLE, EACH = 6, 3
ALL, CHUNK = 2_000, 50


pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")


def holds(seeds: range) -> None:
    tally: Counter[str] = Counter()
    for seed in seeds:
        check(seed, tally)
    assert tally["calls"] == tally["eager"] == tally["strided"] == len(seeds)
    assert tally["captured"] + tally["captured: refused"] == len(seeds)


@pytest.mark.parametrize("first", range(0, SAMPLE, EACH))
def test_a_sample(first):
    holds(range(first, first + EACH))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SAMPLE, SAMPLE + ALL, CHUNK))
def test_all(first):
    holds(range(first, first + CHUNK))


def test_every_family_is_drawn():
    assert {family_of(seed) for seed in range(200)} == {*FAMILIES}


def test_a_seed_is_a_call():
    texts = [calls_of(seed, 1)[0].text for seed in range(40)]
    assert texts == [calls_of(seed, 1)[0].text for seed in range(40)]
    assert len({*texts}) > 20


def wrong(mode: str, x: paddle.Tensor) -> paddle.Tensor:
    """What the identity is not in one mode alone."""
    factor = {
        "eager": 1.001,
        "float32": 1.01 if x.dtype == paddle.float32 else 1.0,
        "bfloat16": 1.5 if x.dtype == paddle.bfloat16 else 1.0,
        "strided": 1.0 if x.is_contiguous() else 1.1,
        "captured": 1.1 if in_sot() else 1.0,
    }
    if mode in factor:
        return x * factor[mode]
    eager = not in_sot()
    return x + x.detach() - x if eager == (mode == "gradient") else x


@pytest.mark.parametrize("mode", MODES)
def test_a_defect_is_found(monkeypatch, mode):
    drawn = ((seed, calls_of(seed, 1)[0]) for seed in range(400))
    seed = next(s for s, call in drawn if call.text.startswith("roi_align") and len(call.arrays[1]) > 1)
    check(seed, Counter(), mode)
    pool = ops.roi_align
    monkeypatch.setattr(ops, "roi_align", lambda x, *rest: pool(wrong(mode, x), *rest))
    with pytest.raises(Failure, match=f"roi_align .*{mode}"):
        check(seed, Counter(), mode)
