"""The file of a compiled model's weights, where they are not inside of its library: read by runtime/predictor.c."""

from __future__ import annotations

import struct

import numpy as np

MAGIC = b"UMIAKWEIGHTS1\0\0\0"
HASH_LANES = 512  # words that are hashed side by side
_OFFSET, _PRIME = 14695981039346656037, 1099511628211


def file_of(weights: bytes) -> bytes:
    """Header and weights."""
    return MAGIC + struct.pack("<qQ", len(weights), hash_of(weights)) + weights


def hash_of(data: bytes) -> int:
    """64 bits of the contents: FNV-1a over words, in lanes, and then over these. It finds damage, not ill will."""
    row_bytes = 8 * HASH_LANES
    words = np.frombuffer(data.ljust(-(-len(data) // row_bytes) * row_bytes, b"\0"), "<u8").reshape(-1, HASH_LANES)
    lanes = np.full(HASH_LANES, _OFFSET, np.uint64)
    for row in words:
        lanes = (lanes ^ row) * np.uint64(_PRIME)
        lanes ^= lanes >> np.uint64(29)
    h, mask = _OFFSET, (1 << 64) - 1
    for lane in lanes.tolist():
        h = ((h ^ lane) * _PRIME) & mask
    return h
