"""Results as levels of 8 bits: what the quantisation arguments of the fused names mean."""

from __future__ import annotations

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ops.promotion import cast
from umiak.ops.quantisation import rounded_away
from umiak.util.errors import op_error

# The largest level names the dtype, as in the reference.
_DTYPES = {127.0: dt.int8, 448.0: dt.float8_e4m3fn}


def as_levels(op_name: str, y: Tensor, scale: float, round_type: int, max_bound: float, min_bound: float) -> Tensor:
    """Quantise ``y``: ``max_bound * scale * y``, rounded to integers where levels are int8, and clipped.

    A scale that is not positive leaves ``y`` as it is. The factor is rounded to float32 once: levels near a tie are
    those of a kernel that keeps both of its parts in float32.
    """
    if scale <= 0:
        return y
    if float(max_bound) not in _DTYPES:
        required = "quant_max_bound of 127 (levels of int8) or 448 (float8_e4m3fn) beside a quant_scale"
        raise op_error(ValueError, op_name, required, max_bound)
    if round_type not in (0, 1):
        raise op_error(ValueError, op_name, "quant_round_type 0 (ties to even) or 1 (ties away from 0)", round_type)
    dtype = _DTYPES[float(max_bound)]
    level = F.mul(cast(y, dt.float32), float(np.float32(max_bound) * np.float32(scale)))
    if dtype is dt.int8:
        level = rounded_away(level) if round_type else F.round(level)
    return F.cast(F.minimum(F.maximum(level, float(min_bound)), float(max_bound)), dtype=dtype)
