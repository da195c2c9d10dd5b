"""Rows around the length of a vector, where kernels of rows have a form without loops."""

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F

SIZES = (0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33)


def rows(rng, n, dtype, wide=False):
    """Tensors of 5 rows; ``wide``: every other column of a larger one."""
    x = rng.standard_normal((5, 2 * n if wide else n)).astype("float32")
    t = paddle.to_tensor(x).astype(dtype)
    t = t[:, ::2] if wide else t
    return t, t.astype("float64").numpy()


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_rows_of_several_passes(rng, dtype, wide):
    bound = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 2e-2, "float16": 3e-3}[dtype]
    for n in SIZES[1:]:
        x, a = rows(rng, n, dtype, wide)
        e = np.exp(a - a.max(-1, keepdims=True))
        np.testing.assert_allclose(
            F.softmax(x, -1).astype("float64").numpy(), e / e.sum(-1, keepdims=True), bound, bound
        )
        want = a - a.max(-1, keepdims=True) - np.log(e.sum(-1, keepdims=True))
        np.testing.assert_allclose(F.log_softmax(x, -1).astype("float64").numpy(), want, bound, bound)
        want = (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-3)
        np.testing.assert_allclose(
            F.layer_norm(x, [n], epsilon=1e-3).astype("float64").numpy(), want, 20 * bound, 20 * bound
        )
        np.testing.assert_array_equal(paddle.argmax(x, -1).numpy(), a.argmax(-1))
        np.testing.assert_array_equal(paddle.any(x > 1, -1).numpy(), (a > 1).any(-1))


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64", "uint8", "bool"])
def test_sums(rng, dtype):
    for n in SIZES:
        a = rng.integers(0, 2 if dtype == "bool" else 50, (5, n)).astype(dtype)
        x = paddle.to_tensor(a)
        total = x.sum(-1).numpy()
        np.testing.assert_array_equal(total, a.sum(-1).astype(total.dtype))  # uint8 wraps around
        np.testing.assert_array_equal(paddle.count_nonzero(x, -1).numpy(), np.count_nonzero(a, -1))


def test_in_place_over_rows(rng):
    """The result lies where the operand did."""
    for n in SIZES[1:]:
        x, a = rows(rng, n, "float32")
        F.softmax_(x)
        e = np.exp(a - a.max(-1, keepdims=True))
        np.testing.assert_allclose(x.numpy(), e / e.sum(-1, keepdims=True), 1e-5)


def test_nothing_is_written_outside(rng):
    for n in SIZES[1:]:
        memory = paddle.zeros([5, n + 2])
        x, a = rows(rng, n, "float32")
        memory[:, 1:-1] = F.softmax(x, -1)
        view = memory[:, 1:-1]
        F.softmax_(view)
        assert not memory[:, 0].any() and not memory[:, -1].any()
        np.testing.assert_allclose(view.numpy().sum(-1), np.ones(5), 1e-5)


def test_gradients_of_short_rows(rng):
    for n in SIZES[1:]:
        x, a = rows(rng, n, "float64")
        x.stop_gradient = False
        g = rng.standard_normal((5, n))
        (y,) = paddle.grad(F.softmax(x, -1), x, paddle.to_tensor(g))
        e = np.exp(a - a.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
        np.testing.assert_allclose(y.numpy(), p * (g - (g * p).sum(-1, keepdims=True)), 1e-11, 1e-13)
