"""Memory shared with PyTorch, NumPy and TVM-FFI: dtype, shape, strides and protocol as they come, both ways."""

from __future__ import annotations

import gc

import extras
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpys import NUMPY_2

import paddle
from umiak.util.dtypes import ROWS

tvm_ffi = extras.module("tvm_ffi", "apache-tvm-ffi")

DTYPES = [name for name, row in ROWS.items() if hasattr(torch, name) and not row.packed]
NUMPYS = [name for name in DTYPES if ROWS[name].numpy.type.__module__ == "numpy"]


@st.composite
def layouts(draw, negative):
    """(shape, a function of a dense array that gives a view of it)."""
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    axes = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 2, 3] + ([-1, -2] if negative else []))) for _ in shape]
    starts = [draw(st.integers(0, 2)) for _ in shape]
    whole = [abs(step) * size + start for size, step, start in zip(shape, steps, starts)]

    def view(a, flip=True):
        for i, (size, step, start) in enumerate(zip(shape, steps, starts)):
            a = a[(slice(None),) * i + (slice(start, None),)]
            a = a[(slice(None),) * i + (slice(None, None, abs(step)),)]
            a = a[(slice(None),) * i + (slice(0, size),)]
            if step < 0:
                a = a[(slice(None),) * i + (slice(None, None, -1),)]
        return a.transpose(*axes) if isinstance(a, np.ndarray) else a.permute(axes)

    return whole, view


def bits(whole, name, seed):
    """An array of random bits of the dtype."""
    rng = np.random.default_rng(seed)
    if name == "bool":
        return rng.integers(0, 2, whole).astype(bool)
    d = ROWS[name].numpy
    return rng.integers(0, 256, [*whole, d.itemsize], np.uint8).view(d).reshape(whole)


def raw(x):
    """Bytes in row-major order, whoever has them."""
    if isinstance(x, torch.Tensor):
        return x.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return np.ascontiguousarray(np.asarray(x)).tobytes()


def as_torch(a, name):
    return (
        torch.from_numpy(a.view(np.uint8) if a.ndim else a.reshape(1).view(np.uint8))
        .view(getattr(torch, name))
        .reshape(a.shape)
    )


def torch_view(whole, view, name, seed):
    return view(as_torch(bits(whole, name, seed), name))


def through_tvm(x):
    return tvm_ffi.get_global_func("testing.echo")(x)


# How a tensor gets from one to the other: name -> function.
TO_TORCH = {
    "from_dlpack": torch.from_dlpack,
    "a capsule": lambda x: torch.from_dlpack(x.__dlpack__(max_version=(1, 0))),
    "an old capsule": lambda x: torch.utils.dlpack.from_dlpack(paddle.utils.dlpack.to_dlpack(x)),
    "TVM-FFI": lambda x: torch.from_dlpack(tvm_ffi.from_dlpack(x)),
}
FROM_TORCH = {
    "from_dlpack": paddle.from_dlpack,
    "a capsule": lambda t: paddle.from_dlpack(t.__dlpack__(max_version=(1, 0))),
    "an old capsule": lambda t: paddle.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(t)),
    "TVM-FFI": lambda t: paddle.from_dlpack(tvm_ffi.from_dlpack(t)),
}
FROM_NUMPY = {
    "from_dlpack": paddle.from_dlpack,
    "from_numpy": paddle.from_numpy,
    "asarray": paddle.asarray,
    "__array_interface__": lambda a: paddle.asarray(Interface(a)),
    "a buffer": lambda a: paddle.asarray(memoryview(a)),
}
TO_NUMPY = {
    "from_dlpack": np.from_dlpack,
    "asarray": lambda x: np.asarray(x, copy=False) if NUMPY_2 else x.__array__(copy=False),
}


class Interface:
    """An object that shows NumPy's interface and nothing else, as images of Pillow do."""

    def __init__(self, a):
        self.a, self.__array_interface__ = a, a.__array_interface__


@pytest.mark.parametrize("way", TO_TORCH)
@settings(max_examples=15)
@given(layout=layouts(False), name=st.sampled_from(DTYPES), seed=st.integers(0, 9))
def test_torch_reads_our_memory(way, layout, name, seed):
    whole, view = layout
    x = view(paddle.from_dlpack(as_torch(bits(whole, name, seed), name)).clone())
    t = TO_TORCH[way](x)
    assert str(t.dtype) == f"torch.{name}" and list(t.shape) == x.shape
    assert raw(t) == raw(x)
    if x.numel():
        assert t.data_ptr() == x.data_ptr() and x.storage.pins == 1
        steps = [(a, b) for a, b, n in zip(t.stride(), x.strides, x.shape) if n > 1]
        assert all(a == b for a, b in steps)
    del t
    assert x.storage.pins == 0


@pytest.mark.parametrize("way", FROM_TORCH)
@settings(max_examples=15)
@given(layout=layouts(False), name=st.sampled_from(DTYPES), seed=st.integers(0, 9))
def test_we_read_torch_s_memory(way, layout, name, seed):
    t = torch_view(*layout, name, seed)
    x = FROM_TORCH[way](t)
    assert x.dtype.name == name and x.shape == list(t.shape)
    assert raw(x) == raw(t)
    if t.numel():
        assert x.data_ptr() == t.data_ptr()
        assert all(a == b for a, b, n in zip(x.strides, t.stride(), t.shape) if n > 1)


@pytest.mark.parametrize("way", FROM_NUMPY)
@settings(max_examples=15)
@given(layout=layouts(True), name=st.sampled_from(NUMPYS), seed=st.integers(0, 9))
def test_we_read_numpy_s_memory(way, layout, name, seed):
    whole, view = layout
    a = view(bits(whole, name, seed))
    x = FROM_NUMPY[way](a)
    assert x.dtype.name == name and x.shape == list(a.shape) and raw(x) == raw(a)
    if a.size:
        assert x.data_ptr() == a.ctypes.data
        assert all(s * a.itemsize == b for s, b, n in zip(x.strides, a.strides, a.shape) if n > 1)
        assert raw(x.clone()) == raw(a), "kernels read it by the same strides"


@pytest.mark.parametrize("way", TO_NUMPY)
@settings(max_examples=15)
@given(layout=layouts(True), name=st.sampled_from(NUMPYS), seed=st.integers(0, 9))
def test_numpy_reads_our_memory(way, layout, name, seed):
    whole, view = layout
    x = paddle.from_numpy(view(bits(whole, name, seed)))
    a = TO_NUMPY[way](x)
    assert a.dtype == ROWS[name].numpy and list(a.shape) == x.shape and raw(a) == raw(x)
    if a.size:
        assert a.ctypes.data == x.data_ptr()
        # A writable array through DLPack takes flags, which NumPy 1 does not know.
        assert a.flags.writeable or (way == "from_dlpack" and not NUMPY_2)


@settings(max_examples=15)
@given(layout=layouts(False), name=st.sampled_from(DTYPES), seed=st.integers(0, 9))
def test_there_and_back_through_functions_of_tvm(layout, name, seed):
    whole, view = layout
    x = view(paddle.from_dlpack(as_torch(bits(whole, name, seed), name)).clone())
    y = through_tvm(x)
    assert isinstance(y, paddle.Tensor) and y.dtype is x.dtype and y.shape == x.shape and raw(y) == raw(x)
    assert y.data_ptr() == x.data_ptr() or not x.numel()
    del y
    gc.collect()
    assert x.storage.pins == 0


@pytest.mark.parametrize("name", ["float32", "int64", "bool", "complex128"])
def test_read_only_arrays_are_copied(name):
    a = bits([3], name, 0)
    a.flags.writeable = False
    for make in FROM_NUMPY.values():
        x = make(a)
        assert x.data_ptr() != a.ctypes.data and raw(x) == raw(a)


def test_objects_that_are_like_arrays_are_copied_by_to_tensor():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    for x in (Interface(a), memoryview(a), bytearray(b"abc"), torch.from_numpy(a)):
        t = paddle.to_tensor(x)
        assert t.tolist() == np.asarray(getattr(x, "a", x)).tolist()
        assert t.data_ptr() != a.ctypes.data
    assert paddle.to_tensor(Interface(a), dtype="int64").tolist() == a.tolist()
    with pytest.raises(ValueError, match="share"):
        paddle.asarray(Interface(np.zeros(3).astype(">f8")), copy=False)


def test_a_buffer_stays_locked_while_a_tensor_is_over_it():
    a = bytearray(b"abc")
    x = paddle.asarray(a)
    x[0] = 120
    assert a == b"xbc"
    with pytest.raises(BufferError):
        a.append(1)
    del x
    gc.collect()
    a.append(1)


def test_the_host_has_no_cuda_interface():
    with pytest.raises(AttributeError, match="__cuda_array_interface__"):
        paddle.ones([2]).__cuda_array_interface__  # noqa: B018
    assert not hasattr(paddle.ones([2]), "__cuda_array_interface__")
