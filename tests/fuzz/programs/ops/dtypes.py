"""Dtypes of results, from those of operands."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.programs.draw import COMPLEX, CONTINUOUS, FLOATS


def promoted(*dtypes: str) -> str:
    if any(d in COMPLEX for d in dtypes):
        return "complex128" if {"complex128", "float64"} & {*dtypes} else "complex64"
    floats = [d for d in dtypes if d in FLOATS]
    if floats:
        return max(floats, key=FLOATS.index)
    for d in ("int64", "int32"):
        if d in dtypes:
            return d
    return "bool"


def always(dtype: str) -> Callable[..., str]:
    return lambda *dtypes: dtype


def floats_of(*dtypes: str) -> str:
    """Of true division and the like: integers become the default float."""
    found = promoted(*dtypes)
    return found if found in CONTINUOUS else "float32"


def summed(*dtypes: str) -> str:
    found = promoted(*dtypes)
    return found if found in CONTINUOUS else "int64"
