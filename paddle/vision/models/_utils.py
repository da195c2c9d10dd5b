"""Numbers of channels of scaled models."""

from __future__ import annotations


def _make_divisible(v: float, divisor: int = 8, min_value: int | None = None) -> int:
    """``v`` rounded to a multiple of ``divisor``, ``min_value`` or more, and at most a tenth below ``v``."""
    rounded = max(min_value or divisor, int(v + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * v else rounded
