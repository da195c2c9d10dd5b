import copy
import pickle
import subprocess
import sys

import pytest

from umiak.core.place import Place, all_places, from_index


def test_one_object_per_place():
    assert Place("cpu") is Place("cpu", 0) is Place(device_type="cpu", device_id=0)
    a = Place("null", 1)
    for again in (copy.copy(a), copy.deepcopy([a])[0], pickle.loads(pickle.dumps(a)), from_index(a.index)):
        assert again is a
    assert a != Place("null", 2)
    assert isinstance(a, Place)


def test_repr():
    assert repr(Place("cpu")) == "Place(cpu)"
    assert repr(Place("null", 1)) == "Place(null:1)"


@pytest.mark.parametrize(
    ("device_type", "kind"),
    [
        ("cpu", "cpu"), ("gpu", "gpu"), ("gpu_pinned", "cuda_pinned"), ("xpu", "xpu"), ("xpu_pinned", "xpu_pinned"),
        ("ipu", "ipu"), ("null", "custom"), ("npu", "custom"),
    ],
)  # fmt: skip
def test_kinds(device_type, kind):
    place = Place(device_type, 0)
    kinds = ("cpu", "gpu", "cuda_pinned", "xpu", "xpu_pinned", "ipu", "custom")
    assert [k for k in kinds if getattr(place, f"is_{k}_place")()] == [kind]
    assert place.custom_device_type() == (device_type if kind == "custom" else "")


def test_device_ids():
    place = Place("null", 1)
    assert place.get_device_type() == "null" and place.get_device_id() == place.custom_device_id() == 1
    assert Place("cpu").gpu_device_id() == 0
    assert place._equals(Place("null", 1)) and not place._equals(Place("null", 2))


def test_indices():
    assert Place("cpu").index == 0 and Place("cpu").type_index == 0
    a, b = Place("null", 3), Place("null", 4)
    assert a.type_index == b.type_index != 0
    assert [p.index for p in all_places()] == list(range(len(all_places())))
    assert hash(a) != hash(b)


@pytest.mark.parametrize("arguments", [("null", -1), ("", 0), ("a:b",)])
def test_refusals(arguments):
    with pytest.raises(ValueError, match="device"):
        Place(*arguments)
    with pytest.raises(TypeError):
        Place(3)
    with pytest.raises(ValueError, match="places"):
        from_index(63)


def test_a_process_has_at_most_64_places():
    code = """
from umiak.core.place import Place
places = [Place("null", i) for i in range(63)]
try:
    Place("null", 63)
except RuntimeError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "64 places; null:63" in run.stdout
