"""Locks that survive a fork."""

from __future__ import annotations

import os
from typing import Any, TypeVar

T = TypeVar("T")


def fork_safe(lock: T) -> T:
    """``lock`` of a module, free in every forked child: forking waits until no other thread holds it.

    Else a child could inherit a lock that nobody in it will release. Such locks must not nest, since forking takes
    them one after the other.
    """
    handle: Any = lock
    os.register_at_fork(before=handle.acquire, after_in_parent=handle.release, after_in_child=handle.release)
    return lock
