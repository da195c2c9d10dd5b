"""NumPy and SciPy kernels of the ops in ``umiak.ops.lapack``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import lapack as ops


def refusing(required: str) -> Callable:
    """Turn a failure of the factorisation into the op's error."""

    def wrap(fn: Callable) -> Callable:
        @wraps(fn)
        def run(op: Any, *args: Any) -> Any:
            try:
                return fn(op, *args)
            except np.linalg.LinAlgError as error:
                return op.fail(ValueError, required, str(error).rstrip("."))

        return run

    return wrap


def matrices(*arrays: np.ndarray) -> Any:
    """The matrices of batches that are broadcast against each other, one tuple at a time."""
    batch = np.broadcast_shapes(*(a.shape[:-2] for a in arrays))
    wide = [np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in arrays]
    for i in np.ndindex(batch):
        yield i, *(a[i] for a in wide)


def adjoint(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


@kernel(ops.Cholesky, returns=True)
@refusing("positive definite matrices")
def cholesky(op, x):
    if x.shape[-1] == 0:
        return x
    # Not by NumPy's `upper`, which NumPy 1 does not have.
    return np.ascontiguousarray(adjoint(np.linalg.cholesky(adjoint(x)))) if op.upper else np.linalg.cholesky(x)


@kernel(ops.Qr, returns=True)
@refusing("finite matrices")
def qr(op, x):
    factors = np.linalg.qr(x, op.mode)
    return factors if op.mode == "r" else tuple(factors)


@kernel(ops.Lu)
def lu(op, out, x):
    import scipy.linalg

    packed, pivots = out
    for i, a in matrices(x):
        if a.size:
            packed[i], swaps = scipy.linalg.lu_factor(a, check_finite=False)
            pivots[i] = swaps + 1


@kernel(ops.LuPermutation)
def lu_permutation(op, out, pivots, size):
    out[...] = np.arange(size)
    for i in np.ndindex(pivots.shape[:-1]):
        row = out[i]
        for k, p in enumerate(pivots[i]):
            row[[k, p - 1]] = row[[p - 1, k]]


@kernel(ops.Svd, returns=True)
@refusing("matrices for which the singular values converge")
def svd(op, x):
    return tuple(np.linalg.svd(x, full_matrices=op.full))


@kernel(ops.Svdvals, returns=True)
@refusing("matrices for which the singular values converge")
def svdvals(op, x):
    return np.linalg.svd(x, compute_uv=False)


@kernel(ops.Eigh, returns=True)
@refusing("matrices for which the eigenvalues converge")
def eigh(op, x):
    return tuple(np.linalg.eigh(x, "U" if op.upper else "L"))


@kernel(ops.Eigvalsh, returns=True)
@refusing("matrices for which the eigenvalues converge")
def eigvalsh(op, x):
    return np.linalg.eigvalsh(x, "U" if op.upper else "L")


@kernel(ops.Eig, returns=True)
@refusing("finite matrices for which the eigenvalues converge")
def eig(op, x):
    return tuple(np.linalg.eig(x))


@kernel(ops.Eigvals, returns=True)
@refusing("finite matrices for which the eigenvalues converge")
def eigvals(op, x):
    return np.linalg.eigvals(x)


@kernel(ops.Solve)
@refusing("an invertible matrix")
def solve(op, out, x, y):
    # Of one rank: else NumPy 1 takes y, where it has one axis less, for vectors.
    out[...] = np.linalg.solve(x, y.reshape((1,) * (x.ndim - y.ndim) + y.shape))


@kernel(ops.TriangularSolve)
@refusing("a triangular matrix without zeros on its diagonal")
def triangular_solve(op, out, x, y):
    import scipy.linalg

    for i, a, b in matrices(x, y):
        if out[i].size:
            out[i] = scipy.linalg.solve_triangular(
                a, b, trans=int(op.transpose), lower=not op.upper, unit_diagonal=op.unitriangular, check_finite=False
            )


@kernel(ops.Inverse, returns=True)
@refusing("an invertible matrix")
def inverse(op, x):
    return np.linalg.inv(x)


@kernel(ops.Det, returns=True)
def det(op, x):
    return np.asarray(np.linalg.det(x), x.dtype)


@kernel(ops.Slogdet, returns=True)
def slogdet(op, x):
    return tuple(np.linalg.slogdet(x))


@kernel(ops.Lstsq)
@refusing("matrices for which the singular values converge")
def lstsq(op, out, x, y, rcond):
    solution, residuals, rank, values = out
    for i, a in matrices(x):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        values[i], rank[i] = s, np.count_nonzero(s > rcond * s.max(initial=0))
    for i, a, b in matrices(x, y):
        solution[i] = np.linalg.lstsq(a, b, rcond)[0]
        residuals[i] = (np.abs(a @ solution[i] - b) ** 2).sum(0)


@kernel(ops.MatrixExp)
def matrix_exp(op, out, x):
    import scipy.linalg

    for i, a in matrices(x):
        out[i] = scipy.linalg.expm(a) if a.size else a
