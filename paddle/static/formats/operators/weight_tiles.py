"""Weights of 8 and 4 bits in files of the reference: the order in which its kernels of GPUs read them.

It depends on ``arch``, and was found by asking PaddlePaddle 3.3.1 (docs/design/low_bit.md). Numbers are of
[inputs, outputs]; 32 bits of them make a run. Archs from 75 on have one order, of tiles of 64 inputs; arch 70 has runs
alone.
"""

from __future__ import annotations

from typing import Any

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir.serialise import FormatError

_TILED_INPUTS = 64  # inputs
_RUNS_ALONE = 70


def _blocks(bits: int, inputs: Any, outputs: Any) -> tuple[Any, ...]:
    """The sizes of [inputs, outputs], in which blocks of inputs are halves of runs, quarters and pairs."""
    return inputs * bits // 128, 16 // bits, 4, 2, outputs


def _tiles(bits: int, inputs: Any, outputs: Any) -> tuple[Any, ...]:
    side = 16 // bits
    return inputs // _TILED_INPUTS, _TILED_INPUTS, outputs // side, side


def _runs(bits: int, inputs: Any, outputs: Any) -> tuple[Any, ...]:
    return inputs * outputs * bits // 32, 16 // bits, 2


def _ordered(q: Tensor, bits: int, arch: int) -> Tensor:
    """Numbers of [inputs, outputs], one after the other as they are stored."""
    inputs, outputs = q.shape
    if arch != _RUNS_ALONE:
        q = F.permute(F.reshape(q, _blocks(bits, inputs, outputs)), (0, 2, 1, 3, 4))
        q = F.permute(F.reshape(q, _tiles(bits, inputs, outputs)), (2, 0, 3, 1))
    return F.reshape(F.permute(F.reshape(q, _runs(bits, inputs, outputs)), (0, 2, 1)), (inputs * outputs,))


def _in_rows(stored: Tensor, bits: int, arch: int, inputs: Any, outputs: Any) -> Tensor:
    """The reverse of :func:`_ordered`."""
    blocks, halves, pairs = _runs(bits, inputs, outputs)
    q = F.permute(F.reshape(stored, (blocks, pairs, halves)), (0, 2, 1))
    if arch != _RUNS_ALONE:
        rows, tile, columns, side = _tiles(bits, inputs, outputs)
        q = F.permute(F.reshape(q, (columns, rows, side, tile)), (1, 3, 0, 2))
        blocks, halves, quarters, pairs, _ = _blocks(bits, inputs, outputs)
        q = F.permute(F.reshape(q, (blocks, quarters, halves, pairs, outputs)), (0, 2, 1, 3, 4))
    return F.reshape(q, (inputs, outputs))


def to_tiles(weight: Tensor, bits: int, arch: int) -> Tensor:
    """A weight of rows of outputs, as ``nn.quant`` stores it, in the order of the reference."""
    inputs = _inputs(weight, bits, arch)
    q = F.reshape(_numbers(weight, bits), (weight.shape[0] * 8 // bits, inputs))
    q = _ordered(F.permute(q, (1, 0)), bits, arch)
    if bits == 4:
        q = _halves_joined(F.reshape(q, (weight.shape[0] * inputs, 2)))
    return F.reshape(_signed(q), weight.shape)


def from_tiles(weight: Tensor, bits: int, arch: int) -> Tensor:
    """The reverse of :func:`to_tiles`."""
    inputs, rows = _inputs(weight, bits, arch), weight.shape[0]
    outputs = rows * 8 // bits
    q = F.reshape(_numbers(F.reshape(weight, (rows * inputs,)), bits), (outputs * inputs,))
    q = F.permute(_in_rows(q, bits, arch, inputs, outputs), (1, 0))
    if bits == 4:
        q = _halves_joined(F.permute(F.reshape(q, (rows, 2, inputs)), (0, 2, 1)))
    return F.reshape(_signed(q), weight.shape)


def _inputs(weight: Tensor, bits: int, arch: int) -> int:
    if bits not in (4, 8) or len(weight.shape) != 2 or weight.dtype is not dt.int8:
        got = f"{weight.dtype.name} of {list(weight.shape)}"
        raise FormatError(f"a weight of 4 or 8 bits, int8 of [rows, inputs], is required, got {bits} bits, {got}")
    inputs = weight.shape[1]
    if arch != _RUNS_ALONE and inputs % _TILED_INPUTS:
        raise FormatError(
            f"a weight for arch={arch} requires inputs divisible by {_TILED_INPUTS}, which are a tile, got {inputs}"
        )
    return inputs


def _numbers(weight: Tensor, bits: int) -> Tensor:
    """The numbers in bytes, signed ones from 0 up or the reverse; two of a byte along a dim behind the first."""
    q = F.cast(weight, dtype=dt.int32) & 255
    return q ^ 128 if bits == 8 else F.stack((q & 15, q >> 4), axis=1) ^ 8


def _signed(q: Tensor) -> Tensor:
    """Bytes from 0 to 255 as int8."""
    return F.cast(F.where(q > 127, q - 256, q), dtype=dt.int8)


def _halves_joined(q: Tensor) -> Tensor:
    """Bytes of numbers from 0 to 15, the first in the low half: two along the last dim."""
    axis = q.ndim - 1
    low, high = (F.squeeze(F.slice(q, (axis,), (i,), (1,), (1,)), (axis,)) for i in (0, 1))
    return low + high * 16
