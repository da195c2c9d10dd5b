"""Python scalars beside integers: which of them an integer dtype holds, and what a comparison with another one means.

A number never wraps. An operand or param of an integer dtype refuses a number that the dtype cannot hold. A comparison
takes any number, since it has an answer for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.util.dtypes import ROWS
from umiak.util.errors import op_error

COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
INT64 = (-(2**63), 2**63 - 1)
_BOUNDS = {d: ROWS[d.name].limits for d in dt.all_dtypes() if d.is_integer}
_NAMES = {bound: d.name for d, bound in _BOUNDS.items()}


class OutOfRange(OverflowError, ValueError):
    """A number that a dtype cannot hold."""


def bounds(d: DType) -> tuple[int, int] | None:
    """The smallest and largest number of an integer dtype; None for others."""
    return _BOUNDS.get(d)


def bounds_of(op: Any, operands: Sequence[Any]) -> tuple[int, int] | None:
    """Return the bounds for the scalar operands of a call. ``operands``: tensors, metas of them, scalars.

    Numbers join the first operand that is no condition; where no operand is a tensor, the dtype of the result.
    """
    dtype = None
    for x in operands:
        d = getattr(x, "dtype", None)
        if d is not None:
            dtype = d
            if not d.is_bool:
                break
    if dtype is not None:
        return _BOUNDS.get(dtype)
    # A counter's numbers are 64-bit ones: a step may be negative where the results are not.
    return INT64 if op.name == "iota" else _BOUNDS.get(getattr(op, "dtype", dt.float32))


def fits(x: Any, low: int, high: int) -> bool:
    """Return whether a number, its fraction dropped, lies within the bounds."""
    return low <= x <= high or (isinstance(x, float) and math.isfinite(x) and low <= math.trunc(x) <= high)


def overflow_error(op: str, x: Any, low: int, high: int) -> Exception:
    """The error for a number that does not fit."""
    kind = ValueError if x != x else OutOfRange
    if isinstance(x, float) and x.is_integer() and abs(x) < 1e30:
        x = int(x)
    held = f"numbers that {_NAMES[low, high]} can hold ({low} to {high})"
    return op_error(kind, op, held, _short(x), "Use a wider dtype.")


def _short(x: Any) -> str:
    return f"an int of {x.bit_length()} bits" if isinstance(x, int) and abs(x) > 2**128 else str(x)


def out_of_range(op: Any, operands: tuple, params: tuple, low: int, high: int) -> Any:
    """Dispatch's slot for a call with a number that does not fit: the result of a comparison, else an error."""
    if op.name in COMPARISONS:
        return F.REGISTRY[op.name]()(*compare_out_of_range(*operands))
    scalars = [x for x in operands if type(x) in (int, float)]
    raise overflow_error(op.name, next((x for x in scalars if not fits(x, low, high)), scalars[0]), low, high)


def compare_out_of_range(x: Any, y: Any) -> tuple[Any, Any]:
    """A comparison with a number on one side of all integers, as one with an infinity."""
    if isinstance(x, (int, float)):
        return _infinity(x), F.cast(y, dtype=dt.float32)
    return F.cast(x, dtype=dt.float32), _infinity(y)


def _infinity(x: Any) -> float:
    return math.inf if x > 0 else -math.inf


def check_traced(op: Any, operands: tuple, params: tuple) -> Any:
    """Check the scalars of a traced call as those of a call that runs; return a replacement for the call, or None."""
    if any(type(x) is int or type(x) is float for x in operands):
        dtype = bounds_of(op, operands)
        if dtype is not None and not all(fits(x, *dtype) for x in operands if type(x) in (int, float)):
            return out_of_range(op, operands, params, *dtype)
    return None


def refuse_large(op: Any, operands: Sequence[Any]) -> None:
    """Refuse a float beyond 64 bits (it may have come as an int) beside integers, rather than its kind."""
    dtype = bounds_of(op, operands)
    for x in operands:
        if dtype is not None and type(x) is float and math.isfinite(x) and abs(x) >= 2**63:
            raise overflow_error(op.name, x, *dtype) from None
