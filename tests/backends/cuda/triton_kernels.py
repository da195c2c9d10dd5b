"""Kernels in Triton, and functions that do what they do with the recording driver's memory. Import it where ``triton``
is Triton, or its stand-in (tests/support/triton_stand_in)."""

from __future__ import annotations

import ctypes

import numpy as np
import triton
import triton.language as tl
from recording_driver import RecordingDriver


@triton.jit
def blend_kernel(x, y, out, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, (tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask)) * scale, mask=mask)


def floats(driver: RecordingDriver, address: int, n: int) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_float * n).from_address(driver.host(address, 4 * n)))


def number(word: int) -> np.float32:
    return np.array([word & 0xFFFFFFFF], np.uint32).view(np.float32)[0]


def blend(driver: RecordingDriver, grid: tuple[int, int, int], arguments: tuple[int, ...]) -> None:
    """``blend_kernel`` for blocks of 128 elements."""
    x, y, out, n, scale, *scratch = arguments
    assert len(scratch) == 2 and grid == (triton.cdiv(n, 128), 1, 1)
    floats(driver, out, n)[:] = (floats(driver, x, n) + floats(driver, y, n)) * number(scale)


BODIES = {"blend_kernel": blend}
