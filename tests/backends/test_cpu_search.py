"""Distinct elements, searches and divisors of the CPU against ref: every type, NaN, zeros of both signs."""

import numpy as np
import pytest

from umiak import ops as F
from umiak.backends.cpu import search
from umiak.backends.ref.evaluate import evaluate
from umiak.core import array
from umiak.ops.base import REGISTRY

T, N = array.from_numpy, array.to_numpy


def numbers(rng, dtype, n, scale):
    x = rng.standard_normal(n) * scale
    if dtype == "float16":
        x = x.clip(-6e4, 6e4)
    if dtype in ("bool", "uint8", "int8"):
        x = np.abs(x) % (2 if dtype == "bool" else 100)
    if dtype == "int16":
        x = x.clip(-3e4, 3e4)
    x = x.astype(dtype)
    if dtype.startswith("float") and n > 9:
        x[::3], x[1::7], x[2::9], x[4], x[5] = np.nan, 0.0, -0.0, np.inf, -np.inf
    return x


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"])
def test_unique(rng, dtype):
    """Rows that are sorted by insertion, by merges and by radix; long keys that differ in few bits and in all."""
    for n in (0, 1, 15, 16, 17, 40, 130, 300, 3000):
        for scale in (3, 1e4, 1e18):
            if scale > 1e9 and dtype not in ("int64", "float64", "float32"):
                continue
            x = numbers(rng, dtype, n, scale)
            count = evaluate(REGISTRY["unique_count"](), [x], ())[0]
            assert int(N(F.unique_count(T(x)))) == count
            expected = evaluate(REGISTRY["unique_sized"](), [x], (int(count),))
            for a, b in zip(F.unique_sized(T(x), count=int(count)), expected, strict=True):
                np.testing.assert_array_equal(N(a), b)


def test_a_wrong_count_of_distinct_elements():
    for count in (1, 5):
        with pytest.raises(ValueError, match=f"the count 3 of distinct elements, got {count}"):
            F.unique_sized(T(np.array([4, 2, 4, 9])), count=count)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("right", [False, True])
def test_search(rng, dtype, right):
    rows, values = rng.integers(-50, 50, (3, 77)), rng.integers(-60, 60, (3, 50))
    rows, values = np.sort(rows, 1).astype(dtype), values.astype(dtype)
    if dtype.startswith("float"):
        rows[:, -3:], values[:, :2], values[0, 4] = np.nan, np.nan, np.inf
    op = REGISTRY["search_sorted"](right=right)
    for r in (rows, rows[0], rows[0, :0], rows[0, :1], rows[0, :2], rows[0, :5]):
        np.testing.assert_array_equal(
            N(F.search_sorted(T(r), T(values), right=right)), evaluate(op, [r, values], ())[0]
        )


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_gcd(dtype):
    info = np.iinfo(dtype)
    e = np.array([0, 1, -1, 2, 6, 12, -12, 2**30, 30030, 17, info.max, info.min], dtype)
    a, b = np.meshgrid(e, e)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(N(F.gcd(T(a), T(b))), np.gcd(a, b))
    np.testing.assert_array_equal(N(F.gcd(T(a), T(e[:, None]))), N(F.gcd(T(a), T(b))))


def test_arguments_are_checked():
    with pytest.raises(ValueError, match=r"requires a type below 9 and 0 <= n < 2\*\*32, got 9 and 1"):
        search.unique(0, 9, 1)
    with pytest.raises(ValueError, match="requires int32, int64, float32 or float64, got uint8"):
        search.search(0, 0, 1, 1, 0, 1, False, 0)
    with pytest.raises(ValueError, match="requires int32 or int64, got uint8"):
        search.gcd(0, 0, 0, 1, 0)
