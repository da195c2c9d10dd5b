"""Sums and means over windows, the transpose of sums: by the library and by nests; layouts, and who is asked."""

import numpy as np
import pytest

from umiak import ops as F
from umiak.backends.base import clear_plans
from umiak.backends.cpu import providers
from umiak.backends.ref.evaluate import evaluate
from umiak.compiler import statistics
from umiak.core import array

T, N = array.from_numpy, array.to_numpy

#        shape, kernel, strides, low pads, high pads, dilations, whether the library is to take it
CASES = [
    ((2, 16, 9, 11), (3, 3), (2, 2), (1, 1), (1, 1), (1, 1), True),
    ((2, 5, 9, 11), (3, 2), (1, 3), (0, 1), (2, 0), (1, 1), True),
    ((1, 3, 7, 7), (7, 7), (1, 1), (0, 0), (0, 0), (1, 1), True),
    ((3, 4, 20), (4,), (3,), (1,), (2,), (1,), True),
    ((2, 7, 5, 6, 4), (2, 3, 2), (2, 1, 2), (0, 1, 0), (1, 1, 0), (1, 1, 1), True),
    ((2, 3, 9, 11), (3, 2), (2, 1), (1, 0), (1, 0), (2, 3), False),
    ((2, 3, 5, 5), (2, 2), (1, 1), (3, 2), (2, 3), (1, 1), False),
    ((0, 3, 5, 5), (2, 2), (1, 1), (0, 0), (0, 0), (1, 1), False),
]


@pytest.fixture(params=["onednn", "nests"])
def provider(request):
    if request.param == "onednn":
        if providers.refusal("onednn") is not None:
            pytest.skip(providers.refusal("onednn"))
        yield "onednn"
        return
    before = providers.FLAG.value
    providers.FLAG.set("blas,plain")
    clear_plans()
    yield "nests"
    providers.FLAG.set(before)
    clear_plans()


def laid(x, layout):
    """The same numbers, lying otherwise."""
    t = T(x)
    if layout == "last":
        axes = (0, *range(2, x.ndim), 1)
        return F.permute(T(np.ascontiguousarray(x.transpose(axes))), perm=tuple(np.argsort(axes).tolist()))
    if layout == "apart":
        return F.slice(T(np.repeat(x, 2, -1)), (x.ndim - 1,), (0,), (x.shape[-1],), (2,))
    return t


def both(rng, case, dtype=np.float32):
    """Operands of a sum and of its transpose, and their params."""
    shape, kernel, strides, lo, hi, dilations, _ = case
    x = rng.standard_normal(shape).astype(dtype)
    params = (kernel, strides, lo, hi, dilations)
    windows = evaluate(F.WindowReduce(len(kernel), "sum"), [x], params)[0].shape
    g = rng.standard_normal(windows).astype(dtype)
    return (x, params), (g, (*params, shape[2:]))


@pytest.mark.parametrize("layout", ["first", "last", "apart"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_against_numpy(rng, provider, case, layout):
    n = len(case[1])
    for op, (x, params) in zip((F.WindowReduce(n, "sum"), F.WindowSpread(n)), both(rng, case), strict=True):
        (want,) = evaluate(op, [x.astype(np.float64)], params)
        for _ in range(2):
            np.testing.assert_allclose(N(op(laid(x, layout), *params)), want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("layout", ["first", "last", "apart"])
@pytest.mark.parametrize("planes", [1, 40])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_sums_and_means_without_pads(rng, provider, case, planes, layout):
    """Few windows, which are summed at once, and many; also where they do not fit and where they are dilated."""
    (batch, channels, *sizes), kernel, strides, _, _, dilations, _ = case
    n = len(kernel)
    x = rng.standard_normal((batch, channels * planes, *sizes)).astype(np.float32)
    none = (0,) * n
    params = (kernel, strides, none, none, dilations)
    (want,) = evaluate(F.WindowReduce(n, "sum"), [x.astype(np.float64)], params)
    for _ in range(2):
        sums = N(F.WindowReduce(n, "sum")(laid(x, layout), *params))
        means = N(F.AvgPool(n, True, False)(laid(x, layout), *params, none))
        np.testing.assert_allclose(sums, want, rtol=2e-5, atol=2e-5)
        np.testing.assert_allclose(means, want / np.prod(kernel), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex64])
def test_other_types_and_ranks_are_nests(rng, dtype):
    case = ((2, 3, 6, 7), (3, 2), (2, 1), (1, 0), (0, 1), (1, 1), True)
    for op, (x, params) in zip((F.WindowReduce(2, "sum"), F.WindowSpread(2)), both(rng, case, dtype), strict=True):
        (want,) = evaluate(op, [x], params)
        np.testing.assert_allclose(N(op(T(x), *params)), want, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(N(op(T(x[0]), *params)), want[0], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(N(op(T(x[None]), *params)), want[None], rtol=1e-5, atol=1e-5)


def test_nan_and_infinity_stay_in_their_windows(provider):
    x = np.zeros((1, 1, 1, 8), np.float32)
    x[..., 1], x[..., 6] = np.nan, np.inf
    found = N(F.window_reduce(T(x), 2, "sum", (1, 2), (1, 2), (0, 0), (0, 0), (1, 1)))
    np.testing.assert_array_equal(found[0, 0, 0], [np.nan, 0, 0, np.inf])
    found = N(F.window_reduce(T(x), 2, "max", (1, 2), (1, 2), (0, 0), (0, 0), (1, 1)))
    np.testing.assert_array_equal(found[0, 0, 0], [np.nan, 0, 0, np.inf])


def test_a_mean_is_counted_once(rng, provider):
    """Neither the sums nor the counts are recomputed for each element."""
    x = T(rng.standard_normal((2, 4, 12, 12)).astype(np.float32))

    def call():
        F.avg_pool(x, 2, True, True, (3, 3), (2, 2), (1, 1), (1, 1), (1, 1), (0, 0))

    call()
    statistics.reset()
    with statistics.timed_launches():
        call()
    rows = statistics.launches()
    statistics.reset()
    sums = "window_reduce (onednn)" if provider == "onednn" else "window_reduce"
    assert rows[sums].count >= 1 and rows[sums].bytes >= 4 * 2 * 4 * (144 + 36)
    assert sum(row.count for row in rows.values()) == 4  # the sums; ones and how many there are; the quotients
    assert sum(row.flops for row in rows.values()) <= 9 * 2 * 4 * 36 + 9 * 36 + 2 * 4 * 36


def test_shapes_are_made_once_and_bounded(rng):
    if providers.refusal("onednn") is not None:
        pytest.skip(providers.refusal("onednn"))
    from umiak.backends.cpu.providers import pooling, table

    clear_plans()
    op = F.WindowReduce(2, "sum")
    params = ((2, 2), (2, 2), (0, 0), (0, 0), (1, 1))
    for _ in range(2):
        for size in range(4, 4 + table.ROOM + 10):
            x = T(np.ones((1, 600, 2, size), np.float32))
            assert N(op(x, *params)).max() == 4
    ((record, _),) = [p.keep for p in op.plans()]
    count, misses, evictions = record.entries()
    assert count == table.ROOM
    assert misses - evictions == count
    assert misses <= 2 * (table.ROOM + 10)
    with pytest.raises(ValueError, match="one to three windowed dims, got 4"):
        pooling.LaunchState("sum", 4, 0, 0)
