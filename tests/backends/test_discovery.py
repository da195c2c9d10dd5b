import subprocess
import sys
from importlib import metadata
from types import SimpleNamespace

import pytest

import paddle
from umiak import backends
from umiak.backends import base
from umiak.core import storage, stream
from umiak.core.place import Place
from umiak.memory import caching


class Toy(backends.Backend):
    device_type = "toy"

    def allocator(self, place):
        return caching.host_allocator(place.index)

    def kernel(self, call):
        return backends.Kernel(run=print) if call.op == "known" else None

    def supports(self, op):
        return op == "known"


@pytest.fixture
def fresh(monkeypatch):
    """A registry that has looked for nothing yet; gives a function that sets what there is to find."""
    monkeypatch.setattr(base, "_by_name", {})
    monkeypatch.setattr(base, "_broken", {})
    monkeypatch.setattr(base, "_absent", {})
    monkeypatch.setattr(base, "_discovered", False)

    def offer(**points):
        found = [metadata.EntryPoint(name, value, base.GROUP) for name, value in points.items()]
        monkeypatch.setattr(metadata, "entry_points", lambda group: found)

    return offer


def test_ours_enter_by_entry_points():
    found = {e.name: e.value for e in metadata.entry_points(group="umiak.backends")}
    assert found["ref"] == "umiak.backends.ref:backend" and found["null"] == "umiak.backends.null:backend"
    assert {"cpu", "null"} <= set(backends.device_types())
    assert backends.get("ref").device_type == "cpu"
    assert backends.get(Place("null", 5)) is backends.get("null")


def no_device():
    raise backends.Absent("There is no toy on this machine.")


def test_a_device_that_is_absent_is_no_broken_plug_in(fresh):
    """Nobody is warned; who asks for the device is told why there is none."""
    fresh(toy="test_discovery_plugin:no_device")
    sys.modules["test_discovery_plugin"] = sys.modules[__name__]
    try:
        assert backends.device_types() == []
        assert backends.absence("toy") == "There is no toy on this machine." and backends.absence("other") is None
        with pytest.raises(ValueError, match=r"no backend runs 'toy'.* There is no toy on this machine"):
            backends.backends_of("toy")
        with pytest.raises(
            ValueError, match=r"\[CustomPlace\] requires a device of .* There is no toy on this machine"
        ):
            paddle.CustomPlace("toy", 0)
    finally:
        del sys.modules["test_discovery_plugin"]


def test_a_plug_in_enters_like_ours(fresh):
    fresh(toy="test_discovery_plugin:Toy")
    sys.modules["test_discovery_plugin"] = sys.modules[__name__]
    try:
        assert backends.device_types() == ["toy"]
    finally:
        del sys.modules["test_discovery_plugin"]
    s = storage.allocate(Place("toy", 0).index, 100)
    assert s.capacity == 128 and stream.stream(s.place).query()
    with pytest.raises(ValueError, match="toy:1 requires over 1 devices"):
        storage.allocate(Place("toy", 1).index, 100)


def test_a_broken_plug_in_is_reported_and_skipped(fresh):
    fresh(gone="no.such.module:backend", wrong="math:pi", null="umiak.backends.null:backend")
    with pytest.warns(RuntimeWarning) as caught:
        assert backends.device_types() == ["null"]
    texts = [str(w.message) for w in caught]
    assert len(texts) == 2
    assert "'gone' (no.such.module:backend) is skipped: ModuleNotFoundError: No module named 'no'" in texts[0]
    assert "'wrong'" in texts[1] and "TypeError" in texts[1]
    with pytest.raises(
        ValueError, match=r"no backend runs 'cpu'; there are backends for null.*Skipped: gone.*No module"
    ):
        backends.backends_of("cpu")
    backends.discover()  # once


def test_registering(fresh):
    fresh()
    with pytest.raises(ValueError, match="no device at all"):
        backends.backends_of("toy")
    toy = backends.register(Toy())
    assert backends.register(toy) is toy and toy.name == "toy" and repr(toy) == "<backend toy>"
    with pytest.raises(ValueError, match="already"):
        backends.register(Toy())
    with pytest.raises(TypeError, match="Backend"):
        backends.register(3)
    with pytest.raises(ValueError, match="device type"):
        backends.register(backends.Backend())
    backends.unregister("toy")
    with pytest.raises(ValueError, match="no backend 'toy'"):
        backends.get("toy")


def test_the_highest_priority_goes_first(fresh):
    fresh()
    low, high = Toy(), Toy()
    low.name, low.priority = "low", -1
    high.name, high.kernel = "high", lambda call: backends.Kernel(1) if call.op == "quick" else None
    backends.register(low)
    backends.register(high)
    place = Place("toy", 0)

    def call(op):
        return SimpleNamespace(op=op, metas=(), modes=0, place=place)

    assert backends.backends_of("toy") == [high, low] and backends.get(place) is high
    assert backends.find_kernel(call("quick")).address == 1
    assert backends.find_kernel(call("known")).run is print
    assert backends.find_kernel(call("unknown")) is None


def test_importing_loads_no_backend():
    code = """
import sys, umiak
assert "umiak.backends" in sys.modules
print([m for m in ("umiak.backends.ref", "umiak.backends.null", "importlib.metadata") if m in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip().splitlines()[-1] in ("[]", "['importlib.metadata']")
