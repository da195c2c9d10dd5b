"""Functions of values and of shapes, with NumPy as judge."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.sparse as S

DENSE = np.array([[0.0, 0.5, 0.0], [0.0, 0.0, 0.25], [0.75, 0.0, 0.125]])
FUNCTIONS = {
    "sin": np.sin, "tan": np.tan, "asin": np.arcsin, "atan": np.arctan, "sinh": np.sinh, "asinh": np.arcsinh,
    "atanh": np.arctanh, "tanh": np.tanh, "sqrt": np.sqrt, "log1p": np.log1p, "expm1": np.expm1, "square": np.square,
    "abs": np.abs, "neg": np.negative, "rad2deg": np.rad2deg, "deg2rad": np.deg2rad,
}  # fmt: skip


def make(kind, a=DENSE, dtype="float64"):
    x = paddle.to_tensor(a).astype(dtype)
    x = x.to_sparse_coo(x.ndim) if kind == "coo" else x.to_sparse_csr()
    x.stop_gradient = False
    return x


KINDS = pytest.mark.parametrize("kind", ["coo", "csr"])


@KINDS
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_values(kind, name):
    x = make(kind)
    y = getattr(S, name)(x)
    np.testing.assert_allclose(y.to_dense().numpy(), FUNCTIONS[name](DENSE), rtol=1e-12)
    y.backward()
    h = 1e-6
    v = DENSE[DENSE != 0]
    slope = (FUNCTIONS[name](v + h) - FUNCTIONS[name](v - h)) / (2 * h)
    np.testing.assert_allclose(x.grad.values().numpy(), slope, rtol=1e-6)
    with pytest.raises(TypeError, match="sparse"):
        getattr(S, name)(paddle.ones([2]))


@pytest.mark.parametrize(
    ("dtype", "result"),
    [("int32", "float32"), ("int64", "float32"), ("complex64", "complex64"), ("bfloat16", "bfloat16")],
)
def test_dtypes(dtype, result):
    x = make("coo", np.array([[0, 2], [3, 0]]), "float32").astype(dtype)
    assert S.sin(x).dtype.name == result and S.square(x).dtype.name == dtype


@KINDS
def test_powers_casts_and_nan(kind):
    x = make(kind)
    np.testing.assert_allclose(S.pow(x, 3).to_dense().numpy(), DENSE**3)
    assert S.pow(x, 0).values().tolist() == [1.0] * 4
    squares = [0.25, 0.0625, 0.5625, 0.015625]
    assert S.pow(x, paddle.to_tensor(2.0)).values().tolist() == squares
    y = S.cast(x, "int32", "float32")
    index = y.indices() if kind == "coo" else y.cols()
    assert index.dtype == paddle.int32 and y.dtype == paddle.float32
    with pytest.raises(TypeError):
        S.cast(x, "float32")
    nan = S.isnan(S.sparse_coo_tensor([[0, 2]], [float("nan"), 1.0], [3]))
    assert nan.dtype == paddle.bool and nan.values().tolist() == [True, False]


@KINDS
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)])
def test_transposes(kind, shape):
    a = np.random.default_rng(0).integers(-1, 2, shape).astype(float)
    for perm in ([1, 0], [-1, 0]) if len(shape) == 2 else ([0, 2, 1], [1, 0, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]):
        x = make(kind, a)
        y = S.transpose(x, perm)
        np.testing.assert_array_equal(y.to_dense().numpy(), a.transpose(perm))
        y.backward(y)
        np.testing.assert_array_equal(x.grad.to_dense().numpy(), a)
    with pytest.raises(ValueError):
        S.transpose(make(kind, a), [0] * len(shape))


@KINDS
@pytest.mark.parametrize("shape", [[3, 4], [-1, 3], [6, 2], [2, 2, 3], [0, 6], [12, 1]])
def test_reshapes(kind, shape):
    a = np.random.default_rng(1).integers(-1, 2, (2, 6)).astype(float)
    x = make(kind, a)
    y = S.reshape(x, shape)
    np.testing.assert_array_equal(y.to_dense().numpy(), a.reshape([2 if n == 0 else n for n in shape]))
    y.backward(y)
    np.testing.assert_array_equal(x.grad.to_dense().numpy(), a)
    with pytest.raises(ValueError):
        S.reshape(x, [5, 5])


@KINDS
@pytest.mark.parametrize(
    "cut",
    [([0], [0], [2]), ([1], [1], [3]), ([0, 1], [1, 0], [3, 2]), ([-1], [0], [2]), ([0], [-2], [100]), ([0], [2], [1])],
)
def test_slices(kind, cut):
    x = make(kind)
    bounds = {a % 2: slice(first, end) for a, first, end in zip(*cut)}
    want = DENSE[bounds.get(0, slice(None)), bounds.get(1, slice(None))]
    np.testing.assert_array_equal(S.slice(x, *cut).to_dense().numpy(), want)
    with pytest.raises(IndexError):
        S.slice(x, [5], [0], [1])


@pytest.mark.parametrize("axis", [None, 0, 1, -1, [0, 1], [0, 2], 2])
@pytest.mark.parametrize("keepdim", [False, True])
def test_sums(axis, keepdim):
    a = np.random.default_rng(2).integers(-1, 2, (2, 3, 4)).astype(float)
    x = make("coo", a)
    y = S.sum(x, axis, keepdim=keepdim)
    want = a.sum(axis if not isinstance(axis, list) else tuple(axis), keepdims=keepdim)
    np.testing.assert_array_equal(y.to_dense().numpy(), want.reshape(want.shape or (1,)))
    y.backward(y)
    shape = list(a.shape)
    for i in range(3) if axis is None else axis if isinstance(axis, list) else [axis]:
        shape[i] = 1
    spread = np.broadcast_to(want.reshape(shape), a.shape)
    np.testing.assert_array_equal(x.grad.to_dense().numpy(), np.where(a != 0, spread, 0))
    c = make("csr", a)
    np.testing.assert_array_equal(S.sum(c, axis).to_dense().numpy().reshape(-1), want.reshape(-1))


def test_sums_of_hybrid_tensors_and_dtypes():
    x = S.sparse_coo_tensor([[0, 1, 2], [1, 2, 0]], np.arange(6.0).reshape(3, 2), [3, 3, 2])
    assert S.sum(x, 2).values().tolist() == [1.0, 5.0, 9.0]
    assert S.sum(x, 0).to_dense().tolist() == x.to_dense().numpy().sum(0).tolist()
    assert S.sum(x).tolist() == [15.0] and S.sum(x).shape == [1]
    assert S.sum(x.astype("int32"), 0).dtype == paddle.int64 and S.sum(x, dtype="float32").dtype == paddle.float32
    assert S.transpose(x, [1, 0, 2]).to_dense().tolist() == x.to_dense().numpy().transpose(1, 0, 2).tolist()
    assert S.reshape(x, [9, 2]).to_dense().tolist() == x.to_dense().numpy().reshape(9, 2).tolist()
    assert S.slice(x, [0, 2], [1, 0], [3, 1]).to_dense().tolist() == x.to_dense().numpy()[1:3, :, :1].tolist()
