"""Functions of two sparse tensors, and matmuls, with NumPy as judge."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.sparse as S
from umiak import ops as F
from umiak.runtime import parallel


def sparse(a, kind):
    x = paddle.to_tensor(a)
    x = x.to_sparse_coo(x.ndim) if kind == "coo" else x.to_sparse_csr()
    x.stop_gradient = False
    return x


def draw(*shape):
    return np.random.randint(-2, 3, shape) * np.random.randint(0, 2, shape) * 0.5


KINDS = pytest.mark.parametrize("kind", ["coo", "csr"])
SHAPES = pytest.mark.parametrize("batch", [(), (2,)])


@KINDS
@SHAPES
@pytest.mark.parametrize("name", ["add", "subtract", "multiply"])
def test_elementwise(kind, batch, name):
    a, b = draw(*batch, 3, 4), draw(*batch, 3, 4)
    x, y = sparse(a, kind), sparse(b, kind)
    z = getattr(S, name)(x, y)
    np.testing.assert_array_equal(z.to_dense().numpy(), getattr(np, name)(a, b))
    assert z.nnz() == np.count_nonzero((a != 0) | (b != 0))
    z.backward(z)
    c = getattr(np, name)(a, b)
    gx, gy = {"add": (c, c), "subtract": (c, -c), "multiply": (c * b, c * a)}[name]
    np.testing.assert_array_equal(x.grad.to_dense().numpy(), np.where(a != 0, gx, 0))
    np.testing.assert_array_equal(y.grad.to_dense().numpy(), np.where(b != 0, gy, 0))


@KINDS
def test_quotients_store_every_element(kind):
    a, b = draw(3, 4), draw(3, 4)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(S.divide(sparse(a, kind), sparse(b, kind)).to_dense().numpy(), a / b)
    z = S.divide(sparse(a, kind), 2)
    np.testing.assert_array_equal(z.to_dense().numpy(), a / 2)
    assert z.nnz() == np.count_nonzero(a)
    np.testing.assert_array_equal(S.multiply(sparse(a, kind), paddle.to_tensor(b)).to_dense().numpy(), a * b)
    np.testing.assert_array_equal(S.multiply(sparse(a, kind), 3.0).to_dense().numpy(), a * 3)


def test_positions_that_come_twice():
    x = S.sparse_coo_tensor([[0, 0, 1], [1, 1, 2]], [1.0, 2.0, 3.0], [3, 3])
    assert S.add(x, x).to_dense().tolist() == (2 * x.to_dense()).tolist()
    assert S.multiply(x, x).to_dense().tolist() == (x.to_dense() ** 2).tolist()
    assert S.matmul(x, x).to_dense().tolist() == x.to_dense().matmul(x.to_dense()).tolist()


def test_hybrid_tensors_and_promotion():
    x = S.sparse_coo_tensor([[0, 1], [1, 2]], [[1.0, 2.0], [3.0, 4.0]], [2, 3, 2])
    y = S.sparse_coo_tensor([[0], [0]], np.array([[5.0, 6.0]]), [2, 3, 2])
    z = S.add(x, y)
    assert z.dtype == paddle.float64 and z.values().tolist() == [[5.0, 6.0], [1.0, 2.0], [3.0, 4.0]]
    assert S.add(x, paddle.to_tensor([10.0, 20.0])).values().tolist() == [[11.0, 22.0], [13.0, 24.0]]


def test_what_does_not_fit_is_refused():
    x, y = sparse(draw(3, 3), "coo"), sparse(draw(3, 3), "csr")
    for call in (S.add, S.subtract, S.multiply, S.divide, S.matmul):
        with pytest.raises(TypeError):
            call(x, y)
        with pytest.raises((TypeError, ValueError)):
            call(paddle.ones([3, 3]), paddle.ones([3, 3]))
        with pytest.raises(ValueError):
            call(x, sparse(draw(2, 2), "coo"))
    with pytest.raises(TypeError):
        S.add(x, 2.0)
    with pytest.raises(ValueError):
        S.mv(x, paddle.ones([3, 3], "float64"))
    with pytest.raises(ValueError):
        S.matmul(x, paddle.ones([4, 2], "float64"))


@KINDS
@SHAPES
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64"])
def test_matmuls_with_dense_matrices(kind, batch, dtype):
    a, b = draw(*batch, 3, 4) * 2, draw(*batch, 4, 5) * 2
    x, w = sparse(a.astype(dtype), kind), paddle.to_tensor(b.astype(dtype), stop_gradient=False)
    y = S.matmul(x, w)
    np.testing.assert_allclose(y.numpy(), a @ b)
    if dtype == "int64":
        return
    g = np.random.standard_normal(y.shape).astype(dtype)
    y.backward(paddle.to_tensor(g))
    np.testing.assert_allclose(w.grad.numpy(), np.swapaxes(a, -1, -2) @ g, rtol=1e-5, atol=1e-6)
    want = np.where(a != 0, g @ np.swapaxes(b, -1, -2), 0)
    np.testing.assert_allclose(x.grad.to_dense().numpy(), want, rtol=1e-5, atol=1e-5)


@KINDS
def test_second_order_of_a_product(kind):
    a, b = draw(3, 4), draw(4, 2)
    x, w = sparse(a, kind), paddle.to_tensor(b, stop_gradient=False)
    gx, gw = paddle.grad((S.matmul(x, w) ** 2).sum(), [x, w], create_graph=True)
    c = a @ b
    np.testing.assert_allclose(gw.numpy(), 2 * a.T @ c, atol=1e-12)
    (h,) = paddle.grad(gw.sum(), [w], retain_graph=True)
    np.testing.assert_allclose(h.numpy(), 2 * a.T @ a @ np.ones_like(b), atol=1e-12)
    (h,) = paddle.grad(S.sum(gx).values().sum() if kind == "coo" else gx.values().sum(), [w])
    mask = np.where(a != 0, 1.0, 0)
    np.testing.assert_allclose(h.numpy(), 2 * (a.T @ (mask @ b) + mask.T @ c), atol=1e-12)


@KINDS
@SHAPES
def test_matmuls_of_two_sparse_matrices(kind, batch):
    a, b = draw(*batch, 3, 4), draw(*batch, 4, 5)
    x, y = sparse(a, kind), sparse(b, kind)
    z = S.matmul(x, y)
    np.testing.assert_allclose(z.to_dense().numpy(), a @ b)
    z.to_dense().sum().backward()
    ones = np.ones((*batch, 3, 5))
    np.testing.assert_allclose(x.grad.to_dense().numpy(), np.where(a != 0, ones @ np.swapaxes(b, -1, -2), 0))


@KINDS
def test_vectors_masks_and_sums(kind):
    a, v = draw(3, 4), draw(4)
    x = sparse(a, kind)
    np.testing.assert_allclose(S.mv(x, paddle.to_tensor(v)).numpy(), a @ v)
    np.testing.assert_allclose(S.matmul(paddle.to_tensor(draw(2, 3)), x).shape, [2, 4])
    p, q = np.random.standard_normal((3, 5)), np.random.standard_normal((5, 4))
    left, right = paddle.to_tensor(p, stop_gradient=False), paddle.to_tensor(q, stop_gradient=False)
    m = S.masked_matmul(left, right, x)
    mask = np.where(a != 0, 1.0, 0)
    np.testing.assert_allclose(m.to_dense().numpy(), (p @ q) * mask, atol=1e-12)
    m.backward()
    np.testing.assert_allclose(left.grad.numpy(), mask @ q.T, atol=1e-12)
    np.testing.assert_allclose(right.grad.numpy(), p.T @ mask, atol=1e-12)
    d = paddle.to_tensor(np.random.standard_normal((3, 4)), stop_gradient=False)
    np.testing.assert_allclose(S.mask_as(d, x).to_dense().numpy(), d.numpy() * mask)
    w = np.random.standard_normal((4, 4))
    np.testing.assert_allclose(S.addmm(d, x, paddle.to_tensor(w), 2.0, 3.0).numpy(), 2 * d.numpy() + 3 * a @ w)
    square = sparse(draw(4, 4), kind)
    got = S.addmm(square, square, square, 2.0, 3.0)
    s = square.to_dense().numpy()
    np.testing.assert_allclose(got.to_dense().numpy(), 2 * s + 3 * s @ s)
    assert S.is_same_shape(x, d) and not S.is_same_shape(x, square)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_of_any_length(dtype):
    """Rows are summed up in pieces of several sizes; some of the sparse rows are empty."""
    for n in (0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 64, 100, 150, 300):
        a, b = draw(6, 9), np.random.standard_normal((9, n))
        a[2] = 0
        found = S.matmul(sparse(a.astype(dtype), "csr"), paddle.to_tensor(b.astype(dtype)))
        assert found.numpy().dtype == dtype
        np.testing.assert_allclose(found.numpy(), a @ b, rtol=1e-5, atol=1e-5)
        left, right = np.random.standard_normal((6, n)), np.random.standard_normal((n, 9))
        given = (paddle.to_tensor(v.astype(dtype)) for v in (left, right))
        masked = S.masked_matmul(*given, sparse(a.astype(dtype), "csr")).to_dense().numpy()
        np.testing.assert_allclose(masked, np.where(a != 0, left @ right, 0), rtol=1e-4, atol=1e-4)


@SHAPES
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64", "bfloat16"])
def test_masked_matmuls_of_all_dtypes(batch, dtype):
    a = np.random.randint(0, 2, (*batch, 3, 4))
    left, right = draw(*batch, 3, 5) * 2, draw(*batch, 5, 4) * 2
    x, y = (paddle.to_tensor(v).astype(dtype) for v in (left, right))
    found = S.masked_matmul(x, y, sparse(a.astype("float32"), "coo"))
    assert found.dtype is x.dtype
    np.testing.assert_array_equal(
        found.to_dense().astype("float64").numpy() if dtype == "bfloat16" else found.to_dense().numpy(),
        left @ right * a,
    )


def test_a_mask_whose_positions_are_in_no_order():
    mask = S.sparse_coo_tensor([[2, 0, 1, 0], [1, 3, 0, 0]], [1.0, 1.0, 1.0, 1.0], [3, 4])
    p, q = (paddle.to_tensor(np.random.standard_normal(shape), stop_gradient=False) for shape in ((3, 5), (5, 4)))
    found = S.masked_matmul(p, q, mask)
    whole = p.numpy() @ q.numpy()
    np.testing.assert_allclose(found.values().numpy(), whole[[2, 0, 1, 0], [1, 3, 0, 0]])
    (first,) = paddle.grad((found.values() ** 2).sum(), p, create_graph=True)
    chosen = (mask.to_dense().astype("float64") != 0).astype("float64")
    np.testing.assert_allclose(first.numpy(), (2 * whole * chosen.numpy()) @ q.numpy().T)
    (second,) = paddle.grad((first**2).sum(), q)
    wanted = paddle.grad((((2 * (p @ q) * chosen) @ q.t()) ** 2).sum(), q)[0]
    np.testing.assert_allclose(second.numpy(), wanted.numpy())


@KINDS
@pytest.mark.parametrize("center", [False, True])
def test_principal_components(kind, center):
    paddle.seed(0)
    a = draw(8, 5)
    U, s, V = S.pca_lowrank(sparse(a, kind), q=5, center=center)
    want = np.linalg.svd(a - a.mean(0) * center, compute_uv=False)
    np.testing.assert_allclose(s.numpy(), want, atol=1e-8)
    np.testing.assert_allclose((U * s).matmul(V.t()).numpy(), a - a.mean(0) * center, atol=1e-8)
    with pytest.raises(ValueError):
        S.pca_lowrank(sparse(a, kind), q=6)


@KINDS
def test_captured_functions_use_sparse_tensors_of_outside(kind):
    a = draw(3, 4)
    x = sparse(a, kind)
    apply = paddle.jit.to_static(lambda w: S.matmul(S.square(x.detach()), w))
    for _ in range(2):
        b = np.random.standard_normal((4, 2))
        np.testing.assert_allclose(apply(paddle.to_tensor(b)).numpy(), a**2 @ b, atol=1e-12)


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [0, 1, 3, 4, 16, 70, 130])
def test_kernels_of_rows_and_of_positions(dtype, index, columns):
    """Dense operands that lie in any way, NaN among them, beside NumPy."""
    shape = (9, 7)
    a = np.random.normal(size=shape) * (np.random.random(shape) < 0.4)
    a[3] = 0
    a[8, 6] = np.nan
    rows, cols = (w.astype(index) for w in np.nonzero(a))
    crows = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=9))]).astype(index)
    wide = np.random.normal(size=(2 * columns, 14)).astype(dtype)
    values = np.repeat(a[rows, cols].astype(dtype), 2)
    at = [paddle.to_tensor(i) for i in (crows, rows, cols)]
    dense = paddle.to_tensor(wide)[::-2, ::2].t()
    got = F.custom_call([*at, paddle.to_tensor(values)[::2], dense], target="sparse matrix times dense matrix")
    y = wide[::-2, ::2].T
    want = np.zeros((9, columns))
    for i, j, v in zip(rows, cols, values[::2], strict=True):
        want[i] += v * y[j].astype("float64")
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-5)
    left = paddle.to_tensor(np.random.normal(size=(columns, 9)).astype(dtype)).t()
    got = F.custom_call([at[1], at[2], left, dense], target="sampled matmul")
    np.testing.assert_allclose(got.numpy(), (left.numpy()[rows] * y[cols]).sum(1), rtol=1e-4, atol=1e-5)


def test_threads_give_the_same_products():
    n, before = 3000, parallel.get_num_threads()
    rows, cols = np.random.randint(0, n, 20000), np.random.randint(0, n, 20000)
    x = S.sparse_coo_tensor(np.stack([rows, cols]), np.random.normal(size=20000), [n, n])
    y, found = paddle.to_tensor(np.random.normal(size=(n, 8))), []
    for threads in (1, 2):
        parallel.set_num_threads(threads)
        try:
            found.append([S.matmul(x, y).numpy(), S.masked_matmul(y, y.t(), x).values().numpy()])
        finally:
            parallel.set_num_threads(before)
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)
