"""Matmul of quantised matrices."""

from __future__ import annotations

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.core.tensor import Tensor
from umiak.fp8.quantise import Quantised


def matmul(a: Quantised, b: Quantised, dtype: DType = dt.float32, bias: Tensor | None = None) -> Tensor:
    """Multiply ``[M, K]`` by ``[K, N]`` and add a bias ``[N]``; blocks of K are those of both.

    The products of a block of K are added without scales, and its sum is multiplied with them, as tensor cores do it
    (:class:`umiak.ops.quantised.ScaledMatmul`).

    Returns:
        ``[M, N]`` of ``dtype``, rounded once from float32.
    """
    rows, depth, columns = (n or 0 for n in (*a.block, b.block[1]))
    known = a.power_of_two and b.power_of_two
    parts = a.scale.shape[1] if depth and not known else 1
    return F.scaled_matmul(
        a.codes, b.codes, a.scale, b.scale, bias, rows=rows, depth=depth, columns=columns, power_of_two=known,
        parts=parts, dtype=dtype,
    )  # fmt: skip
