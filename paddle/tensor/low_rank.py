"""Factorisations of low rank, by random projection."""

from __future__ import annotations

import builtins

from paddle._public import public
from paddle.tensor._args import cast, integer, op_error
from paddle.tensor._matrices import adjoint, matrix
from umiak import ops as F
from umiak.core.context import place_guard
from umiak.core.tensor import Tensor


def _range_of(x: Tensor, q: int, niter: int, shift: Tensor | None) -> Tensor:
    """An orthonormal basis of what ``x`` (less ``shift``) does to ``q`` random directions."""
    from paddle.tensor.random import _normal

    with place_guard(x.place):
        directions = _normal([x.shape[-1], q], x.dtype, "svd_lowrank")

    def forward(v: Tensor) -> Tensor:
        return F.matmul(x, v) if shift is None else F.sub(F.matmul(x, v), F.matmul(shift, v))

    def backward(v: Tensor) -> Tensor:
        a = adjoint(x)
        return F.matmul(a, v) if shift is None else F.sub(F.matmul(a, v), F.matmul(adjoint(shift), v))

    basis = F.qr(forward(directions))[0]
    for _ in builtins.range(niter):
        basis = F.qr(forward(F.qr(backward(basis))[0]))[0]
    return basis


@public("paddle.tensor paddle.linalg Tensor")
def svd_lowrank(
    x: Tensor, q: int | None = None, niter: int = 2, M: Tensor | None = None, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Approximate singular value decomposition of ``x - M`` of rank q, ``U @ diag(S) @ V^H``, by random projection.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., m, n]``.
        q: number of singular values; None means 6, or fewer where m or n is smaller.
        niter: number of power iterations, which make it more accurate.
        M: tensor that is subtracted from x; it is cast to x's dtype, and its shape broadcasts to x's. None means none.

    Returns:
        Tuple of U ``[..., m, q]``, the real S ``[..., q]`` in falling order, and V ``[..., n, q]`` (not V^H).

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: x is of rank 0 or 1, q is not from 1 to the smaller of m and n, or niter is negative.

    References:
        Halko, Martinsson, Tropp: Finding structure with randomness, 2011.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
        >>> u, s, v = paddle.linalg.svd_lowrank(x, q=2)
        >>> u.shape, [round(v, 3) for v in s.tolist()], v.shape
        (paddle.Size([3, 2]), [4.0, 3.0], paddle.Size([2, 2]))
    """
    x = matrix(x, "svd_lowrank")
    m, n = x.shape[-2:]
    q = builtins.min(6, m, n) if q is None else integer(q, "svd_lowrank", "q")
    niter = integer(niter, "svd_lowrank", "niter")
    if not 0 < q <= builtins.min(m, n):
        raise op_error(ValueError, "svd_lowrank", f"a q from 1 to {builtins.min(m, n)}", q)
    if niter < 0:
        raise op_error(ValueError, "svd_lowrank", "a niter of 0 or more", niter)
    shift = None if M is None else F.broadcast_to(cast(M, x.dtype), tuple(x.shape))
    if m < n:
        u, s, v = svd_lowrank(adjoint(x), q, niter, None if shift is None else adjoint(shift))
        return v, s, u
    basis = _range_of(x, q, niter, shift)
    b = F.matmul(adjoint(basis), x if shift is None else F.sub(x, shift))
    u, s, vh = F.svd(b)
    return F.matmul(basis, u), s, adjoint(vh)


@public("paddle.tensor paddle.linalg Tensor")
def pca_lowrank(
    x: Tensor, q: int | None = None, center: bool = True, niter: int = 2, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components of rows, by :func:`svd_lowrank`.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., m, n]``, one
            observation in each row.
        q: number of components; None means 6, or fewer where m or n is smaller.
        center: whether to subtract the mean of each column first.
        niter: number of power iterations, which make it more accurate.

    Returns:
        Tuple of U ``[..., m, q]``, S ``[..., q]`` and V ``[..., n, q]``, whose columns are the components.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: x is of rank 0 or 1, q is not from 1 to the smaller of m and n, or niter is negative.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
        >>> u, s, v = paddle.linalg.pca_lowrank(x, q=1)
        >>> [abs(round(c, 3)) for c in v.flatten().tolist()]
        [1.0, 0.0]
    """
    x = matrix(x, "pca_lowrank")
    m, n = x.shape[-2:]
    q = builtins.min(6, m, n) if q is None else integer(q, "pca_lowrank", "q")
    if not 0 < q <= builtins.min(m, n):
        raise op_error(ValueError, "pca_lowrank", f"a q from 1 to {builtins.min(m, n)}", q)
    return svd_lowrank(F.sub(x, F.mean(x, (x.ndim - 2,), True)) if center else x, q, niter)
