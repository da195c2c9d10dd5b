"""Checks and layouts that the operations on numbers of 8 bits share."""

from __future__ import annotations

from typing import Any

from paddle._public import need_tensor
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.fp8 import E4M3, E5M2, Quantised, quantise
from umiak.util.errors import OperandError, op_error

BLOCK = 128
ROWS, SQUARES = (1, BLOCK), (BLOCK, BLOCK)
PER_WORD = 4  # exponents in an int32
_FLOATS = (dt.bfloat16, dt.float16, dt.float32)


def floating(op: str, x: Any, name: str = "x", ndim: int | None = 2) -> Tensor:
    """Check a floating tensor, by default a matrix."""
    if need_tensor(x, op, name).dtype not in _FLOATS:
        raise op_error(OperandError, op, f"{name} of bfloat16, float16 or float32", x.dtype.name)
    return _of_rank(op, x, name, ndim)


def codes(op: str, x: Any, name: str, ndim: int | None = 2) -> Tensor:
    """Check a tensor of 8-bit floats, by default a matrix."""
    if need_tensor(x, op, name).dtype not in (E4M3, E5M2):
        raise op_error(OperandError, op, f"{name} of float8_e4m3fn or float8_e5m2", x.dtype.name)
    return _of_rank(op, x, name, ndim)


def _of_rank(op: str, x: Tensor, name: str, ndim: int | None) -> Tensor:
    if ndim is not None and x.ndim != ndim:
        raise op_error(ValueError, op, f"{name} of {ndim} dims", x.shape)
    return x


def scales(op: str, scale: Any, name: str, shape: list[Any], dtypes: tuple = (dt.float32,)) -> Tensor:
    """Check scales: their dtype and shape."""
    if need_tensor(scale, op, name).dtype not in dtypes:
        raise op_error(OperandError, op, f"{name} of {' or '.join(d.name for d in dtypes)}", scale.dtype.name)
    if list(scale.shape) != shape:
        raise op_error(ValueError, op, f"{name} of shape {shape}", scale.shape)
    return scale


def blocks_of(n: Any, size: int = BLOCK) -> Any:
    """Return into how many blocks n numbers go, the last of which may be shorter."""
    return -(-n // size)


def packed_exponents(scale: Tensor) -> Tensor:
    """Powers of two ``[rows, n]`` as int32 ``[rows, ⌈n / 4⌉]``: biased exponents of 8 bits, the first in the lowest."""
    rows, n = scale.shape
    exponents = F.cast(F.round(F.log2(scale)), dtype=dt.int32) + 127
    exponents = F.pad(exponents, 0, axes=(1,), lo=(0,), hi=(blocks_of(n, PER_WORD) * PER_WORD - n,))
    words = F.reshape(exponents, (rows, blocks_of(n, PER_WORD), PER_WORD))
    bytes_ = [F.squeeze(F.slice(words, (2,), (i,), (1,), (1,)), (2,)) for i in range(PER_WORD)]
    return bytes_[0] | bytes_[1] << 8 | bytes_[2] << 16 | bytes_[3] << 24


def unpacked_exponents(words: Tensor, n: Any) -> Tensor:
    """The powers of two, float32 ``[rows, n]``, of ``packed_exponents``; the exponent 0 is that of 0."""
    bytes_ = [F.unsqueeze(words >> 8 * i & 255, (2,)) for i in range(PER_WORD)]
    exponents = F.concat(tuple(bytes_), axis=2)
    exponents = F.reshape(exponents, (words.shape[0], words.shape[1] * PER_WORD))
    exponents = F.slice(exponents, (0, 1), (0, 0), (words.shape[0], n), (1, 1))
    powers = F.exp2(F.cast(exponents, dtype=dt.float32) - 127.0)
    return F.where(F.eq(exponents, 0), 0.0, powers)


def transposed_quantised(x: Tensor, power_of_two: bool) -> tuple[Tensor, Tensor]:
    """Quantise a matrix ``[M, K]`` in blocks of 128 rows of a column: codes ``[K, M]``, scales ``[⌈M / 128⌉, K]``."""
    q: Quantised = quantise(x, E4M3, (BLOCK, 1), power_of_two=power_of_two)
    return F.copy(q.T.codes), q.scale
