"""Calls of Python functions, on every place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from umiak.backends.base import Kernel
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def kernel(call: Any) -> Kernel:
    """Return the kernel of a class of calls."""
    op, place = call.op, call.place
    return Kernel(call=lambda operands, params: _run(op, place, operands, params[0]))


def _run(op: Any, place: Any, operands: Sequence[Tensor], sizes: Sequence[int]) -> tuple[Tensor, ...]:
    if op.function is None:
        raise op_error(
            RuntimeError, "python_call", "a Python function of this process", "a program that was read from a file",
            "Functions are not saved with programs: record the program again.",
        )  # fmt: skip
    with no_grad_guard():
        made = op.function(*operands)
        results = list(made) if isinstance(made, (tuple, list)) else [] if made is None else [made]
        if len(results) != len(op.ranks):
            name = getattr(op.function, "__name__", "py_func")
            raise op_error(ValueError, name, f"{len(op.ranks)} results, as many as were declared", len(results))
        out, at = [], 0
        for i, (x, dtype, rank) in enumerate(zip(results, op.dtypes, op.ranks, strict=True)):
            out.append(_converted(op, i, x, dt.convert(dtype), tuple(sizes[at : at + rank]), place))
            at += rank
        return tuple(out)


def _converted(op: Any, i: int, x: Any, dtype: Any, shape: tuple[int, ...], place: Any) -> Tensor:
    """A result as a tensor of the declared type. Elements are converted within their kind."""
    tensor = x if isinstance(x, Tensor) else from_numpy(np.asarray(x), place)
    exact = not tensor.dtype.is_continuous or dtype.is_continuous
    if tuple(tensor.shape) != shape or not exact or (tensor.dtype.is_complex and not dtype.is_complex):
        name = getattr(op.function, "__name__", "python_call")
        raise op_error(
            ValueError, name, f"result {i} of shape {list(shape)} and dtype {dtype.name}, as it was declared",
            f"shape {list(tensor.shape)} and dtype {tensor.dtype.name}",
        )  # fmt: skip
    # A copy, since functions may return what they got, or keep what they return.
    return (tensor.astype(dtype) if tensor.dtype is not dtype else tensor.clone()).to(place)
