"""Fourier transforms: sizes, directions and layouts, beside NumPy's in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import fft
from umiak.backends.base import clear_plans
from umiak.backends.cpu import fourier, select_fourier
from umiak.runtime import parallel

SIZES = [1 << k for k in range(5, 18)]
LIMITS = {"float32": 1e-6, "float64": 1e-14}
COMPLEX = {"float32": "complex64", "float64": "complex128"}


def draw(*shape, dtype):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.startswith("complex") else x).astype(dtype)


def close(got, want, dtype):
    want = np.asarray(want)
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= LIMITS[dtype] * np.abs(want).max()


@pytest.fixture
def asked(monkeypatch):
    """Calls of the library. Without vectors it has all of them."""
    if not fourier.USABLE:
        pytest.skip("this processor has no vectors that the kernels know")
    calls = []

    def library(op):
        run = original(op)
        return lambda *given: calls.append(op) or run(*given)

    original = select_fourier.library
    clear_plans()
    monkeypatch.setattr(select_fourier, "library", library)
    yield calls
    clear_plans()


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


def check_all(x, z, axis, norm, dtype):
    """Each function of real numbers ``x`` and of complex ones ``z`` along an axis."""
    n = x.shape[axis]
    half = np.take(z, range(n // 2 + 1), axis)
    for name, given in (("fft", z), ("fft", x), ("ifft", z), ("ifft", x), ("rfft", x), ("ihfft", x)):
        want = getattr(np.fft, name)(wide(given), axis=axis, norm=norm)
        close(getattr(fft, name)(paddle.to_tensor(given), axis=axis, norm=norm).numpy(), want, dtype)
    for name in ("irfft", "hfft"):
        want = getattr(np.fft, name)(wide(half), n, axis=axis, norm=norm)
        close(getattr(fft, name)(paddle.to_tensor(half), n, axis=axis, norm=norm).numpy(), want, dtype)


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize(
    "n", [*range(1, 17), 21, 22, 24, 25, 26, 36, 49, 60, 77, 91, 96, 100, 121, 169, 210, 243, 343, 500]
)
def test_numbers_of_points_with_small_primes(n, dtype, asked):
    x, z = draw(3, n, 2, dtype=dtype), draw(3, n, 2, dtype=COMPLEX[dtype])
    for norm in ("backward", "ortho", "forward"):
        check_all(x, z, 1, norm, dtype)
    assert not asked


@pytest.mark.parametrize("n", [17, 34, 57, 58, 289, 997, 4913, 8190])
def test_other_numbers_of_points(n, asked):
    check_all(draw(3, n, dtype="float32"), draw(3, n, dtype="complex64"), 1, "ortho", "float32")
    assert asked


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("lanes", [1, 7, 8, 9, 16, 17, 33])
@pytest.mark.parametrize("axis", [0, 1])
def test_lanes(lanes, axis, dtype, asked):
    """Vectors that are full, and those that are not; lanes that lie side by side, and those that do not."""
    shapes = [(n, lanes) if axis == 0 else (lanes, n) for n in (10, 15, 64)]
    for shape in shapes:
        check_all(draw(*shape, dtype=dtype), draw(*shape, dtype=COMPLEX[dtype]), axis, "backward", dtype)
    assert not asked


@pytest.mark.parametrize("n", [3000, 4096])
def test_many_points_in_lanes(n, asked):
    check_all(draw(n, 9, dtype="float32"), draw(n, 9, dtype="complex64"), 0, "forward", "float32")
    assert not asked


@pytest.mark.parametrize("n", [12, 17, 30, 64])
def test_layouts(n):
    """Views that are transposed, reversed, stretched or repeated."""
    z = draw(5, 2 * n, 6, dtype="complex64")
    views = [
        lambda t: t[:, ::2],
        lambda t: t[::-1, n:, 1::2],
        lambda t: t[:, :n].transpose(0, 2, 1) if isinstance(t, np.ndarray) else t[:, :n].transpose([0, 2, 1]),
        lambda t: (
            np.broadcast_to(t[:, :n, :1], (5, n, 4)) if isinstance(t, np.ndarray) else t[:, :n, :1].expand([5, n, 4])
        ),
    ]
    for view in views:
        for axes in ((0,), (1,), (2,), (2, 1), (0, 2, 1)):
            close(
                fft.fftn(view(paddle.to_tensor(z)), axes=axes).numpy(), np.fft.fftn(view(wide(z)), axes=axes), "float32"
            )
            real = paddle.to_tensor(z.real)
            got = fft.rfftn(view(real), axes=axes).numpy()
            close(got, np.fft.rfftn(view(wide(z.real)), axes=axes), "float32")
            sizes = [view(z).shape[a] for a in axes]
            close(fft.irfftn(paddle.to_tensor(got), sizes, axes).numpy(), view(z.real), "float32")


@pytest.mark.parametrize("n", [12, 15])
def test_what_has_no_elements(n):
    x = paddle.zeros([0, n])
    assert fft.fft(x).shape == [0, n] and fft.rfft(x).shape == [0, n // 2 + 1]
    assert fft.irfft(fft.rfft(x), n).shape == [0, n]


@pytest.mark.parametrize("n", [9, 10, 60])
def test_a_lane_keeps_its_nan_and_infinity_to_itself(n):
    x = draw(16, n, dtype="float32")
    want = [f(paddle.to_tensor(x)).numpy() for f in (fft.rfft, fft.fft)]
    x[1, 7], x[2, 3] = np.nan, np.inf
    others = [0, *range(3, 16)]
    for f, clean in zip((fft.rfft, fft.fft), want, strict=True):
        got = f(paddle.to_tensor(x)).numpy()
        assert not np.isfinite(got[1:3]).all(axis=1).any()
        np.testing.assert_array_equal(got[others], clean[others])
        assert np.abs(got[others]).max() < 1e3


def test_real_numbers_in_lanes_are_real_at_both_ends():
    for n in (10, 15, 60):
        got = fft.rfft(paddle.to_tensor(draw(18, n, dtype="float32"))).numpy()
        assert not got[:, 0].imag.any() and (n % 2 or not got[:, -1].imag.any())
        got = fft.fft(paddle.to_tensor(draw(18, n, dtype="float32"))).numpy()
        np.testing.assert_array_equal(got[:, 1:], got[:, :0:-1].conj())


def test_threads_give_the_same_in_lanes():
    x, found, before = paddle.to_tensor(draw(100, 60, 30, dtype="complex64")), [], parallel.get_num_threads()
    for threads in (1, 2):
        parallel.set_num_threads(threads)
        try:
            found.append(fft.fftn(x, axes=(1, 2)).numpy())
        finally:
            parallel.set_num_threads(before)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("n", [12, 17])
def test_captured(n):
    """One captured function at several sizes, by the kernel and by the library."""
    captured = paddle.jit.to_static(lambda t: fft.irfft(fft.rfft(t * 2, axis=0), t.shape[0], axis=0))
    for rows in (n, n, n, n + 1):
        x = draw(rows, 5, dtype="float32")
        close(captured(paddle.to_tensor(x)).numpy(), 2 * x, "float32")


def test_an_error_of_the_library_is_raised(monkeypatch):
    def fails(*given):
        raise RuntimeError("no transform today")

    monkeypatch.setattr(select_fourier, "library", lambda op: fails)
    op = fft.fft(paddle.zeros([2, 3], "complex64"))  # a plan of its own for each number of dims
    assert op.shape == [2, 3]
    with pytest.raises(RuntimeError, match="no transform today"):
        fft.fft(paddle.zeros([1] * 11 + [8191], "complex64"))


def test_a_kernel_has_axes():
    for axes in ((), (2,)):
        with pytest.raises(ValueError, match="axes"):
            fourier.Fourier("complex", False, False, 0, 2, axes, print)
