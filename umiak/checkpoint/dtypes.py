"""Dtypes in files, by name, without the engine: processes that only move bytes import this instead."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from umiak.util.errors import op_error

# How safetensors calls our dtypes. It has no complex128.
CODES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
}
# What its files may hold besides. Paddle's own files say U16 for bfloat16; the rest can be copied and compared, but the
# engine has no tensors of it.
_FOREIGN = {"U16": "bfloat16", "U32": "uint32", "U64": "uint64", "F8_E8M0": "float8_e8m0fnu"}
BY_CODE = {code: name for name, code in CODES.items()} | _FOREIGN
CODES |= {name: code for code, name in _FOREIGN.items() if name not in CODES}
NAMES = frozenset(CODES) | {"complex128"}


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """NumPy's dtype of that name.

    Raises:
        ValueError: no such dtype.
    """
    if name not in NAMES:
        raise op_error(ValueError, "checkpoint", f"a dtype of {sorted(NAMES)}", repr(name))
    return np.dtype(getattr(ml_dtypes, name, None) or (np.bool_ if name == "bool" else name))
