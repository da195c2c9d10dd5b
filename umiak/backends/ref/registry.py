"""The table of NumPy kernels: op class → how to run it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class RefKernel(NamedTuple):
    """One NumPy kernel and how its results leave it.

    ``returns``: ``fn(op, *operands, *params)`` hands back its results (arrays, or a tuple of them when the op has
    several outputs) and is not given ``out``; otherwise ``fn(op, out, *operands, *params)`` writes into ``out``.
    ``raw``: operands and results keep their storage type; otherwise low-precision floats are computed as float32.
    """

    fn: Callable[..., Any]
    returns: bool
    raw: bool


KERNELS: dict[type, RefKernel] = {}


def kernel(*classes: type, returns: bool = False, raw: bool = False) -> Callable[[Callable], Callable]:
    """Register the decorated function as the NumPy kernel of each op class given."""

    def enter(fn: Callable) -> Callable:
        for cls in classes:
            # A module that is imported again (its first import was interrupted) replaces its own entries.
            if cls in KERNELS and KERNELS[cls].fn.__module__ != fn.__module__:
                raise ValueError(f"op {cls.__name__} has two NumPy kernels: {KERNELS[cls].fn} and {fn}")
            KERNELS[cls] = RefKernel(fn, returns, raw)
        return fn

    return enter
