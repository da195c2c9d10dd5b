"""Convolutions of one channel each over images with channels last, against SciPy."""

from __future__ import annotations

from functools import partial

import ml_dtypes
import numpy as np
import pytest
from scipy.signal import correlate

from umiak.backends.cpu import providers
from umiak.backends.cpu.providers import depthwise
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops.convolution import Conv
from umiak.util import flags

# Sizes of x after the channels, kernel, strides, low and high pads.
CASES = {
    "5 by 5": ((2, 9, 31), (5, 5), (1, 1), (2, 2), (2, 2)),
    "3 by 3": ((2, 9, 33), (3, 3), (1, 1), (1, 1), (1, 1)),
    "3 by 3, strides": ((1, 10, 63), (3, 3), (1, 2), (1, 1), (1, 1)),
    "strides": ((1, 12, 50), (5, 5), (2, 2), (2, 2), (2, 2)),
    "down only": ((1, 11, 26), (3, 5), (2, 1), (1, 2), (1, 2)),
    "7 by 7": ((1, 8, 40), (7, 7), (1, 1), (3, 3), (3, 3)),
    "7 across": ((1, 4, 45), (1, 7), (1, 2), (0, 3), (0, 3)),
    "no pads": ((1, 7, 30), (5, 5), (1, 1), (0, 0), (0, 0)),
    "wide pads": ((1, 2, 24), (5, 5), (1, 1), (4, 4), (3, 4)),
    "more rows than a unit": ((1, 40, 20), (5, 5), (1, 1), (2, 2), (2, 2)),
    "narrower than a block": ((2, 5, 7), (5, 5), (1, 1), (2, 2), (2, 2)),
    "narrower than a kernel": ((1, 3, 2), (3, 5), (1, 1), (1, 2), (1, 2)),
    "one place across": ((2, 6, 1), (3, 3), (2, 2), (1, 1), (1, 1)),
    "pieces of a block": ((1, 2, 22), (3, 3), (1, 1), (1, 1), (1, 1)),
    "along one axis": ((2, 64), (5,), (1,), (2,), (2,)),
}


def expected(x, w, strides, lo, hi):
    """In float64."""
    n, c = x.shape[:2]
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *zip(lo, hi, strict=True)])
    steps = tuple(slice(None, None, s) for s in strides)
    return np.stack(
        [
            np.stack([correlate(padded[i, k], w[k, 0].astype(np.float64), "valid")[steps] for k in range(c)])
            for i in range(n)
        ]
    )


def run(x, w, geometry, groups, steps=(), extra=()):
    strides, lo, hi = geometry
    nd = x.ndim - 2
    sizes = [(n + a + b - k) // s + 1 for n, a, b, k, s in zip(x.shape[2:], lo, hi, w.shape[2:], strides, strict=True)]
    last = np.full((x.shape[0], *sizes, x.shape[1]), 77.0, x.dtype)
    y = np.moveaxis(last, -1, 1)
    dtype = dt.convert(x.dtype)
    launch = providers.find(Conv(nd=nd), [Meta(x.shape, dtype), Meta(w.shape, dtype)], steps)
    words = (groups, *strides, *lo, *hi, *(1,) * nd)
    assert providers.launch.call(launch, [x, w, *extra], [y], words)() == 0
    return y


@pytest.fixture(autouse=True)
def ours():
    if providers.refusal("onednn"):
        pytest.skip(providers.refusal("onednn"))
    yield
    depthwise.choose()
    flags.set_flags({"FLAGS_cpu_providers": "onednn,blas,plain"})
    providers.set_threads(0)


@pytest.mark.parametrize(
    ("channels", "dtype", "tolerance"),
    [*((c, np.float32, 1e-5) for c in (16, 24, 48)), (24, ml_dtypes.bfloat16, 1e-2)],
    ids=["16", "24", "48", "bfloat16"],
)
@pytest.mark.parametrize("case", CASES)
def test_values(case, channels, dtype, tolerance):
    (n, *sizes), kernel, *geometry = CASES[case]
    rng = np.random.default_rng(4)
    x = np.moveaxis(rng.standard_normal((n, *sizes, channels)).astype(dtype), -1, 1)
    w = rng.standard_normal((channels, 1, *kernel)).astype(dtype)
    bias = rng.standard_normal(channels).astype(dtype)
    wanted = expected(x, w, *geometry)
    close = partial(np.testing.assert_allclose, rtol=tolerance, atol=tolerance)
    close(run(x, w, geometry, channels).astype(np.float64), wanted)
    found = run(x, w, geometry, channels, ("bias", "relu"), [bias])
    wanted = np.maximum(wanted + bias.astype(np.float64).reshape(-1, *(1,) * len(sizes)), 0)
    close(found.astype(np.float64), wanted)
    depthwise.choose(False)
    close(run(x, w, geometry, channels, ("bias", "relu"), [bias]).astype(np.float64), wanted)


def test_threads_do_not_change_a_bit():
    (n, *sizes), kernel, *geometry = CASES["more rows than a unit"]
    rng = np.random.default_rng(5)
    x = np.moveaxis(rng.standard_normal((n, *sizes, 160)).astype(np.float32), -1, 1)
    w = rng.standard_normal((160, 1, *kernel)).astype(np.float32)
    providers.set_threads(1)
    one = run(x, w, geometry, 160)
    providers.set_threads(2)
    np.testing.assert_array_equal(run(x, w, geometry, 160), one)


def test_what_is_not_finite():
    """Infinities and NaN reach the results that see them, and no others."""
    x = np.moveaxis(np.zeros((1, 5, 24, 16), np.float32), -1, 1)
    x[0, 3, 2, 10], x[0, 4, 2, 20] = np.inf, np.nan
    w = np.ones((16, 1, 5, 5), np.float32)
    y = run(x, w, ((1, 1), (2, 2), (2, 2)), 16, ("bias", "relu"), [np.zeros(16, np.float32)])
    assert np.isposinf(y[0, 3, :, 8:13]).all()
    assert np.isnan(y[0, 4, :, 18:23]).all()
    assert np.isfinite(y[0, :3]).all()
    assert np.isfinite(y[0, 3, :, 13:]).all()
