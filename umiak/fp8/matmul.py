"""Matmul of quantised matrices: codes are exact in bfloat16, their products in float32, in which they are added."""

from __future__ import annotations

from typing import Any

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.fp8.blocks import block_sizes
from umiak.fp8.quantise import Quantised


def matmul(a: Quantised, b: Quantised) -> Tensor:
    """Multiply ``[M, K]`` by ``[K, N]``; blocks of K are those of both.

    The products of a block of K are added without scales, and its sum is multiplied with them, as tensor cores do it:
    a scale costs one rounding of a sum, none of products. Scales of blocks that are powers of two cost none at all:
    codes times them are exact in bfloat16 too, so that one matmul adds up all of K.

    Returns:
        float32 ``[M, N]``.
    """
    m, k = a.codes.shape
    n = b.codes.shape[1]
    if a.block[1] is not None and a.power_of_two and b.power_of_two:
        return F.widening_matmul(a.dequantise(dt.bfloat16), b.dequantise(dt.bfloat16))
    wide_a, wide_b = (F.cast(x.codes, dtype=dt.bfloat16) for x in (a, b))
    if a.block[1] is None:
        return _scaled(F.widening_matmul(wide_a, wide_b), _of_rows(a, 0, m), _of_rows(b.T, 0, n))
    size = block_sizes(a.codes.shape, a.block)[1]
    total = None
    for i, start in enumerate(range(0, k, size)):
        width = min(size, k - start)
        part = F.widening_matmul(
            F.slice(wide_a, (1,), (start,), (width,), (1,)), F.slice(wide_b, (0,), (start,), (width,), (1,))
        )
        part = _scaled(part, _of_rows(a, i, m), _of_rows(b.T, i, n))
        total = part if total is None else total + part
    return F.widening_matmul(wide_a, wide_b) if total is None else total  # K is 0


def _scaled(sums: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    return sums * rows * F.permute(columns, (1, 0))


def _of_rows(x: Quantised, column: int, rows: Any) -> Tensor:
    """The scales of a block column by rows: ``[rows, 1]``, or ``[1, 1]`` where all share one."""
    scale = F.slice(x.scale, (1,), (column,), (1,), (1,))
    size = x.block[0]
    if size is None or size == 1:
        return scale
    spread = F.broadcast_to(scale, (scale.shape[0], size))
    return F.slice(F.reshape(spread, (scale.shape[0] * size, 1)), (0,), (0,), (rows,), (1,))
