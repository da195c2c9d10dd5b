"""The two formats of 8 bits that training uses, and the factors that bring numbers into their range."""

from __future__ import annotations

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.core.tensor import Tensor
from umiak.util.dtypes import ROWS

E4M3, E5M2 = dt.float8_e4m3fn, dt.float8_e5m2


def largest(dtype: DType) -> float:
    """Return the largest finite number of E4M3 (448) or E5M2 (57344)."""
    return ROWS[dtype.name].largest


def floor_power_of_two(x: Tensor) -> Tensor:
    """Return the largest power of two that is not above each (positive, normal) float32."""
    nearest = F.cast(F.cast(x, dtype=dt.float8_e8m0fnu), dtype=dt.float32)  # exact: the format has powers of two alone
    return F.where(F.gt(nearest, x), nearest * 0.5, nearest)


# The factor of blocks so small that theirs would be infinite: the largest bfloat16, and the largest power of two.
LARGEST_FACTOR, LARGEST_POWER = float.fromhex("0x1.FEp127"), 2.0**127


def factor_of(amax: Tensor, dtype: DType, power_of_two: bool = False, epsilon: float = 0.0) -> Tensor:
    """Return what numbers of magnitudes up to ``amax`` are multiplied with, so that the largest becomes ``largest``.

    Args:
        amax: float32 of any shape, not negative.
        dtype: the format that the products are cast to.
        power_of_two: the factor is the largest power of two that is not above: multiplying loses no bits then.
        epsilon: magnitudes below count as this one.

    Returns:
        float32 of amax's shape; 1 where amax is 0.
    """
    amax = F.maximum(amax, epsilon) if epsilon else amax
    empty = F.eq(amax, 0.0)
    factor = F.div(largest(dtype), F.where(empty, 1.0, amax))
    factor = F.minimum(factor, LARGEST_POWER if power_of_two else LARGEST_FACTOR)
    if power_of_two:
        factor = F.where(F.gt(factor, 0.0), floor_power_of_two(factor), factor)  # 0 is that of infinities
    return F.where(empty, 1.0, factor)
