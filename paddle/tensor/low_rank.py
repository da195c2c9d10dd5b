"""Factorisations of low rank, by random projection."""

from __future__ import annotations

import builtins

from paddle._public import public
from paddle.tensor._args import (
    cast,
    op_error,
)
from paddle.tensor._matrices import adjoint, matrix
from umiak import ops as F
from umiak.core.tensor import Tensor


def _range_of(x: Tensor, q: int, niter: int, shift: Tensor | None) -> Tensor:
    """An orthonormal basis of what ``x`` (less ``shift``) does to ``q`` random directions."""
    from paddle.tensor.creation import _on
    from paddle.tensor.random import _normal

    with _on(x.place):
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
    """A singular value decomposition of about rank ``q``, by random projection: ``x - M`` is about ``U diag(S) V^H``.

    Args:
        x: matrices.
        q: how many singular values, by default up to 6.
        niter: steps of refinement.
        M: subtracted from x.

    Returns U, S and V (not V^H).

    Example:
        >>> import paddle
        >>> u, s, v = paddle.linalg.svd_lowrank(paddle.ones([5, 4]), q=2)
        >>> u.shape, s.shape, v.shape
        ([5, 2], [2], [4, 2])
    """
    x = matrix(x, "svd_lowrank")
    m, n = x.shape[-2:]
    q = builtins.min(6, m, n) if q is None else q
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
    """:func:`svd_lowrank` of ``x`` with the mean of each column taken away, unless ``center`` is False.

    Example:
        >>> import paddle
        >>> paddle.linalg.pca_lowrank(paddle.ones([5, 4]), q=2)[1].shape
        [2]
    """
    x = matrix(x, "pca_lowrank")
    m, n = x.shape[-2:]
    q = builtins.min(6, m, n) if q is None else q
    if not 0 < q <= builtins.min(m, n):
        raise op_error(ValueError, "pca_lowrank", f"a q from 1 to {builtins.min(m, n)}", q)
    return svd_lowrank(F.sub(x, F.mean(x, (x.ndim - 2,), True)) if center else x, q, niter)
