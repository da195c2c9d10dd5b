"""NumPy kernels of random bits."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import random as ops

# Constants of Philox4x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
M0, M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
W0, W1 = 0x9E3779B9, 0xBB67AE85
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


def philox4x32(counter: np.ndarray, key: tuple[int, int], rounds: int = 10) -> np.ndarray:
    """The four output words (last dim) of blocks whose four counter words are the last dim of ``counter``."""
    c0, c1, c2, c3 = (counter[..., i].astype(np.uint64) for i in range(4))
    k0, k1 = key
    for _ in range(rounds):
        p0, p1 = M0 * c0, M1 * c2
        c0, c1, c2, c3 = (p1 >> HALF) ^ c1 ^ np.uint64(k0), p1 & LOW, (p0 >> HALF) ^ c3 ^ np.uint64(k1), p0 & LOW
        k0, k1 = (k0 + W0) & 0xFFFFFFFF, (k1 + W1) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], -1)


def words(positions: np.ndarray, seed: int) -> np.ndarray:
    """The words at the given positions (uint64) of the stream ``seed``."""
    block = positions // np.uint64(4)
    zero = np.zeros_like(block)
    counter = np.stack([block & LOW, block >> HALF, zero, zero], -1)
    lanes = philox4x32(counter, (seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF))
    return np.take_along_axis(lanes, (positions % np.uint64(4)).astype(np.int64)[..., None], -1)[..., 0]


@kernel(ops.Philox)
def philox(op, out, shape, seed, offset):
    out[...] = words(np.arange(out.size, dtype=np.uint64).reshape(out.shape) + np.uint64(offset), seed)


@kernel(ops.PhiloxPart)
def philox_part(op, out, shape, starts, global_shape, seed, offset):
    index = np.zeros((), np.int64)
    for a, n, m in zip(starts, shape, global_shape, strict=True):
        index = index[..., None] * m + np.arange(a, a + n)
    out[...] = words(index.astype(np.uint64) + np.uint64(offset), seed)
