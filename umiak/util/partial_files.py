"""Files that are being written beside their place, ``.NAME.<random>.part``, and what writers that died left of them.

A writer holds a lock on its file. The system drops it with the writer, however that ends; a part that nobody has locked
is removed by the next writer of the same name.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import uuid

_SUFFIX = ".part"


def part_name(name: str) -> str:
    """A new name for what will be called ``name``."""
    return f".{name}.{uuid.uuid4().hex[:12]}{_SUFFIX}"


def create(folder: str, name: str, mode: int = 0o600) -> tuple[int, str]:
    """A new locked part of ``name``: its descriptor, for reading and writing, and its path."""
    while True:
        path = os.path.join(folder, part_name(name))
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        if lock(fd, path):
            return fd, path
        os.close(fd)


def create_folder(folder: str, name: str) -> tuple[int, str]:
    """The same for a folder of parts."""
    while True:
        path = os.path.join(folder, part_name(name))
        os.mkdir(path)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if lock(fd, path):
            return fd, path
        os.close(fd)


def lock(fd: int, path: str) -> bool:
    """Lock a part; False where it was taken for a dead writer's between its making and this."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError:  # a file system without locks: nothing is swept there either
        return True
    return _is_there(fd, path)


def sweep(folder: str, name: str) -> list[str]:
    """Remove the parts of ``name`` whose writers are dead; returns their names."""
    pattern = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{12}}{re.escape(_SUFFIX)}")
    removed = []
    with contextlib.suppress(OSError):
        for entry in os.listdir(folder or "."):
            if pattern.fullmatch(entry) and _remove_dead(os.path.join(folder, entry)):
                removed.append(entry)
    return removed


def _remove_dead(path: str) -> bool:
    with contextlib.suppress(OSError):  # locked by its writer, gone meanwhile, or not ours to remove
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_there(fd, path):
                if os.path.isdir(path):
                    shutil.rmtree(path)
                else:
                    os.unlink(path)
                return True
        finally:
            os.close(fd)
    return False


def _is_there(fd: int, path: str) -> bool:
    try:
        there, ours = os.stat(path, follow_symlinks=False), os.fstat(fd)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)
