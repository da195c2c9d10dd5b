"""Matrices as numbers of 8 bits with a scale for each block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.core.tensor import Tensor
from umiak.fp8.blocks import Block, in_blocks, out_of_blocks
from umiak.fp8.formats import factor_of, largest


@dataclass(frozen=True)
class Quantised:
    """A matrix: ``codes`` times the ``scale`` of their block.

    ``codes``: E4M3 or E5M2 ``[R, C]``. ``scale``: float32 ``[block rows, block columns]``. ``block``: rows and columns
    of a block. ``power_of_two``: it is known that scales are powers of two.
    """

    codes: Tensor
    scale: Tensor
    block: Block
    power_of_two: bool = False

    @property
    def T(self) -> Quantised:
        """The transpose."""
        codes, scale = (F.permute(x, (1, 0)) for x in (self.codes, self.scale))
        return Quantised(codes, scale, (self.block[1], self.block[0]), self.power_of_two)

    def dequantise(self, dtype: DType = dt.float32) -> Tensor:
        """Return the matrix that the codes stand for, rounded once to ``dtype``."""
        blocks = in_blocks(F.cast(self.codes, dtype=dt.float32), self.block)
        r, _, c, _ = blocks.shape
        values = blocks * F.reshape(self.scale, (r, 1, c, 1))
        return F.cast(out_of_blocks(values, self.codes.shape), dtype=dtype)


def amax_of(x: Tensor, block: Block) -> Tensor:
    """Return the largest magnitude of each block, float32 ``[block rows, block columns]``; NaN where it has one."""
    return F.max(F.abs(in_blocks(F.cast(x, dtype=dt.float32), block)), axes=(1, 3))


def quantise(
    x: Tensor,
    dtype: DType,
    block: Block,
    *,
    power_of_two: bool = False,
    epsilon: float = 0.0,
    factor: Any = None,
) -> Quantised:
    """Quantise a matrix: each number is multiplied with its block's factor, kept within the finite numbers of
    ``dtype``, and rounded to nearest, ties to even.

    Args:
        x: floating matrix ``[R, C]``.
        dtype: E4M3 or E5M2.
        block: rows and columns that share a factor; None for all.
        power_of_two: factors are powers of two; those that are given have to be.
        epsilon: magnitudes below count as this one.
        factor: float32 ``[block rows, block columns]``, where it does not follow from the blocks' largest magnitudes.

    Returns:
        The codes, with the inverse factors as scales.
    """
    blocks = in_blocks(F.cast(x, dtype=dt.float32), block)
    if factor is None:
        factor = factor_of(F.max(F.abs(blocks), axes=(1, 3)), dtype, power_of_two, epsilon)
    r, _, c, _ = blocks.shape
    limit = largest(dtype)
    within = F.clip(blocks * F.reshape(factor, (r, 1, c, 1)), -limit, limit)
    return Quantised(out_of_blocks(F.cast(within, dtype=dtype), x.shape), F.div(1.0, factor), block, power_of_two)
