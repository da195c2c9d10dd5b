"""Convolutions that are one product of rows by kernels in strips, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from umiak.backends.cpu import providers
from umiak.backends.cpu.providers import pointwise
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops.convolution import Conv

# Images, positions, input and output channels, strip; taps along the last axis.
CASES = {
    "one row": ((1, (1, 1)), 20, 48, 48, 1),
    "fewer than a tile": ((1, (1, 7)), 33, 40, 16, 1),
    "a row more than tiles": ((1, (5, 5)), 16, 64, 64, 1),
    "vectors of the last strip that are empty": ((1, (3, 9)), 17, 80, 64, 1),
    "one output in the last strip": ((1, (4, 5)), 8, 65, 32, 1),
    "images": ((3, (6, 7)), 24, 72, 48, 1),
    "blocks of rows": ((1, (40, 30)), 96, 64, 64, 1),
    "along one axis": ((2, (50,)), 12, 32, 32, 1),
    "windows": ((2, (1, 23)), 64, 60, 64, 3),
    "windows along one axis": ((1, (31,)), 70, 48, 48, 2),
    "windows of blocks of rows": ((9, (2, 45)), 70, 50, 64, 3),
}
STEPS = {
    "plain": (),
    "bias": ("bias",),
    "relu": ("bias", "relu"),
    "residual": ("bias", "add", "relu"),
    "hard swish, scaled": ("bias", "hard_swish", ("scale", 0.5), ("shift", 0.25)),
}


def in_strips(w, strip):
    """Kernels [o, c, *kernel] in strips, as an array of their shape: a launch does not read its strides."""
    o, c, *kernel = w.shape
    wide = np.zeros((o + -o % strip, c, *kernel), w.dtype)
    wide[:o] = w
    room = np.moveaxis(wide.reshape(-1, strip, c, *kernel), (2, 1), (-2, -1)).ravel()
    return np.ndarray(w.shape, w.dtype, room.copy())


def drawn(case, rng):
    (n, positions), c, o, strip, taps = CASES[case]
    x = np.moveaxis(rng.standard_normal((n, *positions, c)).astype(np.float32), -1, 1)
    w = rng.standard_normal((o, c, *(1,) * (len(positions) - 1), taps)).astype(np.float32)
    return x, w, strip


def run(x, w, strip, steps=(), extra=(), state=None):
    """Pads keep the sizes."""
    nd, taps = x.ndim - 2, w.shape[-1]
    last = np.full((x.shape[0], *x.shape[2:], w.shape[0]), 77, np.float32)
    y = np.moveaxis(last, -1, 1)
    launch = providers.find(Conv(nd=nd), [Meta(x.shape, dt.float32), Meta(w.shape, dt.float32)], steps, (strip, 1))
    lo, hi = [0] * (nd - 1) + [(taps - 1) // 2], [0] * (nd - 1) + [taps // 2]
    words = (1, *(1,) * nd, *lo, *hi, *(1,) * nd)
    assert providers.launch.call(launch, [x, in_strips(w, strip), *extra], [y], words)() == 0
    return y, launch.keep


def expected(x, w):
    """In float64."""
    taps = w.shape[-1]
    wide = np.pad(x.astype(np.float64), [(0, 0)] * (x.ndim - 1) + [((taps - 1) // 2, taps // 2)])
    w = w.reshape(*w.shape[:2], taps).astype(np.float64)
    return sum(np.einsum("nc...,oc->no...", wide[..., t : t + x.shape[-1]], w[..., t]) for t in range(taps))


@pytest.fixture(autouse=True)
def ours():
    if providers.refusal("onednn"):
        pytest.skip(providers.refusal("onednn"))
    yield
    pointwise.choose()
    providers.set_threads(0)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("case", CASES)
def test_values(case, steps, rng):
    x, w, strip = drawn(case, rng)
    wanted = expected(x, w)
    bias, residual = rng.standard_normal(w.shape[0]).astype(np.float32), np.zeros(0)
    by_channel = bias.astype(np.float64).reshape(-1, *(1,) * (x.ndim - 2))
    extra = []
    for step in STEPS[steps]:
        if step == "bias":
            extra.append(bias)
            wanted = wanted + by_channel
        elif step == "add":
            last = rng.standard_normal((x.shape[0], *x.shape[2:], w.shape[0])).astype(np.float32)
            residual = np.moveaxis(last, -1, 1)
            extra.append(residual)
            wanted = wanted + residual
        elif step == "relu":
            wanted = np.maximum(wanted, 0)
        elif step == "hard_swish":
            wanted = wanted * np.clip(wanted / 6 + 0.5, 0, 1)
        else:
            wanted = wanted * step[1] if step[0] == "scale" else wanted + step[1]
    for use in (True, False):
        pointwise.choose(use)
        y, _ = run(x, w, strip, STEPS[steps], extra)
        np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("case", ["blocks of rows", "images", "windows", "windows of blocks of rows"])
def test_a_row_has_the_bits_that_it_has_alone(case, rng):
    """Whatever is beside it, and on any number of threads."""
    x, w, strip = drawn(case, rng)
    providers.set_threads(1)
    all_rows, _ = run(x, w, strip)
    providers.set_threads(2)
    np.testing.assert_array_equal(run(x, w, strip)[0], all_rows)
    if w.shape[-1] == 1:
        last = np.moveaxis(x, 1, -1).reshape(-1, x.shape[1])[:1]
        alone = np.moveaxis(last.reshape(1, *(1,) * (x.ndim - 2), -1), -1, 1)
        np.testing.assert_array_equal(
            run(alone, w, strip)[0].ravel(), np.moveaxis(all_rows, 1, -1).reshape(-1, w.shape[0])[0]
        )


def test_a_place_that_is_an_image_has_the_same_bits(rng):
    """As a pooled image is one: the library sums so many terms in another order."""
    last, w = rng.standard_normal((3, 2, 3, 2048)).astype(np.float32), rng.standard_normal((64, 2048, 1, 1))
    many, _ = run(np.moveaxis(last, -1, 1), w.astype(np.float32), 64)
    alone = np.ascontiguousarray(last[:, :1, :1])
    one, _ = run(np.moveaxis(alone, -1, 1), w.astype(np.float32), 64)
    np.testing.assert_array_equal(one, many[:, :, :1, :1])


@pytest.mark.skipif(not pointwise.available(), reason="requires AVX2 or AVX-512")
def test_nothing_is_made_for_a_size(rng):
    """The library makes a primitive for each: a tenth of a millisecond and more."""
    strip = pointwise.available()
    w = rng.standard_normal((strip, 24, 1, 1)).astype(np.float32)
    for use in (True, False):
        pointwise.choose(use)
        for sizes in ((4, 5), (4, 6), (1, 1)):
            x = np.moveaxis(rng.standard_normal((1, *sizes, 24)).astype(np.float32), -1, 1)
            _, state = run(x, w, strip)
        assert (state.entries()[0] == 0) == use


@pytest.mark.skipif(not pointwise.available(), reason="requires AVX2 or AVX-512")
def test_what_is_not_finite(rng):
    (x, w, _), strip = drawn("images", rng), pointwise.available()
    x[1, :, 2, 3], x[2, :, 0, 0] = np.inf, np.nan
    y, _ = run(x, np.abs(w), strip, ("relu",))
    assert np.isposinf(y[1, :, 2, 3]).all()
    assert np.isnan(y[2, :, 0, 0]).all()
    assert np.isfinite(np.delete(np.moveaxis(y, 1, -1).reshape(-1, w.shape[0]), [42 + 17, 84], 0)).all()
