"""Garbage of earlier tests, which tests that count objects or memory must not count."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def collect_garbage() -> None:
    """Collect until nothing comes: what a collection frees may have held cycles out of the collector's sight."""
    while gc.collect():
        pass


@contextmanager
def without_collections() -> Iterator[None]:
    """No garbage is collected inside: for what makes many objects that stay."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def without_garbage() -> Iterator[None]:
    """Memory is only what is used inside: cycles from before are gone, and none goes meanwhile."""
    collect_garbage()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
