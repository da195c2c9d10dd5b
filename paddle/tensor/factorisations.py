"""Factorisations of matrices, their eigenvalues and singular values."""

from __future__ import annotations

import builtins
from typing import Any

from paddle._public import public
from paddle.tensor._args import (
    create_on,
    floating,
    need_tensor,
    op_error,
)
from paddle.tensor._matrices import identity, matrix, pair, swap_last
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.util.errors import ShapeError


@public("paddle paddle.tensor paddle.linalg Tensor")
def cholesky(x: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """Cholesky factor of positive definite matrices: the triangular L with ``L @ L^H = x``.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., n, n]`` that
            are symmetric, or Hermitian; one triangle is read.
        upper: whether to return the upper factor U, with ``U^H @ U = x``, and to read that triangle.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: the matrices are not square, or not positive definite.

    Example:
        >>> import paddle
        >>> paddle.linalg.cholesky(paddle.to_tensor([[4.0, 2.0], [2.0, 10.0]])).tolist()
        [[2.0, 0.0], [1.0, 3.0]]
    """
    return F.cholesky(matrix(x, "cholesky", True), builtins.bool(upper))


@public("paddle.tensor paddle.linalg Tensor")
def cholesky_solve(x: Tensor, y: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """Solution z of ``A @ z = x``, given the Cholesky factor of A.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., n, k]``.
        y: the factor of A, triangular matrices ``[..., n, n]`` of x's dtype.
        upper: whether the factor is the upper one.

    Returns:
        Tensor ``[..., n, k]`` of x's dtype; float32 for integers and bools.

    Raises:
        TypeError: x or y is no tensor, or is float16 or bfloat16.
        ValueError: an operand is of rank 0 or 1, y is not square, or sizes or dtypes differ.

    Example:
        >>> import paddle
        >>> factor = paddle.to_tensor([[2.0, 0.0], [1.0, 3.0]])
        >>> paddle.linalg.cholesky_solve(paddle.to_tensor([[4.0], [20.0]]), factor).tolist()
        [[0.0], [2.0]]
    """
    x, y = pair("cholesky_solve", matrix(x, "cholesky_solve"), matrix(y, "cholesky_solve", True))
    return F.cholesky_solve(x, y, builtins.bool(upper))


@public("paddle.tensor paddle.linalg Tensor")
def cholesky_inverse(x: Tensor, upper: bool = False, name: str | None = None) -> Tensor:
    """Inverse of a matrix, given its Cholesky factor.

    Args:
        x: the factor: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[...,
            n, n]``.
        upper: whether the factor is the upper one.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: x is not square.

    Example:
        >>> import paddle
        >>> paddle.linalg.cholesky_inverse(paddle.to_tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
        [[0.25, 0.0], [0.0, 0.0625]]
    """
    x = matrix(x, "cholesky_inverse", True)
    n = x.shape[-1]
    return F.cholesky_solve(identity(n, x), x, builtins.bool(upper))


@public("paddle.tensor paddle.linalg Tensor")
def qr(x: Tensor, mode: str = "reduced", name: str | None = None) -> Any:
    """QR factorisation ``x = Q @ R``: Q has orthonormal columns, and R is upper triangular.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., m, n]``.
        mode: ``"reduced"`` for Q ``[..., m, k]`` and R ``[..., k, n]``, k being the smaller of m and n; ``"complete"``
            for Q ``[..., m, m]`` and R ``[..., m, n]``; ``"r"`` for R ``[..., k, n]`` alone.

    Returns:
        Tuple of Q and R, or R with ``mode="r"``; of x's dtype, float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: x is of rank 0 or 1, or the mode is none of these.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[3.0, 1.0], [4.0, 2.0]])
        >>> q, r = paddle.linalg.qr(x)
        >>> bool(paddle.allclose(q @ r, x, atol=1e-5)), q.shape, r.shape
        (True, paddle.Size([2, 2]), paddle.Size([2, 2]))
    """
    if mode not in ("reduced", "complete", "r"):
        raise op_error(ValueError, "qr", "a mode of 'reduced', 'complete' or 'r'", repr(mode))
    return F.qr(matrix(x, "qr"), mode)


@public("paddle.tensor paddle.linalg Tensor")
def lu(x: Tensor, pivot: bool = True, get_infos: bool = False, name: str | None = None) -> Any:
    """LU factorisation with pivots: ``P^T @ x = L @ U``, where P permutes rows.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., m, n]``.
        pivot: whether rows are swapped; only True is supported.
        get_infos: whether to return zeros for the status of each matrix, too.

    Returns:
        Tuple of one tensor of x's shape that holds U and, below its diagonal, L without its ones; of int32 pivots
        ``[..., min(m, n)]``: step i swaps row i with row ``pivots[i] - 1``; and of int32 zeros ``[...]`` with
        get_infos.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: x is of rank 0 or 1, or pivot is False.

    Example:
        >>> import paddle
        >>> both, pivots = paddle.linalg.lu(paddle.to_tensor([[1.0, 2.0], [2.0, 6.0]]))
        >>> both.tolist(), pivots.tolist()
        ([[2.0, 6.0], [0.5, -1.0]], [2, 2])
    """
    if not pivot:
        raise op_error(ValueError, "lu", "pivot=True", "pivot=False")
    x = matrix(x, "lu")
    out = F.lu(x)
    return (*out, create_on(x.place, F.full, 0, dt.int32, tuple(x.shape[:-2]))) if get_infos else out


@public("paddle.tensor paddle.linalg Tensor")
def lu_unpack(
    x: Tensor, y: Tensor, unpack_ludata: bool = True, unpack_pivots: bool = True, name: str | None = None
) -> tuple:
    """Split the results of :func:`lu` into P, L and U with ``x = P @ L @ U``.

    Args:
        x: the first result of ``lu``, ``[..., m, n]``.
        y: its second result, the pivots.
        unpack_ludata: whether to return L and U; if not, a float32 tensor ``[0]`` stands in their places.
        unpack_pivots: whether to return P; if not, the same stands in its place.

    Returns:
        Tuple of P ``[..., m, m]``, L ``[..., m, k]`` and U ``[..., k, n]`` of x's dtype, k being the smaller of m and
        n.

    Raises:
        TypeError: x or y is no tensor.
        ValueError: x is of rank 0 or 1.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1.0, 2.0], [2.0, 6.0]])
        >>> p, l, u = paddle.linalg.lu_unpack(*paddle.linalg.lu(x))
        >>> (p @ l @ u).tolist()
        [[1.0, 2.0], [2.0, 6.0]]
    """
    p, low, up = F.lu_unpack(matrix(x, "lu_unpack"), need_tensor(y, "lu_unpack", "y"))
    nothing = create_on(x.place, F.full, 0, dt.float32, (0,))
    return (p if unpack_pivots else nothing, low if unpack_ludata else nothing, up if unpack_ludata else nothing)


@public("paddle.tensor paddle.linalg")
def lu_solve(b: Tensor, lu: Tensor, pivots: Tensor, trans: str = "N", name: str | None = None) -> Tensor:
    """Solution x of ``A @ x = b``, given the results of :func:`lu` for A.

    Args:
        b: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., n, k]``.
        lu: the first result of ``lu``, ``[..., n, n]``, of b's dtype.
        pivots: its second result.
        trans: ``"N"`` for A itself, ``"T"`` for its transpose, ``"C"`` for its conjugate transpose.

    Returns:
        Tensor ``[..., n, k]`` of b's dtype.

    Raises:
        TypeError: an operand is no tensor, or is float16 or bfloat16.
        ValueError: trans is none of these, lu is not square, or sizes or dtypes differ.

    Example:
        >>> import paddle
        >>> a = paddle.to_tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> paddle.linalg.lu_solve(paddle.ones([2, 1]), *paddle.linalg.lu(a)).tolist()
        [[0.5], [0.25]]
    """
    if trans not in ("N", "T", "C", "H"):
        raise op_error(ValueError, "lu_solve", "a trans of 'N', 'T', 'C' or 'H'", repr(trans))
    b, lu = pair("lu_solve", matrix(b, "lu_solve"), matrix(lu, "lu_solve", True))
    p, low, up = F.lu_unpack(lu, need_tensor(pivots, "lu_solve", "pivots"))
    swap = (*builtins.range(lu.ndim - 2), lu.ndim - 1, lu.ndim - 2)
    if trans == "N":
        half = F.triangular_solve(low, F.matmul(F.permute(p, swap), b), False, False, True)
        return F.triangular_solve(up, half, True, False, False)
    if trans in ("C", "H") and lu.dtype.is_complex:
        up, low = F.conj(up), F.conj(low)
    half = F.triangular_solve(up, b, True, True, False)
    return F.matmul(p, F.triangular_solve(low, half, False, True, True))


@public("paddle.tensor paddle.linalg")
def svd(
    x: Tensor, full_matrices: bool = False, name: str | None = None, *, out: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Singular value decomposition ``x = U @ diag(S) @ VH``.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., m, n]``.
        full_matrices: whether U and VH are square, ``[..., m, m]`` and ``[..., n, n]``; if not, they are ``[..., m,
            k]`` and ``[..., k, n]``, k being the smaller of m and n.
        out: tuple of three tensors that the results are written into, and that is returned.

    Returns:
        Tuple of U, the real S ``[..., k]`` in falling order, and VH, of x's precision.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: x is of rank 0 or 1.

    Example:
        >>> import paddle
        >>> u, s, vh = paddle.linalg.svd(paddle.to_tensor([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]))
        >>> u.shape, [round(v, 4) for v in s.tolist()], vh.shape
        (paddle.Size([3, 2]), [4.0, 3.0], paddle.Size([2, 2]))
    """
    return F.svd(matrix(x, "svd"), builtins.bool(full_matrices))


@public("paddle.tensor paddle.linalg")
def svdvals(x: Tensor, name: str | None = None) -> Tensor:
    """Singular values of matrices, in falling order.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., m, n]``.

    Returns:
        Real tensor ``[..., k]`` of x's precision, k being the smaller of m and n.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: x is of rank 0 or 1.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.linalg.svdvals(paddle.to_tensor([[3.0, 0.0], [0.0, 4.0]])).tolist()]
        [4.0, 3.0]
    """
    return F.svdvals(matrix(x, "svdvals"))


@public("paddle.tensor paddle.linalg Tensor")
def eig(x: Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of square matrices: ``x @ vectors = vectors @ diag(values)``.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., n, n]``.

    Returns:
        Tuple of the values ``[..., n]`` and the vectors ``[..., n, n]``, one in each column; both complex128 for
        float64 and complex128 operands, else complex64.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: the matrices are not square.

    Example:
        >>> import paddle
        >>> values, vectors = paddle.linalg.eig(paddle.to_tensor([[2.0, 0.0], [0.0, 3.0]]))
        >>> values.tolist(), vectors.shape
        ([(2+0j), (3+0j)], paddle.Size([2, 2]))
    """
    return F.eig(matrix(x, "eig", True))


@public("paddle.tensor paddle.linalg Tensor")
def eigvals(x: Tensor, name: str | None = None) -> Tensor:
    """Eigenvalues of square matrices.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., n, n]``.

    Returns:
        Tensor ``[..., n]``, complex128 for float64 and complex128 operands, else complex64.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: the matrices are not square.

    Example:
        >>> import paddle
        >>> paddle.linalg.eigvals(paddle.to_tensor([[2.0, 0.0], [0.0, 3.0]])).tolist()
        [(2+0j), (3+0j)]
    """
    return F.eigvals(matrix(x, "eigvals", True))


def _upper(UPLO: str, op: str) -> bool:
    if UPLO not in ("L", "U"):
        raise op_error(ValueError, op, "a UPLO of 'L' or 'U'", repr(UPLO))
    return UPLO == "U"


@public("paddle.tensor paddle.linalg Tensor")
def eigh(x: Tensor, UPLO: str = "L", name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of symmetric or Hermitian matrices, of which one triangle is read.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., n, n]``.
        UPLO: the triangle: ``"L"`` the lower, ``"U"`` the upper one.

    Returns:
        Tuple of the real values ``[..., n]`` in rising order, and the orthonormal vectors ``[..., n, n]``, one in each
        column, of x's precision.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: the matrices are not square, or UPLO is neither ``"L"`` nor ``"U"``.

    Example:
        >>> import paddle
        >>> values, vectors = paddle.linalg.eigh(paddle.to_tensor([[2.0, 1.0], [1.0, 2.0]]))
        >>> [round(v, 4) for v in values.tolist()], vectors.shape
        ([1.0, 3.0], paddle.Size([2, 2]))
    """
    return F.eigh(matrix(x, "eigh", True), _upper(UPLO, "eigh"))


@public("paddle paddle.tensor paddle.linalg Tensor")
def eigvalsh(x: Tensor, UPLO: str = "L", name: str | None = None) -> Tensor:
    """Eigenvalues of symmetric or Hermitian matrices, of which one triangle is read.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., n, n]``.
        UPLO: the triangle: ``"L"`` the lower, ``"U"`` the upper one.

    Returns:
        Real tensor ``[..., n]`` in rising order, of x's precision.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: the matrices are not square, or UPLO is neither ``"L"`` nor ``"U"``.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.linalg.eigvalsh(paddle.to_tensor([[2.0, 1.0], [1.0, 2.0]])).tolist()]
        [1.0, 3.0]
    """
    return F.eigvalsh(matrix(x, "eigvalsh", True), _upper(UPLO, "eigvalsh"))


@public("paddle.tensor paddle.linalg Tensor")
def householder_product(x: Tensor, tau: Tensor, name: str | None = None) -> Tensor:
    """First columns of the product of Householder reflections ``I - tau[i] * v @ v^H``.

    Vector v of step i is column i of x below its diagonal, 1 on it and 0 above.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., m, n]`` with
            n up to m.
        tau: tensor ``[..., k]`` of x's dtype, one factor for each reflection, k up to n.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: x is of rank 0 or 1, there are more reflections than columns, or the dtypes differ.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1.0], [1.0]])
        >>> paddle.linalg.householder_product(x, paddle.to_tensor([1.0])).tolist()
        [[0.0], [-1.0]]
    """
    _need_one_dtype("householder_product", x, tau=tau)
    x, tau = matrix(x, "householder_product"), floating(tau)
    return F.householder_product(x, tau, int(tau.shape[-1]))


def _need_one_dtype(op: str, x: Tensor, **others: Tensor) -> None:
    """Refuse what is not a tensor, and dtypes that differ: integers become floats only together."""
    dtype = need_tensor(x, op).dtype
    for arg_name, other in others.items():
        if need_tensor(other, op, arg_name).dtype is not dtype:
            raise op_error(ValueError, op, f"{arg_name} of x's dtype {dtype.name}", other.dtype.name)


@public("paddle.tensor paddle.linalg Tensor")
def ormqr(
    x: Tensor, tau: Tensor, y: Tensor, left: bool = True, transpose: bool = False, name: str | None = None
) -> Tensor:
    """Multiply by the orthogonal Q of a QR factorisation that is given by its Householder reflections.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., m, n]`` that
            hold the reflections, as for :func:`householder_product`.
        tau: tensor ``[..., k]`` of x's dtype: their factors.
        y: matrices of x's dtype that Q multiplies.
        left: whether to return ``Q @ y``; if not, ``y @ Q``. Q is ``[..., m, n]``, what
            :func:`householder_product` gives.
        transpose: whether to take the conjugate transpose of Q instead.

    Returns:
        Tensor of the product's shape and x's dtype; float32 for integers and bools.

    Raises:
        TypeError: an operand is no tensor, or is float16 or bfloat16.
        ValueError: x or y is of rank 0 or 1, or sizes or dtypes differ; for sizes it is an ``AssertionError``, too.

    Example:
        >>> import paddle
        >>> x, tau = paddle.to_tensor([[1.0], [1.0]]), paddle.to_tensor([1.0])
        >>> paddle.linalg.ormqr(x, tau, paddle.to_tensor([[1.0, 2.0]])).tolist()
        [[0.0, 0.0], [-1.0, -2.0]]
    """
    _need_one_dtype("ormqr", x, tau=tau, y=y)
    x, y = matrix(x, "ormqr"), matrix(y, "ormqr")
    size = x.shape[-2] if bool(transpose) is bool(left) else x.shape[-1]
    if not dim.eq(y.shape[-2 if left else -1], size):
        shapes = f"{list(x.shape)} and {list(y.shape)}"
        raise op_error(ShapeError, "ormqr", f"y of {size} {'rows' if left else 'columns'}", shapes)
    q = F.householder_product(x, floating(tau), int(tau.shape[-1]))
    if transpose:
        q = swap_last(q)
        q = F.conj(q) if q.dtype.is_complex else q
    return F.matmul(q, y) if left else F.matmul(y, q)
