"""Counts of launches by the name of the op: of this distribution's own kernels, and of calls that ran on the host."""

from __future__ import annotations

import threading
from collections import Counter


class Counts:
    """A counter that threads share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, name: str) -> int:
        """Count one more; the count so far."""
        with self._lock:
            self._counts[name] += 1
            return self._counts[name]

    def read(self) -> dict[str, int]:
        with self._lock:
            return dict(self._counts)

    def clear(self) -> None:
        with self._lock:
            self._counts.clear()


HOST = Counts()
WRITTEN = Counts()
