"""Combining two arrays: NumPy where it has the dtype, the engine's compiled kernels for what it has not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.backends.transfer import CPU
from umiak.core import inplace
from umiak.core.array import from_numpy
from umiak.core.context import no_grad_guard

Combine = Callable[[np.ndarray, np.ndarray, np.ndarray], Any]

_UFUNCS: dict[str, np.ufunc] = {
    "sum": np.add,
    "avg": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "prod": np.multiply,
}
_OPS = {"sum": "add", "avg": "add", "max": "maximum", "min": "minimum", "prod": "mul"}


def native(dtype: np.dtype) -> bool:
    """Return whether NumPy computes in ``dtype`` at the processor's speed."""
    return dtype.kind in "biufc" and dtype != np.float16


def _run(name: str, out: np.ndarray, *operands: Any) -> None:
    """Run an op over arrays, on the host: the default place may be a device."""
    tensors = [from_numpy(a, CPU, copy=False) if isinstance(a, np.ndarray) else a for a in operands]
    with no_grad_guard():
        inplace.apply_into(F.REGISTRY[name](), (from_numpy(out, CPU, copy=False),), tuple(tensors))


def combiner(op: str, dtype: np.dtype) -> Combine:
    """``combine(a, b, out)`` for one step of a reduction; ``out`` may be either operand."""
    if native(dtype):
        ufunc = _UFUNCS[op]

        def combine(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
            with np.errstate(all="ignore"):  # overflow and NaN are values like others
                ufunc(a, b, out=out)

        return combine
    name = _OPS[op]
    return lambda a, b, out: _run(name, out, a, b)


def finish(op: str, out: np.ndarray, size: int) -> None:
    """Finish the reduction of ``size`` arrays in place: a mean divides."""
    if op == "avg":
        if native(out.dtype):
            np.divide(out, size, out=out)
        else:
            _run("div", out, out, size)
