"""A cache of byte strings on disk, shared by processes of one user.

The folder is private: it belongs to the user and nobody else can enter it, since its entries are code that will be run.
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
            with open(path, "rb", buffering=0) as file:
                used = os.fstat(file.fileno()).st_mtime
                data = file.readall()
        except FileNotFoundError:
            return None
        payload = _checked(data, digest)
        with contextlib.suppress(OSError):  # another process may evict at any time; the disk may be read-only
            if payload is None:
                os.unlink(path)
            elif time.time() - used > _USE_SECONDS:
                os.utime(path)
        return payload

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
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise PermissionError(
            f"requires a cache folder that belongs to the user and that nobody else can write, got {folder} "
            f"(owner {status.st_uid}, mode {stat.filemode(status.st_mode)}). Remove it or choose another."
        )


def default_folder(name: str) -> Path:
    """The user's folder for one cache: below ``$UMIAK_CACHE_DIR``, ``$XDG_CACHE_HOME/umiak`` or ``~/.cache/umiak``."""
    root = os.environ.get("UMIAK_CACHE_DIR")
    if root is None:
        root = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "umiak")
    return Path(root) / name
