"""Helpers of functions of matrices: their operands, and the adjoint."""

from __future__ import annotations

import builtins
from typing import Any

from paddle.tensor._args import (
    floating,
    made_on,
    need_tensor,
    op_error,
    same_dtype,
)
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor


def pair(op: str, x: Any, y: Any) -> tuple[Tensor, Tensor]:
    need_tensor(x, op)
    need_tensor(y, op, "y")
    return (x, y) if x.dtype is y.dtype else same_dtype(op, x, y)


def matrix(x: Any, op: str, square: bool = False) -> Tensor:
    x = floating(need_tensor(x, op))
    if x.ndim < 2:
        raise op_error(ValueError, op, "a tensor of rank 2 or more", x.shape)
    if square and x.shape[-1] != x.shape[-2]:
        raise op_error(ValueError, op, "square matrices", x.shape)
    return x


def identity(n: int, like: Tensor) -> Tensor:
    i = made_on(like.place, F.iota, 0, 1, dt.int64, n)
    return F.cast(F.eq(i, F.unsqueeze(i, (1,))), dtype=like.dtype)


def swap_last(x: Tensor) -> Tensor:
    return F.permute(x, (*builtins.range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def eps(x: Tensor) -> float:
    return 2.0**-52 if x.dtype.real is dt.float64 else 2.0**-23


def adjoint(x: Tensor) -> Tensor:
    """The conjugate transpose of matrices."""
    y = swap_last(x)
    return F.conj(y) if y.dtype.is_complex else y
