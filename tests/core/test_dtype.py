import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

from umiak.core import dtype
from umiak.core.dtype import DType, all_dtypes, convert, from_id

NAMES = (
    "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 float8_e4m3fn float8_e5m2"
).split()


def test_ids_are_the_documented_ones():
    assert [d.name for d in all_dtypes()] == NAMES
    assert [d.id for d in all_dtypes()] == list(range(len(NAMES)))
    assert all(getattr(dtype, d.name) is d is from_id(d.id) for d in all_dtypes())


@pytest.mark.parametrize("d", all_dtypes(), ids=repr)
def test_each(d):
    assert repr(d) == f"paddle.{d.name}"
    assert d.itemsize == d.numpy.itemsize
    assert d.npt == d.numpy.num == np.empty(0, d.numpy).dtype.num
    assert [d.is_bool, d.is_integer, d.is_floating, d.is_complex].count(True) == 1
    for same in (d, d.name, repr(d), d.numpy, d.numpy.type):
        assert convert(same) is d
    for again in (copy.copy(d), copy.deepcopy([d])[0], pickle.loads(pickle.dumps(d))):
        assert again is d


def test_classes():
    assert [d.name for d in all_dtypes() if d.is_floating] == [n for n in NAMES if "float" in n]
    assert [d.name for d in all_dtypes() if d.is_integer] == [n for n in NAMES if "int" in n]


def test_compute_and_real():
    for d in all_dtypes():
        low = d.is_floating and d.itemsize < 4
        assert d.compute is (dtype.float32 if low else d)
        assert d.real is {dtype.complex64: dtype.float32, dtype.complex128: dtype.float64}.get(d, d)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (bool, "bool"), (int, "int64"), (float, "float64"), (complex, "complex128"),
        ("float", "float64"), ("double", "float64"), ("half", "float16"), ("int", "int64"), ("long", "int64"),
        ("short", "int16"), ("byte", "int8"), ("bool_", "bool"), ("f4", "float32"),
        ("<i4", "int32"), ("FLOAT32", "float32"),
        ("uint16", "bfloat16"), (np.uint16, "bfloat16"), (np.dtype("uint16"), "bfloat16"), (np.longlong, "int64"),
        (ml_dtypes.bfloat16, "bfloat16"), (np.float32, "float32"),
    ],
)  # fmt: skip
def test_spellings(given, name):
    assert convert(given).name == name


@pytest.mark.parametrize("given", ["nope", "uint32", "U4", ">f4", None, 3.5, object(), [], {}, str, "torch.float32"])
def test_refusals(given):
    with pytest.raises(TypeError, match="requires a data type"):
        convert(given)


def test_dtypes_are_fixed():
    with pytest.raises(TypeError):
        DType()
    with pytest.raises(AttributeError):
        dtype.float32.itemsize = 8
    with pytest.raises(ValueError, match="below 14"):
        from_id(14)
