"""The largest singular value of a weight by power iteration (Miyato et al., 2018: Spectral Normalization)."""

from __future__ import annotations

from typing import Any

from umiak import ops as F
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor


def matrix_of(weight: Tensor, dim: int) -> Tensor:
    """A weight as ``[rows, columns]``: dim ``dim`` by all others."""
    order = (dim, *(i for i in range(weight.ndim) if i != dim))
    rows: Any = weight.shape[dim]
    columns: Any = 1
    for i in order[1:]:
        columns = columns * weight.shape[i]
    return F.reshape(F.permute(weight, perm=order), shape=(rows, columns))


def unit(v: Tensor, eps: float) -> Tensor:
    return F.div(v, F.add(F.vector_norm(v, axes=(0,)), eps))


def power_iteration(matrix: Tensor, u: Tensor, v: Tensor, steps: int, eps: float) -> tuple[Tensor, Tensor]:
    """Left and right singular vectors after ``steps`` more steps, without gradient."""
    with no_grad_guard():
        for _ in range(steps):
            v = unit(F.matmul(u, matrix), eps)
            u = unit(F.matmul(matrix, v), eps)
    return u, v


def scaled(weight: Tensor, matrix: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """The weight over ``u @ matrix @ v``; u and v count as constants."""
    return F.div(weight, F.matmul(u, F.matmul(matrix, v)))
