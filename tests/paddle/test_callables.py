"""``paddle.Tensor(...)``, ``paddle.tensor(...)`` and ``paddle.device(...)``."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import paddle


@pytest.mark.parametrize("sizes", [(2, 3), (0,), (2,), (2, 0, 4), (np.int64(3),)])
def test_a_tensor_of_sizes(sizes):
    x = paddle.Tensor(*sizes)
    assert (x.shape, x.dtype, x.stop_gradient) == (list(sizes), paddle.float32, True)


def test_a_tensor_of_numbers():
    for data in ([1, 2], (1, 2), paddle.Size([1, 2])):
        x = paddle.Tensor(data)
        assert x.dtype == paddle.float32 and x.tolist() == [1.0, 2.0]
    assert paddle.Tensor().shape == [0] and paddle.Tensor([]).shape == [0]
    assert paddle.Tensor([[1, 2], [3, 4]]).shape == [2, 2]
    assert paddle.Tensor(data=[1], device="cpu").tolist() == [1.0]
    assert paddle.Tensor([1.0], place=paddle.CPUPlace(), stop_gradient=False).stop_gradient is False
    assert paddle.Tensor([3], dtype="int32").dtype == paddle.int32


def test_a_tensor_of_arrays_and_tensors_keeps_their_dtype():
    a, x = np.array([1, 2]), paddle.to_tensor([1, 2])
    for made, source in ((paddle.Tensor(a), a), (paddle.Tensor(x), x)):
        assert made.dtype == paddle.int64
        source[0] = 9
        assert made.tolist() == [1, 2]


def test_the_default_dtype_does_not_count():
    paddle.set_default_dtype("float64")
    try:
        assert paddle.Tensor(2).dtype == paddle.Tensor([1]).dtype == paddle.float32
    finally:
        paddle.set_default_dtype("float32")


@pytest.mark.parametrize("data", [(2.5,), ("a",), (True,), (None,), (2, "a"), ([1], 2), (-1,), ({},)])
def test_what_is_no_tensor(data):
    with pytest.raises((ValueError, TypeError)):
        paddle.Tensor(*data)


def test_unknown_keywords():
    with pytest.raises(TypeError, match="unexpected keyword argument 'value'"):
        paddle.Tensor([1], value=3)


def test_a_made_tensor_is_like_any_other():
    x = paddle.Tensor([1.0, 2.0])
    x.stop_gradient = False
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert pickle.loads(pickle.dumps(paddle.Tensor([3.0]))).tolist() == [3.0]
    assert copy.deepcopy(paddle.Tensor([3.0])).tolist() == [3.0]

    class Named(paddle.Tensor):
        pass

    assert Named([1, 2]).tolist() == [1.0, 2.0] and Named().shape == [0]
    assert paddle.jit.to_static(lambda a: a + paddle.Tensor([1.0, 1.0]))(x).tolist() == [2.0, 3.0]


def test_tensor_is_a_module_and_a_function():
    x = paddle.tensor([1, 2], "float64", "cpu", True, False)
    assert (x.dtype, x.stop_gradient, x.tolist()) == (paddle.float64, False, [1.0, 2.0])
    assert paddle.tensor(data=0.3, dtype="float64").item() == 0.3
    assert paddle.tensor([1]).dtype == paddle.int64
    import paddle.tensor as module

    assert module.add is paddle.add and module is paddle.tensor


def test_devices():
    cpu = paddle.device("cpu")
    assert (cpu, cpu.type, cpu.index, str(cpu)) == ("cpu", "cpu", None, "cpu")
    assert paddle.device("cpu:0") == paddle.device("CPU") == paddle.device(paddle.CPUPlace()) == cpu
    assert paddle.device("gpu").index == 0 and paddle.device("gpu", 1) == "gpu:1" == paddle.device("gpu:1")
    assert paddle.device(2) == "cuda:2" and paddle.device(type="cuda", index=1).index == 1
    assert hash(cpu) == hash("cpu") and isinstance(cpu, paddle.device.Device)
    assert paddle.ones([2], device=cpu).place == paddle.CPUPlace()
    with cpu as inside:
        assert inside is cpu and paddle.ones([1]).place == paddle.CPUPlace()
    with paddle.device.device("cpu"):
        pass


@pytest.mark.parametrize("wrong", [("foo",), (None,), (), ("gpu:1", 2), ("gpu:x",), (1.5,), (None, 1)])
def test_devices_that_are_none(wrong):
    with pytest.raises((ValueError, TypeError), match=r"\[device\] requires"):
        paddle.device(*wrong)
