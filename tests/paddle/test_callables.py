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


def test_a_shape_is_equal_to_lists_and_tuples():
    x = paddle.ones([2, 3])
    assert type(x.shape) is paddle.Size and isinstance(x.shape, list)
    assert x.shape == [2, 3] and x.shape == (2, 3) and (2, 3) == x.shape and x.shape == paddle.Size((2, 3))
    assert x.shape != (2, 4) and x.shape != (2,) and x.shape != 6
    assert x.shape < [2, 4] and x.shape >= [2]
    with pytest.raises(TypeError):
        x.shape < (2, 4)  # noqa: B015
    with pytest.raises(TypeError):
        hash(x.shape)


def test_parts_and_sums_of_sizes_are_sizes():
    s = paddle.ones([2, 3]).shape
    for made, sizes in (
        (s[1:], [3]),
        (s + (4,), [2, 3, 4]),  # noqa: RUF005
        (s + [4], [2, 3, 4]),  # noqa: RUF005
        ([4] + s, [4, 2, 3]),  # noqa: RUF005
        ((4,) + s, [4, 2, 3]),  # noqa: RUF005
        (s * 2, [2, 3, 2, 3]),
        (2 * s, [2, 3, 2, 3]),
        (copy.deepcopy(s), [2, 3]),
        (pickle.loads(pickle.dumps(s)), [2, 3]),
    ):
        assert type(made) is paddle.Size and list(made) == sizes
    assert type(s.copy()) is list and s.numel() == 6 and paddle.Size().numel() == 1 and s[-1] == 3
    before = s
    s += [4]
    assert s is before and s == (2, 3, 4)
    assert paddle.Size(paddle.to_tensor([1, 2])) == (1, 2)
    assert str(s) == repr(s) == f"{s}" == "paddle.Size([2, 3, 4])" and repr(paddle.Size()) == "paddle.Size([])"
    for wrong in (["a"], [1.5], "ab"):
        with pytest.raises(TypeError, match="integers"):
            paddle.Size(wrong)


def test_the_number_of_elements_may_be_called():
    x = paddle.ones([2, 3])
    assert x.size == 6 and isinstance(x.size, int) and x.size + 1 == 7
    assert x.size() == (2, 3) and type(x.size()) is paddle.Size
    assert (x.size(0), x.size(-1), x.size(dim=1), x.size(None)) == (2, 3, 3, [2, 3])
    with pytest.raises(IndexError):
        x.size(2)
    assert type(pickle.loads(pickle.dumps(x.size))) is int


def test_sizes_in_captured_functions():
    @paddle.jit.to_static
    def f(x):
        assert x.shape == (2, 3) and x.size() == (2, 3) and x.size(0) == 2
        return x.reshape(x.shape[::-1]) + x.size, x.shape, paddle.zeros((*x.shape, 1))

    y, shape, z = f(paddle.ones([2, 3]))
    assert y.shape == (3, 2) and y.tolist()[0] == [7.0, 7.0] and shape == [2, 3] and z.shape == (2, 3, 1)


def test_sizes_where_sizes_are_taken():
    x = paddle.ones([2, 3])
    y = paddle.ones([3, 2])
    assert x.reshape(y.shape).shape == (3, 2) and x.expand((1, *x.shape)).shape == (1, 2, 3)
    assert np.zeros(x.shape).shape == (2, 3) and np.zeros(2).shape == paddle.ones([2]).shape
    assert paddle.full(x.shape, 2.0).shape == x.shape and paddle.zeros(x.size()).shape == x.shape
