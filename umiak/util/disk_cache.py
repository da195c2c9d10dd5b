"""A cache of byte strings on disk, shared by processes of one user.

The folder is private: it belongs to the user and nobody else can enter it, nor exchange a folder above it, since its
entries are code that will be run. A file in it that is another's, or that others could write, is no entry.
An entry is a header (magic, length, SHA-256 of the key's digest and the payload) and the payload, so an entry under
another's name does not check either. Writers rename a finished file into place, so readers never see half an entry; an
entry that does not check is deleted and counts as absent. When the folder outgrows its limit, the least recently used
entries go.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import time
from pathlib import Path

from umiak.util.regular_file import NotRegular, open_regular

MAGIC = b"UMIAK\x02\x00\x00"
_HEADER = len(MAGIC) + 8 + 32
_SUFFIX = ".entry"
_PARTIAL = ".partial"  # being written; one that is this old was left by a process that died
_PARTIAL_SECONDS = 3600
_USE_SECONDS = 600  # how exactly the last use is known: noting it costs a write to the disk


class DiskCache:
    """``get(key)`` and ``put(key, payload)``; ``key`` is text or bytes of any length and is hashed."""

    def __init__(self, folder: str | os.PathLike[str], limit: int = 1 << 30) -> None:
        self.folder = Path(folder)
        self.limit = limit
        self._written = 0
        make_private(self.folder)

    def _path(self, digest: bytes) -> str:
        return os.path.join(self.folder, digest.hex()[:40] + _SUFFIX)

    def get(self, key: str | bytes) -> bytes | None:
        digest = _digest(key)
        path = self._path(digest)
        try:
            data, used = self._read(path)
        except FileNotFoundError:
            return None
        payload = None if data is None else _checked(data, digest)
        with contextlib.suppress(OSError):  # another process may evict at any time; the disk may be read-only
            if payload is None and not os.path.isdir(path):
                os.unlink(path)
            elif time.time() - used > _USE_SECONDS:
                os.utime(path)
        return payload

    def _read(self, path: str) -> tuple[bytes | None, float]:
        """The bytes of a file of the user's alone and the time of its last use; None for what can be no entry."""
        try:
            fd = open_regular(path, os.O_NOFOLLOW)
        except NotRegular:
            return None, time.time()
        with os.fdopen(fd, "rb", buffering=0) as file:
            status = os.fstat(fd)
            if status.st_uid != os.getuid() or status.st_mode & 0o022 or status.st_size > max(self.limit, 1 << 20):
                return None, time.time()
            return file.read(status.st_size), status.st_mtime

    def put(self, key: str | bytes, payload: bytes) -> None:
        digest = _digest(key)
        header = MAGIC + len(payload).to_bytes(8, "little") + hashlib.sha256(digest + payload).digest()
        try:
            handle, name = tempfile.mkstemp(_PARTIAL, dir=self.folder)
        except FileNotFoundError:  # somebody cleaned up the whole folder
            make_private(self.folder)
            handle, name = tempfile.mkstemp(_PARTIAL, dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(header)
                file.write(payload)
            os.replace(name, self._path(digest))
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
            raise
        self._written += _HEADER + len(payload)
        if self._written > self.limit // 16:  # scanning the folder is for now and then
            self._written = 0
            self.trim()

    def trim(self) -> None:
        """Delete the least recently used entries until the rest is within the limit."""
        for path in self.folder.glob("*" + _PARTIAL):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > _PARTIAL_SECONDS:
                    path.unlink()
        entries = []
        for path in self.folder.glob("*" + _SUFFIX):
            with contextlib.suppress(FileNotFoundError):
                status = path.stat()
                entries.append((status.st_mtime_ns, status.st_size, path))
        excess = sum(size for _, size, _ in entries) - self.limit
        for _, size, path in sorted(entries):
            if excess <= 0:
                break
            path.unlink(missing_ok=True)
            excess -= size

    def clear(self) -> None:
        for path in self.folder.glob("*" + _SUFFIX):
            path.unlink(missing_ok=True)


def _digest(key: str | bytes) -> bytes:
    return hashlib.sha256(key.encode() if isinstance(key, str) else key).digest()


def _checked(data: bytes, key_digest: bytes) -> bytes | None:
    """The payload of an intact entry of that key, else None."""
    payload = data[_HEADER:]
    length, digest = data[len(MAGIC) : len(MAGIC) + 8], data[len(MAGIC) + 8 : _HEADER]
    intact = (
        len(data) >= _HEADER
        and data.startswith(MAGIC)
        and int.from_bytes(length, "little") == len(payload)
        and hashlib.sha256(key_digest + payload).digest() == digest
    )
    return payload if intact else None


def make_private(folder: Path) -> None:
    """Create ``folder`` for the user alone, or check that it is so."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise PermissionError(
            f"requires a cache folder that belongs to the user and that nobody else can enter, got {folder} "
            f"(owner {status.st_uid}, mode {stat.filemode(status.st_mode)}). Take others' rights from it (chmod 700), "
            "or choose another."
        )
    for above in folder.resolve().parents:
        status = above.stat()
        others = 0o002 if status.st_gid in (0, os.getgid()) else 0o022  # a user's own group has no other members
        if status.st_mode & others and not status.st_mode & stat.S_ISVTX:
            raise PermissionError(
                f"requires a cache folder that nobody else can exchange, got {folder} in {above}, where others can "
                f"write (mode {stat.filemode(status.st_mode)}). Choose another."
            )


def default_folder(name: str) -> Path:
    """The user's folder for one cache: below ``$UMIAK_CACHE_DIR``, ``$XDG_CACHE_HOME/umiak`` or ``~/.cache/umiak``.

    A user without a home, or with one in which nothing can be made, has it among the temporary files, right there:
    whoever owned a folder in between could exchange it.
    """
    root = os.environ.get("UMIAK_CACHE_DIR")
    if root is not None:
        return Path(root) / name
    caches = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(caches):  # else it does not count: so the XDG specification
        return Path(caches) / "umiak" / name
    home = os.path.expanduser("~") if os.environ.get("HOME") != "" else ""
    root = os.path.join(home, ".cache", "umiak")
    if os.path.isabs(home) and _can_be_made(root):
        return Path(root) / name
    temporary = os.environ.get("TMPDIR", "")
    return Path(temporary if os.path.isabs(temporary) else "/tmp") / f"umiak-{os.getuid()}-{name}"


def _can_be_made(folder: str) -> bool:
    """Return whether the user has a folder or may make it."""
    if os.path.isdir(folder):
        return True
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    return os.access(folder, os.W_OK | os.X_OK)
