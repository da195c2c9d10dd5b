"""Dtypes in files, by name, without the engine: processes that only move bytes import this instead."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from umiak.util.dtypes import ROWS, TABLE
from umiak.util.errors import op_error

# What safetensors calls them. Elements of packed types have a byte each in our own files, as in NumPy, so that any part
# of a tensor begins at a byte; where safetensors has such a type (F4) it is packed, so its files hold none of ours.
CODES: dict[str, str] = {row.name: row.safetensors for row in TABLE if row.safetensors and not row.packed}
# What its files may hold besides: types that the engine has no tensors of can be copied and compared.
CODES |= {"uint32": "U32", "uint64": "U64"}
BY_CODE = {code: name for name, code in CODES.items()} | {"U16": "bfloat16"}  # Paddle's own files say U16
NAMES = frozenset(CODES) | {row.name for row in TABLE}


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """NumPy's dtype of that name.

    Raises:
        ValueError: no such dtype.
    """
    if name not in NAMES:
        raise op_error(ValueError, "checkpoint", f"a dtype of {sorted(NAMES)}", repr(name))
    row = ROWS.get(name)
    return np.dtype(name) if row is None else row.numpy
