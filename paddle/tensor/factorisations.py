"""Factorisations of matrices, their eigenvalues and singular values."""

from __future__ import annotations

import builtins
from typing import Any

from paddle._public import public
from paddle.tensor._args import (
    cast,
    made_on,
    need_tensor,
    op_error,
)
from paddle.tensor._matrices import identity, matrix, pair, swap_last
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor


@public("paddle.tensor paddle.linalg Tensor")
def cholesky(x: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """The triangular factor of symmetric (Hermitian) positive definite matrices; ValueError for others.

    Example:
        >>> import paddle
        >>> paddle.linalg.cholesky(paddle.to_tensor([[4.0, 0.0], [0.0, 9.0]])).tolist()
        [[2.0, 0.0], [0.0, 3.0]]
    """
    return F.cholesky(matrix(x, "cholesky", True), builtins.bool(upper))


@public("paddle.tensor paddle.linalg Tensor")
def cholesky_solve(x: Tensor, y: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """The solution of ``A z = x``, given the Cholesky factor ``y`` of A.

    Example:
        >>> import paddle
        >>> paddle.linalg.cholesky_solve(paddle.to_tensor([[8.0]]), paddle.to_tensor([[2.0]])).tolist()
        [[2.0]]
    """
    x, y = pair("cholesky_solve", matrix(x, "cholesky_solve"), matrix(y, "cholesky_solve", True))
    return F.cholesky_solve(x, y, builtins.bool(upper))


@public("paddle.tensor paddle.linalg Tensor")
def cholesky_inverse(x: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """The inverse of a matrix, given its Cholesky factor ``x``.

    Example:
        >>> import paddle
        >>> paddle.linalg.cholesky_inverse(paddle.to_tensor([[2.0]])).tolist()
        [[0.25]]
    """
    x = matrix(x, "cholesky_inverse", True)
    n = x.shape[-1]
    return F.cholesky_solve(identity(n, x), x, builtins.bool(upper))


@public("paddle.tensor paddle.linalg Tensor")
def qr(x: Tensor, mode: str = "reduced", name: str | None = None) -> Any:
    """``x = Q R``. Modes: ``"reduced"``, ``"complete"`` (square Q), ``"r"`` (R alone).

    Example:
        >>> import paddle
        >>> q, r = paddle.linalg.qr(paddle.ones([3, 2]))
        >>> q.shape, r.shape
        ([3, 2], [2, 2])
    """
    if mode not in ("reduced", "complete", "r"):
        raise op_error(ValueError, "qr", "a mode of 'reduced', 'complete' or 'r'", repr(mode))
    return F.qr(matrix(x, "qr"), mode)


@public("paddle.tensor paddle.linalg Tensor")
def lu(x: Tensor, pivot: bool = True, get_infos: bool = False, name: str | None = None) -> Any:
    """L and U in one matrix, and the pivots (from 1), of ``P x = L U``; with ``get_infos`` also zeros.

    Example:
        >>> import paddle
        >>> both, pivots = paddle.linalg.lu(paddle.to_tensor([[2.0, 0.0], [0.0, 3.0]]))
        >>> pivots.tolist()
        [1, 2]
    """
    if not pivot:
        raise op_error(ValueError, "lu", "pivot=True", "pivot=False")
    x = matrix(x, "lu")
    out = F.lu(x)
    return (*out, made_on(x.place, F.full, 0, dt.int32, tuple(x.shape[:-2]))) if get_infos else out


@public("paddle.tensor paddle.linalg Tensor")
def lu_unpack(
    x: Tensor, y: Tensor, unpack_ludata: bool = True, unpack_pivots: bool = True, name: str | None = None
) -> tuple:
    """P, L and U from the two results of :func:`lu`; those not asked for are None.

    Example:
        >>> import paddle
        >>> p, l, u = paddle.linalg.lu_unpack(*paddle.linalg.lu(paddle.to_tensor([[2.0]])))
        >>> u.tolist()
        [[2.0]]
    """
    p, low, up = F.lu_unpack(matrix(x, "lu_unpack"), need_tensor(y, "lu_unpack", "y"))
    return (p if unpack_pivots else None, low if unpack_ludata else None, up if unpack_ludata else None)


@public("paddle.tensor paddle.linalg")
def lu_solve(b: Tensor, lu: Tensor, pivots: Tensor, trans: str = "N", name: str | None = None) -> Tensor:
    """The solution of ``A x = b``, given the two results of :func:`lu` for A.

    ``trans``: ``"T"`` or ``"C"`` for the transpose or the adjoint of A.

    Example:
        >>> import paddle
        >>> a = paddle.to_tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> paddle.linalg.lu_solve(paddle.ones([2, 1]), *paddle.linalg.lu(a)).tolist()
        [[0.5], [0.25]]
    """
    if trans not in ("N", "T", "C"):
        raise op_error(ValueError, "lu_solve", "a trans of 'N', 'T' or 'C'", repr(trans))
    b, lu = pair("lu_solve", matrix(b, "lu_solve"), matrix(lu, "lu_solve", True))
    p, low, up = F.lu_unpack(lu, need_tensor(pivots, "lu_solve", "pivots"))
    swap = (*builtins.range(lu.ndim - 2), lu.ndim - 1, lu.ndim - 2)
    if trans == "N":
        half = F.triangular_solve(low, F.matmul(F.permute(p, swap), b), False, False, True)
        return F.triangular_solve(up, half, True, False, False)
    if trans == "C" and lu.dtype.is_complex:
        up, low = F.conj(up), F.conj(low)
    half = F.triangular_solve(up, b, True, True, False)
    return F.matmul(p, F.triangular_solve(low, half, False, True, True))


@public("paddle.tensor paddle.linalg")
def svd(
    x: Tensor, full_matrices: bool = False, name: str | None = None, *, out: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    """``x = U diag(S) VH``, S falling; with ``full_matrices``, square U and VH.

    Example:
        >>> import paddle
        >>> u, s, vh = paddle.linalg.svd(paddle.ones([3, 2]))
        >>> u.shape, s.shape, vh.shape
        ([3, 2], [2], [2, 2])
    """
    return F.svd(matrix(x, "svd"), builtins.bool(full_matrices))


@public("paddle.tensor paddle.linalg")
def svdvals(x: Tensor, name: str | None = None) -> Tensor:
    """The singular values, falling.

    Example:
        >>> import paddle
        >>> paddle.linalg.svdvals(paddle.to_tensor([[3.0, 0.0], [0.0, 4.0]])).tolist()
        [4.0, 3.0]
    """
    return F.svdvals(matrix(x, "svdvals"))


@public("paddle.tensor paddle.linalg Tensor")
def eig(x: Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The eigenvalues and eigenvectors (columns) of square matrices; both complex.

    Example:
        >>> import paddle
        >>> values, vectors = paddle.linalg.eig(paddle.to_tensor([[2.0]]))
        >>> values.tolist()
        [(2+0j)]
    """
    return F.eig(matrix(x, "eig", True))


@public("paddle.tensor paddle.linalg Tensor")
def eigvals(x: Tensor, name: str | None = None) -> Tensor:
    """The eigenvalues of square matrices; complex.

    Example:
        >>> import paddle
        >>> paddle.linalg.eigvals(paddle.to_tensor([[2.0]])).tolist()
        [(2+0j)]
    """
    return F.eigvals(matrix(x, "eigvals", True))


def _upper(UPLO: str, op: str) -> bool:
    if UPLO not in ("L", "U"):
        raise op_error(ValueError, op, "a UPLO of 'L' or 'U'", repr(UPLO))
    return UPLO == "U"


@public("paddle.tensor paddle.linalg Tensor")
def eigh(x: Tensor, UPLO: str = "L", name: str | None = None) -> tuple[Tensor, Tensor]:
    """The eigenvalues, rising, and eigenvectors of symmetric (Hermitian) matrices, of which one triangle is read.

    Example:
        >>> import paddle
        >>> paddle.linalg.eigh(paddle.to_tensor([[2.0, 0.0], [0.0, 1.0]]))[0].tolist()
        [1.0, 2.0]
    """
    return F.eigh(matrix(x, "eigh", True), _upper(UPLO, "eigh"))


@public("paddle.tensor paddle.linalg Tensor")
def eigvalsh(x: Tensor, UPLO: str = "L", name: str | None = None) -> Tensor:
    """The eigenvalues, rising, of symmetric (Hermitian) matrices, of which one triangle is read.

    Example:
        >>> import paddle
        >>> paddle.linalg.eigvalsh(paddle.to_tensor([[2.0, 0.0], [0.0, 1.0]])).tolist()
        [1.0, 2.0]
    """
    return F.eigvalsh(matrix(x, "eigvalsh", True), _upper(UPLO, "eigvalsh"))


@public("paddle.tensor paddle.linalg Tensor")
def householder_product(x: Tensor, tau: Tensor, name: str | None = None) -> Tensor:
    """The first columns of a product of reflections ``I - tau[i] v v^H``.

    v is column i of ``x`` below its diagonal, 1 on it and 0 above.

    Example:
        >>> import paddle
        >>> paddle.linalg.householder_product(paddle.ones([2, 1]), paddle.zeros([1])).tolist()
        [[1.0], [0.0]]
    """
    x, tau = pair("householder_product", matrix(x, "householder_product"), tau)
    return F.householder_product(x, tau, tau.shape[-1])


@public("paddle.tensor paddle.linalg Tensor")
def ormqr(
    x: Tensor, tau: Tensor, y: Tensor, left: bool = True, transpose: bool = False, name: str | None = None
) -> Tensor:
    """``Q y`` (``left=False``: ``y Q``), Q being the full product of the reflections in ``x`` and ``tau``.

    ``transpose``: the adjoint of Q instead.

    Example:
        >>> import paddle
        >>> paddle.linalg.ormqr(paddle.ones([2, 1]), paddle.zeros([1]), paddle.ones([2, 1])).tolist()
        [[1.0], [1.0]]
    """
    x, y = pair("ormqr", matrix(x, "ormqr"), matrix(y, "ormqr"))
    m, n = x.shape[-2:]
    if m > n:
        x = F.pad(x, 0, axes=(x.ndim - 1,), lo=(0,), hi=(m - n,))
    q = F.householder_product(x, cast(need_tensor(tau, "ormqr", "tau"), x.dtype), tau.shape[-1])
    if transpose:
        q = swap_last(q)
        q = F.conj(q) if q.dtype.is_complex else q
    return F.matmul(q, y) if left else F.matmul(y, q)
