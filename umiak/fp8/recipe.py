"""Recipes: what a linear map that computes in 8 bits quantises, and by which scales."""

from __future__ import annotations

from dataclasses import dataclass

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import place_guard
from umiak.core.dtype import DType
from umiak.core.tensor import Tensor
from umiak.fp8.blocks import Block
from umiak.fp8.formats import E4M3, E5M2, factor_of
from umiak.fp8.quantise import Quantised, amax_of, quantise
from umiak.util.errors import op_error

BLOCK = 128  # numbers along the contracted dim that share a scale, and rows and columns of a block of a weight

# By kind of scaling: the blocks of the left operand of a matmul, [rows, contracted].
LEFT: dict[str, Block] = {"none": (None, None), "tensor": (None, None), "row": (1, None), "block": (1, BLOCK)}


@dataclass(frozen=True)
class Recipe:
    """A way to train linear maps with matmuls of 8-bit numbers, which are added in float32.

    Args:
        scaling: the numbers that share a scale. ``"block"``: 128 along the contracted dim of inputs and gradients, and
            128 × 128 of weights; ``"row"``: a row of the left, a column of the right operand of each matmul;
            ``"tensor"``: all; ``"none"``: numbers are cast as they are.
        history: 0 takes scales from the numbers themselves (current scaling); ``n`` takes them from the largest
            magnitude of the last n steps (delayed scaling), for ``"tensor"`` alone.
        margin: factors are divided by 2 to this power, so that numbers may grow without being cut off.
        power_of_two: factors are powers of two, which lose no bits.
        forward: format of inputs and weights, E4M3 or E5M2.
        backward: format of gradients, E4M3 or E5M2.

    Raises:
        ValueError: another kind of scaling, a history that is negative or of another kind than ``"tensor"``, a negative
            margin, or another format.

    References:
        Micikevicius et al., FP8 Formats for Deep Learning, 2022. DeepSeek-AI, DeepSeek-V3 Technical Report, 2024
        (blocks).

    Example:
        >>> from umiak.fp8 import Recipe
        >>> Recipe(scaling="tensor", history=16).is_delayed
        True
    """

    scaling: str = "block"
    history: int = 0
    margin: int = 0
    power_of_two: bool = True
    forward: DType = E4M3
    backward: DType = E5M2

    def __post_init__(self) -> None:
        if self.scaling not in LEFT:
            raise op_error(ValueError, "Recipe", f"a scaling of {sorted(LEFT)}", repr(self.scaling))
        if self.history < 0 or (self.history and self.scaling != "tensor"):
            got = f"{self.history} with {self.scaling!r}"
            raise op_error(ValueError, "Recipe", "a history of 0, or above with scaling 'tensor'", got)
        if self.margin < 0:
            raise op_error(ValueError, "Recipe", "a margin of 0 or above", self.margin)
        for name in ("forward", "backward"):
            if getattr(self, name) not in (E4M3, E5M2):
                raise op_error(ValueError, "Recipe", f"{name} of float8_e4m3fn or float8_e5m2", getattr(self, name))

    @property
    def is_delayed(self) -> bool:
        """Return whether scales come from the last steps."""
        return self.history > 0

    @property
    def is_symmetric(self) -> bool:
        """Return whether a matrix has the same scales whichever of its dims is contracted."""
        return self.scaling in ("none", "tensor")

    def left(self, x: Tensor, dtype: DType, factor: Tensor | None = None) -> Quantised:
        """Quantise the left operand of a matmul, ``[rows, contracted]``."""
        return self._quantised(x, dtype, LEFT[self.scaling], factor)

    def right(self, x: Tensor, dtype: DType, factor: Tensor | None = None) -> Quantised:
        """Quantise the right operand of a matmul, ``[contracted, columns]``."""
        rows, contracted = LEFT[self.scaling]
        return self._quantised(x, dtype, (contracted, rows), factor)

    def weight(self, w: Tensor, factor: Tensor | None = None) -> Quantised:
        """Quantise a weight ``[inputs, outputs]`` for a matmul that contracts its inputs."""
        if self.scaling == "block":
            return self._quantised(w, self.forward, (BLOCK, BLOCK), factor)
        return self.right(w, self.forward, factor)

    def transposed_weight(self, w: Tensor, factor: Tensor | None = None) -> Quantised:
        """Quantise a weight ``[inputs, outputs]`` for a matmul that contracts its outputs: ``[outputs, inputs]``."""
        if self.scaling == "row":
            return self.left(w, self.forward, factor).T
        return self.weight(w, factor).T

    def factor(self, amax: Tensor, dtype: DType) -> Tensor:
        """Return the factor of numbers up to ``amax`` (float32 of any shape)."""
        factor = factor_of(amax, dtype, self.power_of_two)
        return factor * 2.0**-self.margin if self.margin else factor

    def _quantised(self, x: Tensor, dtype: DType, block: Block, factor: Tensor | None) -> Quantised:
        if self.scaling == "none":
            with place_guard(x.place):
                factor = F.full(1.0, dt.float32, (1, 1))
        elif factor is None:
            factor = self.factor(amax_of(x, block), dtype)
        return quantise(x, dtype, block, power_of_two=self.power_of_two, factor=factor)
