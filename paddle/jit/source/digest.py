"""Numbers that tell whether memory has changed: of arrays and buffers, which are neither copied nor kept."""

from __future__ import annotations

import io
import zlib
from typing import Any

import numpy as np

_PIECE = 1 << 22  # bytes that are looked at in one piece, where elements lie apart
_COLUMNS = 1 << 9  # of eight bytes


def of_array(x: np.ndarray) -> tuple[Any, ...] | None:
    """Shape, dtype and a number for the elements of an array; None where nobody can write to it."""
    if _is_constant(x):
        return None
    shape, dtype = x.shape, x.dtype.str
    if not x.nbytes:
        return shape, dtype, 0
    if x.flags.f_contiguous:
        x = x.T
    if x.flags.c_contiguous:
        return shape, dtype, _of_bytes(np.ascontiguousarray(x).reshape(-1).view(np.uint8))
    rows, number = max(1, _PIECE * len(x) // x.nbytes), 0
    for i in range(0, len(x), rows):
        number = zlib.crc32(np.ascontiguousarray(x[i : i + rows]).reshape(-1).view(np.uint8).data, number)
    return shape, dtype, number


def of_buffer(x: Any) -> Any:
    """The same of what holds bytes or text; None where it was closed."""
    if isinstance(x, (io.StringIO, io.BytesIO)):
        if x.closed:
            return None
        return x.tell(), x.getvalue() if isinstance(x, io.StringIO) else of_buffer(x.getbuffer())
    try:
        view = memoryview(x)
    except ValueError:
        return None
    if not view.nbytes:
        return view.shape, 0
    return view.shape, _of_bytes(np.frombuffer(view.cast("B") if view.c_contiguous else view.tobytes(), np.uint8))


def _is_constant(x: Any) -> bool:
    while isinstance(x, np.ndarray):
        if x.flags.writeable:
            return False
        x = x.base
    try:
        return x is None or memoryview(x).readonly
    except (TypeError, ValueError):  # memory of another library
        return False


def _of_bytes(x: np.ndarray) -> int:
    """A number for bytes: of many the sums of columns are told, which takes a ninth of the time."""
    if len(x) <= _PIECE:
        return zlib.crc32(x.data)
    of_rows = len(x) // (8 * _COLUMNS) * 8 * _COLUMNS
    if x.ctypes.data % 8:
        return zlib.crc32(x.data)
    sums = x[:of_rows].view(np.uint64).reshape(-1, _COLUMNS).sum(axis=0, dtype=np.uint64)
    return zlib.crc32(x[of_rows:].data, zlib.crc32(sums.view(np.uint8).data))
