"""Parameters of kernels in machine code (cubin, an ELF file): as the section ``.nv.info.<kernel>`` has them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

# Of an entry: a format, an attribute, and a value, or the size of what follows.
FOLLOWED = 4
KPARAM_INFO, REQNTID = 0x17, 0x10


class Signature(NamedTuple):
    sizes: tuple[int, ...]  # bytes of each parameter
    threads: int  # of a block; 0: not said


def sections(image: bytes) -> Iterator[tuple[str, bytes]]:
    (at,) = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, at + i * size) for i in range(count)]
    texts = headers[names][4]
    for header in headers:
        first = texts + header[0]
        yield image[first : image.index(b"\0", first)].decode(), image[header[4] : header[4] + header[5]]


def signature(image: bytes, name: str) -> Signature:
    """The parameters of a kernel."""
    info = next(data for section, data in sections(image) if section == f".nv.info.{name}")
    sizes, threads, i = {}, 0, 0
    while i < len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, i)
        i += 4
        if form != FOLLOWED:
            continue
        body, i = info[i : i + size], i + size
        if attribute == KPARAM_INFO:
            _, ordinal, _, packed = struct.unpack("<IHHI", body)
            sizes[ordinal] = packed >> 18
        elif attribute == REQNTID:
            (threads,) = struct.unpack_from("<I", body)
    assert sorted(sizes) == list(range(len(sizes)))
    return Signature(tuple(sizes[i] for i in range(len(sizes))), threads)
