"""Sparse tensors as tensors: how they are made, what they say of themselves, conversions, gradients, copies."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import paddle
import paddle.sparse as S

INDICES, VALUES = [[0, 1, 2], [1, 2, 0]], [1.0, 2.0, 3.0]
DENSE = [[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [3.0, 0.0, 0.0]]


def coo(stop_gradient=True, dtype=None):
    return S.sparse_coo_tensor(INDICES, VALUES, [3, 3], dtype=dtype, stop_gradient=stop_gradient)


def csr(stop_gradient=True, dtype=None):
    return S.sparse_csr_tensor([0, 1, 2, 3], [1, 2, 0], VALUES, [3, 3], dtype=dtype, stop_gradient=stop_gradient)


BOTH = pytest.mark.parametrize("make", [coo, csr])


@BOTH
def test_a_sparse_tensor_says_what_it_is(make):
    x = make()
    assert isinstance(x, paddle.Tensor) and paddle.is_tensor(x)
    assert (x.shape, x.ndim, x.dtype, len(x), x.size, x.nnz()) == ([3, 3], 2, paddle.float32, 3, 9, 3)
    assert x.is_sparse() and not x.is_dense() and x.is_sparse_coo() is (make is coo)
    assert x.is_sparse_csr() is (make is csr) and x.sparse_dim() == 2 and x.dense_dim() == 0
    assert x.stop_gradient and x.is_leaf and x.grad is None and x.place == paddle.ones([1]).place
    assert "values=[1., 2., 3.]" in repr(x) and "shape=[3, 3]" in repr(x)
    np.testing.assert_array_equal(x.to_dense().numpy(), DENSE)
    np.testing.assert_array_equal(np.asarray(x), DENSE)
    assert x.tolist() == DENSE and x.item(0, 1) == 1.0


def test_shapes_follow_from_positions():
    assert S.sparse_coo_tensor(INDICES, VALUES).shape == [3, 3]
    assert S.sparse_coo_tensor(INDICES, np.zeros([3, 2])).shape == [3, 3, 2]
    assert S.sparse_csr_tensor([0, 1, 2, 3], [1, 2, 0], VALUES).shape == [3, 3]
    empty = S.sparse_coo_tensor(np.zeros([2, 0], np.int64), np.zeros([0], np.float32), [3, 3])
    assert (
        empty.nnz() == 0 and empty.to_dense().numpy().sum() == 0 and empty.to_sparse_csr().crows().tolist() == [0] * 4
    )


def test_dtypes_of_indices_and_values():
    x = S.sparse_coo_tensor(np.array(INDICES, np.int32), VALUES)
    assert x.indices().dtype == paddle.int32 and x.coalesce().indices().dtype == paddle.int32
    assert x.to_sparse_csr().crows().dtype == paddle.int32
    assert S.sparse_coo_tensor(np.array(INDICES, np.int8), VALUES).indices().dtype == paddle.int64
    for dtype in ("int32", "bool", "float16", "bfloat16", "complex64", "int8", "float64"):
        x = coo(dtype=dtype)
        assert x.dtype.name == dtype and x.to_dense().dtype.name == dtype
        want = coo().astype(dtype).astype("complex64").numpy()
        np.testing.assert_array_equal(x.to_dense().astype("complex64").numpy(), want)


@pytest.mark.parametrize(
    ("error", "make"),
    [
        (ValueError, lambda: S.sparse_coo_tensor([0, 1], [1.0, 2.0])),
        (ValueError, lambda: S.sparse_coo_tensor(INDICES, [1.0, 2.0], [3, 3])),
        (ValueError, lambda: S.sparse_coo_tensor(INDICES, VALUES, [2, 2])),
        (ValueError, lambda: S.sparse_coo_tensor(INDICES, VALUES, [3])),
        (ValueError, lambda: S.sparse_coo_tensor([[0, -1], [1, 2]], [1.0, 2.0], [3, 3])),
        (TypeError, lambda: S.sparse_coo_tensor(np.array(INDICES, np.float32), VALUES)),
        (ValueError, lambda: S.sparse_csr_tensor([0, 2, 3], [2, 0, 0], VALUES, [3, 3])),
        (ValueError, lambda: S.sparse_csr_tensor([0, 1, 2, 3], [1, 2, 0], [1.0, 2.0], [3, 3])),
        (ValueError, lambda: S.sparse_csr_tensor([0, 1, 2, 3], [1, 2, 5], VALUES, [3, 3])),
        (ValueError, lambda: S.sparse_csr_tensor([0, 2, 1, 3], [1, 2, 0], VALUES, [3, 3])),
        (ValueError, lambda: S.sparse_csr_tensor([0, 1], [1], [1.0], [3])),
        (TypeError, lambda: S.sparse_csr_tensor([0.0, 1.0, 2.0, 3.0], [1, 2, 0], VALUES, [3, 3])),
        (TypeError, lambda: coo().crows()),
        (TypeError, lambda: csr().indices()),
        (TypeError, lambda: csr().coalesce()),
        (TypeError, lambda: csr().is_coalesced()),
        (TypeError, lambda: paddle.ones([2]).values()),
        (TypeError, lambda: paddle.ones([2]).nnz()),
        (ValueError, lambda: paddle.ones([2, 2]).to_sparse_coo(3)),
        (ValueError, lambda: paddle.ones([2, 2]).to_sparse_coo(0)),
        (ValueError, lambda: paddle.ones([2]).to_sparse_csr()),
    ],
)
def test_what_does_not_fit_is_refused(error, make):
    with pytest.raises(error, match=r"^\[\w+\] requires"):
        make()


def test_values_at_one_position_add_up():
    x = S.sparse_coo_tensor([[1, 0, 0, 1], [1, 2, 1, 1]], [1.0, 2.0, 3.0, 4.0], [2, 3], stop_gradient=False)
    assert not x.is_coalesced()
    y = x.coalesce()
    assert (
        y.is_coalesced() and y.indices().tolist() == [[0, 0, 1], [1, 2, 1]] and y.values().tolist() == [3.0, 2.0, 5.0]
    )
    assert x.to_dense().tolist() == y.to_dense().tolist()
    (y.to_dense() * paddle.arange(6.0).reshape([2, 3])).sum().backward()
    assert x.grad.values().tolist() == [4.0, 2.0, 1.0, 4.0]


@pytest.mark.parametrize("sparse_dim", [1, 2, 3])
def test_dense_tensors_become_sparse_and_back(sparse_dim):
    a = np.array([[[0.0, 1.0], [2.0, 0.0]], [[0.0, 0.0], [3.0, 0.0]]])
    x = paddle.to_tensor(a, stop_gradient=False)
    y = x.to_sparse_coo(sparse_dim)
    assert y.sparse_dim() == sparse_dim and y.dense_dim() == 3 - sparse_dim and y.is_coalesced()
    np.testing.assert_array_equal(y.to_dense().numpy(), a)
    (y.values() ** 2).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * a)


def test_batches_of_compressed_rows():
    x = S.sparse_csr_tensor([0, 1, 2, 0, 1, 1], [1, 0, 1], VALUES, [2, 2, 3])
    assert x.to_dense().tolist() == [[[0, 1, 0], [2, 0, 0]], [[0, 3, 0], [0, 0, 0]]]
    y = x.to_sparse_coo(3)
    assert y.indices().tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 1]]
    assert y.to_sparse_csr().crows().tolist() == [0, 1, 2, 0, 1, 1]


@BOTH
def test_gradients_of_a_leaf_are_sparse(make):
    x = make(stop_gradient=False)
    y = S.sin(x)
    assert not y.is_leaf and not y.stop_gradient
    seen = []
    x.register_hook(lambda g: seen.append(g.is_sparse()))
    y.backward(y)
    assert seen == [True] and y.grad is None and x.grad.is_sparse()
    np.testing.assert_allclose(x.grad.values().numpy(), np.sin(VALUES) * np.cos(VALUES), rtol=1e-6)
    S.sin(x).backward(y)
    np.testing.assert_allclose(x.grad.values().numpy(), 2 * np.sin(VALUES) * np.cos(VALUES), rtol=1e-6)
    x.clear_gradient()
    assert x.grad.values().tolist() == [0.0] * 3
    S.square(x).backward()
    assert x.grad.values().tolist() == [2.0, 4.0, 6.0]


@BOTH
def test_gradients_of_second_order(make):
    x = make(stop_gradient=False)
    (g,) = paddle.grad(S.square(x).to_dense().sum(), x, create_graph=True)
    (h,) = paddle.grad(S.square(g), x, grad_outputs=paddle.ones([3, 3]))
    assert g.is_sparse() and h.values().tolist() == [8.0, 16.0, 24.0]
    paddle.autograd.backward([S.square(x)])
    assert x.grad.values().tolist() == [2.0, 4.0, 6.0]


def test_values_keep_their_history_where_gradients_are_wanted():
    v = paddle.to_tensor(VALUES, stop_gradient=False)
    assert S.sparse_coo_tensor(INDICES, v, [3, 3]).stop_gradient
    S.sin(S.sparse_coo_tensor(INDICES, v * 2, [3, 3], stop_gradient=False)).to_dense().sum().backward()
    np.testing.assert_allclose(v.grad.numpy(), 2 * np.cos(2 * np.array(VALUES)), rtol=1e-5)


@BOTH
def test_copies(make):
    x = make(stop_gradient=False)
    S.square(x).backward()
    y = copy.deepcopy(x)
    assert y.to_dense().tolist() == DENSE and y.grad.values().tolist() == [2.0, 4.0, 6.0] and not y.stop_gradient
    y.values().detach().fill_(7.0)
    z = pickle.loads(pickle.dumps(x))
    assert x.to_dense().tolist() == z.to_dense().tolist() == copy.copy(x).to_dense().tolist() == DENSE
    assert type(z) is type(x) and not z.stop_gradient
    assert x.detach().stop_gradient and not x.clone().is_leaf
    with pytest.raises(RuntimeError, match="without history"):
        copy.deepcopy(x.clone())
    with pytest.raises(TypeError, match="sparse"):
        paddle.save(x, "unused")
    assert x.astype("float64").dtype == paddle.float64


@BOTH
@pytest.mark.parametrize(
    "use",
    [
        lambda x: x[0],
        lambda x: x == x,
        lambda x: x + 1,
        lambda x: x + paddle.ones([3, 3]),
        lambda x: paddle.exp(x),
        lambda x: paddle.concat([x, x]),
        lambda x: paddle.einsum("ij,jk->ik", x, x),
        lambda x: x.sum(),
        lambda x: x.add_(x),
        lambda x: x.fill_(1.0),
        lambda x: x.set_value(paddle.ones([3, 3])),
        lambda x: x.reshape([9]),
        lambda x: bool(x),
        lambda x: float(x),
        lambda x: x**0,
    ],
)
def test_what_has_no_sparse_meaning_is_refused(make, use):
    with pytest.raises(TypeError, match=r"[sS]parse"):
        use(make())


@BOTH
def test_operators(make):
    x = make()
    d = np.array(DENSE)
    for got, want in (
        (x + x, 2 * d), (x - x, 0 * d), (x * x, d * d), (x * 2, 2 * d), (2 * x, 2 * d), (x / 2, d / 2), (-x, -d),
        (abs(-x), d), (x**2, d**2), (x @ x, d @ d), (paddle.sin(x), np.sin(d)), (paddle.add(x, x), 2 * d),
    ):  # fmt: skip
        assert got.is_sparse() and got.is_sparse_coo() == x.is_sparse_coo()
        np.testing.assert_allclose(got.to_dense().numpy(), want, rtol=1e-6)
    w = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_allclose((x @ paddle.to_tensor(w)).numpy(), d @ w)
    np.testing.assert_allclose((paddle.to_tensor(w.T) @ x).numpy(), w.T @ d)
