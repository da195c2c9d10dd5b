"""Arrays beside memory that may not be touched: a read or write behind them ends the process."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np


def fenced(x: np.ndarray) -> np.ndarray:
    """A copy that ends at a page which may not be touched."""
    page = mmap.PAGESIZE
    size = -(-max(x.nbytes, 1) // page) * page
    area = mmap.mmap(-1, size + page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(start + size), ctypes.c_size_t(page), 0) == 0
    result = np.frombuffer(area, x.dtype, x.size, size - x.nbytes).reshape(x.shape)
    result[...] = x
    return result
