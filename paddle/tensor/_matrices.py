"""Helpers of functions of matrices: their operands, and the adjoint."""

from __future__ import annotations

import builtins
from typing import Any

from paddle.tensor._args import (
    create_on,
    floating,
    need_tensor,
    op_error,
    same_dtype,
)
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.util.errors import ShapeError


def pair(op: str, x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Return two matrices of one dtype, or refuse them."""
    need_tensor(x, op)
    need_tensor(y, op, "y")
    if x.dtype is y.dtype:
        return x, y
    # Complex and real numbers meet as everywhere; no product casts floats to wider ones by itself.
    return same_dtype("mul" if x.dtype.is_complex is not y.dtype.is_complex else op, x, y)


def matrix(x: Any, op: str, square: bool = False) -> Tensor:
    x = floating(need_tensor(x, op))
    if x.ndim < 2:
        raise op_error(ShapeError, op, "a tensor of rank 2 or more", x.shape)
    if square and x.shape[-1] != x.shape[-2]:
        raise op_error(ShapeError, op, "square matrices", x.shape)
    return x


def identity(n: int, like: Tensor) -> Tensor:
    i = create_on(like.place, F.iota, 0, 1, dt.int64, n)
    return F.cast(F.eq(i, F.unsqueeze(i, (1,))), dtype=like.dtype)


def swap_last(x: Tensor) -> Tensor:
    return F.permute(x, (*builtins.range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def eps(x: Tensor) -> float:
    return 2.0**-52 if x.dtype.real is dt.float64 else 2.0**-23


def adjoint(x: Tensor) -> Tensor:
    """The conjugate transpose of matrices."""
    y = swap_last(x)
    return F.conj(y) if y.dtype.is_complex else y
