"""LSTMs with a projection, which the reference has no operator for, in its files: any batch, time, states, lengths."""

import numpy as np
import pytest

import paddle
from paddle import inference
from paddle.static import InputSpec

FORMS = [(layers, direction) for layers in (1, 2) for direction in ("forward", "bidirect")]


def drawn(*shape):
    return paddle.to_tensor(np.random.default_rng(shape[0]).standard_normal(shape).astype("float32"))


class Projected(paddle.nn.Layer):
    def __init__(self, layers, direction):
        super().__init__()
        self.net = paddle.nn.LSTM(3, 5, layers, direction, proj_size=2)

    def forward(self, x, h, c, lengths):
        y, (h, c) = self.net(x, (h, c), lengths)
        free, last = self.net(x)
        return y, h, c, free, *last


@pytest.mark.parametrize(("layers", "direction"), FORMS)
def test_files_give_what_the_layer_does(layers, direction, tmp_path):
    layer, path = Projected(layers, direction), str(tmp_path / "m")
    ways = layers * (1 + (direction != "forward"))
    specs = [
        InputSpec([None, None, 3], name="x"), InputSpec([ways, None, 2], name="h"),
        InputSpec([ways, None, 5], name="c"), InputSpec([None], "int64", name="lengths"),
    ]  # fmt: skip
    paddle.jit.save(layer, path, specs)  # in operators of PaddlePaddle: another format would warn
    loaded = paddle.jit.load(path)
    predictor = inference.create_predictor(inference.Config(path + ".json", path + ".pdiparams"))
    for batch, steps in ((4, 6), (1, 2), (3, 3)):
        given = [drawn(batch, steps, 3), drawn(ways, batch, 2), drawn(ways, batch, 5)]
        given.append(paddle.to_tensor([steps, 0, 2, 1][:batch]))  # a sequence without steps keeps its first states
        for want, got, made in zip(layer(*given), loaded(*given), predictor.run(given), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(made, want, rtol=1e-5, atol=1e-6)


def test_loaded_layers_have_the_gradients_of_the_saved_ones(tmp_path):
    layer, path = paddle.nn.LSTM(3, 5, direction="bidirect", proj_size=2), str(tmp_path / "m")
    paddle.jit.save(layer, path, [InputSpec([None, None, 3], name="x")])
    loaded = paddle.jit.load(path)
    gradients = []
    for net in (layer, loaded):
        x = drawn(2, 4, 3)
        x.stop_gradient = False
        y = net(x)[0]
        (y * y).sum().backward()
        gradients.append([x.grad, *sorted((p.grad for p in net.parameters()), key=lambda g: (g.size, float(g.sum())))])
    for got, want in zip(*gradients, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
