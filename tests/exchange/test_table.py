"""DLPack's table of C functions, called as C calls them."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest
from dlpack_records import COMPLAIN, COPIED, Device, New, Producer, Tensor, Type, table

import paddle
from umiak.core import array, stream
from umiak.core.place import Place

C = table(paddle.Tensor)
F32 = (2, 32)


def exported(x):
    out = ctypes.POINTER(New)()
    C.from_object(x, ctypes.byref(out))
    return out


def imported(p):
    out = ctypes.py_object()
    C.to_object(ctypes.cast(p, ctypes.POINTER(New)), ctypes.byref(out))
    x = out.value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(x))  # the reference that the function gives, beside that of `out`
    return x


def borrowed(x):
    out = Tensor()
    C.borrow(x, ctypes.byref(out))
    return out


def allocated(shape, code=F32, device=(1, 0), ndim=None):
    """The record, and what was complained of."""
    sizes = (ctypes.c_int64 * max(1, len(shape)))(*shape)
    prototype = Tensor(
        device=Device(*device), ndim=len(shape) if ndim is None else ndim, dtype=Type(*code, 1), shape=sizes
    )
    out, said = ctypes.POINTER(New)(), []
    complain = COMPLAIN(lambda context, kind, message: said.append((kind.decode(), message.decode())))
    rc = C.allocate(ctypes.byref(prototype), ctypes.byref(out), None, complain)
    assert (rc == 0) == (not said)
    return out, said


def test_the_header():
    assert (C.major, C.minor, C.older) == (1, 3, None)
    assert paddle.Tensor.__c_dlpack_exchange_api__ is paddle.Tensor.__dlpack_c_exchange_api__


def test_a_tensor_goes_out():
    x = paddle.arange(12, dtype="int64").reshape([3, 4]).T
    m = exported(x)
    d = m.contents.tensor
    assert (m.contents.major, m.contents.minor, m.contents.flags) == (1, 3, 0)
    assert (d.data, d.ndim, d.shape[:2], d.strides[:2]) == (x.data_ptr(), 2, [4, 3], [1, 4])
    assert x.storage.pins == 1
    m.contents.deleter(ctypes.addressof(m.contents))
    assert x.storage.pins == 0


def test_the_deleter_on_a_thread_of_c():
    x = paddle.ones([3])
    m = exported(x)
    # ctypes lets go of the interpreter's lock around the call, as a library in C may.
    thread = threading.Thread(target=m.contents.deleter, args=(ctypes.addressof(m.contents),))
    thread.start()
    thread.join()
    assert x.storage.pins == 0


def test_the_tensor_may_be_dropped_before_its_record():
    x = paddle.arange(3, dtype="float32")
    m = exported(x)
    del x
    y = imported(m)
    assert y.tolist() == [0, 1, 2] and y.storage.pins == 0


def test_a_record_of_ours_comes_back_as_ours():
    x = paddle.ones([3])
    y = imported(exported(x))
    assert y.storage is x.storage and x.storage.pins == 0 and y.stop_gradient


def test_a_record_of_another_is_taken():
    p = Producer(np.arange(3, dtype=np.float32), F32)
    x = imported(ctypes.pointer(p.record))
    assert x.data_ptr() == p.array.ctypes.data and p.freed == 0
    del x
    assert p.freed == 1


def test_a_record_that_is_refused_stays_its_producer_s():
    p = Producer(np.zeros(2, np.uint8), (15, 6))
    with pytest.raises(TypeError, match="float6_e2m3fn 6"):
        imported(ctypes.pointer(p.record))
    assert p.freed == 0


def test_a_tensor_is_lent():
    x = paddle.arange(12, dtype="float32").reshape([3, 4])[1:, ::2]
    d = borrowed(x)
    assert (d.data, d.ndim, d.shape[:2], d.strides[:2]) == (x.data_ptr(), 2, [2, 2], [4, 2])
    assert x.storage.pins == 0
    array.to_numpy(x)  # `d` shows sizes that are the tensor's own
    assert borrowed(paddle.zeros([0, 2])).data is None


def test_offloaded_memory_is_brought_back():
    x = paddle.ones([3])
    x.storage.offload()
    assert borrowed(x).data == x.data_ptr()


def test_memory_is_made_without_the_lock_of_the_interpreter():
    m, said = allocated((2, 3))
    assert not said and m.contents.flags in (0, COPIED) and m.contents.tensor.strides[:2] == [3, 1]
    x = imported(m)
    assert x.shape == [2, 3] and x.dtype is paddle.float32 and x.storage.pins == 0
    y = imported(allocated((), (4, 16))[0])
    assert y.shape == [] and y.dtype is paddle.bfloat16


@pytest.mark.parametrize(
    ("kind", "text", "asked"),
    [
        ("TypeError", "uint32", {"shape": (2,), "code": (1, 32)}),
        ("BufferError", "DLPack device type 7", {"shape": (2,), "device": (7, 0)}),
        ("ValueError", "at most 63 axes", {"shape": (2,), "ndim": 70}),
        ("MemoryError", "1099511627776", {"shape": (2**40, 2**30)}),
    ],
)
def test_memory_that_cannot_be_made(kind, text, asked):
    m, [(found, message)] = allocated(**asked)
    assert not m and found == kind and text in message


def test_who_is_no_tensor():
    for act in (exported, borrowed):
        with pytest.raises(TypeError, match="requires a Tensor, got list"):
            act([1.0])
        with pytest.raises(BufferError, match="sparse"):
            act(paddle.sparse.sparse_coo_tensor([[0], [0]], [1.0], [2, 2]))


def test_gradients_do_not_keep_c_from_the_memory():
    w = paddle.create_parameter([3], "float32")
    assert not w.stop_gradient and borrowed(w).data == w.data_ptr()


def streams(type, id):
    out = ctypes.c_void_p(1)
    C.current_stream(type, id, ctypes.byref(out))
    return out.value


def test_the_current_stream():
    assert streams(1, 0) is None
    with pytest.raises(BufferError, match="DLPack device type 7"):
        streams(7, 0)


class Driver(stream.QueueDriver):
    """Streams of a device that knows them by address."""

    def completed(self, id):
        return 0

    def synchronize(self, id, ticket):
        """All is done."""

    def native_handle(self, id):
        return 0x1000 + id


def test_streams_have_the_addresses_of_their_driver():
    place = Place("handles", 0)
    stream.install_driver(place.index, Driver())
    assert stream.stream(place.index).handle == 0x1000
    assert stream.new_stream(place.index).handle == 0x1001
    assert stream.stream(Place("cpu").index).handle == 0
