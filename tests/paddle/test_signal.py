"""Short-time Fourier transforms against the peer."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import paddle


def window(n):
    return np.hanning(n) + 0.1


def both(a, n_fft, **options):
    """Our transform and the peer's, under the same options."""
    mine = {k: paddle.to_tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    theirs = {k: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    theirs.setdefault("window", torch.ones(theirs.get("win_length", n_fft), dtype=torch.float64))
    ours = paddle.signal.stft(paddle.to_tensor(a), n_fft, **mine)
    return ours, torch.stft(torch.from_numpy(a), n_fft, **theirs, return_complex=True)


OPTIONS = [
    {},
    {"hop_length": 5},
    {"hop_length": 4, "win_length": 12, "window": window(12)},
    {"win_length": 11, "window": window(11)},
    {"center": False},
    {"pad_mode": "constant"},
    {"normalized": True},
    {"onesided": False},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("n_fft", [15, 16])
def test_stft(n_fft, options, rng):
    for shape in ((64,), (2, 64)):
        ours, theirs = both(rng.standard_normal(shape), n_fft, **options)
        assert ours.shape == list(theirs.shape)
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-10)


def test_complex_signals(rng):
    a = rng.standard_normal((2, 64)) + 1j * rng.standard_normal((2, 64))
    ours, theirs = both(a, 16, onesided=False, window=window(16))
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-10)


def test_single_precision_and_integers(rng):
    assert paddle.signal.stft(paddle.ones([32]), 8).dtype == paddle.complex64
    assert paddle.signal.stft(paddle.arange(32), 8).dtype == paddle.complex64


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"hop_length": 5},
        {"hop_length": 4, "win_length": 12, "window": window(12)},
        {"center": False},
        {"normalized": True},
        {"onesided": False},
    ],
)
def test_istft_is_the_inverse(options, rng):
    a = rng.standard_normal((2, 64))
    options = {k: paddle.to_tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    for x in (a, a[0]):
        y = paddle.signal.istft(paddle.signal.stft(paddle.to_tensor(x), 16, **options), 16, **options)
        n = y.shape[-1]
        assert n >= 56
        np.testing.assert_allclose(y.numpy(), x[..., :n], atol=1e-12)
        cut = paddle.signal.istft(paddle.signal.stft(paddle.to_tensor(x), 16, **options), 16, length=50, **options)
        np.testing.assert_allclose(cut.numpy(), x[..., :50], atol=1e-12)


def test_complex_results(rng):
    a = rng.standard_normal(64) + 1j * rng.standard_normal(64)
    y = paddle.signal.stft(paddle.to_tensor(a), 16, onesided=False)
    back = paddle.signal.istft(y, 16, onesided=False, return_complex=True)
    np.testing.assert_allclose(back.numpy(), a, atol=1e-12)


def test_gradients(rng):
    a, w = rng.standard_normal((2, 40)), window(12)
    x, v = paddle.to_tensor(a, stop_gradient=False), paddle.to_tensor(w, stop_gradient=False)
    y = paddle.signal.stft(x, 16, 4, 12, v)
    (y.abs() ** 2).sum().backward()
    px, pv = torch.from_numpy(a).requires_grad_(), torch.from_numpy(w).requires_grad_()
    (torch.stft(px, 16, 4, 12, pv, return_complex=True).abs() ** 2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), px.grad.numpy(), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(v.grad.numpy(), pv.grad.numpy(), rtol=1e-9, atol=1e-10)

    s = rng.standard_normal((9, 11)) + 1j * rng.standard_normal((9, 11))
    x, px = paddle.to_tensor(s, stop_gradient=False), torch.from_numpy(s).requires_grad_()
    (paddle.signal.istft(x, 16, 4, 12, paddle.to_tensor(w)) ** 2).sum().backward()
    (torch.istft(px, 16, 4, 12, torch.from_numpy(w)) ** 2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), px.grad.resolve_conj().numpy(), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: paddle.signal.stft(x.reshape([1, 1, 64]), 16), r"\[stft\] requires a tensor of rank 1 or 2"),
        (lambda x: paddle.signal.stft(x, 128, center=False), "an n_fft from 1 to 64, got 128"),
        (lambda x: paddle.signal.stft(x, 16, 0), "a hop_length above 0"),
        (lambda x: paddle.signal.stft(x, 16, win_length=20), "a win_length from 1 to 16, got 20"),
        (lambda x: paddle.signal.stft(x, 16, window=paddle.ones([12])), r"a window of shape \[16\], got \[12\]"),
        (lambda x: paddle.signal.stft(x, 16, pad_mode="edge"), "a pad_mode of"),
        (lambda x: paddle.signal.istft(x, 16), r"\[istft\] requires a complex tensor"),
        (lambda x: paddle.signal.istft(paddle.signal.stft(x, 14), 16), "9 points for n_fft=16, got 8"),
        (lambda x: paddle.signal.istft(paddle.signal.stft(x, 16), 16, 17), "a hop_length of at most win_length"),
        (lambda x: paddle.signal.istft(paddle.signal.stft(x, 16), 16, return_complex=True), "onesided=False"),
        (
            lambda x: paddle.signal.istft(
                paddle.signal.stft(x, 16, center=False), 16, window=paddle.to_tensor(np.hanning(16)), center=False
            ),
            "windows whose squares",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call(paddle.ones([64], "float64"))
