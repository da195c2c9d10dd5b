"""The checksum behind a pickle.

Readers of pickles stop at the end of the first one, so that what comes after it disturbs none. It is written as an
object of bytes that is dropped again: several pickles in one file can still be read one after the other. The pickle
says in the same way, behind its protocol, that a checksum follows; a file that was cut off between the two is not
whole.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from paddle.framework.pickled import Corrupt
from umiak.checkpoint.checksum import VERIFY, Checksum
from umiak.util.regular_file import open_regular

MAGIC = b"UMIAKSUM"
_PROMISE = b"C\x08" + MAGIC + b"0"
_FORM = re.compile(rb"C[\x00-\xff]" + MAGIC + rb"([\x00-\xff]{8})((?:xxh3|blake2):[0-9a-f]{32})0", re.DOTALL)
_LONGEST = 64
_CHUNK = 1 << 20  # bytes that are still in the cache when they are hashed
_PROTOCOL = 0x80  # the first byte of pickles from protocol 2 on


@dataclass(frozen=True)
class Trailer:
    """The checksum of the ``covers`` bytes before ``begin``; the trailer ends at ``end``."""

    begin: int
    end: int
    covers: int
    checksum: str


def encode(covers: int, checksum: str) -> bytes:
    body = MAGIC + covers.to_bytes(8, "little") + checksum.encode()
    return b"C" + bytes([len(body)]) + body + b"0"


def decode(data: memoryview, begin: int) -> Trailer | None:
    """The trailer that begins there; None where there is none."""
    text = bytes(data[begin : begin + _LONGEST])
    match = _FORM.match(text)
    if match is None or text[1] != match.end() - 3:
        return None
    return Trailer(begin, begin + match.end(), int.from_bytes(match[1], "little"), match[2].decode())


def at_the_end(data: memoryview) -> Trailer | None:
    """The trailer with which the data end."""
    begin = max(len(data) - _LONGEST, 0)
    begin_of_magic = bytes(data[begin:]).rfind(MAGIC)
    trailer = decode(data, begin + begin_of_magic - 2) if begin_of_magic >= 2 else None
    return trailer if trailer is not None and trailer.end == len(data) else None


def compare(trailer: Trailer, actual: str) -> None:
    if actual != trailer.checksum:
        raise Corrupt(f"its checksum is {actual}, it was saved with {trailer.checksum}")


def check(data: memoryview, trailer: Trailer) -> None:
    """Refuse data that have changed since they were saved."""
    if VERIFY.value:
        sum_ = Checksum(trailer.checksum)
        for i in range(0, len(data), _CHUNK):
            sum_.update(data[i : i + _CHUNK])
        compare(trailer, sum_.text())


def promised(data: memoryview) -> bool:
    """Return whether the pickle says that a checksum follows."""
    return bytes(data[2 : 2 + len(_PROMISE)]) == _PROMISE


def end_of(data: memoryview, at: int) -> int:
    """Return the end of the pickle that ends at ``at``, with its trailer.

    Raises:
        Corrupt: a damaged checksum, one that does not agree, or what can neither be that nor the next pickle.
    """
    trailer = decode(data, at)
    if trailer is not None and trailer.covers == at:
        check(data[:at], trailer)
        return trailer.end
    if trailer is None and promised(data):
        raise Corrupt("the checksum that should follow is not there, or damaged")
    if trailer is None and (at == len(data) or data[at] == _PROTOCOL):
        return at
    raise Corrupt(f"{len(data) - at} bytes after its end that are no checksum of it")


def read(name: str) -> tuple[memoryview, bool]:
    """The bytes of a file, and whether they are one pickle whose checksum was compared while they were read."""
    fd = open_regular(name)
    try:
        size = os.fstat(fd).st_size
        tail = memoryview(os.pread(fd, _LONGEST, max(size - _LONGEST, 0)))
        trailer = at_the_end(tail)
        covers = size - (trailer.end - trailer.begin) if trailer is not None else -1
        data = np.empty(size, np.uint8).data.cast("B")
        alone = trailer is not None and trailer.covers == covers
        sum_ = Checksum(trailer.checksum) if alone and VERIFY.value and trailer is not None else None
        at = 0
        while at < size:
            n = os.preadv(fd, [data[at : at + _CHUNK]], at)
            if n == 0:
                raise Corrupt(f"it has become shorter, {at} bytes instead of {size}")
            if sum_ is not None:
                sum_.update(data[at : min(at + n, covers)])
            at += n
    finally:
        os.close(fd)
    if sum_ is not None and trailer is not None:
        compare(trailer, sum_.text())
    return data, alone


class Summing:
    """A file for writing, with the checksum of what was written into it."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.sum = Checksum()
        self.count = 0

    def write(self, data: Any) -> int:
        if self.count == 0 and len(data) >= 2:  # the protocol, and more
            self._write(bytes(data[:2]) + _PROMISE)
            self._write(data[2:])
        else:
            self._write(data)
        return len(data)

    def _write(self, data: Any) -> None:
        self.sum.update(data)
        self.count += len(data)
        self.file.write(data)

    def finish(self) -> None:
        """Write the checksum."""
        self.file.write(encode(self.count, self.sum.text()))
