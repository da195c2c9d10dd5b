"""Functions that are saved with an open size run for every size, also those at which shapes happen to be equal."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.inference import Config, create_predictor
from paddle.inference.loading import files_of
from paddle.static import InputSpec

SIZES = 5, 1, 2, 4, 3  # of x, of which a row has 4 elements; s has 8


def set_at(index, value):
    def f(x, s):
        y = x * 2.0
        y[index] = value(x, s)
        return y

    return f


SAVED = {
    "a part of each row": set_at((slice(None), slice(1, 3)), lambda x, s: s[:2]),
    "a part of each row, with its dim": set_at((slice(None), slice(1, 3)), lambda x, s: s[:2].unsqueeze(0)),
    "the first row": set_at(slice(None, 1), lambda x, s: s[:4]),
    "all but the first": set_at(slice(1, None), lambda x, s: 0.5),
    "all but the last": set_at(slice(None, -1), lambda x, s: s[:4]),
    "the last two": set_at((slice(-2, None), 0), lambda x, s: 0.5),
    "every other": set_at(slice(None, None, 2), lambda x, s: s[4:]),
    "rows of a mask": lambda x, s: set_at(x[:, 0] > 0, lambda x, s: s[:4])(x, s),
    "elements of a mask": lambda x, s: set_at(x > 0, lambda x, s: 0.5)(x, s),
    "a row twice": lambda x, s: set_at(paddle.to_tensor([0, 0]), lambda x, s: s[:4])(x, s),
    "rows from parts": lambda x, s: x[:2] + x[-1:] + s[:4],
    "masked_fill": lambda x, s: paddle.masked_fill(x, (s[:4] > 0).unsqueeze(0), 1.0),
    "put_along_axis": lambda x, s: paddle.put_along_axis(x, paddle.zeros([1, 4], "int64"), s[:4].unsqueeze(0), 1),
    "index_put": lambda x, s: paddle.index_put(x, (paddle.to_tensor([0, 0]),), s[:4].unsqueeze(0)),
    "masked_scatter": lambda x, s: paddle.masked_scatter(x, (s[:4] > 1e9).unsqueeze(0), s),
    "copy_": lambda x, s: (x * 1.0).copy_(s[:4].unsqueeze(0)),
}


@pytest.mark.parametrize("name", SAVED)
def test_every_size(name, tmp_path):
    function = SAVED[name]
    specs = [InputSpec([None, 4], "float32", "x"), InputSpec([8], "float32", "s")]
    paddle.jit.save(function, str(tmp_path / "m"), specs)
    predictor = create_predictor(Config(*files_of(str(tmp_path / "m"))))
    s = paddle.to_tensor(np.linspace(-1, 2, 8, dtype="float32"))
    for n in SIZES:
        x = paddle.to_tensor(np.random.default_rng(n).standard_normal((n, 4)).astype("float32"))
        given = {"x": x, "s": s}
        (y,) = predictor.run([given[read] for read in predictor.get_input_names()])
        np.testing.assert_allclose(y.numpy(), function(x, s).numpy(), rtol=1e-6)


class Normed(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.one, self.two = paddle.nn.LayerNorm(4), paddle.nn.LayerNorm([3, 4])

    def forward(self, x):
        return self.two(self.one(x)) + paddle.nn.functional.rms_norm(x, [4])[0] + paddle.cross(x, 2 - x, 1)


def test_sizes_that_parameters_have_may_be_open(tmp_path):
    """A file says that they are required, as for the columns of a matmul."""
    layer, path = Normed(), str(tmp_path / "m")
    paddle.jit.save(layer, path, [InputSpec([None, None, None], "float32", "x")])
    loaded = paddle.jit.load(path)
    for n in (1, 3):
        x = paddle.to_tensor(np.random.default_rng(n).standard_normal((n, 3, 4)).astype("float32"))
        np.testing.assert_allclose(loaded(x), layer(x), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError):
        loaded(paddle.ones([2, 3, 5]))
    with pytest.raises(ValueError, match="layer_norm"):
        layer(paddle.ones([2, 3, 5]))


def test_channels_that_are_open_are_shifted(tmp_path):
    def function(x):
        return paddle.nn.functional.temporal_shift(x, 2, 0.2)

    paddle.jit.save(function, str(tmp_path / "m"), [InputSpec([None, None, None, None], "float32", "x")])
    loaded = paddle.jit.load(str(tmp_path / "m"))
    for shape in ((4, 5, 2, 2), (2, 10, 1, 3)):
        x = paddle.arange(float(np.prod(shape))).reshape(shape)
        np.testing.assert_array_equal(loaded(x), function(x))


def test_an_element_whose_place_data_decide():
    """As files say it of a number among the inputs."""
    from paddle.static.formats.operators.manipulation import slice_
    from paddle.tensor._args import integer

    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            x, at = paddle.static.data("x", [None, 5]), paddle.static.data("at", [], "int64")
            n = integer(at, "slice", "starts")
            y = slice_(x, [n], [n + 1], axes=[1], decrease_axis=[1])
        run = paddle.static.Executor()
        rows = np.arange(10, dtype="float32").reshape(2, 5)
        for i in (0, 3, -1, -5):
            (got,) = run.run(main, {"x": rows, "at": np.array(i)}, [y])
            np.testing.assert_array_equal(got, rows[:, i])
        for i in (5, -6):
            with pytest.raises(ValueError, match="requires"):
                run.run(main, {"x": rows, "at": np.array(i)}, [y])
    finally:
        paddle.disable_static()
