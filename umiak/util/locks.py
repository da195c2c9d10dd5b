"""Locks that survive a fork."""

from __future__ import annotations

import os
import sys
import threading
import time
from importlib import _bootstrap
from typing import Any, TypeVar

T = TypeVar("T")

# Python's locks of modules: weak references by name. Should it keep them elsewhere one day, none are found.
_MODULE_LOCKS: dict[str, Any] = getattr(_bootstrap, "_module_locks", {})

IMPORT_SECONDS = 1.0  # that forking waits for imports


def fork_safe(lock: T) -> T:
    """``lock`` of a module, free in every forked child: forking waits until no other thread holds it.

    Else a child could inherit a lock that nobody in it will release. Such locks must not nest, since forking takes
    them one after the other.
    """
    handle: Any = lock
    os.register_at_fork(before=handle.acquire, after_in_parent=handle.release, after_in_child=handle.release)
    return lock


def _foreign_imports() -> list[str]:
    """The modules that other threads are importing. Python keeps a lock for each, and frees none of them in a child."""
    me = threading.get_ident()
    held = list(_MODULE_LOCKS.items())
    return [name for name, ref in held if (lock := ref()) is not None and lock.owner not in (None, me)]


def _wait_for_imports() -> None:
    # Not for ever: an import may itself wait for a lock that forking has taken already.
    until = time.monotonic() + IMPORT_SECONDS
    while _foreign_imports() and time.monotonic() < until:
        time.sleep(0.0005)


def _forget_imports() -> None:
    """Drop half-finished imports in a child, so that they are imported anew."""
    for name in _foreign_imports():
        del _MODULE_LOCKS[name]
        if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
            del sys.modules[name]


# Registered before any lock, so called after all of them are taken: as close to the fork as can be.
os.register_at_fork(before=_wait_for_imports, after_in_child=_forget_imports)
