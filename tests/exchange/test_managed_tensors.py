"""DLPack's records field by field: what is shared, copied, refused, and that each deleter is called once."""

from __future__ import annotations

import gc
import threading

import ml_dtypes
import numpy as np
import pytest
from dlpack_records import COPIED, PADDED, READ_ONLY, Producer, record

import paddle
from umiak.core import array, dlpack, dtype
from umiak.core.place import Place
from umiak.core.tensor import empty
from umiak.util.dtypes import TABLE

CPU = Place("cpu")
F32 = (2, 32)
CODES = {row.name: (row.dlpack, row.bits) for row in TABLE}


def numbers(*shape):
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


# --- in: who frees, and when


@pytest.mark.parametrize("versioned", [True, False])
def test_the_deleter_is_called_when_the_last_view_is_gone(versioned):
    p = Producer(numbers(2, 3), F32, versioned)
    t = dlpack.from_dlpack(p)
    assert t.data_ptr() == p.array.ctypes.data and p.freed == 0
    held = [array.to_numpy(t[1])]
    del t
    assert p.freed == 0, "a view of it still lives"
    held.clear()
    assert p.freed == 1


@pytest.mark.parametrize("versioned", [True, False])
def test_a_copy_frees_at_once(versioned):
    p = Producer(numbers(2, 3), F32, versioned)
    t = dlpack.from_dlpack(p, copy=True)
    assert p.freed == 1 and t.data_ptr() != p.array.ctypes.data and t.tolist() == p.array.tolist()


def test_the_deleter_may_be_called_on_another_thread():
    p = Producer(numbers(3), F32)
    held = [dlpack.from_dlpack(p)]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert p.freed == 1


def test_the_producer_s_capsule_may_be_dropped_first():
    p = Producer(numbers(3), F32)
    capsule = p.capsule()
    t = dlpack.from_dlpack(capsule)
    del capsule
    gc.collect()
    assert p.freed == 0 and t.tolist() == [0, 1, 2]


def test_a_producer_without_a_deleter():
    p = Producer(numbers(3), F32, deleter=False)
    t = dlpack.from_dlpack(p)
    assert t.tolist() == [0, 1, 2]
    del t
    assert p.freed == 0


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2)])
def test_memory_without_elements_is_freed_at_once(shape):
    p = Producer(numbers(*shape), F32)
    t = dlpack.from_dlpack(p)
    assert t.shape == list(shape) and p.freed == 1


REFUSED = {
    "another major version": (BufferError, "requires DLPack 1.x, got 2.0", {"version": (2, 0)}),
    "a negative rank": (ValueError, "at most 63 axes, got -1", {"ndim": -1}),
    "too many axes": (ValueError, "at most 63 axes, got 64", {"shape": (1,) * 64, "strides": (1,) * 64}),
    "a negative size": (ValueError, "sizes of at least 0", {"shape": (2, -3)}),
    "sizes beyond 64 bits": (ValueError, "64 bits can count", {"shape": (2**40, 2**30), "strides": (0, 0)}),
    "vectors": (TypeError, "float32 in vectors of 4", {"lanes": 4}),
    "a device that is not known": (BufferError, "DLPack device type 7", {"device": (7, 0)}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_stays_the_producer_s(case):
    kind, text, fields = REFUSED[case]
    p = Producer(numbers(2, 3), F32, **fields)
    capsule = p.capsule()
    for _ in range(2):
        with pytest.raises(kind, match=text):
            dlpack.from_dlpack(capsule)
        assert p.freed == 0 and "used" not in repr(capsule)


@pytest.mark.parametrize("code", [(1, 24), (1, 128), (3, 64), (2, 128), (5, 32), (15, 6), (99, 8)])
def test_types_that_tensors_lack(code):
    p = Producer(np.zeros(16, np.uint8), code, shape=(1,), strides=(1,))
    with pytest.raises(TypeError, match=r"\[from_dlpack\] requires bool, integers"):
        dlpack.from_dlpack(p)


# --- in: what the fields mean


def test_strides_may_be_left_out_before_version_1_2():
    p = Producer(numbers(2, 3), F32, strides=None, version=(1, 1))
    assert dlpack.from_dlpack(p).strides == [3, 1]


def test_an_offset_in_bytes():
    a = numbers(6)
    p = Producer(a[2:], F32, offset=8)
    t = dlpack.from_dlpack(p)
    assert t.tolist() == [2, 3, 4, 5] and t.data_ptr() == a.ctypes.data + 8


@pytest.mark.parametrize("flags", [READ_ONLY, READ_ONLY | COPIED])
def test_read_only_memory_is_never_written(flags):
    p = Producer(numbers(3), F32, flags=flags)
    with pytest.raises(BufferError, match="read-only"):
        dlpack.from_dlpack(p, copy=False)
    assert p.freed == 0
    t = dlpack.from_dlpack(p)
    t[0] = 9.0
    assert p.array[0] == 0 and p.freed == 1


def test_what_the_producer_has_copied_is_not_copied_again():
    p = Producer(numbers(3), F32, flags=COPIED)
    assert dlpack.from_dlpack(p, copy=True).data_ptr() == p.array.ctypes.data


def test_unaligned_memory_is_copied():
    raw = np.zeros(13, np.uint8)
    raw[1:] = numbers(3).view(np.uint8)
    p = Producer(raw[1:], F32, shape=(3,), strides=(1,))
    with pytest.raises(BufferError, match="aligned"):
        dlpack.from_dlpack(p, copy=False)
    assert dlpack.from_dlpack(p).tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["int4", "uint4", "float4_e2m1fn"])
def test_elements_of_less_than_a_byte_may_have_one_each(name, rng):
    d = dtype.convert(name)
    wide = rng.integers(0, 16, (3, 8)).astype(np.uint8)
    for a in (wide, wide[:, ::2]):
        p = Producer(a, CODES[name], flags=PADDED)
        with pytest.raises(BufferError, match="share bytes"):
            dlpack.from_dlpack(p, copy=False)
        t = dlpack.from_dlpack(p)
        assert t.dtype is d and t.shape == list(a.shape) and p.freed == 1
        low = array.to_numpy(t).view(np.uint8) & 15
        assert (low == a).all()
    strided = Producer(wide[:, ::2], CODES[name])
    with pytest.raises(BufferError, match="one after the other"):
        dlpack.from_dlpack(strided)


def test_pinned_memory_is_the_host_s():
    for device in ((3, 0), (11, 0), (13, 0)):
        assert dlpack.from_dlpack(Producer(numbers(3), F32, device=device)).place is CPU


# --- out


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3), (2, 5)])
@pytest.mark.parametrize("name", [row.name for row in TABLE])
def test_our_records(name, version):
    d = dtype.convert(name)
    t = empty((2, 4, 1), d, CPU)
    versioned = version is not None and version[0] >= 1
    capsule = dlpack.dlpack(t, max_version=version)
    found = record(capsule)
    x = found.tensor
    assert ("dltensor_versioned" in repr(capsule)) == versioned
    assert (x.dtype.code, x.dtype.bits, x.dtype.lanes) == (*CODES[name], 1) == d.__dlpack_data_type__()
    assert (x.data, x.byte_offset, x.ndim) == (t.data_ptr(), 0, 3) and (x.device.type, x.device.id) == (1, 0)
    assert x.shape[:3] == [2, 4, 1] and x.strides[:3] == t.strides
    if versioned:
        assert (found.major, found.minor, found.flags) == (1, 3, 0)
        copied = dlpack.dlpack(t, max_version=version, copy=True)
        assert record(copied).flags == COPIED
    del found, x, capsule
    assert t.storage.pins == 0


def test_without_elements_there_is_no_address():
    assert record(dlpack.dlpack(empty((0, 3), dtype.float32, CPU))).tensor.data is None


def test_records_outlive_changes_of_the_tensor():
    x = paddle.arange(6, dtype="float32")
    capsule = x.__dlpack__(max_version=(1, 3))
    x.resize_([2, 2], fill_zero=True)
    y = paddle.from_dlpack(capsule)
    assert y.shape == [6] and y.tolist() == [0, 1, 2, 3, 4, 5]


def test_what_is_asked_for_wrongly():
    x = paddle.ones([2])
    for asked in ({"max_version": 1}, {"max_version": (1,)}, {"dl_device": 1}, {"copy": "no"}):
        with pytest.raises(TypeError, match=r"\[__dlpack__\] requires (two ints|True, False or None) as "):
            x.__dlpack__(**asked)
    with pytest.raises(BufferError, match="dl_device"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="stream=None"):
        x.__dlpack__(stream=1)


def test_dtypes_and_places_in_numbers():
    assert paddle.uint64.__dlpack_data_type__() == (1, 64, 1)
    with pytest.raises(TypeError, match="dtype of elements"):
        paddle.dtype.PSTRING.__dlpack_data_type__()
    assert paddle.CPUPlace().__dlpack_device__() == paddle.device("cpu").__dlpack_device__() == (1, 0)
    assert paddle.device("gpu:1").__dlpack_device__() == Place("gpu", 1).__dlpack_device__() == (2, 1)
    assert Place("null", 2).__dlpack_device__() == (12, 2)


# --- moved storage


def test_memory_stays_while_a_record_is_out_and_moves_before_and_after():
    t = empty((4,), dtype.float32, CPU)
    array.operand(t)[...] = numbers(4)
    t.storage.relocate()
    capsule = dlpack.dlpack(t)
    assert record(capsule).tensor.data == t.data_ptr()
    for move in (t.storage.relocate, t.storage.offload, t.storage.free):
        with pytest.raises(RuntimeError, match="pin"):
            move()
    del capsule
    t.storage.relocate()
    t.storage.offload()
    capsule = dlpack.dlpack(t)
    assert record(capsule).tensor.data == t.data_ptr(), "it is brought back"
    assert dlpack.from_dlpack(capsule).tolist() == [0, 1, 2, 3]


def test_memory_of_others_does_not_move():
    t = dlpack.from_dlpack(Producer(numbers(3), F32))
    with pytest.raises(RuntimeError):
        t.storage.relocate()


def test_bfloat16_of_a_raw_producer():
    a = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    assert dlpack.from_dlpack(Producer(a, CODES["bfloat16"])).astype("float32").tolist() == [1.5, -2.0]
