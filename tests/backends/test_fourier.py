"""Fourier transforms of rows of powers of two: sizes, directions and layouts, beside NumPy's in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import fft
from umiak.backends.cpu import fourier, select_fourier
from umiak.runtime import parallel

SIZES = [1 << k for k in range(5, 18)]
LIMITS = {"float32": 1e-6, "float64": 1e-14}
COMPLEX = {"float32": "complex64", "float64": "complex128"}


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """However few there are, the rows are our own."""
    monkeypatch.setattr(select_fourier, "SMALL_TRANSFORM", 0)


def draw(*shape, dtype):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.startswith("complex") else x).astype(dtype)


def close(got, want, dtype):
    want = np.asarray(want)
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= LIMITS[dtype] * np.abs(want).max()


def wide(x):
    return x.astype("complex128" if x.dtype.kind == "c" else "float64")


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("n", SIZES)
def test_rows(n, dtype):
    x, z = draw(3, n, dtype=dtype), draw(3, n, dtype=COMPLEX[dtype])
    for norm in ("backward", "ortho", "forward"):
        for name in ("fft", "ifft"):
            for given in (x, z):
                got = getattr(fft, name)(paddle.to_tensor(given), norm=norm)
                assert got.dtype == paddle.to_tensor(z).dtype
                close(got.numpy(), getattr(np.fft, name)(wide(given), norm=norm), dtype)
        close(fft.rfft(paddle.to_tensor(x), norm=norm).numpy(), np.fft.rfft(wide(x), norm=norm), dtype)
        half = z[:, : n // 2 + 1].copy()
        close(fft.irfft(paddle.to_tensor(half), norm=norm).numpy(), np.fft.irfft(wide(half), norm=norm), dtype)
        close(fft.hfft(paddle.to_tensor(half), norm=norm).numpy(), np.fft.hfft(wide(half), norm=norm), dtype)
        close(fft.ihfft(paddle.to_tensor(x), norm=norm).numpy(), np.fft.ihfft(wide(x), norm=norm), dtype)


@pytest.mark.parametrize("n", [128, 1024])
def test_rows_are_real_at_both_ends(n):
    """The first point and the middle one of real numbers are real, exactly."""
    x = fft.rfft(paddle.to_tensor(draw(2, n, dtype="float32"))).numpy()
    assert not x[:, 0].imag.any() and not x[:, -1].imag.any()
    x = fft.fft(paddle.to_tensor(draw(2, n, dtype="float32"))).numpy()
    np.testing.assert_array_equal(x[:, 1:], x[:, :0:-1].conj())


@pytest.mark.parametrize("shape", [(4, 256), (3, 2, 128), (256, 64), (5, 64, 6)])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_several_axes(shape, norm):
    x, z = draw(*shape, dtype="float32"), draw(*shape, dtype="complex64")
    rank = len(shape)
    for axes in ((0,), (rank - 1, 0), (0, rank - 1), tuple(range(rank))):
        for name in ("fftn", "ifftn"):
            for given in (x, z):
                got = getattr(fft, name)(paddle.to_tensor(given), axes=axes, norm=norm).numpy()
                close(got, getattr(np.fft, name)(wide(given), axes=axes, norm=norm), "float32")
        got = fft.rfftn(paddle.to_tensor(x), axes=axes, norm=norm).numpy()
        close(got, np.fft.rfftn(wide(x), axes=axes, norm=norm), "float32")
        sizes = [shape[a] for a in axes]
        close(fft.irfftn(paddle.to_tensor(got), s=sizes, axes=axes, norm=norm).numpy(), x, "float32")


def test_what_is_not_contiguous():
    x = draw(2, 256, 130, dtype="complex64")
    view = paddle.to_tensor(x)[:, :, 1:129]
    close(fft.fft(view).numpy(), np.fft.fft(wide(x)[:, :, 1:129]), "float32")
    close(fft.fft(paddle.to_tensor(x)[::-1, :, :128]).numpy(), np.fft.fft(wide(x)[::-1, :, :128]), "float32")
    close(fft.fft(view.transpose([0, 2, 1])).numpy(), np.fft.fft(wide(x)[:, :, 1:129].swapaxes(1, 2)), "float32")


def test_a_row_keeps_its_nan_and_infinity_to_itself():
    x = draw(4, 128, dtype="float32")
    want = fft.rfft(paddle.to_tensor(x)).numpy()
    x[1, 7], x[2, 9] = np.nan, np.inf
    for function in (fft.rfft, fft.fft):
        got = function(paddle.to_tensor(x)).numpy()[:, :65]
        assert not np.isfinite(got[1:3]).any()
        np.testing.assert_allclose(got[[0, 3]], want[[0, 3]], rtol=1e-5, atol=1e-5)


def test_as_many_threads_as_there_are_give_the_same():
    x, found, before = paddle.to_tensor(draw(600, 256, dtype="complex64")), [], parallel.get_num_threads()
    for threads in (1, 2):
        parallel.set_num_threads(threads)
        try:
            found.append(fft.fft(x).numpy())
        finally:
            parallel.set_num_threads(before)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("shape", [(4,), (2, 3), (100, 60), (2, 128), (80, 64)])
def test_no_zero_of_real_numbers_is_negative(shape):
    x = paddle.to_tensor(np.abs(draw(*shape, dtype="float32")))
    for function in (fft.fftn, fft.ifftn, fft.fft, fft.ifft):
        imag = function(x).numpy().imag
        assert (imag == 0).any() and not np.signbit(imag[imag == 0]).any()


@pytest.mark.parametrize("n", [6, 64])
def test_gradients_of_real_numbers(n):
    """Those of fft of real numbers are those of fft of complex ones, their real part."""
    x = draw(2, n, dtype="float64")
    weight = paddle.to_tensor(draw(2, n, dtype="complex128"))
    grads = []
    for convert in (lambda t: t, lambda t: t.astype("complex128")):
        for inverse in (fft.fft, fft.ifft):
            t = paddle.to_tensor(x, stop_gradient=False)
            (inverse(convert(t)) * weight).abs().sum().backward()
            assert t.grad.dtype == paddle.float64
            grads.append(t.grad.numpy())
    np.testing.assert_allclose(grads[0], grads[2], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(grads[1], grads[3], rtol=1e-12, atol=1e-12)


def test_few_elements_are_the_library_s(monkeypatch):
    asked = []
    transform = fourier.transform
    monkeypatch.setattr(fourier, "transform", lambda *given: asked.append(given) or transform(*given))
    x = draw(4, 128, dtype="complex64")
    for few, times in ((513, 0), (512, int(fourier.USABLE))):
        monkeypatch.setattr(select_fourier, "SMALL_TRANSFORM", few)
        asked.clear()
        close(fft.fft(paddle.to_tensor(x)).numpy(), np.fft.fft(wide(x)), "float32")
        assert len(asked) == times


def test_what_is_served():
    assert fourier.serves(1024, False) == fourier.USABLE and fourier.serves(128, True) == fourier.USABLE
    for points, real in ((96, False), (63, False), (32, False), (64, True), (129, True), (1 << 20, False), (0, True)):
        assert not fourier.serves(points, real)
    with pytest.raises(ValueError, match="points"):
        fourier.transform(0, 0, False, "complex", False, 96, 1, 0, 0, 1.0)
