"""Functions of TVM-FFI over our tensors: the memory itself, under autograd, in captured functions."""

from __future__ import annotations

import gc
import threading

import extras
import numpy as np
import pytest

import paddle
from umiak.runtime.capture import CaptureError

tvm_ffi = extras.module("tvm_ffi", "apache-tvm-ffi")

echo = tvm_ffi.get_global_func("testing.echo")
nop = tvm_ffi.get_global_func("testing.nop")


def scaled(x, out, factor):
    np.multiply(np.from_dlpack(x), factor, out=np.from_dlpack(out))


scale = tvm_ffi.convert(scaled)
doubled = tvm_ffi.convert(lambda x: tvm_ffi.from_dlpack(np.from_dlpack(x) * 2))


def test_results_are_tensors_over_the_same_memory():
    x = paddle.arange(4, dtype="float32")
    y = echo(x)
    assert isinstance(y, paddle.Tensor) and y.data_ptr() == x.data_ptr() and y.stop_gradient
    y[0] = 9.0
    assert x[0].item() == 9
    assert doubled(x).tolist() == [18, 2, 4, 6]


def test_arguments_are_written_in_place():
    x, out = paddle.arange(6, dtype="float32").reshape([2, 3]), paddle.zeros([3, 2])
    scale(x, out.T, 3.0)
    assert out.T.tolist() == (3 * x).tolist()


def test_memory_is_let_go_when_the_call_is_over():
    tensors = [paddle.ones([3]) for _ in range(3)]
    nop(*tensors)
    assert [x.storage.pins for x in tensors] == [0, 0, 0]
    kept = echo(tensors[0])
    assert tensors[0].storage.pins == 1
    del kept
    gc.collect()
    assert tensors[0].storage.pins == 0


def test_a_tensor_that_tvm_keeps_is_freed_by_whoever_drops_it():
    x = paddle.ones([3])
    s = x.storage
    kept = [tvm_ffi.from_dlpack(x)]
    del x
    assert s.pins == 1
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()
    assert s.pins == 0


def test_memory_of_tvm_outlives_its_tensor():
    theirs = tvm_ffi.from_dlpack(np.arange(3.0))
    x = paddle.from_dlpack(theirs)
    del theirs
    gc.collect()
    assert x.tolist() == [0, 1, 2]


def test_tensors_in_containers():
    x = paddle.ones([3])
    found = echo([x, {"a": x}])
    assert isinstance(found[0], paddle.Tensor) and found[0].data_ptr() == x.data_ptr()
    assert np.from_dlpack(found[1]["a"]).tolist() == [1, 1, 1]


def test_dtypes_and_places_are_arguments():
    assert str(echo(paddle.bfloat16)) == "bfloat16" and str(echo(paddle.int64)) == "int64"
    assert str(echo(paddle.CPUPlace())) == "cpu:0"


def test_errors_come_back():
    def fails(x):
        raise ValueError(f"no {x.shape}")

    x = paddle.ones([3])
    with pytest.raises(ValueError, match="no"):
        tvm_ffi.convert(fails)(x)
    assert x.storage.pins == 0
    with pytest.raises(BufferError, match="requires a dense tensor, got a sparse one"):
        nop(paddle.sparse.sparse_coo_tensor([[0], [0]], [1.0], [2, 2]))


class Tripled(paddle.autograd.PyLayer):
    """A function of TVM-FFI with its derivative."""

    @staticmethod
    def forward(ctx, x):
        out = paddle.empty_like(x)
        scale(x, out, 3.0)
        return out

    @staticmethod
    def backward(ctx, g):
        out = paddle.empty_like(g)
        scale(g, out, 3.0)
        return out


def test_gradients_through_a_py_layer():
    x = paddle.arange(3, dtype="float32")
    x.stop_gradient = False
    y = Tripled.apply(x * 2)
    y.sum().backward()
    assert y.tolist() == [0, 6, 12] and x.grad.tolist() == [6, 6, 6]


def test_without_one_a_result_has_no_history():
    w = paddle.create_parameter([3], "float32")
    y = doubled(w)
    assert y.stop_gradient and y.is_leaf


def captured(f):
    return paddle.jit.to_static(f)


def test_in_a_captured_function():
    def f(x):
        a = x * 2
        out = paddle.zeros([4])
        scale(a, out, 3.0)
        return out + a + doubled(out)

    g = captured(f)
    for n in range(4):
        x = paddle.arange(4, dtype="float32") + n
        assert g(x).tolist() == f(x).tolist() == (20 * x).tolist()


def test_under_autograd_in_a_captured_function():
    g = captured(lambda x: (Tripled.apply(x * 2) * x).sum())
    for n in range(4):
        x = paddle.arange(3, dtype="float32") + n
        x.stop_gradient = False
        g(x).backward()
        assert x.grad.tolist() == (12 * x).tolist()


def test_one_graph_is_refused():
    g = paddle.jit.to_static(lambda x: doubled(x) + 1, full_graph=True)
    with pytest.raises(CaptureError, match="as one graph: a call of Function"):
        g(paddle.ones([2]))


def test_a_static_program_is_refused(programs):
    with pytest.raises(BufferError, match="got a symbolic one"):
        doubled(paddle.static.data("x", [4]))
