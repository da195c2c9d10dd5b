"""LAPACK by batches: shared among threads, from strided and broadcast operands, in all sizes; failures are errors."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import linalg
from umiak.backends.cpu import factorisation
from umiak.runtime import parallel

DTYPES = ("float32", "float64", "complex64", "complex128")
FUNCTIONS = {
    "cholesky": lambda x, y: linalg.cholesky(
        x @ x.swapaxes(-1, -2).conj() + 4 * paddle.eye(x.shape[-1]).astype(x.dtype)
    ),
    "lu": lambda x, y: linalg.lu(x)[0],
    "det": lambda x, y: linalg.det(x),
    "inv": lambda x, y: linalg.inv(x),
    "solve": lambda x, y: linalg.solve(x, y),
    "triangular_solve": lambda x, y: linalg.triangular_solve(x, y),
    "qr": lambda x, y: linalg.qr(x)[1].abs(),
    "svdvals": lambda x, y: linalg.svdvals(x),
    "svd": lambda x, y: linalg.svd(x)[0].abs(),
    "eigvalsh": lambda x, y: linalg.eigvalsh(x + x.swapaxes(-1, -2).conj()),
    "pinv": lambda x, y: linalg.pinv(x),
}


def matrices(*shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype.startswith("complex") else 0)
    return paddle.to_tensor((x + 3 * np.eye(*shape[-2:])).astype(dtype))


def same(a, b, dtype):
    tolerance = 1e-10 if dtype in ("float64", "complex128") else 1e-3
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=tolerance, atol=tolerance)


@pytest.fixture
def threads(request):
    before = parallel.get_num_threads()
    parallel.set_num_threads(request.param)
    yield request.param
    parallel.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("threads", [1, 2], indirect=True)
def test_a_batch_is_its_matrices(name, dtype, threads):
    """Each matrix of a batch that threads share gives what it gives alone."""
    function = FUNCTIONS[name]
    x, y = matrices(9, 2, 17, 17, dtype=dtype), matrices(9, 2, 17, 3, dtype=dtype, seed=1)
    whole = function(x, y)
    for i in ((0, 0), (4, 1), (8, 1)):
        same(whole[i], function(x[i], y[i]), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_operands_in_any_layout(name, dtype):
    """Transposed, spread out and reversed matrices, and batches whose axes are exchanged."""
    function = FUNCTIONS[name]
    x, y = matrices(3, 2, 8, 8, dtype=dtype), matrices(3, 2, 8, 8, dtype=dtype, seed=1)
    for a, b in (
        (x.swapaxes(-1, -2), y.swapaxes(-1, -2)),
        (x[:, :, ::2, 1::2], y[:, :, ::2, 1::2]),
        (x.flip(-1), y.flip(-2)),
        (x.swapaxes(0, 1), y.swapaxes(0, 1)),
    ):
        same(function(a, b), function(a.contiguous().clone(), b.contiguous().clone()), dtype)


@pytest.mark.parametrize("solver", [linalg.solve, linalg.triangular_solve], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("of_x", "of_y"), [((), (4,)), ((4,), ()), ((3, 1), (4,)), ((1, 4), (3, 1)), ((1,), (1,)), ((0, 1), (4,))]
)
def test_solvers_broadcast_batches(solver, of_x, of_y):
    x, y = matrices(*of_x, 5, 5), matrices(*of_y, 5, 2, seed=1)
    batch = np.broadcast_shapes(of_x, of_y)
    out = solver(x, y)
    assert out.shape == [*batch, 5, 2]
    same(out, solver(x.expand([*batch, 5, 5]).clone(), y.expand([*batch, 5, 2]).clone()), "float64")


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 33, 250])
def test_sizes(n):
    """Around the blocks in which matrices are copied, and where LAPACK has several threads."""
    x, y = matrices(n, n), matrices(n, n + 1, seed=1)
    eye = paddle.eye(n, dtype="float64")
    same(x @ linalg.inv(x), eye, "float64")
    same(x @ linalg.solve(x, y), y, "float64")
    q, r = linalg.qr(y)
    same(q @ r, y, "float64")
    u, s, vh = linalg.svd(y, full_matrices=True)
    same((u * s) @ vh[:n], y, "float64")
    w, v = linalg.eigh(x + x.t())
    same((v * w) @ v.t(), x + x.t(), "float64")
    same(y @ linalg.pinv(y), eye, "float64")


@pytest.mark.parametrize("hermitian", [False, True])
def test_pinv_leaves_small_values_out(hermitian):
    x = paddle.to_tensor(np.diag([2.0, -1.0, 1e-9]))
    same(linalg.pinv(x, rcond=1e-6, hermitian=hermitian), paddle.to_tensor(np.diag([0.5, -1.0, 0.0])), "float64")
    assert linalg.pinv(paddle.zeros([2, 0, 3])).shape == [2, 3, 0]
    assert not linalg.pinv(paddle.zeros([2, 2]), hermitian=hermitian).any()


FAILURES = {
    "cholesky": (lambda x: linalg.cholesky(x), "positive definite matrices, got one that is not"),
    "inverse": (lambda x: linalg.inv(x), "an invertible matrix, got a singular matrix"),
    "solve": (lambda x: linalg.solve(x, paddle.ones([4, 4])), "an invertible matrix, got a singular matrix"),
    "triangular_solve": (
        lambda x: linalg.triangular_solve(x, paddle.ones([4, 4])),
        "a triangular matrix without zeros on its diagonal, got others",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("captured", [False, True])
def test_one_bad_matrix_of_a_batch_is_an_error(name, captured):
    function, message = FAILURES[name]
    x = np.tile(np.eye(4, dtype="float32"), (64, 1, 1))
    x[63] = 0
    run = paddle.jit.to_static(function) if captured else function
    with pytest.raises(ValueError, match=rf"{message}"):
        run(paddle.to_tensor(x))
    assert run(paddle.to_tensor(x[:63])).shape == [63, 4, 4]


def singles(function, x):
    """Results of matrices that come alone, as arrays."""
    found = [function(x[i]) for i in range(x.shape[0])]
    return [np.stack([r.numpy() for r in rs]) for rs in zip(*found, strict=True)]


SIDE_BY_SIDE = {
    "cholesky": lambda x: (linalg.cholesky(x @ x.swapaxes(-1, -2) + paddle.eye(x.shape[-1], dtype=x.dtype)),),
    "cholesky-upper": lambda x: (
        linalg.cholesky(x @ x.swapaxes(-1, -2) + paddle.eye(x.shape[-1], dtype=x.dtype), True),
    ),
    "lu": lambda x: linalg.lu(x)[:2],
    "det": lambda x: (linalg.det(x),),
    "slogdet": lambda x: paddle.linalg.slogdet(x),
    "qr": lambda x: linalg.qr(x),
    "qr-complete": lambda x: linalg.qr(x, "complete"),
    "eigh": lambda x: linalg.eigh(x + x.swapaxes(-1, -2)),
    "eigh-upper": lambda x: linalg.eigh(x + x.swapaxes(-1, -2), "U"),
    "eigvalsh": lambda x: (linalg.eigvalsh(x + x.swapaxes(-1, -2)),),
    "svd": lambda x: linalg.svd(x, full_matrices=False),
    "svd-full": lambda x: linalg.svd(x, full_matrices=True),
    "svdvals": lambda x: (linalg.svdvals(x),),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_small_matrices_side_by_side(name, dtype):
    """Pivots and signs included; float32 rounds so much that signs of vectors may differ."""
    function, low = SIDE_BY_SIDE[name], dtype == "float32"
    for batch, n in ((16, 1), (23, 2), (8, 5), (4, 9), (33, 16), (9, 25), (8, 32), (9, 33)):
        x = matrices(batch, n, n, dtype=dtype)
        for a, b in zip(function(x), singles(function, x), strict=True):
            a = a.numpy()
            if low and name.startswith(("eigh", "svd")) and a.ndim == 3:
                a, b = abs(a), abs(b)
            limit = (3e-4 if low else 1e-11) * max(1, np.abs(b).max())
            np.testing.assert_allclose(a, b, rtol=limit, atol=limit)


@pytest.mark.parametrize("shape", [(17, 9, 4), (17, 4, 9), (17, 9, 7), (8, 32, 1), (8, 1, 7)])
def test_small_matrices_that_are_not_square(shape):
    rng = np.random.default_rng(0)
    x = paddle.to_tensor(rng.standard_normal(shape))
    for name in ("lu", "qr", "qr-complete", "svd", "svd-full", "svdvals"):
        for a, b in zip(SIDE_BY_SIDE[name](x), singles(SIDE_BY_SIDE[name], x), strict=True):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_unusual_numbers_beside_usual_ones(dtype):
    """Each gives what it gives alone, and disturbs no other: NaN, large and small numbers, columns that repeat."""
    x = matrices(24, 6, 6, dtype=dtype).numpy()
    x[1, 2, 3] = np.nan
    x[2] *= 1e30
    x[3] *= 1e-30
    x[4] = 0
    x[5, :, 2] = x[5, :, 1]
    x[6] = np.eye(6)
    x[7] = 1
    x[8, :, 1:] *= 1e-20
    t = paddle.to_tensor(x)
    determined = [i for i in range(24) if i not in (5, 7)]  # the others' factors are roundings, but for their product
    for name in ("lu", "qr"):
        for a, b in zip(SIDE_BY_SIDE[name](t), singles(SIDE_BY_SIDE[name], t), strict=True):
            a, b = a.numpy()[determined], b[determined]
            scale = np.maximum(np.nanmax(np.abs(b), axis=tuple(range(1, b.ndim)), keepdims=True), np.finfo(dtype).tiny)
            np.testing.assert_allclose(a / scale, b / scale, rtol=1e-4, atol=1e-4)
    q, r = linalg.qr(t)
    np.testing.assert_allclose((q @ r).numpy()[[5, 7]], x[[5, 7]], rtol=1e-5, atol=1e-5)
    x[1, 2, 3] = 0
    s = (x + x.swapaxes(1, 2)).astype(dtype)
    w, v = (r.numpy().astype("float64") for r in linalg.eigh(paddle.to_tensor(s)))
    scale = np.maximum(np.abs(s).max((1, 2), keepdims=True), np.finfo(dtype).tiny).astype("float64")
    limit = 1e-5 if dtype == "float32" else 1e-13
    assert np.abs(((v * w[:, None]) @ v.swapaxes(1, 2) - s) / scale).max() < limit
    assert np.abs(v.swapaxes(1, 2) @ v - np.eye(6)).max() < limit
    assert (np.diff(w) >= 0).all()
    u, w, v = (r.numpy().astype("float64") for r in linalg.svd(paddle.to_tensor(x), full_matrices=False))
    scale = np.maximum(np.abs(x).max((1, 2), keepdims=True), np.finfo(dtype).tiny).astype("float64")
    assert np.abs(((u * w[:, None]) @ v - x) / scale).max() < limit
    for a in (u.swapaxes(1, 2) @ u, v @ v.swapaxes(1, 2)):
        assert np.abs(a - np.eye(6)).max() < limit
    assert (np.diff(w) <= 0).all() and (w >= 0).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_singular_values_of_special_matrices(dtype):
    """Zeros on a diagonal, ranks that lack, repeated values, and values over many orders of magnitude."""
    rng = np.random.default_rng(0)
    given = {
        "zero column": rng.standard_normal((8, 6, 6)) * (np.arange(6) != 3),
        "zero row": rng.standard_normal((8, 6, 6)) * (np.arange(6) != 2)[:, None],
        "rank 3": rng.standard_normal((8, 10, 3)) @ rng.standard_normal((8, 3, 10)),
        "one block of Jordan's": np.tile(np.eye(10, k=1), (8, 1, 1)),
        "ones above the diagonal": np.tile(np.triu(np.ones((12, 12))), (8, 1, 1)),
        "Hilbert": np.tile(1 / (1 + np.arange(12)[:, None] + np.arange(12)), (8, 1, 1)),
        "graded": rng.standard_normal((8, 7, 7)) * 10.0 ** -np.arange(7),
    }
    for name, x in given.items():
        x = x.astype(dtype)
        u, w, v = (r.numpy() for r in linalg.svd(paddle.to_tensor(x), full_matrices=False))
        limit = 1e-5 if dtype == "float32" else 1e-13
        assert np.abs((u * w[:, None]) @ v - x).max() < limit * 10, name
        assert np.abs(w - np.linalg.svd(x.astype("float64"), compute_uv=False)).max() < limit * 10, name
        assert np.abs(u.swapaxes(1, 2) @ u - np.eye(x.shape[2])).max() < limit, name


def test_determinants_of_singular_matrices():
    x = paddle.zeros([2, 3, 3])
    assert linalg.det(x).tolist() == [0.0, 0.0]
    sign, size = paddle.linalg.slogdet(x)
    assert sign.tolist() == [0.0, 0.0] and size.tolist() == [-np.inf, -np.inf]


def test_a_kernel_refuses_what_it_cannot_be():
    with pytest.raises(ValueError, match=r"\[Factorisation\] requires at most 64 axes of a batch, got 65"):
        factorisation.Factorisation("lu", "float32", 65)
