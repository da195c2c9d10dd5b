import copy
import pickle
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import make_dtype_ids
import paddle
from umiak.core import dtype
from umiak.core.dtype import DType, all_dtypes, convert, from_id
from umiak.util import dtypes

NAMES = (
    "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 float8_e4m3fn float8_e5m2 "
    "float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu int4 uint4 float4_e2m1fn"
).split()
PACKED = [d for d in all_dtypes() if d.is_packed]


def test_ids_are_the_documented_ones():
    assert [d.name for d in all_dtypes()] == NAMES
    assert [d.id for d in all_dtypes()] == list(range(len(NAMES)))
    assert all(getattr(dtype, d.name) is d is from_id(d.id) for d in all_dtypes())


@pytest.mark.parametrize("d", all_dtypes(), ids=repr)
def test_each(d):
    assert repr(d) == f"paddle.{d.name}"
    assert d.bits == (4 if d.is_packed else 8 * d.numpy.itemsize)
    assert d.npt == d.numpy.num == np.empty(0, d.numpy).dtype.num
    assert [d.is_bool, d.is_integer, d.is_floating, d.is_complex].count(True) == 1
    for same in (d, d.name, repr(d), d.numpy, d.numpy.type):
        assert convert(same) is d
    for again in (copy.copy(d), copy.deepcopy([d])[0], pickle.loads(pickle.dumps(d))):
        assert again is d


def test_classes():
    assert [d.name for d in all_dtypes() if d.is_floating] == [n for n in NAMES if "float" in n]
    assert [d.name for d in all_dtypes() if d.is_integer] == [n for n in NAMES if "int" in n]
    assert [d.name for d in PACKED] == "int4 uint4 float4_e2m1fn".split()
    assert [d.name for d in all_dtypes() if d.is_continuous] == [
        d.name for d in all_dtypes() if (d.is_floating or d.is_complex) and d not in PACKED
    ]


def test_the_ids_of_cython_are_made_of_the_table():
    assert make_dtype_ids.TARGET.read_text() == make_dtype_ids.text()


def test_every_type_is_among_the_names():
    """In the stub of the core and in the public API."""
    stub = Path(dtypes.__file__).parents[1] / "core" / "dtype.pyi"
    alone = [row.name for row in dtypes.NAMES_ALONE]
    assert re.findall(r"^(\w+): DType\b", stub.read_text(), re.MULTILINE) == NAMES + alone
    assert all(getattr(paddle, name) is convert(name) and name in paddle.__all__ for name in NAMES)


@pytest.mark.parametrize("d", all_dtypes(), ids=repr)
def test_bytes(d):
    """Whole bytes, rounded up; an element of a packed type has no size of its own."""
    assert [d.nbytes(n) for n in (0, 1, 2, 7)] == [-(-n * d.bits // 8) for n in (0, 1, 2, 7)]
    if d.is_packed:
        with pytest.raises(TypeError, match=rf"requires a dtype of whole bytes, got {d.name} of 4 bits"):
            _ = d.itemsize
    else:
        assert d.itemsize == d.numpy.itemsize


@pytest.mark.parametrize("row", [r for r in dtypes.TABLE if r.kind == dtypes.FLOAT], ids=lambda r: r.name)
def test_formats_are_those_of_the_twins(row):
    """Bits, fields, bias and what is beside finite numbers, against what NumPy and ml_dtypes say of their types."""
    info = ml_dtypes.finfo(row.numpy)
    assert (info.bits, info.nmant, info.nexp) == (row.bits, row.mantissa, row.exponent)
    one = np.array(1, row.numpy).view(f"u{row.numpy.itemsize}")
    assert int(one) == row.bias << row.mantissa
    with np.errstate(all="ignore"):
        there = [str(np.array(v, np.float32).astype(row.numpy)) for v in (np.inf, np.nan)]
    kinds = {("inf", "nan"): "ieee", ("nan", "nan"): ("fn", "fnuz", "exponent")}
    assert row.special == "none" or row.special in kinds[tuple(there)]


def test_limits_of_integers():
    for row in dtypes.TABLE:
        if row.kind in (dtypes.SIGNED, dtypes.UNSIGNED):
            info = ml_dtypes.iinfo(row.numpy)
            assert row.limits == (info.min, info.max)


def test_compute_and_real():
    for d in all_dtypes():
        low = d.is_floating and d.bits < 32
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
    with pytest.raises(ValueError, match=f"below {len(NAMES)}"):
        from_id(len(NAMES))
