"""Matmuls, and linear algebra."""

from __future__ import annotations

from typing import Any

import paddle
from paddle.nn import functional as F
from paddle.static.formats.operators.table import Number, Tensors, binary, operator, unary
from umiak.core.tensor import Tensor

for _name in "bmm mv dot kron".split():
    binary(getattr(paddle, _name), _name)
for _name in "inverse".split():
    unary(getattr(paddle, _name), _name)
for _name in "det eigvals".split():
    unary(getattr(paddle.linalg, _name), _name)


@operator("matmul")
def matmul(x: Tensor, y: Tensor, *, transpose_x: bool = False, transpose_y: bool = False) -> Any:
    return paddle.matmul(x, y, transpose_x, transpose_y)


@operator("legacy_matmul")
def legacy_matmul(
    x: Tensor, y: Tensor, *, transpose_x: bool = False, transpose_y: bool = False, alpha: float = 1.0
) -> Any:
    z = paddle.matmul(x, y, transpose_x, transpose_y)
    return z if alpha == 1.0 else z * alpha


def _as_rows(x: Tensor, columns: int) -> Tensor:
    """A matrix: the first dims are its rows, the others its columns."""
    return x if x.ndim == 2 and columns == 1 else paddle.flatten(paddle.flatten(x, columns, -1), 0, columns - 1)


@operator("matmul_with_flatten")
def matmul_with_flatten(x: Tensor, y: Tensor, *, x_num_col_dims: int = 1, y_num_col_dims: int = 1) -> Any:
    z = paddle.matmul(_as_rows(x, x_num_col_dims), _as_rows(y, y_num_col_dims))
    shape = [*x.shape[:x_num_col_dims], *y.shape[y_num_col_dims:]]
    return z if z.ndim == len(shape) else z.reshape(shape)


@operator("linear_v2")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, transpose_weight: bool = False) -> Any:
    y = paddle.matmul(input, weight, transpose_y=transpose_weight)
    return y if bias is None else y + bias


@operator("addmm")
def addmm(input: Tensor, x: Tensor, y: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Any:
    return paddle.addmm(input, x, y, beta, alpha)


@operator("baddbmm")
def baddbmm(input: Tensor, x: Tensor, y: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Any:
    return paddle.baddbmm(input, x, y, beta, alpha)


@operator("multi_dot")
def multi_dot(x: Tensors) -> Any:
    return paddle.linalg.multi_dot(x)


@operator("cross")
def cross(x: Tensor, y: Tensor, *, axis: int = 9) -> Any:
    return paddle.cross(x, y, axis)


@operator("trace")
def trace(x: Tensor, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return paddle.trace(x, offset, axis1, axis2)


@operator("einsum")
def einsum(x: Tensors, *, equation: str) -> Any:
    return paddle.einsum(equation, *x)


@operator("bilinear")
def bilinear(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    return F.bilinear(x, y, weight, bias)


@operator("cholesky")
def cholesky(x: Tensor, *, upper: bool = False) -> Any:
    return paddle.linalg.cholesky(x, upper)


@operator("cholesky_solve")
def cholesky_solve(x: Tensor, y: Tensor, *, upper: bool = False) -> Any:
    return paddle.linalg.cholesky_solve(x, y, upper)


@operator("solve")
def solve(x: Tensor, y: Tensor) -> Any:
    return paddle.linalg.solve(x, y)


@operator("triangular_solve")
def triangular_solve(
    x: Tensor, y: Tensor, *, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    return paddle.linalg.triangular_solve(x, y, upper, transpose, unitriangular)


@operator("qr")
def qr(x: Tensor, *, mode: str = "reduced") -> Any:
    found = paddle.linalg.qr(x, mode)
    return (None, found) if mode == "r" else tuple(found)


@operator("svd")
def svd(x: Tensor, *, full_matrices: bool = False) -> Any:
    return tuple(paddle.linalg.svd(x, full_matrices))


@operator("svdvals")
def svdvals(x: Tensor) -> Any:
    return paddle.linalg.svdvals(x)


@operator("eig")
def eig(x: Tensor) -> Any:
    return tuple(paddle.linalg.eig(x))


@operator("eigh")
def eigh(x: Tensor, *, UPLO: str = "L") -> Any:
    return tuple(paddle.linalg.eigh(x, UPLO))


@operator("eigvalsh")
def eigvalsh(x: Tensor, *, uplo: str = "L", is_test: bool = False) -> Any:
    return paddle.linalg.eigvalsh(x, uplo), None


@operator("slogdet")
def slogdet(x: Tensor) -> Any:
    return paddle.linalg.slogdet(x)


@operator("slogdet_v2")
def slogdet_v2(x: Tensor) -> Any:
    return tuple(paddle.unbind(paddle.linalg.slogdet(x)))


@operator("lu")
def lu(x: Tensor, *, pivot: bool = True) -> Any:
    return tuple(paddle.linalg.lu(x, pivot, get_infos=True))


@operator("lu_unpack")
def lu_unpack(x: Tensor, y: Tensor, *, unpack_ludata: bool = True, unpack_pivots: bool = True) -> Any:
    return tuple(paddle.linalg.lu_unpack(x, y, unpack_ludata, unpack_pivots))


@operator("lstsq")
def lstsq(x: Tensor, y: Tensor, rcond: Number = None, *, driver: str = "gels") -> Any:
    return tuple(paddle.linalg.lstsq(x, y, rcond, driver))


@operator("matrix_power")
def matrix_power(x: Tensor, *, n: int) -> Any:
    return paddle.linalg.matrix_power(x, n)


@operator("matrix_rank")
def matrix_rank(x: Tensor, *, tol: float = 0.0, use_default_tol: bool = True, hermitian: bool = False) -> Any:
    return paddle.linalg.matrix_rank(x, None if use_default_tol else tol, hermitian)


@operator("matrix_rank_tol")
def matrix_rank_tol(x: Tensor, atol_tensor: Tensor, *, use_default_tol: bool = True, hermitian: bool = False) -> Any:
    return paddle.linalg.matrix_rank(x, atol_tensor, hermitian)


@operator("matrix_rank_atol_rtol")
def matrix_rank_atol_rtol(x: Tensor, atol: Tensor, rtol: Tensor | None = None, *, hermitian: bool = False) -> Any:
    return paddle.linalg.matrix_rank(x, hermitian=hermitian, atol=atol, rtol=rtol)


@operator("lu_solve")
def lu_solve(b: Tensor, lu: Tensor, pivots: Tensor, *, trans: str = "N") -> Any:
    return paddle.linalg.lu_solve(b, lu, pivots, trans)


@operator("batch_fc")
def batch_fc(input: Tensor, w: Tensor, bias: Tensor) -> Any:
    return paddle.bmm(input, w) + bias.unsqueeze(1)
