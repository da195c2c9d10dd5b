"""Pausing the collector of cycles: always as it was before, whoever pauses it and however a call ends."""

import gc

import pytest

from umiak import ops as F
from umiak.compiler import plan
from umiak.core import array
from umiak.util.garbage import Paused


@pytest.fixture(params=[True, False], ids=["on", "off"])
def collector(request):
    was = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if was else gc.disable)()


@Paused()
def deep(n, seen):
    seen.append(gc.isenabled())
    if n:
        deep(n - 1, seen)
    seen.append(gc.isenabled())
    if n == 2:
        raise KeyError(n)


def test_it_is_as_it_was_before(collector):
    with Paused():
        assert not gc.isenabled()
    assert gc.isenabled() is collector


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_calls_within_calls_and_errors(collector, depth):
    seen = []
    if depth < 2:
        deep(depth, seen)
    else:
        with pytest.raises(KeyError):
            deep(depth, seen)
    assert not any(seen)
    assert len(seen) >= depth + 1
    assert gc.isenabled() is collector


def test_plans_are_made_without_collections(collector, monkeypatch, rng):
    """A new class of operands, and one that is refused."""
    seen = []
    monkeypatch.setattr(plan, "place_of", lambda *a, of=plan.place_of: seen.append(gc.isenabled()) or of(*a))
    x = array.from_numpy(rng.standard_normal((3, 1, 2, 1, 5, 1)).astype("float32"))
    F.exp(F.mul(x, 2.5))
    assert not any(seen)
    assert gc.isenabled() is collector
    with pytest.raises(ValueError, match="matmul"):
        F.matmul(x, x)
    assert gc.isenabled() is collector
