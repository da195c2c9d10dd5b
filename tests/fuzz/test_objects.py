"""Random objects come back from files as they were saved. ``docs/design/fuzzing.md`` has the counts."""

from __future__ import annotations

import pytest

from tests.fuzz.objects.check import WAYS, check
from tests.fuzz.objects.draw import KEYS, OF_OURS, PLAIN, written
from tests.fuzz.seeds import right

SAMPLE = 30
ALL, CHUNK = 3_000, 300


def test_a_sample():
    tally = right(check, range(SAMPLE))
    assert all(tally[way] > SAMPLE * 0.7 for way in WAYS)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
def test_all(first):
    right(check, range(first, first + CHUNK))


def test_a_seed_is_an_object():
    texts = [written(seed) for seed in range(1_000)]
    assert [written(seed) for seed in range(5)] == texts[:5]
    for part in (
        *PLAIN,
        *OF_OURS,
        *KEYS,
        "Items(",
        "deque([",
        "Namespace(a=",
        "state_dict()",
        ".name = ",
        ".T",
        ".append(v",
    ):
        assert any(part in text for text in texts), part


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        ("paddle.framework.io._Unpack.tensor", lambda self, x, name=None: self.array(x).copy()),
        ("paddle.framework.io._array", lambda x: x.detach().numpy() * 0),
        ("paddle.framework.background_save._copied", lambda x, done: x),
    ],
)
def test_a_planted_mistake_is_found(monkeypatch, name, mistake):
    monkeypatch.setattr(name, mistake)
    assert any(check(seed) for seed in range(12))
