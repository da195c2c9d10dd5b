"""Linear algebra against NumPy and the peer: values, gradients, batches, dtypes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import paddle

L = paddle.linalg
T = torch.linalg


def matrix(rng, *shape, kind="float64"):
    a = rng.standard_normal(shape)
    return (a + 1j * rng.standard_normal(shape)).astype(kind) if kind.startswith("complex") else a.astype(kind)


def definite(rng, n, *batch, kind="float64"):
    """Hermitian positive definite, and well conditioned."""
    a = matrix(rng, *batch, n, n, kind=kind)
    return (a @ a.conj().swapaxes(-1, -2) + 2 * np.eye(n)).astype(kind)


def agree(ours, theirs, *arrays, rtol=1e-8, atol=1e-9):
    """The same values and the same gradients for a weight that differs from element to element."""
    mine = [paddle.to_tensor(a, stop_gradient=False) for a in arrays]
    peer = [torch.from_numpy(np.array(a)).requires_grad_() for a in arrays]
    got, expected = ours(*mine), theirs(*peer)
    got = list(got) if isinstance(got, (tuple, list)) else [got]
    expected = list(expected) if isinstance(expected, tuple) else [expected]
    assert len(got) == len(expected)
    total, other = paddle.zeros([], "float64"), torch.zeros((), dtype=torch.float64)
    for g, e in zip(got, expected):
        assert g.shape == list(e.shape)
        value = e.detach().resolve_conj().numpy()
        assert g.numpy().dtype == value.dtype
        np.testing.assert_allclose(g.numpy(), value, rtol=rtol, atol=atol)
        seed = np.asarray(np.cos(np.arange(value.size)).reshape(value.shape))
        if value.dtype.kind == "c":
            total = total + (paddle.imag(g) * paddle.to_tensor(seed + 1)).sum()
            other = other + (e.imag * torch.from_numpy(seed).add(1)).sum()
            g, e = paddle.real(g), e.real
        total = total + (g * paddle.to_tensor(seed)).sum()
        other = other + (e * torch.from_numpy(seed)).sum()
    if not total.stop_gradient:
        total.backward()
    if other.requires_grad:
        other.backward()
    for x, y in zip(mine, peer):
        # A constant has no gradient; the peer may say None or zeros.
        got = np.zeros(y.shape) if x.grad is None else x.grad.numpy()
        expected = np.zeros(y.shape) if y.grad is None else y.grad.resolve_conj().numpy()
        np.testing.assert_allclose(got, expected, rtol=rtol * 100, atol=atol * 100)


# --- norms ---------------------------------------------------------------------------------------------------------

VECTOR_P = (0, 1, 2, 3, 1.5, -1, -2, float("inf"), float("-inf"))
MATRIX_P = ("fro", "nuc", 1, -1, 2, -2, float("inf"), float("-inf"))


@pytest.mark.parametrize("p", VECTOR_P)
def test_vector_norm(p, rng):
    a = matrix(rng, 2, 3, 4)
    for axis, keepdim in ((None, False), (1, False), (-1, True), ((0, 2), False), (None, True)):
        agree(
            lambda x, axis=axis, keepdim=keepdim: L.vector_norm(x, p, axis, keepdim),
            lambda x, axis=axis, keepdim=keepdim: T.vector_norm(x, p, axis, keepdim),
            a,
        )


@pytest.mark.parametrize("p", MATRIX_P)
def test_matrix_norm(p, rng):
    a = matrix(rng, 2, 3, 4)
    for axis, keepdim in (((-2, -1), False), ((0, 2), True), ((2, 0), False)):
        agree(
            lambda x, axis=axis, keepdim=keepdim: L.matrix_norm(x, p, axis, keepdim),
            lambda x, axis=axis, keepdim=keepdim: T.matrix_norm(x, p, axis, keepdim),
            a,
        )


def test_norm_is_one_of_both(rng):
    a = matrix(rng, 3, 4)
    x = paddle.to_tensor(a)
    flat = a.ravel()
    assert float(L.norm(x)) == pytest.approx(np.linalg.norm(flat))
    assert float(L.norm(x, p=3)) == pytest.approx((np.abs(flat) ** 3).sum() ** (1 / 3))
    assert float(L.norm(x, p="fro")) == pytest.approx(np.linalg.norm(a))
    assert float(L.norm(x, p="nuc")) == pytest.approx(np.linalg.norm(a, "nuc"))
    assert float(L.norm(x, p=1, axis=[0, 1])) == pytest.approx(np.linalg.norm(a, 1))
    np.testing.assert_allclose(L.norm(x, axis=0).numpy(), np.linalg.norm(a, axis=0))
    assert L.norm(x, p=2, axis=-1, keepdim=True).shape == [3, 1]
    assert L.norm(x.astype("float32"), p=1, axis=0, dtype="float64").dtype == paddle.float64
    out = paddle.zeros([4], "float64")
    assert L.norm(x, axis=0, out=out) is out


@pytest.mark.parametrize("p", [None, *MATRIX_P])
def test_condition_number(p, rng):
    a = definite(rng, 3, 2) + matrix(rng, 2, 3, 3) * 0.1
    np.testing.assert_allclose(L.cond(paddle.to_tensor(a), p).numpy(), np.linalg.cond(a, p), rtol=1e-9)


# --- products ------------------------------------------------------------------------------------------------------


def test_products(rng):
    a, b, c = matrix(rng, 3, 4), matrix(rng, 4, 5), matrix(rng, 5, 2)
    agree(lambda *x: L.multi_dot(x), lambda *x: T.multi_dot(x), a, b, c)
    agree(lambda *x: L.multi_dot(x), lambda *x: T.multi_dot(x), a[0], b, c[:, 0])
    agree(lambda x, y: L.vecdot(x, y, 0), lambda x, y: T.vecdot(x, y, dim=0), a, a[::-1].copy())
    agree(L.vecdot, T.vecdot, matrix(rng, 3, 2, kind="complex128"), matrix(rng, 3, 2, kind="complex128"))
    agree(L.cross, T.cross, matrix(rng, 2, 3), matrix(rng, 2, 3))
    agree(lambda x, y: L.cross(x, y, axis=0), lambda x, y: T.cross(x, y, dim=0), a, a[::-1].copy())
    agree(L.matmul, torch.matmul, a, b)
    agree(L.matrix_transpose, lambda x: x.mT, matrix(rng, 2, 3, 4))
    agree(lambda x: L.diagonal(x, 1, 1, 2), lambda x: torch.diagonal(x, 1, 1, 2), matrix(rng, 2, 3, 4))


@pytest.mark.parametrize("n", [-2, -1, 0, 1, 2, 3, 5])
def test_matrix_power(n, rng):
    agree(lambda x: L.matrix_power(x, n), lambda x: T.matrix_power(x, n), definite(rng, 3, 2))


def test_matrix_exp(rng):
    agree(L.matrix_exp, T.matrix_exp, matrix(rng, 2, 3, 3) * 0.5)
    agree(L.matrix_exp, T.matrix_exp, matrix(rng, 3, 3) * 6, rtol=1e-7, atol=1e-6)


# --- square matrices -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["float64", "complex128"])
@pytest.mark.parametrize("batch", [(), (2,), (0,)])
def test_square(batch, kind, rng):
    a = np.asarray(matrix(rng, *batch, 3, 3, kind=kind) + 3 * np.eye(3))
    agree(L.inv, T.inv, a)
    agree(L.det, T.det, a)
    agree(L.pinv, T.pinv, a)
    sign, size = T.slogdet(torch.from_numpy(a))
    got = L.slogdet(paddle.to_tensor(a))
    assert got.shape == [2, *batch]
    np.testing.assert_allclose(got.numpy()[0], sign.numpy())
    np.testing.assert_allclose(got.numpy()[1], size.numpy().astype(kind), atol=1e-12)


def test_gradient_of_slogdet(rng):
    a = definite(rng, 3, 2)
    agree(lambda x: L.slogdet(x)[1], lambda x: T.slogdet(x)[1], a)


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(upper, rng):
    a, b = definite(rng, 3, 2), matrix(rng, 2, 3, 4)
    # Gradients with respect to the symmetric part: what lies outside the triangle is not read.
    agree(lambda x: L.cholesky((x + x.mT) / 2, upper), lambda x: T.cholesky((x + x.mT) / 2, upper=upper), a)
    factor = np.linalg.cholesky(a)
    factor = factor.swapaxes(-1, -2).copy() if upper else factor
    keep, keep_peer = (paddle.triu, torch.triu) if upper else (paddle.tril, torch.tril)
    agree(
        lambda y, f: L.cholesky_solve(y, keep(f), upper),
        lambda y, f: torch.cholesky_solve(y, keep_peer(f), upper),
        b,
        factor,
    )
    np.testing.assert_allclose(
        L.cholesky_inverse(paddle.to_tensor(factor[0]), upper).numpy(), np.linalg.inv(a[0]), rtol=1e-9
    )


def test_lu(rng):
    for shape in ((3, 3), (4, 3), (3, 4), (2, 3, 3)):
        a = matrix(rng, *shape)
        agree(lambda x: L.lu(x)[0], lambda x: T.lu_factor(x)[0], a)
        both, pivots = L.lu(paddle.to_tensor(a))
        np.testing.assert_array_equal(pivots.numpy(), T.lu_factor(torch.from_numpy(a))[1].numpy())
        p, low, up = L.lu_unpack(both, pivots)
        np.testing.assert_allclose((p @ low @ up).numpy(), a, atol=1e-12)
    both, pivots, infos = L.lu(paddle.to_tensor(definite(rng, 3, 2)), get_infos=True)
    assert infos.tolist() == [0, 0]
    assert infos.dtype == paddle.int32


@pytest.mark.parametrize("trans", ["N", "T", "C"])
@pytest.mark.parametrize("kind", ["float64", "complex128"])
def test_lu_solve(trans, kind, rng):
    a, b = matrix(rng, 3, 3, kind=kind), matrix(rng, 3, 2, kind=kind)
    system = {"N": a, "T": a.T, "C": a.conj().T}[trans]
    got = L.lu_solve(paddle.to_tensor(b), *L.lu(paddle.to_tensor(a)), trans)
    np.testing.assert_allclose(got.numpy(), np.linalg.solve(system, b), rtol=1e-9)


def test_solve(rng):
    a = definite(rng, 3, 2)
    agree(L.solve, T.solve, a, matrix(rng, 2, 3, 4))
    agree(L.solve, T.solve, a, matrix(rng, 2, 3))
    agree(L.solve, T.solve, a, matrix(rng, 3))
    agree(L.solve, T.solve, a[0], matrix(rng, 3))
    agree(L.solve, T.solve, a[0], matrix(rng, 2, 3, 4))
    agree(lambda x, y: L.solve(x, y, left=False), lambda x, y: T.solve(x, y, left=False), a, matrix(rng, 2, 4, 3))
    out = paddle.zeros([3], "float64")
    assert L.solve(paddle.to_tensor(a[0]), paddle.ones([3], "float64"), out=out) is out


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_solve(upper, transpose, unit, rng):
    a, b = definite(rng, 3, 2), matrix(rng, 2, 3, 4)

    def theirs(x, y):
        x = torch.triu(x) if upper else torch.tril(x)
        return T.solve_triangular(x.mT if transpose else x, y, upper=upper != transpose, unitriangular=unit)

    agree(lambda x, y: L.triangular_solve(x, y, upper, transpose, unit), theirs, a, b)


# --- factorisations ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3)])
def test_qr(shape, mode, rng):
    a = matrix(rng, *shape)
    q, r = L.qr(paddle.to_tensor(a), mode)
    expected = np.linalg.qr(a, mode)
    assert (q.shape, r.shape) == (list(expected.Q.shape), list(expected.R.shape))
    np.testing.assert_allclose((q @ r).numpy(), a, atol=1e-12)
    np.testing.assert_allclose((q.mT @ q).numpy() - np.eye(q.shape[-1]), 0, atol=1e-12)
    assert not np.tril(r.numpy(), -1).any()
    if mode == "reduced" and shape[-2] >= shape[-1]:
        # Columns of q and rows of r have signs that libraries choose: their squares do not.
        agree(lambda x: [t * t for t in L.qr(x)], lambda x: tuple(t * t for t in T.qr(x)), a, rtol=1e-7)
    np.testing.assert_allclose(np.abs(L.qr(paddle.to_tensor(a), "r").numpy()), np.abs(np.linalg.qr(a, "r")))


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3)])
def test_svd(shape, rng):
    a = matrix(rng, *shape)
    agree(L.svdvals, T.svdvals, a)
    agree(lambda x: (L.svd(x)[0] ** 2, L.svd(x)[1]), lambda x: (T.svd(x, False)[0] ** 2, T.svd(x, False)[1]), a)
    for full in (False, True):
        u, s, vh = L.svd(paddle.to_tensor(a), full)
        expected = np.linalg.svd(a, full)
        assert [u.shape, s.shape, vh.shape] == [list(e.shape) for e in expected]
        k = s.shape[-1]
        np.testing.assert_allclose((u[..., :k] * s.unsqueeze(-2) @ vh[..., :k, :]).numpy(), a, atol=1e-12)


@pytest.mark.parametrize("kind", ["float64", "complex128"])
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh(uplo, kind, rng):
    a = definite(rng, 3, 2, kind=kind)
    values, vectors = L.eigh(paddle.to_tensor(a), uplo)
    np.testing.assert_allclose(values.numpy(), np.linalg.eigvalsh(a), rtol=1e-9)
    v = vectors.numpy()
    np.testing.assert_allclose(v * values.numpy()[:, None] @ v.conj().swapaxes(-1, -2), a, atol=1e-10)
    agree(lambda x: L.eigvalsh(x, uplo), lambda x: T.eigvalsh(x, uplo), a)
    agree(lambda x: paddle.abs(L.eigh(x, uplo)[1]) ** 2, lambda x: T.eigh(x, uplo)[1].abs() ** 2, a)


def test_eig(rng):
    a = matrix(rng, 2, 3, 3)
    values, vectors = L.eig(paddle.to_tensor(a))
    assert values.dtype == vectors.dtype == paddle.complex128
    v, w = vectors.numpy(), values.numpy()
    np.testing.assert_allclose(a @ v, v * w[:, None], atol=1e-10)
    found = L.eigvals(paddle.to_tensor(a)).numpy()
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(w), atol=1e-10)
    x, peer = paddle.to_tensor(a, stop_gradient=False), torch.from_numpy(a).requires_grad_()
    (paddle.abs(L.eig(x)[0]) ** 2).sum().backward()
    (T.eig(peer)[0].abs() ** 2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), peer.grad.numpy(), rtol=1e-7, atol=1e-9)


def test_householder(rng):
    a, tau = matrix(rng, 2, 4, 3), matrix(rng, 2, 3) * 0.3
    agree(L.householder_product, T.householder_product, a, tau)
    q = torch.linalg.householder_product(torch.from_numpy(a), torch.from_numpy(tau)).numpy()
    for transpose in (False, True):
        m = q.swapaxes(-1, -2) if transpose else q
        b, right = matrix(rng, 2, m.shape[-1], 2), matrix(rng, 2, 2, m.shape[-2])
        got = L.ormqr(*map(paddle.to_tensor, (a, tau, b)), transpose=transpose)
        np.testing.assert_allclose(got.numpy(), m @ b, rtol=1e-9, atol=1e-12)
        got = L.ormqr(*map(paddle.to_tensor, (a, tau, right)), left=False, transpose=transpose)
        np.testing.assert_allclose(got.numpy(), right @ m, rtol=1e-9, atol=1e-12)


# --- rank and least squares ----------------------------------------------------------------------------------------


def test_matrix_rank(rng):
    low = matrix(rng, 4, 2) @ matrix(rng, 2, 3)
    batch = np.stack([low, matrix(rng, 4, 3)])
    assert L.matrix_rank(paddle.to_tensor(batch)).tolist() == [2, 3]
    symmetric = paddle.to_tensor(np.diag([3.0, -2.0, 0.5]))
    assert int(L.matrix_rank(symmetric, tol=1.0)) == 2
    assert int(L.matrix_rank(symmetric, hermitian=True)) == 3
    assert int(L.matrix_rank(symmetric, atol=2.5)) == 1
    assert int(L.matrix_rank(symmetric, rtol=0.5)) == 2
    limits = paddle.to_tensor([1.0, 100.0], "float64")
    assert L.matrix_rank(paddle.to_tensor(batch), tol=limits).tolist()[1] == 0
    assert L.matrix_rank(symmetric).dtype == paddle.int64


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
def test_least_squares(driver, rng):
    a, b = matrix(rng, 2, 5, 3), matrix(rng, 2, 5, 2)
    solution, residuals, rank, values = L.lstsq(paddle.to_tensor(a), paddle.to_tensor(b), driver=driver)
    for i in range(2):
        expected = np.linalg.lstsq(a[i], b[i], rcond=None)
        np.testing.assert_allclose(solution.numpy()[i], expected[0], rtol=1e-9)
        if driver in ("gels", "gelsd", "gelss"):
            np.testing.assert_allclose(residuals.numpy()[i], expected[1], rtol=1e-9)
        if driver in ("gelsd", "gelss"):
            np.testing.assert_allclose(values.numpy()[i], expected[3], rtol=1e-9)
    wide = np.linalg.lstsq(a[0].T, np.ones((3, 1)), rcond=None)[0]
    got = L.lstsq(paddle.to_tensor(a[0].T.copy()), paddle.ones([3, 1], "float64"), driver=driver)[0]
    np.testing.assert_allclose(got.numpy(), wide, rtol=1e-9)


def test_pinv(rng):
    a = matrix(rng, 2, 4, 3)
    agree(L.pinv, T.pinv, a)
    low = matrix(rng, 4, 2) @ matrix(rng, 2, 3)
    np.testing.assert_allclose(L.pinv(paddle.to_tensor(low), rcond=1e-9).numpy(), np.linalg.pinv(low), atol=1e-9)
    s = definite(rng, 3)
    np.testing.assert_allclose(L.pinv(paddle.to_tensor(s), hermitian=True).numpy(), np.linalg.inv(s), rtol=1e-9)


def test_low_rank(rng):
    a = matrix(rng, 8, 3) @ matrix(rng, 3, 5)
    x = paddle.to_tensor(a)
    for ours, expected in ((L.svd_lowrank, a), (L.pca_lowrank, a - a.mean(0))):
        u, s, v = ours(x, q=4)
        assert (u.shape, s.shape, v.shape) == ([8, 4], [4], [5, 4])
        np.testing.assert_allclose(s.numpy(), np.linalg.svd(expected, compute_uv=False)[:4], atol=1e-9)
        np.testing.assert_allclose((u * s @ v.mT).numpy(), expected, atol=1e-9)


# --- statistics ----------------------------------------------------------------------------------------------------


def test_cov(rng):
    a = matrix(rng, 3, 6)
    agree(L.cov, torch.cov, a)
    agree(L.corrcoef, torch.corrcoef, a)
    x = paddle.to_tensor(a)
    np.testing.assert_allclose(L.cov(x, rowvar=False, ddof=False).numpy(), np.cov(a, rowvar=False, ddof=0))
    np.testing.assert_allclose(L.corrcoef(x, rowvar=False).numpy(), np.corrcoef(a, rowvar=False))
    f, w = np.array([1, 2, 1, 3, 1, 2]), rng.uniform(0.1, 1, 6)
    got = L.cov(x, fweights=paddle.to_tensor(f), aweights=paddle.to_tensor(w))
    np.testing.assert_allclose(got.numpy(), np.cov(a, fweights=f, aweights=w))


# --- dtypes and errors ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "cholesky", "svdvals", "eigvalsh", "pinv", "matrix_exp"])
def test_single_precision(name, rng):
    a = definite(rng, 3)
    got = getattr(L, name)(paddle.to_tensor(a.astype("float32")))
    assert got.dtype == paddle.float32
    np.testing.assert_allclose(got.numpy(), getattr(L, name)(paddle.to_tensor(a)).numpy(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: L.inv(x), ValueError, r"requires square matrices, got \[2, 3\]"),
        (lambda x: L.det(x[0]), ValueError, r"\[det\] requires a tensor of rank 2"),
        (lambda x: L.inv(paddle.zeros([2, 2])), ValueError, "inverse"),
        (lambda x: L.cholesky(-paddle.eye(2)), ValueError, "positive definite"),
        (lambda x: L.cholesky(x), ValueError, "square"),
        (lambda x: L.qr(x, "full"), ValueError, "a mode of"),
        (lambda x: L.eigh(paddle.eye(2), "X"), ValueError, "'L' or 'U'"),
        (lambda x: L.solve(x, x), ValueError, r"\[solve\]"),
        (lambda x: L.matrix_power(paddle.eye(2), 2.0), TypeError, "an integer n"),
        (lambda x: L.matrix_norm(x, axis=(1, 1)), ValueError, "two different axes"),
        (lambda x: L.norm(x, 2.0, axis=[1, 1]), ValueError, r"\[norm\] requires different axes, got \[1, 1\]"),
        (lambda x: L.matrix_norm(x, p="max"), ValueError, r"\[matrix_norm\]"),
        (lambda x: L.lstsq(x, x, driver="lu"), ValueError, "a driver of"),
        (lambda x: L.lu(paddle.eye(2), pivot=False), ValueError, "pivot=True"),
        (lambda x: L.lu_solve(x.T, *L.lu(paddle.eye(3)), trans="X"), ValueError, "a trans of"),
        (lambda x: L.svd_lowrank(x, q=4), ValueError, "a q from 1 to 2"),
        (lambda x: L.norm([1.0]), TypeError, "a Tensor for x, got list"),
        (lambda x: L.cov(paddle.ones([2, 2, 2])), ValueError, r"\[cov\]"),
        (lambda x: L.cross(x[:, :2], x[:, :2]), ValueError, r"\[cross\]"),
    ],
)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call(paddle.ones([2, 3]))


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("rcond", [1e-9, 0.2, 0.5])
def test_gradients_where_small_singular_values_do_not_count(rng, rcond, hermitian):
    """Their vectors turn with those of the others."""
    u, _, v = np.linalg.svd(rng.standard_normal((4, 4)))
    x = (u * [3.0, 1.2, 0.5, 0.2]) @ (u.T if hermitian else v)
    y, w, step = rng.standard_normal((4, 2)), rng.standard_normal((4, 4)), rng.standard_normal((4, 4))
    step = step + step.T if hermitian else step

    def value(x):
        inverse = np.linalg.pinv(x, rcond=rcond, hermitian=hermitian)
        return (inverse * w).sum() + ((inverse @ y) ** 2).sum()

    leaf = paddle.to_tensor(x, stop_gradient=False)
    inverse = L.pinv(leaf, rcond=rcond, hermitian=hermitian)
    b = paddle.to_tensor(y)
    solution = paddle.matmul(inverse, b) if hermitian else L.lstsq(leaf, b, rcond=rcond)[0]
    ((inverse * paddle.to_tensor(w)).sum() + solution.square().sum()).backward()
    expected = (value(x + 1e-6 * step) - value(x - 1e-6 * step)) / 2e-6
    np.testing.assert_allclose((leaf.grad.numpy() * step).sum(), expected, rtol=1e-6, atol=1e-6)
