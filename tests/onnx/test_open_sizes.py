"""What files of PaddlePaddle say with open sizes in several operators, exported and run in ONNX Runtime."""

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.static import InputSpec
from tests.onnx.conftest import run

FILTERS = paddle.to_tensor(np.random.default_rng(1).standard_normal((4, 4, 3, 3)).astype("float32"))


def enlarged_same(x):
    return F.conv2d_transpose(x, FILTERS, stride=2, padding="SAME")


def largest_to(x):
    return F.adaptive_max_pool2d(x, [x.shape[2] // 2 + 1, None], return_mask=True)


def spectra(x):
    return paddle.fft.irfft(paddle.fft.rfft(x), n=x.shape[-1])


def counted(x):
    return x + 1, x.shape[0] * x.shape[2], x.shape[3] / 4


@pytest.mark.parametrize("function", [enlarged_same, largest_to, spectra, counted])
def test_functions_of_images_of_any_size(function, tmp_path):
    path = str(tmp_path / "m")
    paddle.onnx.export(function, path, [InputSpec([None, 4, None, None], name="x")], opset_version=17)
    for shape in ((2, 4, 6, 5), (1, 4, 5, 8)):
        x = np.random.default_rng(shape[0]).standard_normal(shape).astype("float32")
        want = function(paddle.to_tensor(x))
        for got, y in zip(run(path + ".onnx", {"x": x}), want if isinstance(want, tuple) else [want], strict=True):
            np.testing.assert_allclose(got, np.asarray(y), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("direction", ["forward", "bidirect"])
def test_lstm_with_a_projection(direction, tmp_path):
    layer, path = paddle.nn.LSTM(3, 4, 2, direction, proj_size=2), str(tmp_path / "m")
    specs = [InputSpec([None, None, 3], name="x"), InputSpec([None], "int64", name="n")]
    paddle.onnx.export(lambda x, n: layer(x, None, n), path, specs, opset_version=17)
    for batch, steps in ((3, 4), (1, 2)):
        x = np.random.default_rng(batch).standard_normal((batch, steps, 3)).astype("float32")
        n = np.array([steps, 1, 2][:batch])
        y, (h, c) = layer(paddle.to_tensor(x), None, paddle.to_tensor(n))
        for got, want in zip(run(path + ".onnx", {"x": x, "n": n}), (y, h, c), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
