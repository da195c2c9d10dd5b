"""Functions that PYBIND11_MODULE declares take and give tensors; errors are those of operators."""

from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
import pytest

import paddle
from paddle.utils.cpp_extension import load
from paddle.utils.cpp_extension.python_headers import python_headers
from tests.support.extensions import bound


@pytest.fixture(scope="module")
def functions():
    return bound("bound")


def test_tensors_are_arguments_and_results(functions, rng):
    x = paddle.to_tensor(rng.standard_normal([3, 4]))
    np.testing.assert_array_equal(functions.twice(x).numpy(), 2 * x.numpy())
    np.testing.assert_array_equal(functions.twice(x=x[:0]).numpy(), x.numpy()[:0])
    np.testing.assert_allclose(functions.product(x, x.t()).numpy(), x.numpy() @ x.numpy().T)
    assert functions.twice(2.5) == 5.0  # another overload
    assert functions.same(x) is x
    first, second = functions.reversed([x, paddle.ones([2])])
    assert second is x and first.tolist() == [1.0, 1.0] and functions.reversed([]) == []
    with pytest.raises(TypeError, match=r"twice\(\): incompatible[\s\S]*\(x: paddle\.Tensor\) -> paddle\.Tensor"):
        functions.twice("x")
    with pytest.raises(TypeError, match=r"incompatible"):
        functions.same(None)


def test_memory_is_shared(functions):
    x = paddle.zeros([2, 2])
    functions.fill(x, 3.0)
    assert x.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_tensors_that_may_be_absent(functions):
    assert functions.nullable(True) is None and functions.nullable(False).tolist() == [1.0, 1.0]
    assert functions.doubled() is None and functions.doubled(paddle.ones([1])).tolist() == [2.0]


def test_dtypes_and_places(functions):
    for dtype in (paddle.int64, paddle.bfloat16, paddle.complex64):
        x = functions.zeros([2, 0], dtype, paddle.CPUPlace())
        assert x.shape == [2, 0] and x.dtype is dtype
        assert functions.dtype_of(x) is dtype and functions.place_of(x) == x.place
    for wrong in (paddle.ones([1]), paddle.CPUPlace(), 3):
        with pytest.raises(TypeError, match=r"paddle\.dtype"):
            functions.zeros([2], wrong, paddle.CPUPlace())


REFUSED = [
    (lambda f: f.refused(0), OSError, r"^refused 0 \(.*bound\.cc:\d+\)$"),
    (lambda f: f.refused(1), ValueError, r"^1 is invalid \(.*bound\.cc:\d+\)$"),
    (lambda f: f.refused(2), IndexError, r"^an index$"),
    (lambda f: f.refused(3), ValueError, r"^\[matmul\] requires x\.shape"),
    (lambda f: f.twice(paddle.ones([2, 3]).t()), RuntimeError, r"^elements on the cpu, one after the other"),
    (lambda f: f.called(lambda x: {}[0], paddle.ones([1])), KeyError, r"0"),
    (lambda f: f.called(lambda x: 3, paddle.ones([1])), RuntimeError, r"Unable to cast"),
]


@pytest.mark.parametrize(("call", "kind", "message"), REFUSED)
def test_functions_that_fail(functions, call, kind, message):
    with pytest.raises(kind, match=message):
        call(functions)
    assert functions.refused(9) == "right"  # and the next call is right


def test_functions_that_call_python_and_let_its_lock_go(functions):
    x = paddle.ones([3])
    assert functions.called(lambda x: x + 1, x).tolist() == functions.without_lock(x).tolist() == [2.0, 2.0, 2.0]


def test_nothing_is_kept(functions):
    x = paddle.ones([3])
    kept, count = functions.Scale(x), sys.getrefcount(x)
    for _ in range(10):
        functions.same(x), functions.reversed([x, x]), kept.apply(x), functions.doubled(x)
        with pytest.raises(TypeError):
            functions.zeros([1], x, x)
    assert sys.getrefcount(x) == count and kept.by is x
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is not None
    del kept
    assert alive() is None


def test_operators_beside_them(functions):
    assert functions.bound_relu(paddle.to_tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
    assert {"bound_relu", "twice", "Scale"} <= set(functions.__all__)


def test_captured_functions_call_them_between_two_graphs(functions):
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = paddle.jit.to_static(lambda x: functions.twice(x + 1.0) * x)(x)
    assert y.tolist() == [4.0, 12.0]
    assert paddle.grad(y.sum(), x)[0].tolist() == [4.0, 6.0]  # the function's own results have no history


def test_one_graph_has_no_calls_of_them(functions):
    with pytest.raises(RuntimeError, match=r"as one graph: a call of umiak_bound\.twice"):
        paddle.jit.to_static(lambda x: functions.twice(x + 1.0), full_graph=True)(paddle.ones([2]))


def test_headers_of_pybind11_are_looked_for_where_they_are_wanted(tmp_path, monkeypatch):
    source = tmp_path / "own.cc"
    source.write_text("int nothing;")
    assert python_headers([str(source)], [], "load") == []
    source.write_text("PYBIND11_MODULE(own, m) {}")
    (tmp_path / "pybind11" / "include" / "pybind11").mkdir(parents=True)
    (tmp_path / "pybind11" / "__init__.py").touch()
    (tmp_path / "pybind11" / "include" / "pybind11" / "pybind11.h").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert python_headers([str(source)], [], "load")[1] == str(tmp_path / "pybind11" / "include")
    assert len(python_headers([str(source)], [str(tmp_path / "pybind11" / "include")], "load")) == 1
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(RuntimeError, match=r"\[load\] requires the headers of pybind11 for .*own\.cc.* pip install"):
        load("own", [str(source)], build_directory=str(tmp_path / "out"))


@pytest.mark.slow
def test_modules_that_were_written_for_pytorch():
    functions = bound("torch_bound")
    x = paddle.ones([2])
    assert functions.twice(x).tolist() == [2.0, 2.0] and functions.dtype_of(x) is paddle.float32
    assert functions.is_given(x) and not functions.is_given(None)
