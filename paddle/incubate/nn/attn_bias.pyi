"""Made by ``tools/public_stubs.py``."""

from paddle.incubate.nn.attention_masks import AttentionBias as AttentionBias
from paddle.incubate.nn.attention_masks import BlockDiagonalCausalMask as BlockDiagonalCausalMask
from paddle.incubate.nn.attention_masks import (
    BlockDiagonalCausalWithOffsetPaddedKeysMask as BlockDiagonalCausalWithOffsetPaddedKeysMask,
)
from paddle.incubate.nn.attention_masks import BlockDiagonalMask as BlockDiagonalMask
from paddle.incubate.nn.attention_masks import LowerTriangularMask as LowerTriangularMask
from paddle.incubate.nn.attention_masks import LowerTriangularMaskWithTensorBias as LowerTriangularMaskWithTensorBias
from paddle.incubate.nn.attention_masks import PaddedSeqLenInfo as PaddedSeqLenInfo
from paddle.incubate.nn.attention_masks import SeqLenInfo as SeqLenInfo

__all__ = [
    "AttentionBias",
    "BlockDiagonalCausalMask",
    "BlockDiagonalCausalWithOffsetPaddedKeysMask",
    "BlockDiagonalMask",
    "LowerTriangularMask",
    "LowerTriangularMaskWithTensorBias",
    "PaddedSeqLenInfo",
    "SeqLenInfo",
]
