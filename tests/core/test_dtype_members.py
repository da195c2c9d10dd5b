"""Members of ``paddle.dtype``, their numbers, and the dtypes that are names alone."""

import copy
import pickle

import pytest

import paddle
from umiak.core.dtype import all_dtypes

# The reference's enumeration.
NUMBERS = {
    "UNDEFINED": 0, "BOOL": 1, "UINT8": 2, "INT8": 3, "INT16": 5, "UINT32": 6, "INT32": 7, "UINT64": 8, "INT64": 9,
    "FLOAT32": 10, "FLOAT64": 11, "COMPLEX64": 12, "COMPLEX128": 13, "PSTRING": 14, "FLOAT16": 15, "BFLOAT16": 16,
    "FLOAT8_E4M3FN": 17, "FLOAT8_E5M2": 18, "ALL_DTYPE": 0,
}  # fmt: skip


@pytest.mark.parametrize("member", NUMBERS)
def test_members_have_the_numbers_of_the_reference(member):
    dtype = getattr(paddle.dtype, member)
    assert isinstance(dtype, paddle.dtype) and dtype.value == int(dtype) == NUMBERS[member]
    if hasattr(paddle, member.lower()):
        assert dtype is getattr(paddle, member.lower())


def test_members_by_other_names():
    assert paddle.dtype.UINT16 is paddle.bfloat16  # whose bits travel as uint16
    assert paddle.raw is paddle.dtype.UNDEFINED is paddle.dtype.ALL_DTYPE
    assert len({d.value for d in all_dtypes()}) == len(all_dtypes())


ALONE = [paddle.uint32, paddle.uint64, paddle.pstring, paddle.raw]


@pytest.mark.parametrize("dtype", ALONE, ids=repr)
def test_names_alone_are_objects(dtype):
    assert pickle.loads(pickle.dumps(dtype)) is dtype and copy.deepcopy(dtype) is dtype
    assert dtype not in all_dtypes() and repr(dtype) == f"paddle.{dtype.name}"
    assert {dtype: 1}[dtype] == 1


def test_limits_of_unsigned_names():
    assert (paddle.iinfo(paddle.uint32).max, paddle.iinfo(paddle.uint64).max) == (2**32 - 1, 2**64 - 1)
    with pytest.raises(ValueError, match="iinfo"):
        paddle.iinfo(paddle.raw)


USES = {
    "astype": lambda d: paddle.ones([1]).astype(d),
    "cast": lambda d: paddle.cast(paddle.ones([1]), d),
    "to": lambda d: paddle.ones([1]).to(d),
    "to_tensor": lambda d: paddle.to_tensor([1], dtype=d),
    "zeros": lambda d: paddle.zeros([2], d),
    "empty": lambda d: paddle.empty([2], d),
    "full_like": lambda d: paddle.full_like(paddle.ones([1]), 2, d),
    "arange": lambda d: paddle.arange(3, dtype=d),
    "randint": lambda d: paddle.randint(0, 3, [2], dtype=d),
    "sum": lambda d: paddle.ones([1]).sum(dtype=d),
    "argmax": lambda d: paddle.ones([1]).argmax(dtype=d),
    "view": lambda d: paddle.ones([1]).view(d),
    "softmax": lambda d: paddle.nn.functional.softmax(paddle.ones([1]), dtype=d),
    "create_parameter": lambda d: paddle.create_parameter([1], d),
    "layer": lambda d: paddle.nn.Linear(1, 1).to(dtype=d),
    "default": paddle.set_default_dtype,
    "auto_cast": lambda d: paddle.amp.auto_cast(dtype=d),
    "finfo": paddle.finfo,
    "itemsize": lambda d: d.itemsize,
    "nbytes": lambda d: d.nbytes(1),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("dtype", ALONE, ids=repr)
def test_no_tensor_has_a_name_alone(use, dtype):
    with pytest.raises(TypeError, match="requires a dtype that tensors may have, got paddle"):
        USES[use](dtype)
