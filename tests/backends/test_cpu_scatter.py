"""Scatters, selections and what else makes chains of nests on the CPU: properties beside the samples of test_cpu.py."""

import itertools

import numpy as np
import pytest

import paddle
import umiak
from umiak import ops as F
from umiak.backends.ref.evaluate import evaluate
from umiak.core import array, eager
from umiak.ops.base import REGISTRY
from umiak.runtime import parallel

T, N = array.from_numpy, array.to_numpy
MODES = ("set", "add", "mul", "min", "max")
DTYPES = ("bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")


def numbers(rng, shape, dtype):
    kind = umiak.core.dtype.convert(dtype).numpy
    if dtype == "bool":
        return rng.integers(0, 2, shape) != 0
    x = rng.integers(-3, 4, shape) if dtype != "uint8" else rng.integers(0, 5, shape)
    return (x + 1j * rng.integers(-2, 3, shape)).astype(kind) if dtype == "complex64" else x.astype(kind)


def both(name, attrs, operands, params=()):
    """The result on the CPU and ref's."""
    op = REGISTRY[name](**attrs)
    got = eager.apply(op, tuple(T(x) if isinstance(x, np.ndarray) else x for x in operands), params)
    return N(got), evaluate(op, operands, params)[0]


def same(got, want):
    assert got.dtype == want.dtype
    np.testing.assert_allclose(
        got.astype(np.complex128 if got.dtype.kind == "c" else np.float64),
        want.astype(np.complex128 if want.dtype.kind == "c" else np.float64),
        rtol=1e-5,
    )


@pytest.mark.parametrize(
    ("mode", "dtype"), [(m, d) for m in MODES for d in DTYPES if d != "complex64" or m not in ("min", "max")]
)
def test_repeated_and_negative_places(rng, mode, dtype):
    """Every type and mode, rows that are long, short, and single numbers; of "set" every place comes once."""
    for columns, axis in ((70, 0), (3, 0), (5, 1)):
        x = numbers(rng, (6, columns), dtype)
        n = x.shape[axis]
        index = rng.permutation(n)[: n - 2] if mode == "set" else rng.integers(0, n, 9)
        index = np.where(rng.integers(0, 2, len(index)), index, index - n)
        shape = (len(index), columns) if axis == 0 else (6, len(index))
        attrs = {"axis": axis, "mode": mode}
        same(*both("put", attrs, [x, index, numbers(rng, shape, dtype)]))


@pytest.mark.parametrize("mode", MODES[1:])
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_along_any_axis(rng, mode, own, axis):
    """Each column, or each row, has updates of its own."""
    x = rng.standard_normal((4, 5, 37)).astype(np.float32)
    shape = list(x.shape)
    shape[axis] = 7
    index = rng.integers(-x.shape[axis], x.shape[axis], shape)
    attrs = {"axis": axis, "mode": mode, "include_self": own}
    same(*both("scatter_along", attrs, [x, index, rng.standard_normal(shape).astype(np.float32)]))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_nothing_to_do(rng, shape):
    x = rng.standard_normal(shape)
    same(*both("put", {"axis": 0, "mode": "add"}, [x, np.zeros(0, np.int64), np.zeros((0, shape[1]))]))
    if shape[1] == 0:
        same(*both("put", {"axis": 0, "mode": "add"}, [x, np.array([1, 1]), np.zeros((2, 0))]))


@pytest.mark.parametrize("bad", [4, -5, 2**40])
@pytest.mark.parametrize("columns", [1, 3, 100])
def test_places_outside_are_refused_in_refs_words(rng, bad, columns):
    x = rng.standard_normal((4, columns)).astype(np.float32)
    index = np.array([0, bad, 1])
    updates = rng.standard_normal((3, columns)).astype(np.float32)
    calls = [
        ("put", {"axis": 0, "mode": "add"}, [x, index, updates]),
        ("scatter_along", {"axis": 0, "mode": "add"}, [x, np.repeat(index[:, None], columns, 1), updates]),
        ("scatter_nd", {"depth": 1, "mode": "max"}, [x, index[:, None], updates]),
    ]
    for name, attrs, operands in calls:
        op = REGISTRY[name](**attrs)
        with pytest.raises(IndexError) as ours:
            eager.apply(op, tuple(map(T, operands)), ())
        with pytest.raises(IndexError) as refs:
            evaluate(op, operands, ())
        assert str(ours.value) == str(refs.value)


def test_updates_of_one_place_come_in_order(rng):
    """Sums are those of a loop, bit for bit, on any number of threads."""
    index = rng.integers(0, 3, 4000)
    updates = rng.standard_normal((4000, 600)).astype(np.float32)
    expected = np.zeros((3, 600), np.float32)
    for i, u in zip(index, updates, strict=True):
        expected[i] += u
    before = parallel.get_num_threads()
    try:
        for threads in (1, 2):
            parallel.set_num_threads(threads)
            got = F.put(T(np.zeros((3, 600), np.float32)), T(index), T(updates), axis=0, mode="add")
            np.testing.assert_array_equal(N(got), expected)
    finally:
        parallel.set_num_threads(before)


def test_narrow_sums_are_rounded_once():
    """Many small updates of a bfloat16 number are not lost."""
    x, index = np.zeros((2, 3)), np.zeros(1000, np.int64)
    kind = umiak.core.dtype.bfloat16.numpy
    got = F.put(T(x.astype(kind)), T(index), T(np.full((1000, 3), 0.25).astype(kind)), axis=0, mode="add")
    np.testing.assert_array_equal(N(got).astype(np.float32), [[250] * 3, [0] * 3])


def test_gradient_of_an_embedding(rng):
    """Rows that are looked up often collect all their gradients; strided gradients too."""
    weight = paddle.to_tensor(rng.standard_normal((50, 40)).astype(np.float32), stop_gradient=False)
    index = rng.integers(0, 50, (7, 30))
    g = rng.standard_normal((30, 7, 40)).astype(np.float32)
    y = paddle.nn.functional.embedding(paddle.to_tensor(index), weight)
    y.backward(paddle.to_tensor(g).transpose([1, 0, 2]))
    expected = np.zeros((50, 40))
    np.add.at(expected, index, g.transpose(1, 0, 2))
    np.testing.assert_allclose(weight.grad.numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(), (7,), (3, 5), (2, 70, 3), (0, 4)])
@pytest.mark.parametrize("transposed", [False, True])
def test_selections_go_in_row_major_order(rng, shape, transposed):
    """Whatever the order in memory."""
    mask, x = np.asarray(rng.integers(0, 2, shape) != 0), np.asarray(rng.standard_normal(shape))
    count = int(mask.sum())

    def t(a):
        if not transposed or not shape:
            return T(a)
        return F.permute(T(np.ascontiguousarray(a.T)), perm=tuple(range(a.ndim))[::-1])

    assert int(N(F.count_true(t(mask)))) == count
    np.testing.assert_array_equal(N(F.nonzero_sized(t(mask), count=count)), np.argwhere(mask))
    np.testing.assert_array_equal(N(F.masked_select_sized(t(x), t(mask), count=count)), x[mask])
    values = rng.standard_normal((count + 2, 1))
    expected = x.copy()
    expected[mask] = values.ravel()[:count]
    np.testing.assert_array_equal(N(F.masked_scatter(t(x), t(mask), T(values))), expected)


def test_too_few_values():
    mask = np.array([True, False, True])
    with pytest.raises(ValueError, match="a value for each of the 2 elements of the mask, got 1"):
        F.masked_scatter(T(np.zeros(3)), T(mask), T(np.ones(1)))


@pytest.mark.parametrize("count", [0, 2, 9])
def test_a_wrong_count_writes_nothing_beyond(count):
    """A size that is not the mask's: as many elements as fit, and memory around is left alone."""
    mask = np.array([True, False, True, True, False])
    got = N(F.masked_select_sized(T(np.arange(5.0)), T(mask), count=count))
    np.testing.assert_array_equal(got[:3], np.array([0.0, 2.0, 3.0])[:count])


def test_repeats(rng):
    x, repeats = rng.standard_normal((5, 9, 3)), np.array([0, 3, 1, 0, 2, 0, 0, 4, 0])
    got = F.repeat_interleave_sized(T(x), T(repeats), axis=1, count=10)
    np.testing.assert_array_equal(N(got), np.repeat(x, repeats, 1))
    with pytest.raises(ValueError):
        F.repeat_interleave_sized(T(x), T(repeats), axis=1, count=11)
    with pytest.raises(ValueError):
        F.repeat_interleave_sized(T(x), T(repeats - 1), axis=1, count=1)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [1, 5, 40, 300])
def test_extremes_so_far(rng, axis, reverse, n):
    """Ties, infinities and NaN, along rows and columns of any length."""
    x = rng.integers(-4, 4, (n, 23) if axis == 0 else (23, n)).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = -np.inf
    x[(np.arange(x.size).reshape(x.shape) % 97) == 90] = np.nan
    for name in ("cummax", "cummin"):
        op = REGISTRY[name](axis=axis, reverse=reverse)
        for got, want in zip(eager.apply(op, (T(x),), ()), evaluate(op, [x], ()), strict=True):
            np.testing.assert_array_equal(N(got), want)


@pytest.mark.parametrize(("sizes", "out"), [((13, 40), (5, 7)), ((6, 64), (6, 1)), ((3, 3), (7, 5)), ((33, 2), (1, 2))])
def test_adaptive_regions(rng, sizes, out):
    x = np.round(rng.standard_normal((2, 3, *sizes)) * 4).astype(np.float32)
    for name in ("adaptive_sum", "adaptive_spread", "adaptive_max_pool"):
        op = REGISTRY[name](n=2)
        got = eager.apply(op, (T(x),), (out,))
        got = got if isinstance(got, tuple) else (got,)
        for a, b in zip(got, evaluate(op, [x], (out,)), strict=True):
            np.testing.assert_allclose(N(a), b, rtol=1e-6)


def test_histograms_count_as_numpy_does(rng):
    """Bins whose edges are rounded, values on edges, outside, and NaN."""
    for lo, hi, bins in ((0.0, 1.0, 10), (-1.0, 2.0, 7), (0.1, 0.7, 3), (2.0, 2.0, 4)):
        edges = np.linspace(lo, hi, bins + 1)
        x = np.concatenate([edges, np.nextafter(edges, 9), np.nextafter(edges, -9), rng.uniform(lo - 1, hi + 1, 500)])
        got = N(F.histogram(T(x), None, bins=bins, lo=lo, hi=hi))
        np.testing.assert_array_equal(got, np.histogram(x, bins, (lo, hi))[0])
    assert N(F.histogram(T(np.array([np.nan, 0.5])), None, bins=2, lo=0.0, hi=1.0)).tolist() == [0, 1]
    with pytest.raises(ValueError):
        F.histogram(T(np.ones(3)), None, bins=2, lo=1.0, hi=0.0)


def test_writes_through_windows(rng):
    """Windows that overlap, touch, and leave gaps."""
    for size, step in itertools.product((1, 2, 3), (1, 2, 4)):
        x = rng.standard_normal((3, 11))
        count = (11 - size) // step + 1
        value = rng.standard_normal((3, count, size))
        region = REGISTRY["unfold"](axis=1)
        for accumulate in (False, True):
            attrs = {"region": region, "accumulate": accumulate}
            same(*both("scatter_view", attrs, [x, value], ((size, step),)))


# Values that are computed in one graph with the scatter: with a check of their indices, or a sum.
COMPUTED = {
    "gather_nd": lambda x, m: paddle.gather_nd(x, paddle.nonzero(m)),
    "index_select": lambda x, m: paddle.index_select(x.flatten(), paddle.nonzero(m.flatten()).flatten()) * 2.0,
    "take_along_axis": lambda x, m: paddle.take_along_axis(x, paddle.argsort(x, axis=1), 1),
    "rows": lambda x, m: x[paddle.argsort(x[:, 0])],
    "sum": lambda x, m: (x.unsqueeze(-1) * paddle.ones([3])).sum(-1),
    "cumsum": lambda x, m: paddle.cumsum(x, axis=1),
    "masked_select": lambda x, m: paddle.masked_select(x, m) + 1.0,
}


@pytest.mark.parametrize("name", COMPUTED)
def test_values_that_are_computed_beside_a_masked_scatter(name, rng):
    def f(x, mask):
        return paddle.masked_scatter(x * 0.5, mask, COMPUTED[name](x, mask))

    x = paddle.to_tensor(rng.standard_normal((4, 5)).astype("float32"))
    for mask in (x > 0, x > 10, x < 10):
        found = paddle.jit.to_static(f, full_graph=True)(x, mask)
        np.testing.assert_allclose(found.numpy(), f(x, mask).numpy(), rtol=1e-6)
