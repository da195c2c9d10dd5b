"""Opening and reading the files of checkpoints, which may be anything that a name can be given to."""

from __future__ import annotations

import os

from umiak.checkpoint import strict_json as sj
from umiak.util.regular_file import NotRegular, open_regular


def open_file(path: str) -> int:
    """A descriptor of a regular file.

    Raises:
        CheckpointError: something else has the name.
        FileNotFoundError: nothing has.
    """
    try:
        return open_regular(path)
    except NotRegular as error:
        raise sj.fail(path, "a regular file", error.kind) from None


def read_whole(path: str, longest: int, description: str) -> bytes:
    """The bytes of a file.

    Raises:
        CheckpointError: as for :func:`open_file`; more than ``longest`` bytes.
    """
    with os.fdopen(open_file(path), "rb", buffering=0) as f:
        return read_from(f.fileno(), path, longest, description)


def read_from(fd: int, path: str, longest: int, description: str) -> bytes:
    """The bytes of an open file."""
    size = os.fstat(fd).st_size
    if size > longest:
        raise sj.fail(path, f"{description} of at most {longest} bytes", f"{size} bytes")
    return read_at(fd, 0, size, path)


def read_at(fd: int, at: int, size: int, path: str) -> bytes:
    """``size`` bytes from ``at`` on."""
    parts = []
    while size:
        part = os.pread(fd, min(size, 1 << 30), at)
        if not part:
            raise sj.fail(path, f"{size} more bytes at {at}", "the end of the file")
        parts.append(part)
        at, size = at + len(part), size - len(part)
    return b"".join(parts)
