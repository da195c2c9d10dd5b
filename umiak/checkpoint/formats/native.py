"""Our own container: blocks of any dtype that begin on pages, and after them a JSON index.

The first page tells where the index lies and is written last, so that a file is either whole or no file of this format:
``UMIAKCP1``, the index's first byte and its length as eight bytes each (little endian), its BLAKE2 in 16 bytes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

from umiak.checkpoint import strict_json as sj
from umiak.checkpoint.data_model import Stored
from umiak.checkpoint.files import open_file, read_at
from umiak.checkpoint.manifest import decode_block, decode_tensor, encode_block, nbytes

MAGIC = b"UMIAKCP1"
PAGE = 4096
LONGEST_INDEX = 1 << 30


def index(stored: Sequence[Stored]) -> bytes:
    """The index of these blocks."""
    rows = [[s.block.key, s.block.dtype, list(s.block.global_shape), *encode_block(s)] for s in stored]
    return sj.dumps({"version": 1, "blocks": rows}).encode()


def first_page(begin: int, text: bytes) -> bytes:
    """The first page of a file with that index at byte ``begin``."""
    head = MAGIC + begin.to_bytes(8, "little") + len(text).to_bytes(8, "little")
    return (head + hashlib.blake2b(text, digest_size=16).digest()).ljust(PAGE, b"\0")


def read_blocks(folder: str, file: str) -> list[Stored]:
    """The blocks of a file.

    Raises:
        CheckpointError: a file that is not of this format, is unfinished, cut off or changed.
    """
    path = os.path.join(folder, file)
    with os.fdopen(open_file(path), "rb", buffering=0) as f:
        size = os.fstat(f.fileno()).st_size
        page = os.pread(f.fileno(), 40, 0)
        if page[:8] != MAGIC:
            raise sj.fail(path, "a finished file of our native format", f"one of {size} bytes that begins {page[:8]!r}")
        begin, length = int.from_bytes(page[8:16], "little"), int.from_bytes(page[16:24], "little")
        if begin < PAGE or length > LONGEST_INDEX or begin + length != size:
            raise sj.fail(path, f"an index at the end of its {size} bytes", f"one of {length} bytes at {begin}")
        text = read_at(f.fileno(), begin, length, path)
    if hashlib.blake2b(text, digest_size=16).digest() != page[24:40]:
        raise sj.fail(path, "an index as it was written", "one with another checksum")
    version, rows = sj.object_fields(sj.parse(text, path), ("version", "blocks"), "an index", path)
    if version != 1 or not isinstance(rows, list):
        raise sj.fail(path, "an index of version 1 with a list of blocks", f"version {version}")
    out = []
    for value in rows:
        row = sj.row(value, 9, "a block", path)
        key, dtype, global_shape = decode_tensor(row[0], row[1], row[2], path)
        s = decode_block(row[3:], key, dtype, global_shape, file, path)
        if not PAGE <= s.begin <= begin - nbytes(s.block):
            raise sj.fail(path, f"the bytes of {key!r} before the index at {begin}", f"bytes from {s.begin}")
        out.append(s)
    return out
