import sys
import threading

import ml_dtypes
import numpy as np
import pytest
import torch
from numpys import NUMPY_2, needs_numpy_2

from umiak.core import array, dlpack, dtype
from umiak.core.place import Place
from umiak.core.tensor import empty

CPU = Place("cpu")
NUMPY_HAS = [d for d in dtype.all_dtypes() if d.numpy.type.__module__ != "ml_dtypes"]
# Dtypes of whole bytes that PyTorch has, too.
COMMON = [d for d in dtype.all_dtypes() if not d.is_packed and hasattr(torch, d.name)]
TORCH = {d.name: getattr(torch, d.name) for d in COMMON}


class Producer:
    """A tensor as others see it, whatever methods the tensor class has."""

    def __init__(self, t, versioned=True):
        self.t, self.versioned, self.calls = t, versioned, []

    def __dlpack_device__(self):
        return dlpack.dlpack_device(self.t)

    def __dlpack__(self, **kwargs):
        self.calls.append(kwargs)
        if not self.versioned:
            kwargs.pop("max_version", None)
        return dlpack.dlpack(self.t, **kwargs)


def sample(d, shape, rng):
    t = empty(shape, d, CPU)
    array.operand(t)[...] = rng.integers(0, 2 if d.is_bool else 100, shape).astype(d.numpy)
    return t


def released(t) -> bool:
    return t.storage.pins == 0


# --- out


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("d", COMMON, ids=lambda d: d.name)
def test_torch_shares_our_memory(d, versioned, rng):
    t = sample(d, (2, 3), rng)
    theirs = torch.from_dlpack(Producer(t, versioned))
    assert theirs.dtype is TORCH[d.name] and theirs.shape == (2, 3) and theirs.data_ptr() == t.data_ptr()
    bits = theirs.contiguous().view(torch.uint8).numpy()
    assert (bits == np.ascontiguousarray(array.operand(t)).view(np.uint8)).all()
    assert t.storage.pins == 1
    del theirs, bits
    assert released(t)


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("d", NUMPY_HAS, ids=lambda d: d.name)
def test_numpy_shares_our_memory(d, versioned, rng):
    t = sample(d, (2, 3), rng)
    theirs = np.from_dlpack(Producer(t, versioned))
    assert theirs.dtype == d.numpy and theirs.ctypes.data == t.data_ptr()
    assert (theirs == array.operand(t)).all()
    # Only a versioned capsule can say that writing is allowed, and NumPy 1 knows none.
    assert theirs.flags.writeable == (versioned and NUMPY_2)
    del theirs
    assert released(t)


def test_strides_and_offsets():
    base = np.arange(24.0).reshape(4, 6)
    for a in (base.T, base[1:, ::2], base[:0], base[2, 3:], base[1:3, 4]):
        t = array.from_numpy(a, CPU, copy=False)
        for theirs in (torch.from_dlpack(Producer(t)).numpy(), np.from_dlpack(Producer(t))):
            assert theirs.shape == a.shape and (theirs == a).all()
            assert not a.size or (theirs.strides, theirs.ctypes.data) == (a.strides, a.ctypes.data)


def test_many_axes():
    a = np.arange(6.0).reshape((2,) + (1,) * 12 + (3,))
    t = array.from_numpy(a.T, CPU, copy=False)
    assert (np.from_dlpack(Producer(t)) == a.T).all()
    assert dlpack.from_dlpack(a.T).strides == t.strides


def test_memory_lives_as_long_as_the_consumer():
    t = empty((3,), dtype.float32, CPU)
    array.operand(t)[...] = [1, 2, 3]
    theirs = torch.from_dlpack(Producer(t))
    s = t.storage
    del t
    theirs[1] = 7
    with pytest.raises(RuntimeError, match="pins"):
        s.relocate()
    assert theirs.tolist() == [1, 7, 3]


def test_a_consumer_may_let_go_on_another_thread():
    t = empty((3,), dtype.float32, CPU)
    held = [torch.from_dlpack(Producer(t))]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert released(t)


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_capsules_that_nobody_takes(version):
    t = empty((3,), dtype.float32, CPU)
    capsule = dlpack.dlpack(t, max_version=version)
    assert t.storage.pins == 1
    assert ("versioned" in repr(capsule)) == (version is not None)
    del capsule
    assert released(t)


@needs_numpy_2
def test_asking_for_a_copy():
    t = empty((3,), dtype.float32, CPU)
    array.operand(t)[...] = 1
    theirs = np.from_dlpack(Producer(t), copy=True)
    assert released(t) and (theirs == 1).all() and theirs.ctypes.data != t.data_ptr()
    theirs = np.from_dlpack(Producer(t), copy=False)
    assert theirs.ctypes.data == t.data_ptr()


def test_wrong_requests():
    t = empty((3,), dtype.float32, CPU)
    assert dlpack.dlpack_device(t) == (1, 0)
    assert dlpack.dlpack(t, dl_device=(1, 0), stream=-1) is not None
    with pytest.raises(BufferError, match="dl_device"):
        dlpack.dlpack(t, dl_device=(2, 0))
    with pytest.raises(BufferError, match="stream"):
        dlpack.dlpack(t, stream=1)
    nothing = empty((3,), dtype.float32, Place("null", 0))
    for act in (dlpack.dlpack, dlpack.dlpack_device):
        with pytest.raises(BufferError, match="null:0"):
            act(nothing)
    assert released(t)


# --- in


@pytest.mark.parametrize("d", COMMON, ids=lambda d: d.name)
def test_we_share_torch_s_memory(d, rng):
    bits = torch.from_numpy(rng.integers(0, 2, (4, 6 * d.itemsize), np.uint8))
    theirs = bits.view(TORCH[d.name])[1:, ::2]
    t = dlpack.from_dlpack(theirs)
    assert t.dtype is d and t.shape == [3, 3] and t.strides == [6, 2]
    assert t.data_ptr() == theirs.data_ptr() and t.storage.foreign
    mine = np.ascontiguousarray(array.to_numpy(t)).view(np.uint8)
    assert (mine == theirs.contiguous().view(torch.uint8).numpy()).all()
    del theirs, bits
    array.to_numpy(t)[...] = 1


@pytest.mark.parametrize("d", NUMPY_HAS, ids=lambda d: d.name)
def test_we_share_numpy_s_memory(d):
    theirs = np.ones((3, 4), d.numpy)[::-1, 1:]
    t = dlpack.from_dlpack(theirs)
    assert t.dtype is d and t.data_ptr() == theirs.ctypes.data
    assert (array.to_numpy(t) == theirs).all()


@pytest.mark.parametrize("versioned", [True, False])
def test_memory_of_ours_comes_back_as_ours(versioned):
    t = empty((2, 3), dtype.bfloat16, CPU)
    back = dlpack.from_dlpack(Producer(t, versioned))
    assert back.storage is t.storage and back.data_ptr() == t.data_ptr() and back.dtype is dtype.bfloat16
    assert released(t), "the capsule is done with"
    t.storage.relocate()
    assert back.data_ptr() == t.data_ptr()


def test_release_after_a_round_trip_through_another_framework():
    t = empty((2, 3), dtype.bfloat16, CPU)
    back = dlpack.from_dlpack(torch.from_dlpack(Producer(t)))
    assert back.storage.foreign and back.data_ptr() == t.data_ptr() and t.storage.pins == 1
    again = array.to_numpy(back)
    del back
    assert t.storage.pins == 1
    del again
    assert released(t)


def test_sizes_of_zero():
    for shape in ((0,), (3, 0, 2)):
        t = dlpack.from_dlpack(np.zeros(shape, np.int32))
        assert t.shape == list(shape) and t.dtype is dtype.int32
        assert dlpack.from_dlpack(Producer(t)).shape == list(shape)
    assert dlpack.from_dlpack(torch.tensor(2.5)).shape == []


def test_capsules_are_taken_once():
    t = empty((3,), dtype.float32, CPU)
    for version in (None, (1, 1)):
        capsule = dlpack.dlpack(t, max_version=version)
        mine = dlpack.from_dlpack(capsule)
        assert "used_dltensor" in repr(capsule)
        with pytest.raises(ValueError, match="not taken"):
            dlpack.from_dlpack(capsule)
        del capsule
        del mine
        assert released(t)


@needs_numpy_2
def test_read_only_memory_is_copied():
    a = np.arange(3.0)
    a.flags.writeable = False
    with pytest.raises(BufferError, match="read-only"):
        dlpack.from_dlpack(a, copy=False)
    t = dlpack.from_dlpack(a)
    array.to_numpy(t)[0] = 9
    assert a[0] == 0 and not t.storage.foreign


def test_copies():
    a = np.arange(6.0).reshape(2, 3).T
    t = dlpack.from_dlpack(a, copy=True)
    assert (array.to_numpy(t) == a).all() and not np.shares_memory(array.to_numpy(t), a)
    t = dlpack.from_dlpack(torch.arange(3), copy=True)
    assert array.to_numpy(t).tolist() == [0, 1, 2]


class Old:
    """A producer from before versions."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, stream=None):
        return torch.utils.dlpack.to_dlpack(self.x)

    def __dlpack_device__(self):
        return (1, 0)


def test_old_producers():
    x = torch.arange(4)
    t = dlpack.from_dlpack(Old(x))
    assert t.data_ptr() == x.data_ptr()
    copied = dlpack.from_dlpack(Old(x), copy=True)
    assert copied.data_ptr() != x.data_ptr() and array.to_numpy(copied).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("name", "wider"), [("uint16", "int32"), ("uint32", "int64"), ("uint64", "int64")])
def test_unsigned_integers_are_copied_to_a_dtype_that_has_them(name, wider):
    most = 2**63 - 1 if name == "uint64" else np.iinfo(name).max
    whole = np.array([[0, 1, most], [7, most - 1, 2]], name)
    for a in (whole, whole.T[::-1], whole[:, :0], whole[0, 2:].reshape(())):
        t = dlpack.from_dlpack(a)
        assert t.dtype.name == wider and array.to_numpy(t).tolist() == a.tolist()
    with pytest.raises(BufferError, match=rf"got {name} on cpu. Let it be copied, to {wider}"):
        dlpack.from_dlpack(whole, copy=False)
    before = sys.getrefcount(whole)
    t = dlpack.from_dlpack(whole)
    assert sys.getrefcount(whole) == before and not t.storage.foreign


def test_what_we_cannot_take():
    with pytest.raises(OverflowError, match=r"requires integers that int64 has, got 9223372036854775808 of uint64"):
        dlpack.from_dlpack(np.array([1, 2**63], np.uint64))
    with pytest.raises(TypeError, match="__dlpack__"):
        dlpack.from_dlpack([1.0])
    with pytest.raises(ValueError, match="not taken"):
        dlpack.from_dlpack(np.zeros(2).__array_struct__)


def test_a_refused_producer_loses_nothing():
    a = np.full(2, 2**64 - 1, np.uint64)
    before = sys.getrefcount(a)
    with pytest.raises(OverflowError):
        dlpack.from_dlpack(a)
    assert sys.getrefcount(a) == before
    b = np.zeros(2)
    before = sys.getrefcount(b)
    t = dlpack.from_dlpack(b)
    assert sys.getrefcount(b) == before + 1
    del t
    assert sys.getrefcount(b) == before


def test_float8_and_bfloat16_values():
    for name in ("float8_e4m3fn", "float8_e5m2", "bfloat16"):
        theirs = torch.tensor([1.5, -2.0, 0.25]).to(TORCH[name])
        t = dlpack.from_dlpack(theirs)
        assert array.to_numpy(t).dtype == getattr(ml_dtypes, name)
        assert array.to_numpy(t).astype(float).tolist() == [1.5, -2.0, 0.25]
