"""What files of PaddlePaddle say with open sizes in several operators, exported and run in ONNX Runtime."""

import numpy as np
import onnxruntime
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


# Results without elements, and sums of none, by shapes to export and to run: ONNX takes 0 in a shape for a size of x.
NONE = {
    "reshape": (lambda x, y: x.reshape([3, 0]) + y[:, :0], [[0, 3], [3, 3]], [[0, 3], [3, 3]]),
    "einsum": (lambda x, y: paddle.einsum("ij,jk->ik", x, y), [[None, 0], [0, 3]], [[2, 0], [0, 3]]),
    "expand": (lambda x, y: x.expand([0, 3]) + y, [[1, 3], [None, 3]], [[1, 3], [0, 3]]),
    "repeat": (lambda x, y: paddle.repeat_interleave(x, 0, 0) + y, [[None, 3], [3]], [[2, 3], [3]]),
    "attention": (
        lambda q, k: F.scaled_dot_product_attention(q, k, k),
        [[None, 4, 2, 8], [None, 0, 2, 8]],
        [[2, 4, 2, 8], [2, 0, 2, 8]],
    ),
}


@pytest.mark.parametrize("case", NONE)
def test_sizes_of_0(case, tmp_path, rng):
    function, sizes, shapes = NONE[case]
    path = str(tmp_path / "m")
    paddle.onnx.export(function, path, [InputSpec(s, name=n) for s, n in zip(sizes, "xy", strict=True)])
    given = {n: rng.standard_normal(s).astype("float32") for s, n in zip(shapes, "xy", strict=True)}
    taken = {i.name for i in onnxruntime.InferenceSession(path + ".onnx").get_inputs()}
    (got,) = run(path + ".onnx", {n: x for n, x in given.items() if n in taken})
    want = function(*map(paddle.to_tensor, given.values()))
    assert list(got.shape) == list(want.shape)
    np.testing.assert_allclose(got, want.numpy(), rtol=1e-6)
