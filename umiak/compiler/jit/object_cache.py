"""Linked code on disk, shared by the processes of a user; whatever is wrong with the disk, compilation goes on.

Trouble is reported once per folder. A folder that cannot be written is still read.
"""

from __future__ import annotations

import threading

from umiak.util import flags, log
from umiak.util.disk_cache import DiskCache, default_folder
from umiak.util.errors import op_error
from umiak.util.locks import fork_safe

_lock = fork_safe(threading.Lock())
_opened: DiskCache | None = None
_is_open = False
_warned: set[str] = set()
_unwritable: set[str] = set()


def _close(_: object = None) -> None:
    """Have the next access open the folder that the flags say then."""
    global _is_open
    _is_open = False


def _change_size(megabytes: int) -> None:
    if megabytes < 1:
        raise op_error(
            ValueError, "FLAGS_jit_cache_mb", "at least 1", f"{megabytes} (FLAGS_jit_cache=0 switches it off)"
        )
    _close()


ENABLED = flags.define("jit_cache", True, "keep machine code on disk", on_change=_close)
FOLDER = flags.define(
    "jit_cache_folder", "", "where machine code is kept; empty: the user's cache folder", on_change=_close
)
MEGABYTES = flags.define("jit_cache_mb", 512, "how much machine code is kept on disk", on_change=_change_size)


def _cache() -> DiskCache | None:
    global _opened, _is_open
    if not _is_open:
        with _lock:
            _opened, _is_open = _open(), True
    return _opened


def _open() -> DiskCache | None:
    if not ENABLED.value:
        return None
    folder = FOLDER.value or str(default_folder("jit"))
    try:
        return DiskCache(folder, MEGABYTES.value << 20)
    except OSError as error:
        _warn(folder, error)
        return None


def _warn(folder: str, error: OSError) -> None:
    if folder not in _warned:
        _warned.add(folder)
        # As text: a kept error keeps the frames it passed, and with them libraries.
        log.get("compiler").warning("machine code is not kept on disk: %s: %s", folder, str(error))


def get(key: str | bytes) -> bytes | None:
    """Return what is cached on disk under a key; None where nothing is, or the folder cannot be read."""
    cache = _cache()
    if cache is None:
        return None
    try:
        return cache.get(key)
    except OSError as error:
        _warn(str(cache.folder), error)
        return None


def put(key: str | bytes, payload: bytes) -> None:
    """Cache bytes on disk under a key. A folder that cannot be written is warned of once and then left alone."""
    cache = _cache()
    if cache is None or str(cache.folder) in _unwritable:
        return
    try:
        cache.put(key, payload)
    except OSError as error:
        _unwritable.add(str(cache.folder))
        _warn(str(cache.folder), error)
