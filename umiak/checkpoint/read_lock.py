"""Holding a checkpoint while it is read: a shared lock of its manifest, which whoever removes checkpoints respects."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import Any

from umiak.checkpoint.files import open_file


class ReadLock:
    """A lock that lasts as long as this object, in this process alone."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __del__(self) -> None:
        os.close(self.fd)

    def __reduce__(self) -> Any:
        return type(None), ()


def lock_for_reading(path: str) -> ReadLock:
    """ReadLock the checkpoint of this manifest.

    Raises:
        FileNotFoundError: there is none, or it is being removed.
    """
    held = ReadLock(open_file(path))
    try:
        fcntl.flock(held.fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise FileNotFoundError(path) from None
    except OSError:  # a file system without locks
        return held
    _still_there(held.fd, path)
    return held


def lock_for_removal(path: str) -> ReadLock | None:
    """The manifest's lock for removing the checkpoint; None where somebody reads it.

    Raises:
        FileNotFoundError: there is no manifest.
    """
    held = ReadLock(open_file(path))
    with contextlib.suppress(OSError):
        try:
            fcntl.flock(held.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
    return held


def _still_there(fd: int, path: str) -> None:
    there, ours = os.stat(path), os.fstat(fd)
    if (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
        raise FileNotFoundError(path)
