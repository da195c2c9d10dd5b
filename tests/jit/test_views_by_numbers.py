"""Views by numbers of the call: a list of launches that was recorded for some serves no others."""

from __future__ import annotations

import numpy as np
import pytest

import paddle

FORMS = {
    "start": lambda x, k: x[:, k : k + 2],
    "size": lambda x, k: x[:, : k + 1],
    "step": lambda x, k: x[:: k + 1],
    "index": lambda x, k: x[k].unsqueeze(0),
    "reshape": lambda x, k: x[: 4 * (k + 1)].reshape([k + 1, -1]),
    "copied": lambda x, k: x[: 4 * (k + 1)].T.reshape([k + 1, -1]),
    "expand": lambda x, k: x[0].expand([k + 2, 16]),
    "ones": lambda x, k: x[:1] * paddle.ones([k + 1, 16]),
    "arange": lambda x, k: x[0] * paddle.arange(k + 2.0).unsqueeze(-1),
    "tile": lambda x, k: x[:2].tile([k + 1, 1]),
    "pad": lambda x, k: paddle.nn.functional.pad(x, [k, 1, 0, k]),
    "split": lambda x, k: paddle.split(x, [k + 1, 15 - k])[1],
    "triangle": lambda x, k: paddle.tril(x, k),
    "times": lambda x, k: sum(x * i for i in range(k + 1)),
    "roll": lambda x, k: paddle.roll(x, k),
}


@pytest.mark.parametrize("whole", [False, True], ids=["bytecode", "source"])
@pytest.mark.parametrize("name", FORMS)
def test_numbers_differ_between_calls(name, whole):
    seen = FORMS[name]

    def step(x, k):
        y = paddle.matmul(x, x)
        z = seen(y, k).sum(-1)
        return paddle.matmul(paddle.tanh(z), z.T) * 2

    captured = paddle.jit.to_static(step, full_graph=whole)
    draws = np.random.default_rng(0)
    x = paddle.to_tensor(draws.normal(size=(16, 16)).astype("float32") / 4, stop_gradient=False)
    for k in [1, 1, 1, 2, 1, 2, 2, 2, *draws.integers(0, 4, 16).tolist()]:
        results = []
        for f in (captured, step):
            x.clear_gradient(False)
            y = f(x, k)
            y.sum().backward()
            results.append((y.numpy(), x.grad.numpy()))
        for got, want in zip(*results, strict=True):
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_gradients_of_sizes_that_divide():
    def step(x):
        n = x.shape[0]
        if n % 2:
            x = paddle.concat([x, paddle.zeros([1])])
        return x.reshape([-1, 2]).sum(axis=1), n

    captured = paddle.jit.to_static(step, full_graph=True)
    for n in np.random.default_rng(0).integers(2, 9, 60).tolist():
        x = paddle.arange(float(n))
        x.stop_gradient = False
        y, _ = captured(x)
        (y * paddle.arange(1.0, y.shape[0] + 1)).sum().backward()
        assert x.grad.tolist() == [float(i // 2 + 1) for i in range(n)]
