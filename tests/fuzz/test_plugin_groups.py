"""Random operations of groups over a plug-in's collectives do what NumPy does (``docs/design/fuzzing.md``)."""

from __future__ import annotations

from collections import Counter

import plugin
import pytest

from tests.fuzz.plugin_groups import KINDS, WAYS, check, entered, generate
from tests.fuzz.seeds import right
from umiak.backends.plugin import collectives
from umiak.comm.staging import StagedArray

SAMPLE = 3
ALL, CHUNK = 300, 50

pytestmark = [plugin.needs_compiler, pytest.mark.usefixtures("slow_kept_nowhere")]


@pytest.fixture(scope="module", autouse=True)
def devices():
    with entered():
        yield


@pytest.mark.parametrize("way", WAYS)
def test_a_sample(way):
    tally = right(lambda seed, tally: check(seed, tally, (way,)), range(SAMPLE))
    assert tally[way] == SAMPLE and tally["all_reduce"]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
@pytest.mark.parametrize("way", WAYS)
def test_all(way, first):
    right(lambda seed, tally: check(seed, tally, (way,)), range(first, first + CHUNK))


def test_programs_are_drawn_from_all_kinds():
    programs = [generate(seed) for seed in range(60)]
    assert [generate(seed) for seed in range(5)] == programs[:5]
    assert Counter(x.kind for p in programs for x in p).keys() == KINDS.keys()
    assert any(x.stream for p in programs for x in p) and any(x.group == 3 for p in programs for x in p)


def swapped(self, id, out, x, op, reduce=collectives.XcclCommunicator._all_reduce):
    return reduce(self, id, out, x, "min" if op == "max" else op)


@pytest.mark.parametrize(
    ("owner", "name", "defect"),
    [
        (collectives.XcclCommunicator, "_all_reduce", swapped),
        (StagedArray, "write_back", lambda self: None),
    ],
)
def test_a_planted_mistake_is_found(owner, name, defect, monkeypatch):
    monkeypatch.setattr(owner, name, defect)
    assert any(check(seed, None, ("whole",)) for seed in range(20))
