"""Made by ``tools/public_stubs.py``."""

import builtins
from typing import Any, overload

from paddle.tensor import cholesky as cholesky
from paddle.tensor import cholesky_inverse as cholesky_inverse
from paddle.tensor import cholesky_solve as cholesky_solve
from paddle.tensor import cond as cond
from paddle.tensor import corrcoef as corrcoef
from paddle.tensor import cov as cov
from paddle.tensor import cross as cross
from paddle.tensor import diagonal as diagonal
from paddle.tensor import eig as eig
from paddle.tensor import eigh as eigh
from paddle.tensor import eigvals as eigvals
from paddle.tensor import eigvalsh as eigvalsh
from paddle.tensor import householder_product as householder_product
from paddle.tensor import lstsq as lstsq
from paddle.tensor import lu as lu
from paddle.tensor import lu_unpack as lu_unpack
from paddle.tensor import matmul as matmul
from paddle.tensor import matrix_power as matrix_power
from paddle.tensor import matrix_transpose as matrix_transpose
from paddle.tensor import multi_dot as multi_dot
from paddle.tensor import norm as norm
from paddle.tensor import ormqr as ormqr
from paddle.tensor import pca_lowrank as pca_lowrank
from paddle.tensor import pinv as pinv
from paddle.tensor import qr as qr
from paddle.tensor import slogdet as slogdet
from paddle.tensor import solve as solve
from paddle.tensor import svd as svd
from paddle.tensor import svd_lowrank as svd_lowrank
from paddle.tensor import svdvals as svdvals
from paddle.tensor import vecdot as vecdot
from paddle.tensor.factorisations import lu_solve as lu_solve
from paddle.tensor.fp8_products import fp8_fp8_half_gemm_fused as fp8_fp8_half_gemm_fused
from umiak.core.tensor import Tensor

@overload
def det(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def det(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def inv(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def inv(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def matrix_exp(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def matrix_exp(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def matrix_norm(
    x: Tensor, p: Any = ..., axis: Any = ..., keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def matrix_norm(
    x: Tensor, p: Any = ..., *, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def matrix_norm(
    x: Tensor, *, ord: Any, axis: Any = ..., keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def matrix_norm(
    *, input: Tensor, p: Any = ..., axis: Any = ..., keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def matrix_norm(
    x: Tensor, *, ord: Any, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def matrix_norm(
    *, input: Tensor, p: Any = ..., dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def matrix_norm(
    *, input: Tensor, ord: Any, axis: Any = ..., keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def matrix_norm(
    *, input: Tensor, ord: Any, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def matrix_rank(
    x: Tensor,
    tol: Any = ...,
    hermitian: builtins.bool = ...,
    atol: Any = ...,
    rtol: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def matrix_rank(
    *,
    input: Tensor,
    tol: Any = ...,
    hermitian: builtins.bool = ...,
    atol: Any = ...,
    rtol: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def matrix_rank(
    *,
    A: Tensor,
    tol: Any = ...,
    hermitian: builtins.bool = ...,
    atol: Any = ...,
    rtol: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def triangular_solve(
    x: Tensor,
    y: Tensor,
    upper: builtins.bool = ...,
    transpose: builtins.bool = ...,
    unitriangular: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def triangular_solve(
    x: Tensor,
    *,
    other: Tensor,
    upper: builtins.bool = ...,
    transpose: builtins.bool = ...,
    unitriangular: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def triangular_solve(
    *,
    input: Tensor,
    y: Tensor,
    upper: builtins.bool = ...,
    transpose: builtins.bool = ...,
    unitriangular: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def triangular_solve(
    *,
    input: Tensor,
    other: Tensor,
    upper: builtins.bool = ...,
    transpose: builtins.bool = ...,
    unitriangular: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def vector_norm(
    x: Tensor,
    p: Any = ...,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    *,
    dtype: Any = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def vector_norm(
    x: Tensor,
    p: Any = ...,
    *,
    dim: Any,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    dtype: Any = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def vector_norm(
    x: Tensor,
    *,
    ord: Any,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    dtype: Any = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def vector_norm(
    *,
    input: Tensor,
    p: Any = ...,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    dtype: Any = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def vector_norm(
    x: Tensor,
    *,
    ord: Any,
    dim: Any,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    dtype: Any = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def vector_norm(
    *,
    input: Tensor,
    p: Any = ...,
    dim: Any,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    dtype: Any = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def vector_norm(
    *,
    input: Tensor,
    ord: Any,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    dtype: Any = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def vector_norm(
    *,
    input: Tensor,
    ord: Any,
    dim: Any,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    dtype: Any = ...,
    out: Any = ...,
) -> Tensor: ...

__all__ = [
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "cond",
    "corrcoef",
    "cov",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "fp8_fp8_half_gemm_fused",
    "householder_product",
    "inv",
    "lstsq",
    "lu",
    "lu_solve",
    "lu_unpack",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "ormqr",
    "pca_lowrank",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svd_lowrank",
    "svdvals",
    "triangular_solve",
    "vecdot",
    "vector_norm",
]
