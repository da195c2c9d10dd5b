"""Tensors of numbers of nodes and segments: their checks, and reductions by them."""

from __future__ import annotations

from typing import Any

from paddle._public import need_tensor
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def numbers(x: Any, op: str, arg_name: str) -> Tensor:
    """A 1-d integer tensor from one of shape ``[n]`` or ``[n, 1]``."""
    need_tensor(x, op, arg_name)
    if not x.dtype.is_integer:
        raise op_error(TypeError, op, f"integers as {arg_name}", x.dtype.name)
    if x.ndim == 1:
        return x
    if x.ndim != 2 or x.shape[1] != 1:
        raise op_error(ValueError, op, f"{arg_name} of shape [n] or [n, 1]", tuple(x.shape))
    return F.reshape(x, (x.shape[0],))


def reduced(op: str, x: Tensor, index: Tensor, source: Tensor | None, mode: str, count: Any) -> Tensor:
    """The rows of ``x``, or those at ``source``, reduced by their numbers in ``index``."""
    ordered = mode in ("max", "min")
    if x.dtype.is_bool or (ordered and x.dtype.is_complex):
        raise op_error(TypeError, op, "a tensor of real numbers" if ordered else "a tensor of numbers", x.dtype.name)
    try:
        return F.segment_reduce(x, index, source, mode, count)
    except IndexError:
        raise beyond(op, (index, count), (source, x.shape[0])) from None


def rows_at(op: str, x: Tensor, index: Tensor) -> Tensor:
    """Rows of ``x``; negative numbers are refused."""
    try:
        return F.take(x, F.where(F.lt(index, 0), x.shape[0], index), axis=0)
    except IndexError:
        raise beyond(op, (index, x.shape[0])) from None


def beyond(op: str, *given: tuple[Any, Any]) -> Exception:
    """The error for the first index that has a number outside of its range."""
    for index, count in given:
        if index is not None and index.size:
            least, most = (int(f(index, (0,)).item()) for f in (F.min, F.max))
            if least < 0 or most >= count:
                return op_error(IndexError, op, f"numbers from 0 to {count - 1}", least if least < 0 else most)
    return op_error(IndexError, op, "numbers within the tensors", "others")
