"""``isclose`` of integers, and operands of mixed dtypes or kinds that were refused or compared as something else."""

import numpy as np
import pytest

import paddle

LARGE = 2**53  # from here on float64 does not tell neighbours apart


def ints(*values, dtype="int64"):
    return paddle.to_tensor(np.array(values, dtype))


@pytest.mark.parametrize("capture", [False, True])
def test_large_integers_differ(capture):
    def close(x, y):
        return paddle.isclose(x, y, 0.0, 0.0)

    close = paddle.jit.to_static(close) if capture else close
    x, y = ints(LARGE, LARGE + 1, -LARGE, 5), ints(LARGE + 1, LARGE + 1, -LARGE - 1, 5)
    assert close(x, y).tolist() == [False, True, False, True]
    assert not paddle.allclose(x, y, 0.0, 0.0) and paddle.allclose(x, y, 0.0, 1.0)


def test_distances_beyond_int64():
    low, high = ints(-(2**63)), ints(2**63 - 1)
    assert paddle.isclose(low, high, 0.0, 1e19).tolist() == [False]
    assert paddle.isclose(low, high, 0.0, 2e19).tolist() == [True]
    assert paddle.isclose(low, high, 1.0, 0.0).tolist() == [False]
    assert paddle.isclose(high, low, 2.0, 0.0).tolist() == [True]
    assert paddle.isclose(low, low + 5, 1e-5, 0.0).tolist() == [True]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64"])
def test_small_integers(dtype):
    x, y = ints(0, 1, 1, dtype=dtype), ints(1, 0, 1, dtype=dtype)
    assert paddle.isclose(x, y, 0.0, 0.5).tolist() == [False, False, True]
    assert paddle.isclose(x, y, 0.0, 1.0).tolist() == [True, True, True]
    assert paddle.isclose(x, y, 1.0, 0.0).tolist() == [True, False, True]


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
@pytest.mark.parametrize(
    ("first", "second", "result"),
    [("float32", "float64", "float64"), ("float64", "float32", "float64"), ("bfloat16", "float32", "float32")],
)
def test_incomplete_gamma_functions_promote(name, first, second, result):
    x, y = paddle.to_tensor([2.0]), paddle.to_tensor([1.0])
    found = getattr(paddle, name)(x.astype(first), y.astype(second))
    assert found.dtype == getattr(paddle, result)
    want = getattr(paddle, name)(x.astype("float64"), y.astype("float64"))
    assert abs(float(found) - float(want)) < 1e-6


@pytest.mark.parametrize("alpha", [None, "two", [1.0]])
def test_alpha_is_a_number(alpha):
    with pytest.raises(TypeError, match=r"\[index_add\] requires a number for alpha, got"):
        paddle.index_add(paddle.ones([2]), ints(0), 0, paddle.ones([1]), alpha=alpha)


@pytest.mark.parametrize(("dtype", "alpha"), [("int64", 1.5), ("float32", 1j)])
def test_alpha_is_of_the_dtypes_kind(dtype, alpha):
    x = paddle.ones([2], dtype)
    with pytest.raises(ValueError, match=rf"\[index_add\] requires an alpha that {dtype} can hold, got"):
        paddle.index_add(x, ints(0), 0, x[:1], alpha=alpha)
    with pytest.raises(ValueError, match=r"\[index_add\] requires an alpha of one element, got shape \[2\]"):
        paddle.index_add(x, ints(0), 0, x[:1], alpha=x)


def test_alpha_scales():
    x = paddle.ones([2])
    for alpha in (3, 3.0, np.float32(3), paddle.to_tensor(3.0), paddle.to_tensor([3.0])):
        assert paddle.index_add(x, ints(0), 0, x[:1], alpha=alpha).tolist() == [4.0, 1.0]
