"""Distinct and most frequent elements, searches and divisors of the CPU: every type, NaN, zeros of both signs."""

import numpy as np
import pytest

import paddle
from umiak import ops as F
from umiak.backends.cpu.search import Search
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


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_gcd_of_repeated_and_strided_operands(rng, dtype):
    x, y = rng.integers(-50, 50, (3, 4, 5)).astype(dtype), rng.integers(-50, 50, (4, 1)).astype(dtype)
    for a, b in (
        (T(x), T(y)),
        (T(y), T(x)),
        (T(x)[:, ::2, ::-1], T(y)[1::2]),
        (T(x).transpose([1, 0, 2]), T(y)[:, None]),
    ):
        np.testing.assert_array_equal(N(F.gcd(a, b)), np.gcd(N(a), N(b)))
    for number in (12, -6, 0, 1):
        np.testing.assert_array_equal(N(F.gcd(T(x), number)), np.gcd(x, np.array(number, dtype)))
        np.testing.assert_array_equal(N(F.gcd(number, T(x)[:, :, ::2])), np.gcd(x[:, :, ::2], np.array(number, dtype)))
    assert int(N(F.gcd(T(np.array(12, dtype)), T(np.array(18, dtype))))) == 6
    assert N(F.gcd(T(x[:0]), T(y))).shape == (0, 4, 5)


@pytest.mark.parametrize("right", [False, True])
def test_search_of_strided_rows_and_values(rng, right):
    rows, values = np.sort(rng.integers(-50, 50, (2, 3, 40)), -1), rng.integers(-60, 60, (2, 3, 9))
    for cut in (np.s_[:, :, ::2], np.s_[:, ::-1], np.s_[1:, :, 3:]):
        a, b = rows[cut], values[cut]
        for dtype in ("int32", "int64"):
            got = F.search_sorted(T(rows)[cut], T(values)[cut], right=right, dtype=getattr(paddle, dtype))
            want = [
                np.searchsorted(r, v, "right" if right else "left")
                for r, v in zip(a.reshape(-1, a.shape[-1]), b.reshape(-1, b.shape[-1]), strict=True)
            ]
            np.testing.assert_array_equal(N(got), np.stack(want).reshape(b.shape))
            assert N(got).dtype == dtype
    got = F.search_sorted(T(rows)[0, 0, ::3], T(values)[:, :, ::2], right=right)
    np.testing.assert_array_equal(
        N(got), np.searchsorted(rows[0, 0, ::3], values[:, :, ::2], "right" if right else "left")
    )


def test_unique_of_strided_elements(rng):
    x = rng.integers(-9, 9, (6, 7, 8))
    part = T(x)[:, ::2, ::-3]
    expected = np.unique(x[:, ::2, ::-3], return_index=True, return_inverse=True, return_counts=True)
    for got, want in zip(F.unique_sized(part, count=len(expected[0])), expected, strict=True):
        np.testing.assert_array_equal(N(got), want.reshape(-1))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"])
def test_mode(rng, dtype):
    """Along each axis, of dense and strided tensors, short and long rows: as sorting and counting say."""
    for shape in ((3, 4, 5), (2, 40, 3), (1, 3000), (3000, 2)):
        x = numbers(rng, dtype, int(np.prod(shape)), 3).reshape(shape)
        for cut in (np.s_[:], np.s_[..., ::2], np.s_[::-1]):
            y, t = x[cut], T(x)[cut]
            for axis in range(y.ndim):
                rows = np.moveaxis(y, axis, -1).reshape(-1, y.shape[axis])
                last = np.array([most_frequent(row) for row in rows])
                values, places = F.mode(t, axis=axis)
                np.testing.assert_array_equal(N(places).reshape(-1), last)
                np.testing.assert_array_equal(N(values).reshape(-1), rows[np.arange(len(rows)), last])
                assert N(F.mode(t, axis=axis, keepdim=True)[1]).shape == (*y.shape[:axis], 1, *y.shape[axis + 1 :])


def most_frequent(row):
    """Where the most frequent element stands last; NaN is one element, above all."""
    _, inverse, counts = np.unique(row, return_inverse=True, return_counts=True)
    return np.flatnonzero(inverse == np.argmax(counts))[-1]


def test_arguments_are_checked():
    with pytest.raises(ValueError, match=r"requires a dtype of .* and an axis, got 'complex64', 1, 1, 0"):
        Search("complex64", 1)
    with pytest.raises(ValueError, match="got 'int64', 2, 1, 2"):
        Search("int64", 2, axis=2)
