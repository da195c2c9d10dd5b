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
