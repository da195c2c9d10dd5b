import weakref

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpys import MOST_AXES, needs_numpy_2

from umiak.core import array, dtype
from umiak.core.place import Place
from umiak.core.tensor import empty

CPU = Place("cpu")
NULL = Place("null", 0)
DTYPES = [d for d in dtype.all_dtypes() if not d.is_packed]


def values(d, shape, rng):
    most = 2 if d.is_bool else 16 if d.bits == 8 and d.is_floating else 100
    return rng.integers(1, most, shape).astype(d.numpy)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return (
        a.shape == b.shape and a.dtype == b.dtype and bool((np.ascontiguousarray(a) == np.ascontiguousarray(b)).all())
    )


# --- tensor to array


@pytest.mark.parametrize("d", DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 4), (2, 3, 4)])
def test_there_and_back(d, shape, rng):
    source = values(d, shape, rng)
    for copy in (True, False, None):
        t = array.from_numpy(source, CPU, copy=copy)
        assert t.dtype is d and t.shape == list(shape) and t.place is CPU and t.is_contiguous()
        for back in (array.to_numpy(t), array.operand(t)):
            assert same(back, source) and back.flags.writeable and back.flags.c_contiguous and back.flags.aligned


def test_an_array_shares_the_memory():
    t = empty((2, 3), dtype.float32, CPU)
    a, b = array.to_numpy(t), array.to_numpy(t)
    a[...] = 5
    assert (b == 5).all() and a.ctypes.data == t.data_ptr()


def test_memory_is_pinned_while_arrays_live():
    t = empty((2, 3), dtype.float32, CPU)
    s = t.storage
    a = array.to_numpy(t)
    view = array.to_numpy(t)[1:, ::2].T
    assert s.pins == 2
    del a
    assert s.pins == 1
    del t  # the view keeps the memory
    view[...] = 1
    del view
    assert s.pins == 0


def test_an_operand_pins_nothing():
    t = empty((2, 3), dtype.float32, CPU)
    a = array.operand(t)
    assert a.base is None and not a.flags.owndata and t.storage.pins == 0


@pytest.mark.parametrize("rank", [9, 20, MOST_AXES - 1])
def test_high_ranks(rank):
    shape = (2,) + (1,) * (rank - 2) + (3,)
    source = np.arange(6.0).reshape(shape)
    t = array.from_numpy(source.T, CPU, copy=False)
    assert t.ndim == rank and same(array.to_numpy(t), source.T)


@needs_numpy_2
def test_rank_64_is_refused():
    with pytest.raises(ValueError, match="at most 63 axes"):
        array.from_numpy(np.zeros((1,) * 64), CPU)


# --- array to tensor


@st.composite
def strided(draw):
    """An array with any strides: steps, negative and zero ones, transposed, at any offset."""
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    steps = [draw(st.sampled_from([1, 2, -1, -3])) for _ in shape]
    sizes = [n * abs(s) + 1 for n, s in zip(shape, steps)]
    total, start = int(np.prod(sizes)), draw(st.integers(0, 3))
    base = np.arange(total + start).astype(draw(st.sampled_from("bifd")))[start:].reshape(sizes)
    cut = base[(..., *(slice(1, None, s) if s > 0 else slice(-1, 0, s) for s in steps))]
    cut = cut.transpose(draw(st.permutations(range(cut.ndim))))
    if cut.ndim and cut.shape[-1] == 1 and draw(st.booleans()):
        cut = np.lib.stride_tricks.as_strided(cut, (*cut.shape[:-1], 3), (*cut.strides[:-1], 0))
    return cut


@given(strided())
def test_any_strides(a):
    shared = array.from_numpy(a, CPU, copy=False)
    assert same(array.to_numpy(shared), a)
    assert shared.storage.data_ptr() % 64 == 0  # alignment can be told from the offset
    if a.size:
        assert shared.data_ptr() == a.ctypes.data
        assert 0 <= shared.offset <= shared.storage.nbytes - a.itemsize
        for n, mine, stride in zip(a.shape, shared.strides, a.strides):
            assert n == 1 or mine * a.itemsize == stride
    assert shared.is_contiguous() == a.flags.c_contiguous
    copied = array.from_numpy(a, CPU)
    assert copied.is_contiguous() and same(array.to_numpy(copied), a)
    assert not np.shares_memory(array.to_numpy(copied), a)


def test_sharing_goes_both_ways():
    a = np.zeros(4, np.float32)
    t = array.from_numpy(a, CPU, copy=False)
    a[1] = 3
    array.to_numpy(t)[2] = 4
    assert array.to_numpy(t).tolist() == [0, 3, 4, 0] == a.tolist()


class Owner(np.ndarray):
    """An array that can be weakly referenced."""


def test_a_shared_array_lives_as_long_as_its_tensor():
    a = np.zeros(4).view(Owner)
    gone = weakref.ref(a)
    t = array.from_numpy(a, CPU, copy=False)
    del a
    assert gone() is not None
    del t
    assert gone() is None


def offset_by_one():
    raw = np.zeros(41, np.uint8)[1:]
    raw[...] = np.arange(5.0).view(np.uint8)
    return raw.view(np.float64)


def frozen():
    a = np.arange(3.0)
    a.flags.writeable = False
    return a


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: np.arange(3.0).astype(">f8"), "swapped"),
        (offset_by_one, "aligned"),
        (frozen, "read-only"),
        (lambda: np.zeros(3, [("a", "f4"), ("b", "u1")])["a"], "multiple"),
    ],
    ids=["swapped", "unaligned", "read-only", "fields"],
)
def test_what_cannot_be_shared_is_copied(make, reason):
    a = make()
    with pytest.raises(ValueError, match=reason):
        array.from_numpy(a, CPU, copy=False)
    for copy in (True, None):
        t = array.from_numpy(a, CPU, copy=copy)
        assert array.to_numpy(t).tolist() == a.tolist()
        assert not np.shares_memory(array.to_numpy(t), a)


def test_uint16_carries_the_bits_of_bfloat16():
    bits = np.array([1.5, -2], ml_dtypes.bfloat16).view(np.uint16)
    for source in (bits, bits.astype(">u2"), bits[::-1]):
        t = array.from_numpy(source, CPU)
        assert t.dtype is dtype.bfloat16
        assert sorted(array.to_numpy(t).tolist()) == [-2, 1.5]
    shared = array.from_numpy(bits, CPU, copy=False)
    bits[0] = bits[1]
    assert array.to_numpy(shared).tolist() == [-2, -2]


@pytest.mark.parametrize("d", ["u4", "u8", "g", "S3", "U2", "O", "M8[s]", [("a", "f4")]])
def test_types_that_tensors_lack(d):
    with pytest.raises(TypeError, match="astype"):
        array.from_numpy(np.zeros(2, d), CPU)


def test_more_refusals():
    with pytest.raises(TypeError, match="list"):
        array.from_numpy([1, 2], CPU)
    with pytest.raises(ValueError, match="null:0"):
        array.from_numpy(np.zeros(2), NULL, copy=False)
    t = array.from_numpy(np.zeros(2), NULL)
    assert t.place is NULL and t.shape == [2]
    for read in (array.to_numpy, array.operand):
        with pytest.raises(RuntimeError, match="null:0"):
            read(t)


def test_long_types_of_the_platform():
    for d in (np.int_, np.longlong, np.intc):
        t = array.from_numpy(np.arange(3, dtype=d), CPU)
        assert t.dtype.itemsize == np.dtype(d).itemsize and array.to_numpy(t).tolist() == [0, 1, 2]


def test_large_arrays(rng):
    a = rng.random((300, 1000))
    assert same(array.to_numpy(array.from_numpy(a, CPU)), a)
