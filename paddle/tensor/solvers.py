"""Linear systems, inverses, determinants, powers."""

from __future__ import annotations

import builtins
from typing import Any

from paddle._public import also, public
from paddle.tensor._args import (
    cast,
    floating,
    made_on,
    need_tensor,
    number,
    op_error,
)
from paddle.tensor._matrices import eps, matrix, pair, swap_last
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor


@public("paddle.tensor paddle.linalg Tensor", aliases={"A": "x", "B": "y"})
def solve(x: Tensor, y: Tensor, left: bool = True, name: str | None = None, *, out: Any = None) -> Tensor:
    """The solution of ``x z = y``, or of ``z x = y`` with ``left=False``.

    Args:
        x: square matrices ``[..., n, n]``.
        y: matrices ``[..., n, k]``, or vectors ``[..., n]``.

    Raises ValueError for singular x.

    Example:
        >>> import paddle
        >>> paddle.linalg.solve(paddle.to_tensor([[2.0, 0.0], [0.0, 4.0]]), paddle.ones([2])).tolist()
        [0.5, 0.25]
    """
    x = matrix(x, "solve", True)
    x, y = pair("solve", x, floating(need_tensor(y, "solve", "y")))
    vector = y.ndim == 1 or (y.ndim == x.ndim - 1 and y.shape == x.shape[:-1])
    if vector:
        y = F.unsqueeze(y, (y.ndim if left else y.ndim - 1,))
    if left:
        found = F.solve(x, y)
    else:
        found = swap_last(F.solve(swap_last(x), swap_last(y)))
    return F.squeeze(found, (found.ndim - 1 if left else found.ndim - 2,)) if vector else found


@public("paddle.linalg")
def triangular_solve(
    x: Tensor,
    y: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    name: str | None = None,
) -> Tensor:
    """The solution of ``x z = y`` for triangular x, of which the other triangle is not read.

    Args:
        x: square matrices.
        y: matrices.
        upper: which triangle.
        transpose: whether to solve ``x^T z = y``.
        unitriangular: whether the diagonal counts as ones.

    Example:
        >>> import paddle
        >>> paddle.linalg.triangular_solve(paddle.to_tensor([[2.0]]), paddle.to_tensor([[4.0]])).tolist()
        [[2.0]]
    """
    x, y = pair("triangular_solve", matrix(x, "triangular_solve", True), matrix(y, "triangular_solve"))
    return F.triangular_solve(x, y, builtins.bool(upper), builtins.bool(transpose), builtins.bool(unitriangular))


@public("paddle.tensor Tensor")
def inverse(x: Tensor, name: str | None = None) -> Tensor:
    """The inverse of square matrices; ValueError for singular ones.

    Example:
        >>> import paddle
        >>> paddle.linalg.inv(paddle.to_tensor([[2.0]])).tolist()
        [[0.5]]
    """
    return F.inverse(matrix(x, "inverse", True))


inv = also(inverse, "inv", "paddle.linalg")


@public("paddle.tensor paddle.linalg Tensor")
def pinv(x: Tensor, rcond: Any = 1e-15, hermitian: bool = False, name: str | None = None) -> Tensor:
    """The Moore-Penrose inverse; singular values up to ``rcond`` times the largest count as zero.

    Example:
        >>> import paddle
        >>> paddle.linalg.pinv(paddle.to_tensor([[2.0], [0.0]])).tolist()
        [[0.5, 0.0]]
    """
    x = matrix(x, "pinv", hermitian)
    least = builtins.max(float(number(rcond)), float(eps(x)))
    return F.pinv(x, builtins.bool(hermitian), least)


@public("paddle.linalg Tensor")
def det(x: Tensor, name: str | None = None) -> Tensor:
    """The determinant of square matrices.

    Example:
        >>> import paddle
        >>> float(paddle.linalg.det(paddle.to_tensor([[2.0, 0.0], [0.0, 3.0]])))
        6.0
    """
    return F.det(matrix(x, "det", True))


@public("paddle.tensor paddle.linalg Tensor")
def slogdet(x: Tensor, name: str | None = None) -> Tensor:
    """The sign and the logarithm of the size of determinants, stacked in a new leading dim.

    Example:
        >>> import paddle
        >>> paddle.linalg.slogdet(paddle.to_tensor([[1.0]])).tolist()
        [1.0, 0.0]
    """
    sign, size = F.slogdet(matrix(x, "slogdet", True))
    return F.stack([sign, cast(size, sign.dtype)], 0)


@public("paddle.tensor paddle.linalg Tensor")
def matrix_power(x: Tensor, n: int, name: str | None = None) -> Tensor:
    """Square matrices multiplied by themselves ``n`` times; a negative n means the inverse.

    Example:
        >>> import paddle
        >>> paddle.linalg.matrix_power(paddle.to_tensor([[2.0]]), 3).tolist()
        [[8.0]]
    """
    if not isinstance(n, int):
        raise op_error(TypeError, "matrix_power", "an integer n", type(n).__name__)
    return F.matrix_power(matrix(x, "matrix_power", True), n)


@public("paddle.linalg")
def matrix_exp(x: Tensor, name: str | None = None) -> Tensor:
    """The exponential of square matrices.

    Example:
        >>> import paddle
        >>> paddle.linalg.matrix_exp(paddle.zeros([2, 2])).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    return F.matrix_exp(matrix(x, "matrix_exp", True))


@public("paddle.linalg", aliases={"A": "x"})
def matrix_rank(
    x: Tensor, tol: Any = None, hermitian: bool = False, atol: Any = None, rtol: Any = None, name: str | None = None
) -> Tensor:
    """How many singular values exceed a threshold, in int64.

    Args:
        x: matrices.
        tol: the threshold, a number or a tensor; by default the larger of ``atol`` and ``rtol`` times the largest.
        hermitian: whether x is Hermitian, so that eigenvalues serve.
        atol: absolute tolerance, 0 by default.
        rtol: relative tolerance; by default the larger size times the precision, or 0 if ``atol`` is given.

    Example:
        >>> import paddle
        >>> int(paddle.linalg.matrix_rank(paddle.ones([3, 3])))
        1
    """
    x = matrix(x, "matrix_rank", hermitian)
    s = F.abs(F.eigvalsh(x)) if hermitian else F.svdvals(x)
    last = (s.ndim - 1,)

    def at(v: Any) -> Any:
        return F.unsqueeze(cast(v, s.dtype), (v.ndim,)) if isinstance(v, Tensor) else float(v)

    if tol is not None:
        if atol is not None or rtol is not None:
            raise op_error(ValueError, "matrix_rank", "tol, or atol and rtol", "both")
        limit = at(tol)
    else:
        relative = rtol if rtol is not None else (0.0 if atol is not None else builtins.max(x.shape[-2:]) * eps(x))
        limit = F.mul(F.max(s, last, True), at(relative)) if s.shape[-1] else 0.0
        if atol is not None:
            limit = F.maximum(limit, at(atol))
    return F.sum(F.cast(F.gt(s, limit), dtype=dt.int64), last)


@public("paddle.tensor paddle.linalg Tensor")
def lstsq(
    x: Tensor, y: Tensor, rcond: float | None = None, driver: str | None = None, name: str | None = None
) -> tuple[Tensor, ...]:
    """The least squares solution of ``x z = y``.

    Args:
        x: matrices ``[..., m, n]``.
        y: matrices ``[..., m, k]``.
        rcond: singular values up to it times the largest count as zero; by default the larger size times the precision.
        driver: ``"gels"`` (x of full rank), ``"gelsy"``, ``"gelsd"`` or ``"gelss"``; all find the least norm.

    Returns solution, residuals, rank of x and its singular values; residuals are empty unless ``m > n``, the rank is
    full and the driver finds it, and singular values are empty for ``"gels"`` and ``"gelsy"``.

    Example:
        >>> import paddle
        >>> paddle.linalg.lstsq(paddle.to_tensor([[1.0], [1.0]]), paddle.to_tensor([[1.0], [3.0]]))[0].shape
        [1, 1]
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise op_error(ValueError, "lstsq", "a driver of 'gels', 'gelsy', 'gelsd' or 'gelss'", repr(driver))
    x, y = pair("lstsq", matrix(x, "lstsq"), matrix(y, "lstsq"))
    m, n = x.shape[-2:]
    least = builtins.max(m, n) * eps(x) if rcond is None else float(rcond)
    solution, residuals, rank, values = F.lstsq(x, y, least)
    full = m > n and driver in ("gels", "gelsd", "gelss") and bool((rank == n).all())
    nothing = made_on(x.place, F.full, 0, x.dtype.real, (0,))
    return solution, residuals if full else nothing, rank, values if driver in ("gelsd", "gelss") else nothing
