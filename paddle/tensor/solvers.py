"""Linear systems, inverses, determinants, powers."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from paddle._public import also, public
from paddle.tensor._args import cast, create_on, floating, need_tensor, op_error, real_number
from paddle.tensor._matrices import eps, matrix, pair, swap_last
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import capture_of
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.expr import Sym


@public("paddle.tensor paddle.linalg Tensor", aliases={"A": "x", "B": "y"})
def solve(x: Tensor, y: Tensor, left: bool = True, name: str | None = None, *, out: Any = None) -> Tensor:
    """Solution z of the linear system ``x @ z = y``.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., n, n]``.
        y: matrices ``[..., n, k]``, or vectors ``[n]`` or ``[..., n]``, of x's dtype.
        left: whether x stands on the left; if not, the system is ``z @ x = y``.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's dtype (float32 for integers and bools), with the leading axes broadcast.

    Raises:
        TypeError: x or y is no tensor, or is float16 or bfloat16.
        ValueError: x is not square or has no inverse, or sizes or dtypes differ.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[2.0, 1.0], [1.0, 3.0]])
        >>> [round(v, 4) for v in paddle.linalg.solve(x, paddle.to_tensor([3.0, 5.0])).tolist()]
        [0.8, 1.4]
    """
    x = matrix(x, "solve", True)
    x, y = pair("solve", x, floating(need_tensor(y, "solve", "y")))
    vector = y.ndim == 1 or (y.ndim == x.ndim - 1 and y.shape == x.shape[:-1])
    if vector:
        y = F.unsqueeze(y, (y.ndim if left else y.ndim - 1,))
    if left:
        solution = F.solve(x, y)
    else:
        solution = swap_last(F.solve(swap_last(x), swap_last(y)))
    return F.squeeze(solution, (solution.ndim - 1 if left else solution.ndim - 2,)) if vector else solution


@public("paddle.linalg")
def triangular_solve(
    x: Tensor,
    y: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    name: str | None = None,
) -> Tensor:
    """Solution z of ``x @ z = y`` for triangular x, of which the other triangle is not read.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., n, n]``.
        y: matrices ``[..., n, k]`` of x's dtype.
        upper: whether x is the upper triangle; if not, the lower one.
        transpose: whether to solve with the transpose of x.
        unitriangular: whether the diagonal of x counts as ones and is not read.

    Returns:
        Tensor ``[..., n, k]`` of x's dtype; float32 for integers and bools.

    Raises:
        TypeError: x or y is no tensor, or is float16 or bfloat16.
        ValueError: x is not square or has a zero on its diagonal, or sizes or dtypes differ.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[2.0, 1.0], [0.0, 4.0]])
        >>> paddle.linalg.triangular_solve(x, paddle.to_tensor([[4.0], [8.0]])).tolist()
        [[1.0], [2.0]]
    """
    x, y = pair("triangular_solve", matrix(x, "triangular_solve", True), matrix(y, "triangular_solve"))
    return F.triangular_solve(x, y, builtins.bool(upper), builtins.bool(transpose), builtins.bool(unitriangular))


@public("paddle paddle.tensor Tensor")
def inverse(x: Tensor, name: str | None = None) -> Tensor:
    """Inverse of square matrices.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., n, n]``.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: a matrix is not square, or has no inverse.

    Example:
        >>> import paddle
        >>> paddle.linalg.inv(paddle.to_tensor([[2.0, 0.0], [0.0, 4.0]])).diagonal().tolist()
        [0.5, 0.25]
    """
    return F.inverse(matrix(x, "inverse", True))


inv = also(inverse, "inv", "paddle.linalg")


@public("paddle.tensor paddle.linalg Tensor")
def pinv(x: Tensor, rcond: Any = 1e-15, hermitian: bool = False, name: str | None = None) -> Tensor:
    """Pseudo-inverse of matrices, as of Moore and Penrose.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., m, n]``.
        rcond: singular values up to this share of the largest count as zero; at least the precision of the dtype holds.
        hermitian: whether x is symmetric or Hermitian, so that eigenvalues do.

    Returns:
        Tensor ``[..., n, m]`` of x's dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: x is of rank 0 or 1, or is not square with ``hermitian=True``.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.linalg.pinv(paddle.to_tensor([[2.0], [0.0]])).tolist()[0]]
        [0.5, 0.0]
    """
    x = matrix(x, "pinv", hermitian)
    least = builtins.max(real_number(rcond, "pinv", "rcond"), float(eps(x)))
    return F.pinv(x, builtins.bool(hermitian), least)


@public("paddle.linalg Tensor")
def det(x: Tensor, name: str | None = None) -> Tensor:
    """Determinant of square matrices.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., n, n]``.

    Returns:
        Tensor ``[...]`` of x's dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: a matrix is not square.

    Example:
        >>> import paddle
        >>> round(float(paddle.linalg.det(paddle.to_tensor([[2.0, 1.0], [1.0, 3.0]]))), 4)
        5.0
    """
    return F.det(matrix(x, "det", True))


@public("paddle.tensor paddle.linalg Tensor")
def slogdet(x: Tensor, name: str | None = None) -> Tensor:
    """Sign of the determinant of square matrices, and logarithm of its absolute value.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., n, n]``.

    Returns:
        Tensor ``[2, ...]`` of x's dtype (float32 for integers and bools): the signs, then the logarithms. Of singular
        matrices they are 0 and -inf.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: a matrix is not square.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.linalg.slogdet(paddle.to_tensor([[-2.0, 0.0], [0.0, 3.0]])).tolist()]
        [-1.0, 1.7918]
    """
    sign, size = F.slogdet(matrix(x, "slogdet", True))
    return F.stack([sign, cast(size, sign.dtype)], 0)


@public("paddle.tensor paddle.linalg Tensor")
def matrix_power(x: Tensor, n: int, name: str | None = None) -> Tensor:
    """Product of n copies of square matrices; of their inverses for negative n.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., n, n]``.
        n: an integer; 0 gives the identity.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16, or n is no integer.
        ValueError: a matrix is not square, or n is negative and it has no inverse.

    Example:
        >>> import paddle
        >>> paddle.linalg.matrix_power(paddle.to_tensor([[1.0, 1.0], [0.0, 1.0]]), 3).tolist()
        [[1.0, 3.0], [0.0, 1.0]]
    """
    if not isinstance(n, (int, np.integer)):
        raise op_error(TypeError, "matrix_power", "an integer n", type(n).__name__)
    return F.matrix_power(matrix(x, "matrix_power", True), int(n))


@public("paddle.linalg")
def matrix_exp(x: Tensor, name: str | None = None) -> Tensor:
    """Exponential of square matrices: the sum of ``x^k / k!`` over all k.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., n, n]``; a
            0-d tensor counts as a matrix of one element.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: a matrix is not square.

    Example:
        >>> import paddle
        >>> x = paddle.linalg.matrix_exp(paddle.to_tensor([[0.0, 1.0], [0.0, 0.0]]))
        >>> [[round(v, 4) for v in row] for row in x.tolist()]
        [[1.0, 1.0], [0.0, 1.0]]
    """
    if isinstance(x, Tensor) and x.ndim == 0:
        return F.exp(floating(x))
    return F.matrix_exp(matrix(x, "matrix_exp", True))


@public("paddle.linalg", aliases={"A": "x"})
def matrix_rank(
    x: Tensor, tol: Any = None, hermitian: bool = False, atol: Any = None, rtol: Any = None, name: str | None = None
) -> Tensor:
    """Rank of matrices: the number of singular values above a threshold.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., m, n]``.
        tol: the threshold, a number or a tensor ``[...]``; None takes that of atol and rtol.
        hermitian: whether x is symmetric or Hermitian, so that eigenvalues do.
        atol: absolute threshold, a number or a tensor ``[...]``; None means 0.
        rtol: threshold in units of the largest singular value, likewise; None means the larger of m and n times the
            precision of the dtype, or 0 if atol is given. The larger threshold of the two holds.

    Returns:
        int64 tensor ``[...]``.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: x is of rank 0 or 1, is not square with ``hermitian=True``, or tol is given beside atol or rtol.

    Example:
        >>> import paddle
        >>> int(paddle.linalg.matrix_rank(paddle.to_tensor([[1.0, 2.0], [2.0, 4.0]])))
        1
    """
    x = matrix(x, "matrix_rank", hermitian)
    s = F.abs(F.eigvalsh(x)) if hermitian else F.svdvals(x)
    last = (s.ndim - 1,)

    def at(v: Any) -> Any:
        if isinstance(v, Tensor):
            return F.unsqueeze(cast(v, s.dtype), (v.ndim,))
        return real_number(v, "matrix_rank", "a threshold")

    if tol is not None:
        if atol is not None or rtol is not None:
            raise op_error(ValueError, "matrix_rank", "tol, or atol and rtol", "both")
        limit = at(tol)
    else:
        relative = rtol if rtol is not None else (0.0 if atol is not None else dim.maximum(*x.shape[-2:]) * eps(x))
        limit = F.mul(F.max(s, last, True), at(relative)) if s.shape[-1] else 0.0
        if atol is not None:
            limit = F.maximum(limit, at(atol)) if s.shape[-1] else at(atol)
    above = F.gt(s, limit)
    return F.sum(F.cast(above, dtype=dt.int64), (above.ndim - 1,))


@public("paddle.tensor paddle.linalg Tensor")
def lstsq(
    x: Tensor, y: Tensor, rcond: float | None = None, driver: str | None = None, name: str | None = None
) -> tuple[Tensor, ...]:
    """Least squares solution z of ``x @ z = y``; of several the one of least norm.

    Args:
        x: float32, float64, complex64 or complex128 matrices (integers and bools become float32), ``[..., m, n]``.
        y: matrices ``[..., m, k]`` of x's dtype.
        rcond: singular values up to this share of the largest count as zero; None means the larger of m and n times the
            precision of the dtype.
        driver: name of the routine that the reference uses: ``"gels"``, ``"gelsy"``, ``"gelsd"`` or ``"gelss"``. The
            solution is the same; the other results depend on it. None means ``"gelsy"``.

    Returns:
        Tuple of the solution ``[..., n, k]``; the sums of squared residuals ``[..., k]``, which are empty unless m > n,
        x has full rank, and the driver is another than ``"gelsy"``; the int32 rank of x ``[...]``; and its singular
        values, which are empty for ``"gels"`` and ``"gelsy"``.

    Raises:
        TypeError: x or y is no tensor, or is float16 or bfloat16.
        ValueError: an operand is of rank 0 or 1, sizes or dtypes differ, or the driver is none of these.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
        >>> line, _, rank, _ = paddle.linalg.lstsq(x, paddle.to_tensor([[1.0], [3.0], [5.0]]))
        >>> [round(v, 4) for v in line.flatten().tolist()], int(rank)
        ([1.0, 2.0], 2)
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise op_error(ValueError, "lstsq", "a driver of 'gels', 'gelsy', 'gelsd' or 'gelss'", repr(driver))
    x, y = pair("lstsq", matrix(x, "lstsq"), matrix(y, "lstsq"))
    m, n = x.shape[-2:]
    least = dim.maximum(m, n) * eps(x) if rcond is None else rcond
    least = least if type(least) is Sym else real_number(least, "lstsq", "rcond")
    solution, residuals, rank, values = F.lstsq(x, y, least)
    # While a function is captured the rank is not known, and nothing may depend on it: x is taken to be of full rank.
    tracer = capture_of()
    nothing = create_on(x.place, F.full, 0, x.dtype.real, (0,))
    full = driver in ("gels", "gelsd", "gelss")
    if full and tracer is not None and type(m > n) is Sym and x.ndim == 2 and tracer.takes_both_ways(m > n):
        residuals = F.slice(residuals, axes=(0,), starts=(0,), sizes=(dim.where(m > n, y.shape[-1], 0),), steps=(1,))
    else:
        full = full and m > n and (tracer is not None or bool((rank == n).all()))
    if driver == "gels":  # takes x to be of full rank
        rank = create_on(x.place, F.full, 0, dt.int64, (0,))
    return solution, residuals if full else nothing, rank, values if driver in ("gelsd", "gelss") else nothing
