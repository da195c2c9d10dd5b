"""Functions of three operands, and what is composed of products."""

from __future__ import annotations

from typing import Any

import paddle
from paddle._public import public
from paddle.sparse.unary import need_sparse
from paddle.tensor._args import integer, need_tensor, op_error, real_number
from umiak.core.tensor import Tensor
from umiak.runtime import sparse_math


@public("paddle.sparse", usual=False)
def addmm(
    input: Tensor, x: Tensor, y: Tensor, beta: float = 1.0, alpha: float = 1.0, name: str | None = None
) -> Tensor:
    """Weighted sum of a matrix and the product of a sparse matrix with another one, ``beta * input + alpha * x @ y``.

    Args:
        input: dense matrix of the product's shape, or sparse where the product is.
        x: sparse COO or CSR matrix.
        y: dense matrix, or a sparse one of x's kind.
        beta: factor of the input.
        alpha: factor of the product.

    Returns:
        Dense tensor, or a sparse one of x's kind.

    Raises:
        TypeError: x is not sparse, or the input is not of the kind of the product.
        ValueError: shapes that do not fit.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_csr_tensor([0, 1, 2], [1, 0], [2.0, 3.0], [2, 2])
        >>> y = paddle.ones([2, 2])
        >>> paddle.sparse.addmm(y, x, y, beta=10.0).tolist()
        [[12.0, 12.0], [13.0, 13.0]]
    """
    need_sparse(x, "addmm")
    b, a = real_number(beta, "addmm", "beta"), real_number(alpha, "addmm", "alpha")
    product = sparse_math.matmul(x, need_tensor(y, "addmm"))
    if need_tensor(input, "addmm").shape != product.shape:
        raise op_error(ValueError, "addmm", f"an input of the product's shape {list(product.shape)}", input.shape)
    return input * b + product * a


@public("paddle.sparse", usual=False)
def pca_lowrank(
    x: Tensor, q: int | None = None, center: bool = True, niter: int = 2, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components of a sparse matrix: a singular value decomposition of low rank, by random projections.

    Args:
        x: sparse COO or CSR matrix of shape [m, n], floating.
        q: number of components, from 0 to min(m, n); None: 6, or min(m, n) if that is less.
        center: whether the mean of each column is subtracted first.
        niter: number of power iterations, 0 or more; each makes the result more accurate.

    Returns:
        Matrix U of shape [m, q], the singular values [q] in falling order, and matrix V of shape [n, q].

    Raises:
        TypeError: x is not sparse.
        ValueError: x is no matrix, or q or niter is out of range.

    References:
        Halko, Martinsson and Tropp, 2011: Finding structure with randomness.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1, 2], [1, 0, 1]], [2.0, 3.0, 4.0], [3, 2])
        >>> U, S, V = paddle.sparse.pca_lowrank(x, q=2, center=False)
        >>> [round(v, 4) for v in S.tolist()]
        [4.4721, 3.0]
    """
    need_sparse(x, "pca_lowrank")
    if x.ndim != 2 or len(x.coordinates()) != 2:
        raise op_error(ValueError, "pca_lowrank", "a sparse matrix", f"shape {list(x.shape)}")
    m, n = x.shape
    k = min(6, m, n) if q is None else integer(q, "pca_lowrank", "q")
    rounds = integer(niter, "pca_lowrank", "niter")
    if not 0 <= k <= min(m, n):
        raise op_error(ValueError, "pca_lowrank", f"a q from 0 to {min(m, n)}", k)
    if rounds < 0:
        raise op_error(ValueError, "pca_lowrank", "a niter of 0 or more", rounds)
    xt = sparse_math.swap_last(x)
    mean = _column_means(xt, m) if center else None

    def times(v: Tensor) -> Tensor:
        out = sparse_math.matmul(x, v)
        return out if mean is None else out - mean.unsqueeze(0).matmul(v)

    def transposed_times(u: Tensor) -> Tensor:
        out = sparse_math.matmul(xt, u)
        return out if mean is None else out - mean.unsqueeze(1).matmul(u.sum(0, keepdim=True))

    basis = _orthogonal(times(paddle.randn([n, k], dtype=x.dtype)))
    for _ in range(rounds):
        basis = _orthogonal(times(_orthogonal(transposed_times(basis))))
    u, s, vh = paddle.linalg.svd(transposed_times(basis).t(), full_matrices=False)
    return basis.matmul(u), s, vh.t()


def _orthogonal(x: Tensor) -> Any:
    return paddle.linalg.qr(x)[0]


def _column_means(xt: Any, rows: int) -> Tensor:
    return sparse_math.matmul(xt, paddle.ones([rows], xt.dtype)) / rows
