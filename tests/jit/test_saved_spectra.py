"""Fourier transforms over axes whose sizes are open: one saved program for even and odd numbers of points."""

import numpy as np
import pytest

import paddle
from paddle import fft, inference
from paddle.static import InputSpec

NORMS = "backward", "ortho", "forward"


def there_and_back(x, norm):
    return fft.irfft(fft.rfft(x, norm=norm), norm=norm)


def to_the_length(x, norm):
    return fft.irfft(fft.rfft(x, norm=norm), n=x.shape[-1], norm=norm)


def hermitian(x, norm):
    return fft.hfft(fft.ihfft(x, norm=norm), n=x.shape[-1], norm=norm), fft.hfft(paddle.complex(x, x * x), norm=norm)


def planes(x, norm):
    return fft.irfft2(fft.rfft2(x, norm=norm), s=x.shape[-2:], norm=norm)


def all_axes(x, norm):
    return fft.irfftn(fft.rfftn(x, norm=norm), s=x.shape, norm=norm)


def other_axis(x, norm):
    return fft.irfft(paddle.complex(x, 2 * x), n=x.shape[1] + 2, axis=1, norm=norm)


def long_convolution(x, norm):
    n = x.shape[-1]
    spectra = fft.rfft(x, n=2 * n, norm=norm), fft.rfft(x * x, n=2 * n, norm=norm)
    return fft.irfft(spectra[0] * spectra[1], n=2 * n, norm=norm)[..., :n]


def cut_or_filled(x, norm):
    """Some are longer than seven points, and some shorter."""
    return paddle.abs(fft.fft(x, n=7, norm=norm)) + paddle.abs(fft.rfft(x, n=12, norm=norm))


FUNCTIONS = there_and_back, to_the_length, hermitian, planes, all_axes, other_axis, long_convolution, cut_or_filled
SIZES = (2, 4, 6), (1, 3, 9), (3, 5, 7)


def several(y):
    return y if isinstance(y, (list, tuple)) else [y]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_saved_models_keep_numbers_of_points_open(function, norm, tmp_path):
    path = str(tmp_path / "model")
    spec = [InputSpec([None, None, None], name="x"), norm]
    paddle.jit.save(function, path, spec)  # in operators of PaddlePaddle: another format would warn
    loaded = paddle.jit.load(path)
    predictor = inference.create_predictor(inference.Config(path + ".json", ""))
    for shape in SIZES:
        x = paddle.to_tensor(np.random.default_rng(shape[0]).standard_normal(shape).astype("float32"))
        for want, got, made in zip(several(function(x, norm)), several(loaded(x)), predictor.run([x]), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(made, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("function", [to_the_length, planes, all_axes, other_axis])
def test_loaded_transforms_have_the_gradients_of_the_saved_ones(function, tmp_path):
    path = str(tmp_path / "model")
    paddle.jit.save(function, path, [InputSpec([None, None, None], name="x"), "backward"])
    loaded = paddle.jit.load(path)
    for shape in SIZES:
        values = np.random.default_rng(shape[0]).standard_normal(shape).astype("float32")
        x, y = (paddle.to_tensor(values, stop_gradient=False) for _ in range(2))
        (loaded(x) ** 2).sum().backward()
        (function(y, "backward") ** 2).sum().backward()
        np.testing.assert_allclose(x.grad, y.grad, rtol=1e-4, atol=1e-4)


def test_a_captured_transform_is_cut_or_filled_by_one_graph():
    graph = paddle.jit.to_static(lambda x: cut_or_filled(x, "backward"))
    for shape in SIZES:
        x = paddle.to_tensor(np.random.default_rng(shape[0]).standard_normal(shape).astype("float32"))
        np.testing.assert_allclose(graph(x), cut_or_filled(x, "backward"), rtol=1e-4, atol=1e-5)
    assert not graph.graph_breaks
