"""Layers of spectral features: PyTorch as the peer, and the modes a user runs them in."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import paddle
from paddle.audio import features

LAYERS = {
    "spectrogram": lambda **kw: features.Spectrogram(64, 16, **kw),
    "mel": lambda **kw: features.MelSpectrogram(8000, 64, 16, n_mels=8, **kw),
    "log mel": lambda **kw: features.LogMelSpectrogram(8000, 64, 16, n_mels=8, top_db=60.0, **kw),
    "mfcc": lambda **kw: features.MFCC(8000, 5, 64, 16, n_mels=8, **kw),
}


def peer(layer: paddle.nn.Layer, x: np.ndarray) -> np.ndarray:
    """What PyTorch's users write: a short-time transform, and products with the same matrices."""
    state = {name.rpartition(".")[2]: torch.tensor(value.numpy()) for name, value in layer.state_dict().items()}
    spectra = torch.stft(torch.tensor(x), 64, 16, window=state["fft_window"], return_complex=True).abs()
    if "fbank_matrix" not in state:
        return spectra.numpy()
    out = state["fbank_matrix"] @ spectra**2
    if isinstance(layer, features.MelSpectrogram):
        return out.numpy()
    out = 10 * torch.log10(out.clamp(min=1e-10))
    if isinstance(layer, features.LogMelSpectrogram):
        return torch.maximum(out, out.max() - 60).numpy()
    return (state["dct_matrix"].T @ out).numpy()


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("shape", [(300,), (2, 300)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_features_are_those_of_the_peer(rng, name, shape, dtype):
    layer, x = LAYERS[name](dtype=dtype), rng.standard_normal(shape).astype(dtype)
    assert_allclose(layer(paddle.to_tensor(x)).numpy(), peer(layer, x), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", LAYERS)
def test_captured_strided_and_empty(rng, name):
    layer = LAYERS[name]()
    captured = paddle.jit.to_static(lambda x: layer(x))
    for shape in ((2, 300), (3, 211), (300,)):
        x = paddle.to_tensor(rng.standard_normal(shape).astype("float32"))
        assert_allclose(captured(x).numpy(), layer(x).numpy(), rtol=1e-4, atol=1e-3)
    x = paddle.to_tensor(rng.standard_normal((300, 2)).astype("float32")).T
    assert_allclose(layer(x).numpy(), layer(x.contiguous()).numpy(), rtol=1e-5, atol=1e-4)
    if name != "log mel":  # which has no peak then
        assert layer(paddle.zeros([0, 300])).shape[0] == 0


@pytest.mark.parametrize("name", LAYERS)
def test_mixed_precision(rng, name):
    layer, x = LAYERS[name](), paddle.to_tensor(rng.standard_normal((2, 300)).astype("float32"), stop_gradient=False)
    plain = layer(x)
    with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
        mixed = layer(x)
    assert_allclose(mixed.astype("float32").numpy(), plain.numpy(), rtol=0.05, atol=0.05 * float(plain.abs().max()))
    mixed.astype("float32").sum().backward()
    assert bool(paddle.isfinite(x.grad).all())


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("power", [1.0, 2.0, 1.5])
def test_gradients_to_the_waveform(rng, name, power):
    layer, values = LAYERS[name](dtype="float64", power=power), rng.standard_normal(200)
    weight = paddle.to_tensor(rng.standard_normal(layer(paddle.to_tensor(values)).shape))
    x = paddle.to_tensor(values, stop_gradient=False)
    (layer(x) * weight).sum().backward()
    direction, eps = rng.standard_normal(200), 1e-6
    ends = [float((layer(paddle.to_tensor(values + s * eps * direction)) * weight).sum()) for s in (1, -1)]
    assert_allclose(float((x.grad.numpy() * direction).sum()), (ends[0] - ends[1]) / (2 * eps), rtol=1e-4)


def test_state_and_attributes():
    layer = features.MFCC(8000, 5, 64, 16, n_mels=8)
    assert {name: value.shape for name, value in layer.state_dict().items()} == {
        "dct_matrix": [8, 5],
        "_log_melspectrogram._melspectrogram.fbank_matrix": [8, 33],
        "_log_melspectrogram._melspectrogram._spectrogram.fft_window": [64],
    }
    other = features.MFCC(8000, 5, 64, 16, n_mels=8, window="hamming", htk=True)
    other.set_state_dict(layer.state_dict())
    x = paddle.arange(300, dtype="float32")
    assert_allclose(other(x).numpy(), layer(x).numpy())
    assert not list(layer.parameters())


@pytest.mark.parametrize(
    "make",
    [
        lambda: features.Spectrogram(power=0),
        lambda: features.Spectrogram(window="other"),
        lambda: features.Spectrogram(n_fft=-1),
        lambda: features.MFCC(n_mfcc=65),
        lambda: features.Spectrogram(n_fft=64)(paddle.zeros([10])),
        lambda: features.Spectrogram(n_fft=64)(paddle.zeros([2, 2, 300])),
        lambda: features.Spectrogram(n_fft=64, pad_mode="other")(paddle.zeros([300])),
        lambda: features.Spectrogram(n_fft=64, win_length=70)(paddle.zeros([300])),
    ],
)
def test_wrong_arguments_are_refused(make):
    with pytest.raises(ValueError, match="requires"):
        make()
