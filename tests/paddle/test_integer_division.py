"""Integers divided by zero are an error, however they are divided, and the smallest integer divided by -1 wraps."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import paddle

INTS = ["int8", "int16", "int32", "int64", "uint8"]

WAYS = {
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "floor_divide": paddle.floor_divide,
    "remainder": paddle.remainder,
    "mod": paddle.mod,
    "floor_mod": paddle.floor_mod,
    "floor_divide_": lambda x, y: paddle.clone(x).floor_divide_(y),
    "remainder_": lambda x, y: paddle.clone(x).remainder_(y),
    "//=": lambda x, y: operator.ifloordiv(paddle.clone(x), y),
    "divide trunc": lambda x, y: paddle.divide(x, y, rounding_mode="trunc"),
    "divide floor": lambda x, y: paddle.divide(x, y, rounding_mode="floor"),
}
SIZES = [1, 3, 37, 100_000]  # a scalar tail, one vector, several, several threads


def operands(dtype: str, size: int, at: int) -> tuple[np.ndarray, np.ndarray]:
    x = (np.arange(size) % 100 + 1).astype(dtype)
    y = (np.arange(size) % 7 + 1).astype(dtype)
    y[at] = 0
    return x, y


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("way", WAYS)
def test_a_zero_among_the_divisors_is_refused(way, dtype):
    for size in SIZES:
        x, y = operands(dtype, size, size - 1)
        with pytest.raises(ZeroDivisionError, match=r"requires divisors other than 0 for integers, got 0"):
            WAYS[way](paddle.to_tensor(x), paddle.to_tensor(y))
        y[-1] = 3
        WAYS[way](paddle.to_tensor(x), paddle.to_tensor(y))


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("way", WAYS)
def test_the_number_zero_is_refused(way, dtype):
    x = paddle.to_tensor([5, 6], dtype=dtype)
    with pytest.raises(ZeroDivisionError):
        WAYS[way](x, 0)


@pytest.mark.parametrize("dtype", INTS)
def test_a_number_divided_by_zeros_is_refused(dtype):
    zeros = paddle.zeros([3], dtype=dtype)
    with pytest.raises(ZeroDivisionError):
        5 // zeros
    with pytest.raises(ZeroDivisionError):
        5 % zeros


@pytest.mark.parametrize("way", WAYS)
def test_layouts_and_shapes(way):
    """Broadcast, strided, 0-d and empty divisors."""
    x = paddle.arange(1, 13).reshape([3, 4])
    strided = paddle.to_tensor([[1, 9], [0, 9], [2, 9], [3, 9]])[:, 0]
    with pytest.raises(ZeroDivisionError):
        WAYS[way](x, strided)
    with pytest.raises(ZeroDivisionError):
        WAYS[way](x, paddle.to_tensor(0))
    assert WAYS[way](paddle.zeros([0], dtype="int64"), paddle.zeros([0], dtype="int64")).shape == [0]
    assert WAYS[way](paddle.zeros([0], dtype="int64"), 0).shape == [0]


@pytest.mark.parametrize("way", ["//", "%"])
def test_captured(way):
    """Alone, fused with what reads it, and beside values that are not needed where the divisor is zero."""
    calls = [
        paddle.jit.to_static(lambda x, y: WAYS[way](x, y)),
        paddle.jit.to_static(lambda x, y: (WAYS[way](x + 1, y) * 2).sum()),
        paddle.jit.to_static(lambda x, y: WAYS[way](x, y * 0 + y)),
    ]
    x, y = (paddle.to_tensor(a) for a in operands("int64", 37, 20))
    for call in calls:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError, match="requires divisors other than 0"):
                call(x, y)
        call(x, paddle.ones_like(y))


def test_an_assignment_that_fails_leaves_the_tensor():
    x = paddle.to_tensor([5, 6])
    with pytest.raises(ZeroDivisionError):
        x.floor_divide_(paddle.to_tensor([1, 0]))
    assert x.tolist() == [5, 6]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("size", [1, 37])
def test_the_smallest_integer_by_minus_one(dtype, size):
    """The quotient has no place in the type: it wraps, as in NumPy, and nothing traps."""
    low = np.iinfo(dtype).min
    x, minus = np.full(size, low, dtype), np.full(size, -1, dtype)
    for y in (paddle.to_tensor(minus), -1):
        assert (paddle.to_tensor(x) // y).tolist() == [low] * size
        assert (paddle.to_tensor(x) % y).tolist() == [0] * size
        assert paddle.divide(paddle.to_tensor(x), y, rounding_mode="trunc").tolist() == [low] * size
    doubled = paddle.jit.to_static(lambda a, b: (a // b) * 1)
    assert doubled(paddle.to_tensor(x), paddle.to_tensor(minus)).tolist() == [low] * size


def test_floats_follow_ieee():
    x = paddle.to_tensor([5.0, -5.0, 0.0])
    assert np.array_equal((x // 0).numpy(), [np.inf, -np.inf, np.nan], equal_nan=True)
    assert np.isnan((x % 0).numpy()).all()
    assert paddle.divide(paddle.to_tensor([5, -5]), paddle.to_tensor([0, 0])).tolist() == [np.inf, -np.inf]


def test_divisors_inside_of_other_functions():
    """Zeros that the definition of a function allows are no errors."""
    x, zero = paddle.to_tensor([5, 0]), paddle.to_tensor([0, 0])
    assert paddle.lcm(x, zero).tolist() == [0, 0]
    assert paddle.gcd(x, zero).tolist() == [5, 0]
