"""Kronecker products: rows of any length, layouts and threads, beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from umiak.backends.cpu.kron import Kron
from umiak.runtime import parallel


def draw(*shape, dtype):
    return np.random.default_rng(0).integers(-9, 10, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "complex64", "float16"])
@pytest.mark.parametrize("n", [*range(1, 10), 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100])
def test_rows_of_any_length(n, dtype):
    x, y = draw(3, 5, dtype=dtype), draw(2, n, dtype=dtype)
    for a, b in ((x, y), (y, x)):
        got = paddle.kron(paddle.to_tensor(a), paddle.to_tensor(b)).numpy()
        assert got.dtype == a.dtype
        np.testing.assert_array_equal(got, np.kron(a, b))


@pytest.mark.parametrize(
    "shapes", [((4,), (3,)), ((), ()), ((2, 3, 2), (3, 1, 4)), ((5,), (2, 3)), ((0, 2), (2, 2)), ((1, 7), (7, 1))]
)
def test_ranks(shapes):
    a, b = (draw(*s, dtype="float32") for s in shapes)
    np.testing.assert_array_equal(paddle.kron(paddle.to_tensor(a), paddle.to_tensor(b)).numpy(), np.kron(a, b))


def test_layouts():
    a, b = draw(4, 6, dtype="float32"), draw(8, 10, dtype="float32")
    x, y = paddle.to_tensor(a), paddle.to_tensor(b)
    for view in (lambda t: t[::2, 1::2], lambda t: t[::-1], lambda t: t[:1]):
        np.testing.assert_array_equal(paddle.kron(view(x), view(y)).numpy(), np.kron(view(a), view(b)))
        np.testing.assert_array_equal(paddle.kron(view(x).t(), y).numpy(), np.kron(view(a).T, b))


def test_integers_wrap():
    a = np.array([2**31 - 1, -(2**31), 7], "int32")
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(paddle.kron(paddle.to_tensor(a), paddle.to_tensor(a)).numpy(), np.kron(a, a))


def test_an_element_that_is_not_finite_stays_in_its_products():
    a, b = np.array([1.0, np.nan, 2.0], "float32"), np.array([3.0, np.inf, 0.0], "float32")
    np.testing.assert_array_equal(paddle.kron(paddle.to_tensor(a), paddle.to_tensor(b)).numpy(), np.kron(a, b))


def test_threads_give_the_same():
    a, b, before = draw(40, 30, dtype="float32"), draw(20, 33, dtype="float32"), parallel.get_num_threads()
    for threads in (1, 2):
        parallel.set_num_threads(threads)
        try:
            got = paddle.kron(paddle.to_tensor(a), paddle.to_tensor(b)).numpy()
        finally:
            parallel.set_num_threads(before)
        np.testing.assert_array_equal(got, np.kron(a, b))


def test_gradients_and_captured_functions():
    a, b = draw(2, 3, dtype="float64"), draw(3, 5, dtype="float64")
    want = []
    for f in (lambda x, y: paddle.kron(x, y), paddle.jit.to_static(lambda x, y: paddle.kron(x, y))):
        x, y = (paddle.to_tensor(v, stop_gradient=False) for v in (a, b))
        (f(x, y) ** 2).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), 2 * a * (b**2).sum())
        np.testing.assert_allclose(y.grad.numpy(), 2 * b * (a**2).sum())
        want.append(f(x, y).numpy())
    np.testing.assert_array_equal(*want)


def test_what_has_no_kernel_is_refused():
    for dtype, rank in (("complex64", 2), ("float32", 0)):
        with pytest.raises(ValueError, match="dtype"):
            Kron(dtype, rank)
