"""Differences from the reference of dtypes, NaN, shapes and indices, as ``docs/design/differences.md`` lists them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

import paddle

T = paddle.to_tensor
NAN = math.nan


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64"])
def test_numbers_of_numpy_beside_integers_and_bools(dtype):
    x = paddle.ones([2], dtype)
    for y in (x * np.float32(2.5), np.float32(2.5) * x):
        assert y.dtype is paddle.float32 and y.tolist() == [2.5, 2.5]
    assert (x + np.int64(3)).tolist() == [4, 4]
    assert paddle.clip(x.astype("int32"), np.float32(2.5)).tolist() == [2.5, 2.5]


@pytest.mark.parametrize("way", ["eager", "captured", "one graph"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
def test_lists_of_tensors_and_numbers(dtype, way):
    def listed(x, n):
        return paddle.to_tensor([x, n]), paddle.to_tensor([x, paddle.ones([], "int32")]), x + n

    f = listed if way == "eager" else paddle.jit.to_static(listed, full_graph=way == "one graph")
    number, other, added = f(paddle.ones([], dtype), 2 if dtype.startswith("int") else 1.5)
    assert number.dtype == other.dtype == added.dtype == getattr(paddle, dtype)
    assert number.tolist()[0] == 1


@pytest.mark.parametrize("way", ["eager", "captured", "one graph"])
def test_what_a_loop_begins_with_keeps_its_value(way):
    def looped(i, x):
        return paddle.static.nn.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, y * 2], [i, x])

    f = looped if way == "eager" else paddle.jit.to_static(looped, full_graph=way == "one graph")
    i, x = paddle.zeros([], "int64"), paddle.ones([2])
    assert [y.tolist() for y in f(i, x)] == [3, [8.0, 8.0]]
    assert (i.item(), x.tolist()) == (0, [1.0, 1.0])


def test_a_fraction_as_a_power_of_integers():
    for y in (paddle.pow(T([4, 9]), 0.5), T([4, 9]) ** 0.5):
        assert y.dtype is paddle.float32
        np.testing.assert_allclose(y.numpy(), [2, 3], rtol=1e-6)


def test_a_negative_number_beside_uint8():
    x = T([0, 255], dtype="uint8")
    assert (x < -3).tolist() == [False, False] and (x > -3).tolist() == [True, True]


@pytest.mark.parametrize("name", ["deg2rad", "rad2deg"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16"])
def test_angles_of_small_integers(name, dtype):
    y = getattr(paddle, name)(paddle.ones([1], dtype))
    assert y.dtype is paddle.float32 and y.item() == pytest.approx(getattr(np, name)(1.0))


def test_a_number_of_a_wider_dtype_added_in_place():
    x = paddle.ones([2], "float16")
    assert (x + T(2.5)).dtype is x.add_(T(2.5)).dtype is paddle.float16


def test_out_keeps_its_dtype():
    memory = paddle.zeros([2, 2], "float64")
    paddle.add(paddle.ones([2]), paddle.ones([2]), out=memory[0])
    assert memory.dtype is paddle.float64 and memory.tolist() == [[2, 2], [0, 0]]


def test_arrays_of_bfloat16_hold_numbers():
    x = T([1.5, -2.0], dtype="bfloat16")
    assert str(x.numpy().dtype) == "bfloat16" and x.tolist() == x.numpy().tolist() == [1.5, -2.0]


def test_copy_broadcasts():
    x = paddle.zeros([2, 3])
    assert x.copy_(T([1.0, 2.0, 3.0])).tolist() == [[1, 2, 3], [1, 2, 3]]


def test_nan_among_values():
    x = T([NAN, 1.0, NAN, 0.5])
    found, counts = paddle.unique(x, return_counts=True)
    np.testing.assert_array_equal(found.numpy(), [0.5, 1.0, NAN])
    assert counts.tolist() == [1, 1, 2]
    assert paddle.argmin(x).item() == 0 and math.isnan(paddle.mode(x)[0].item())
    assert math.isnan(paddle.linalg.norm(x, math.inf).item())
    assert paddle.searchsorted(T([-1.0, 0.0, 1.0]), T([-math.inf, math.inf])).tolist() == [0, 3]


INDICES = (None, Ellipsis, 0, slice(1, None), [0, 1], [[1], [0]], [True, False])


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_indices_beside_new_dims(rank):
    """As in PyTorch, what is read and what is written."""
    a = np.arange(24.0).reshape(2, 2, 2, 3)
    for index in itertools.product(INDICES, repeat=rank):
        if None not in index or index.count(Ellipsis) > 1:
            continue
        try:
            want = torch.tensor(a)[index]
        except IndexError:
            continue
        np.testing.assert_array_equal(T(a)[index].numpy(), want.numpy(), err_msg=str(index))
        b, x = torch.tensor(a), T(a)
        b[index] = x[index] = -1.0
        np.testing.assert_array_equal(x.numpy(), b.numpy(), err_msg=str(index))


def test_strides_of_gradients():
    """Those of ``.grad`` are in row-major order; ``paddle.grad`` gives a gradient as it was computed."""
    for x in (paddle.ones([2, 3]), paddle.ones([3, 2]).t().detach(), paddle.ones([4, 6])[::2, ::2].detach()):
        x.stop_gradient = False
        for y, computed in ((x.t() * 2, [1, 2]), (x * x, [3, 1]), (x.unsqueeze(0).expand([2, 2, 3]), [3, 1])):
            assert paddle.grad(y.sum(), [x], retain_graph=True)[0].strides == computed
            x.clear_grad()
            y.sum().backward()
            assert x.grad.strides == [3, 1]


@pytest.mark.parametrize("index", [slice(None), Ellipsis, slice(0, 3), (slice(None), slice(0, 2))])
def test_what_is_overwritten_by_a_result_has_no_part(index):
    x, w = (paddle.ones([3, 2]) for _ in range(2))
    x.stop_gradient = w.stop_gradient = False
    y = x * 2
    y[index] = w * 3
    with pytest.raises(ValueError, match="allow_unused"):
        paddle.grad(y.sum(), [x], retain_graph=True)
    y.sum().backward()
    assert x.grad is None
    assert w.grad.tolist() == [[3, 3]] * 3
