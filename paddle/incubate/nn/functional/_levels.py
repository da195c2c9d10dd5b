"""Results as levels of 8 bits: what the quantisation arguments of the fused names mean."""

from __future__ import annotations

import numpy as np

from paddle.tensor._args import real_number
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ops.promotion import cast
from umiak.ops.quantisation import rounded_away
from umiak.util.errors import op_error

_LARGEST_FLOAT8 = 448.0


def as_levels(op_name: str, y: Tensor, scale: float, round_type: int, max_bound: float, min_bound: float) -> Tensor:
    """Quantise ``y``: ``max_bound * scale * y``, rounded to integers where levels are int8, and clipped.

    A scale that is not positive leaves ``y`` as it is. The factor is rounded to float32 once: levels near a tie are
    those of a kernel that keeps both of its parts in float32.
    """
    scale = real_number(scale, op_name, "a quantisation scale")
    if scale <= 0:
        return y
    most, least = (real_number(b, op_name, "a bound of levels") for b in (max_bound, min_bound))
    dtype = _dtype(op_name, most, least)
    if round_type not in (0, 1):
        raise op_error(ValueError, op_name, "quant_round_type 0 (ties to even) or 1 (ties away from 0)", round_type)
    level = F.mul(cast(y, dt.float32), float(np.float32(most) * np.float32(scale)))
    if dtype is dt.int8:
        level = rounded_away(level) if round_type else F.round(level)
    return F.cast(F.minimum(F.maximum(level, least), most), dtype=dtype)


def _dtype(op_name: str, most: float, least: float) -> dt.DType:
    """The bounds name the dtype, as in the reference: the largest float8_e4m3fn, or what int8 has."""
    if most == _LARGEST_FLOAT8 and least <= most:
        return dt.float8_e4m3fn
    if not (-128.0 <= least <= most <= 127.0 and most > 0):
        required = (
            "quant_max_bound up to 127, quant_min_bound from -128 (levels of int8), or 448 and less (float8_e4m3fn)"
        )
        raise op_error(ValueError, op_name, required, (most, least))
    return dt.int8
