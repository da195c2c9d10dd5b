"""Sort and top-k of the CPU against NumPy: every type, any axis, with equal elements, NaN and zeros of both signs."""

import numpy as np
import pytest

import paddle
from umiak.runtime import parallel

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
SHAPES = (((7, 300), 1), ((300, 7), 0), ((3, 50, 5), 1), ((1, 30), 1), ((5000,), 0), ((2, 0), 1), ((0, 3), 1))


def numbers(rng, dtype, shape):
    a = rng.standard_normal(shape) * 100
    if dtype == "bool":
        return a > 0
    a = np.abs(a).astype(dtype) if dtype == "uint8" else a.astype(dtype)
    if dtype.startswith("float"):
        a.flat[::7], a.flat[3::11], a.flat[4::11], a.flat[5::13] = np.nan, 0.0, -0.0, np.inf
    return a


def order(a, axis, falling):
    """NaN is the largest, equal elements keep their order."""
    if not falling:
        return np.argsort(a, axis=axis, kind="stable")
    backward = np.argsort(np.flip(a, axis), axis=axis, kind="stable")
    return a.shape[axis] - 1 - np.flip(backward, axis)


def check(x, a, axis, k):
    for falling in (False, True):
        places = order(a, axis, falling)
        values = paddle.sort(x, axis=axis, descending=falling, stable=True)
        np.testing.assert_array_equal(values.numpy(), np.take_along_axis(a, places, axis))
        found = paddle.argsort(x, axis=axis, descending=falling, stable=True)
        np.testing.assert_array_equal(found.numpy(), places)
        if k:
            values, found = paddle.topk(x, k, axis=axis, largest=falling)
            places = np.take(places, range(k), axis)
            np.testing.assert_array_equal(found.numpy(), places)
            np.testing.assert_array_equal(values.numpy(), np.take_along_axis(a, places, axis))


@pytest.mark.parametrize("dtype", DTYPES)
def test_as_numpy(dtype, rng):
    for shape, axis in SHAPES:
        a = numbers(rng, dtype, shape)
        for k in {min(k, a.shape[axis]) for k in (1, 20, 200)}:
            check(paddle.to_tensor(a), a, axis, k)


def test_strides(rng):
    a = numbers(rng, "float32", (40, 60))
    check(paddle.to_tensor(a).t(), a.T, 1, 5)
    check(paddle.to_tensor(a)[::2, ::-3], a[::2, ::-3], 1, 5)


def test_bfloat16_is_ordered_as_float32(rng):
    x = paddle.to_tensor(numbers(rng, "float32", (4, 500))).astype("bfloat16")
    a = x.astype("float32").numpy()
    np.testing.assert_array_equal(paddle.argsort(x, stable=True).numpy(), np.argsort(a, kind="stable"))


@pytest.mark.parametrize("falling", [False, True])
def test_long_rows_of_8_bytes_are_sorted_by_their_highest_bits(falling, rng):
    n = 3000
    close = 1.0 + rng.integers(0, 50, n) * 2.0**-50  # alike in many bits
    special = np.where(rng.random(n) < 0.1, np.nan, rng.choice([0.0, -0.0, np.inf, -np.inf, 1e300], n))
    for a in (
        rng.standard_normal(n),
        np.concatenate([close, [1e30, -1e30]]),  # so that most are alike in the bits that are compared first
        np.concatenate([close[: n // 4], rng.standard_normal(n)]),
        special,
        rng.integers(-5, 5, n),
        rng.integers(-(2**62), 2**62, n),
        np.concatenate([rng.integers(0, 9, n), [-(2**63), 2**63 - 1]]),
    ):
        found = paddle.argsort(paddle.to_tensor(a), descending=falling, stable=True)
        np.testing.assert_array_equal(found.numpy(), order(a, 0, falling))


def test_best_ones_that_come_last():
    a = np.arange(1000.0)
    check(paddle.to_tensor(a), a, 0, 60)
    check(paddle.to_tensor(a[::-1].copy()), a[::-1], 0, 60)


def test_threads_sort_alike(rng):
    a = numbers(rng, "float32", (37, 400))
    before = parallel.get_num_threads()
    try:
        for count in (1, 3):
            parallel.set_num_threads(count)
            check(paddle.to_tensor(a), a, 1, 9)
    finally:
        parallel.set_num_threads(before)
