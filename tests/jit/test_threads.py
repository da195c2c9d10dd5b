"""Captured functions called by several threads at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import paddle


@pytest.mark.parametrize("full_graph", [False, True])
def test_numbers_are_those_of_the_own_call(full_graph):
    """Numbers that differ between calls are given to the run: each thread's to its own."""
    layer = paddle.nn.Linear(1, 1)

    def f(x, k, scale):
        y = layer(x.unsqueeze(-1)).squeeze(-1) * scale
        for _ in range(k % 3):
            y = y * 2
        return y

    captured = paddle.jit.to_static(f, full_graph=full_graph)
    rng = np.random.default_rng(0)
    for sizes in ((2,) * 6, (2, 3, 4, 2, 1, 0), (5, 6, 7, 8, 9, 10)):
        calls = [(paddle.to_tensor(rng.normal(size=n).astype("float32")), k, 0.5 + k) for k, n in enumerate(sizes)]
        with ThreadPoolExecutor(3) as pool:
            got = list(pool.map(lambda call: captured(*call), calls))
        for y, call in zip(got, calls, strict=True):
            wanted = f(*call)
            np.testing.assert_allclose(y.numpy(), wanted.numpy(), rtol=1e-6)
            assert y.stop_gradient == wanted.stop_gradient
