"""Packed data types as arrays: NumPy's twins have an element per byte, memory of tensors has several.

The first element stands in the low bits of the first byte; bits behind the last element are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

PER_BYTE = 2  # all packed types have 4 bits


def pack(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes (uint8, one dim) of the elements of an array, row after row."""
    codes = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & 15
    if codes.size % PER_BYTE:
        codes = np.append(codes, np.uint8(0))
    return codes[::2] | codes[1::2] << 4


def unpack(raw: np.ndarray[Any, Any], count: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The first ``count`` elements of packed bytes, in one dim."""
    codes = np.empty(raw.size * PER_BYTE, np.uint8)
    codes[::2], codes[1::2] = raw & 15, raw >> 4
    return codes[:count].view(dtype)
