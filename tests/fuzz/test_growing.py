"""Random functions in which lists and tensors grow do from a file, and differentiated in a static program, what they do
as they are written. ``docs/design/fuzzing.md`` has the counts.
"""

from __future__ import annotations

import pytest

from tests.fuzz.data_sizes import function_of
from tests.fuzz.growing import WAYS, check, written
from tests.fuzz.seeds import right

SAMPLE = (4, 8)
ALL, CHUNK = 400, 20

pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")


def test_a_sample():
    assert {*WAYS, "clone"} <= {*+right(check, SAMPLE)}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
def test_all(first):
    tally = right(check, range(first, first + CHUNK))
    assert tally["gradient"] == CHUNK


def test_functions_grow_in_many_ways():
    texts = [written(seed) for seed in range(200)]
    assert [written(seed) for seed in range(5)] == texts[:5]
    for part in ("append(", ".pop()", ".extend(", "+= [", "for item in", "paddle.concat([rows", "        for i"):
        assert sum(part in text for text in texts) > 5, part
    for text in texts:
        function_of(text, 0)


def test_a_planted_mistake_is_found(monkeypatch):
    """What a loop saves for its gradient is that of its first iterations."""
    monkeypatch.setattr("umiak.runtime.control._joined", _first_only)
    assert any(check(seed, None, ("gradient",)) for seed in range(8))


def _first_only(row, meta, env, packed=False):
    from umiak import ops as F
    from umiak.runtime.control import _sizes

    if packed and row:
        row = [row[0], *(F.mul(y, 0) for y in row[1:])]
    if not row:
        return F.full(0, shape=(0, *_sizes(meta.shape[1:], env)), dtype=meta.dtype)
    if packed:
        return F.concat([F.reshape(y, shape=(int(y.size),)) for y in row], axis=0)
    return F.stack(row, axis=0)
