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
    with pytest.raises(CaptureError, match=r"as one graph: a call of Function\. Let an operator launch it \(paddle"):
        g(paddle.ones([2]))


def test_a_static_program_is_refused(programs):
    with pytest.raises(BufferError, match="got a symbolic one"):
        doubled(paddle.static.data("x", [4]))


# --- as operators


def into(name):
    """An operator of the function that writes into its second argument."""
    schema = "(Tensor x, Tensor out, float factor) -> ()"
    return paddle.library.custom_op(f"exchange::{name}", scale, mutates_args=("out",), schema=schema)


@pytest.fixture(scope="module")
def scale_into():
    return into("scale_into")


@pytest.fixture(scope="module")
def tripled():
    @paddle.library.custom_op("exchange::tripled", mutates_args=())
    def op(x: paddle.Tensor) -> paddle.Tensor:
        out = paddle.empty_like(x)
        scale(x, out, 3.0)
        return out

    op.register_fake(lambda x: paddle.empty_like(x))
    op.register_autograd(lambda ctx, g: op(g))
    return op


def test_an_operator_is_a_node_of_one_graph(scale_into):
    @paddle.jit.to_static(full_graph=True)  # refuses what is no node
    def f(x):
        out = paddle.empty_like(x)
        scale_into(x + 1, out, 3.0)
        view = out[1:]
        scale_into(view * 1, view, 2.0)
        return out - x

    for n in range(3):
        x = paddle.arange(4, dtype="float32") + n
        assert f(x).tolist() == [3 * n + 3 - n] + [6 * (n + i + 1) - n - i for i in range(1, 4)]


def test_an_operator_in_a_static_program(scale_into, programs):
    x = paddle.static.data("x", [None, 2])
    out = paddle.empty_like(x)
    scale_into(x, out, 4.0)
    executor = paddle.static.Executor()
    for rows in (1, 3):
        (found,) = executor.run(feed={"x": np.ones((rows, 2), np.float32)}, fetch_list=[out + 1])
        assert found.tolist() == [[5, 5]] * rows


def test_gradients_of_an_operator(tripled):
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    (first,) = paddle.grad((tripled(x) ** 3).sum(), x, create_graph=True)
    (second,) = paddle.grad(first.sum(), x)
    assert first.tolist() == [81, 324] and second.tolist() == [162, 324]
    f = paddle.jit.to_static(lambda x: (tripled(x * 2.0) ** 2).sum(), full_graph=True)
    for _ in range(2):
        x.clear_gradient()
        f(x).backward()
        assert x.grad.tolist() == [72, 144]


def test_what_is_written_to_has_to_be_named():
    """A function that is not Python's is taken at its word only for what its schema has."""
    op = paddle.library.custom_op(
        "exchange::unnamed", scale, mutates_args=(), schema="(Tensor x, Tensor y, float f) -> ()"
    )
    with pytest.raises(BufferError, match="got a symbolic one"):
        paddle.jit.to_static(lambda x: op(x, x, 1.0), full_graph=True)(paddle.ones([2]))
