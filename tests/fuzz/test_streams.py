"""Random programs on several streams do what NumPy does. ``docs/design/fuzzing.md`` has the counts."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fuzz.seeds import right
from tests.fuzz.streams import KINDS, PLACES, check, entered, generate
from umiak import backends, ops
from umiak.backends import transfer
from umiak.core import array, eager
from umiak.core.context import no_grad_guard
from umiak.core.tensor import empty

SAMPLES = {"fake": 8, "cuda": 6, "opencl": 2}
ALL, CHUNK = 600, 50

pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")


@pytest.fixture
def device(request):
    """A kind of devices that is there, or can be."""
    way = request.param
    if way == "opencl":
        import extras

        extras.module("umiak_opencl", "pyopencl")
    if way == "cuda" and "gpu" in backends.device_types():
        pytest.skip("the recording driver stands in for CUDA's where there is no CUDA device; here is one")
    with entered(way):
        yield way


@pytest.mark.parametrize("device", list(SAMPLES), indirect=True)
def test_a_sample(device):
    tally = right(lambda seed, tally: check(seed, tally, (device,)), range(SAMPLES[device]))
    assert tally[device] == SAMPLES[device] and tally["read"] and tally["drop"]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
@pytest.mark.parametrize("device", list(PLACES), indirect=True)
def test_all(device, first):
    right(lambda seed, tally: check(seed, tally, (device,)), range(first, first + CHUNK))


def test_programs_are_drawn_from_all_kinds():
    programs = [generate(seed) for seed in range(100)]
    assert [generate(seed) for seed in range(5)] == programs[:5]
    assert Counter(x.kind for p in programs for x in p).keys() == KINDS.keys()
    assert any(x.thread for p in programs for x in p)


@pytest.mark.parametrize("device", ["fake"], indirect=True)
def test_a_planted_mistake_is_found(device):
    """The host reads what lies apart without a wait for who has written it."""
    before = transfer.moved

    def hasty(x, place):
        with no_grad_guard():
            x = eager.apply_plain(ops.Copy(), (x.detach(),))
            out = empty(tuple(x.shape), x.dtype, place)
            transfer.copy(out, x)
        return out

    array.install(hasty)
    try:
        assert any(check(seed, None, (device,)) for seed in range(20))
    finally:
        array.install(before)
