"""Ranges for profilers of others that look at a process from outside: NVTX."""

from __future__ import annotations

import functools
from typing import Any, Protocol


class Emitter(Protocol):
    """Gets the ranges of threads as they begin and end."""

    def push_range(self, name: str) -> object:
        """A range of this thread begins."""

    def pop_range(self) -> object:
        """The range of this thread that began last ends."""


@functools.cache
def nvtx() -> Any:
    """The package ``nvtx`` (:class:`Emitter`), whose ranges tools of NVIDIA show; None where it is not installed."""
    try:
        import nvtx
    except ImportError:
        return None
    return nvtx
