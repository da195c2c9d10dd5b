"""States as they were saved, made into what an optimizer goes on from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core.array import from_numpy
from umiak.core.dtype import DType
from umiak.core.tensor import Tensor


def as_state(saved: Any, p: Tensor, dtype: DType | None = None) -> Any:
    """A loaded state as a tensor of its own, where the parameter is; without a dtype in the compute type."""
    value = saved.detach() if isinstance(saved, Tensor) else from_numpy(np.asarray(saved), p.place)
    dtype = dtype or p.dtype.compute
    value = F.copy(value) if value.dtype is dtype else F.cast(value, dtype=dtype)
    return value if value.place is p.place else value.to(p.place)


def power_of(saved: Any, base: float, offset: int) -> int | None:
    """The n of a saved ``base ** (n + offset)``; None where it has underflowed."""
    value = float(np.asarray(saved.numpy() if isinstance(saved, Tensor) else saved).ravel()[0])
    if not 0.0 < base < 1.0 or not 1e-30 < value <= 1.0:
        return None
    return round(math.log(value) / math.log(base)) - offset
