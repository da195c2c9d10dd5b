"""Garbage of earlier tests, which tests that count objects or memory must not count."""

from __future__ import annotations

import gc


def collect_garbage() -> None:
    """Collect until nothing comes: what a collection frees may have held cycles out of the collector's sight."""
    while gc.collect():
        pass
