"""Pictures as PNG (ISO/IEC 15948), of 8 bits for each of red, green and blue. Equal calls give equal bytes."""

from __future__ import annotations

import struct
import zlib

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_DEPTH, _RGB = 8, 2


def encode(pixels: np.ndarray, description: str = "") -> bytes:
    """Return a file's bytes.

    Args:
        pixels: uint8 ``[height, width, 3]``, at least one pixel.
        description: a text that viewers show beside the picture, of Latin-1.
    """
    height, width, _ = pixels.shape
    lines = np.zeros((height, 1 + 3 * width), np.uint8)  # each begins with the number of its filter: none
    lines[:, 1:] = pixels.reshape(height, -1)
    parts = [_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, _DEPTH, _RGB, 0, 0, 0))]
    if description:
        parts.append(_chunk(b"tEXt", b"Description\0" + description.encode("latin-1")))
    parts += [_chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)), _chunk(b"IEND", b"")]
    return SIGNATURE + b"".join(parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
