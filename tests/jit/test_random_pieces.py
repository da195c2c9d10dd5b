"""Random numbers that a fused kernel reads from another place than it writes to: the bits are those of eager calls."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.jit import to_static

PIECES = {
    "concat": lambda r, x: paddle.concat([r, x, r], -1) + 1.0,
    "concat of rows": lambda r, x: paddle.concat([r, x, r], 0) * 2.0,
    "twice": lambda r, x: paddle.concat([x, x, r, r], -1) + r.sum(),
    "pad": lambda r, x: paddle.nn.functional.pad(r, [0, 0, 2, 1]) + 1.0,
    "roll": lambda r, x: paddle.roll(r, 1, -1) * r,
    "reversed": lambda r, x: r[:, ::-1] + r,
    "shifted": lambda r, x: r[:, 1:] - r[:, :-1],
    "transposed": lambda r, x: paddle.concat([r.t(), x.t()], -1) + 1.0,
}
DRAWS = {
    "normal": lambda x: paddle.randn(x.shape, dtype=x.dtype),
    "uniform": lambda x: paddle.rand(x.shape, dtype=x.dtype),
    "integers": lambda x: paddle.randint(0, 1000, x.shape).astype(x.dtype),
    "dropout": lambda x: paddle.nn.functional.dropout(paddle.ones_like(x), 0.5),
}


@pytest.mark.parametrize("columns", [1, 3, 17])
@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("name", PIECES)
def test_pieces_of_random_numbers(name, draw, columns):
    if columns == 1 and name == "shifted":
        columns = 2

    def f(x):
        return PIECES[name](DRAWS[draw](x) + x, x)

    x, static = paddle.ones([2, columns]), to_static(f)
    for before in (0, 1, 5):  # words that are taken from the stream first
        found = []
        for run in (f, static):
            paddle.seed(7)
            if before:
                paddle.rand([before])
            found.append(run(x).numpy())
        np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-6)
