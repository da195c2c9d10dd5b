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
