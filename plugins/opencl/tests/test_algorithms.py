"""Sorts, factorisations, transforms and special functions on the device, where samples of ops do not go: sizes,
matrices of lower rank, ties, arguments at the ends of domains, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import paddle
from umiak import ops as F
from umiak.core import array, stream
from umiak.core.array import from_numpy


def on(device, function, *arrays):
    """The results of a function of tensors on the device, as arrays."""
    results = function(*(from_numpy(np.asarray(a), device) for a in arrays))
    return [array.host_values(y) for y in (results if isinstance(results, tuple) else (results,))]


def normals(*shape):
    return np.random.default_rng(shape).standard_normal(shape)


@pytest.mark.parametrize("descending", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_sorts_of_several_sizes_keep_the_order_of_equals(device, descending):
    rng = np.random.default_rng(0)
    for size in (1, 2, 63, 64, 65, 1000):
        x = rng.integers(0, 9, (3, size)).astype("float32")
        x[1, ::7] = np.nan
        values, order = on(device, lambda x: F.sort(x, axis=1, descending=descending), x)
        key = np.where(np.isnan(x), np.inf, x)
        expected = np.argsort(-key if descending else key, axis=1, kind="stable")
        np.testing.assert_array_equal(order, expected)
        np.testing.assert_array_equal(values, np.take_along_axis(x, expected, 1))


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 7, 30, 64, 97, 128, 210, 1001])
def test_transforms_of_any_size(device, size):
    x = normals(2, size) + 1j * normals(3, size)[:2]
    np.testing.assert_allclose(on(device, lambda x: F.fft(x, axes=(1,)), x)[0], np.fft.fft(x), atol=1e-11 * size)
    np.testing.assert_allclose(on(device, lambda x: F.rfft(x, axes=(1,)), x.real)[0], np.fft.rfft(x.real), atol=1e-9)


def low_rank(rows, columns, rank):
    return normals(rows, rank) @ normals(rank, columns)


MATRICES = {
    "tall": normals(12, 7),
    "wide": normals(5, 9),
    "lower rank": low_rank(8, 8, 3),
    "zeros": np.zeros((4, 3)),
    "equal values": np.eye(5)[::-1].copy(),
    "scales": np.diag([1e120, 1.0, 1e-120]) @ np.array([[1.0, 0, 0], [0, 0, 1], [0, 1, 0]]),
    "complex": normals(6, 4) + 1j * normals(4, 6).T,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MATRICES)
def test_singular_values(device, name):
    x = MATRICES[name]
    u, s, vh = on(device, lambda x: F.svd(x, full=True), x)
    k = len(s)
    scale = np.abs(x).max(initial=0) or 1
    np.testing.assert_allclose(s, np.linalg.svd(x, compute_uv=False), rtol=1e-12, atol=1e-13 * scale)
    np.testing.assert_allclose((u[:, :k] * s) @ vh[:k], x, atol=1e-12 * scale)
    for q in (u, vh):
        np.testing.assert_allclose(q @ q.conj().T, np.eye(len(q)), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("x", [normals(20, 20), np.ones((6, 6)), np.diag([2.0, 2, 1]), normals(9, 9) * 1e-160],
                         ids=["random", "ones", "diagonal", "small"])  # fmt: skip
def test_hermitian_eigenvalues(device, x):
    x = x + x.T
    values, v = on(device, F.eigh, x)
    scale = np.abs(x).max()
    np.testing.assert_allclose(values, np.linalg.eigvalsh(x), atol=1e-12 * scale)
    np.testing.assert_allclose(x @ v, v * values, atol=1e-12 * scale)
    np.testing.assert_allclose(v.T @ v, np.eye(len(x)), atol=1e-12)


SQUARES = {
    "random": normals(12, 12),
    "cycle": np.roll(np.eye(6), 1, axis=0),  # shifts alone do not move it
    "Jordan block": np.eye(4, k=1) + 2 * np.eye(4),
    "triangle": np.triu(normals(5, 5)),
    "zeros": np.zeros((3, 3)),
    "complex": normals(7, 7) + 1j * normals(8, 7)[:7],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SQUARES)
def test_general_eigenvalues(device, name):
    x = SQUARES[name]
    values, v = on(device, F.eig, x)
    rest = list(np.linalg.eigvals(x).astype(complex))
    for value in values:
        at = int(np.argmin(np.abs(np.array(rest) - value)))
        assert abs(rest.pop(at) - value) < (1e-3 if name == "Jordan block" else 1e-10)
    np.testing.assert_allclose(x @ v, v * values, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(v, axis=0), 1)


@pytest.mark.slow
def test_systems(device):
    a, b = np.array([[2.0, 0], [1, 4]]), np.array([[np.inf, 1], [1, 2]])
    expected = scipy.linalg.solve_triangular(a, b, lower=True, check_finite=False)
    np.testing.assert_array_equal(on(device, lambda a, b: F.triangular_solve(a, b, upper=False), a, b)[0], expected)
    a, b = normals(30, 30), normals(30, 4)
    np.testing.assert_allclose(on(device, F.solve, a, b)[0], np.linalg.solve(a, b), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(on(device, F.inverse, a)[0] @ a, np.eye(30), atol=1e-10)
    deficient = low_rank(9, 6, 3)
    found, _, rank, _ = on(device, lambda x, y: F.lstsq(x, y, rcond=1e-10), deficient, normals(9, 2))
    assert rank == 3
    np.testing.assert_allclose(found, np.linalg.lstsq(deficient, normals(9, 2), 1e-10)[0], rtol=1e-8, atol=1e-9)
    x = normals(6, 6) * 9
    expected = scipy.linalg.expm(x)
    np.testing.assert_allclose(on(device, F.matrix_exp, x)[0], expected, atol=1e-10 * np.abs(expected).max())


def test_what_factorisations_refuse_is_told_by_whoever_waits(device):
    main = stream.stream(device.index, 0)
    for function, required in ((F.cholesky, "positive definite"), (F.inverse, "an invertible matrix")):
        function(from_numpy(np.zeros((2, 2)), device))
        with pytest.raises(RuntimeError, match=required):
            main.synchronize()


@pytest.mark.slow
def test_special_functions_far_out(device):
    a = np.array([1e-3, 0.5, 1, 10, 200, 1e4, 0, np.inf, 5, 5, np.nan])
    x = np.array([1e-3, 30, 1, 12, 180, 1.01e4, 2, 3, 0, np.inf, 1])
    for function, expected in ((F.igamma, scipy.special.gammainc), (F.igammac, scipy.special.gammaincc)):
        np.testing.assert_allclose(on(device, function, a, x)[0], expected(a, x), rtol=1e-8, atol=1e-12)
    p, q, z = np.array([0.5, 30, 2, 2, 3]), np.array([7, 0.5, 2, 2, 0.1]), np.array([0.9, 0.99, 0, 1, 0.999])
    np.testing.assert_allclose(on(device, F.betainc, p, q, z)[0], scipy.special.betainc(p, q, z), rtol=1e-9)
    y = np.array([1e-2, 0.7, 15, 1e5, np.inf])
    for n in (1, 2, 5):
        found = on(device, lambda y, n=n: F.polygamma(y, n=n), y)[0]
        np.testing.assert_allclose(found, scipy.special.polygamma(n, y), rtol=1e-10)
    big = np.array([2**61, 6, 0, -12, 7540113804746346429], np.int64)
    small = np.array([2**40, 4, 0, 18, 4660046610375530309], np.int64)
    np.testing.assert_array_equal(on(device, F.gcd, big, small)[0], np.gcd(big, small))


@pytest.mark.slow
def test_distinct_slices(device):
    x = np.array([[1, 2], [0, 3], [1, 2], [0, 1], [0, 3]], np.int32)
    values, first, inverse, counts = on(device, lambda x: F.unique_sized(x, axis=0, consecutive=False, count=3), x)
    expected = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=0)
    for a, b in zip((values, first, inverse, counts), expected, strict=True):
        np.testing.assert_array_equal(a, np.reshape(b, a.shape))


def test_public_functions_need_no_host(device, opencl):
    x = paddle.to_tensor(normals(4, 6).astype("float32"))
    np.testing.assert_allclose(paddle.linalg.matrix_norm(x, 2).numpy(), np.linalg.norm(x.numpy(), 2), rtol=1e-5)
    np.testing.assert_allclose(paddle.median(x, axis=1).numpy(), np.median(x.numpy(), 1), rtol=1e-6)
    assert opencl.fallbacks() == {}
