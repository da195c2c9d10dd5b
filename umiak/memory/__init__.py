"""Allocators over raw memory, and what they tell about themselves.

A place is given as a :class:`umiak.core.place.Place` or by its index.
"""

from __future__ import annotations

from collections.abc import Callable

from umiak.core import storage
from umiak.core.place import Place

__all__ = ["empty_cache", "get_limit", "on_pressure", "reset_peaks", "set_limit", "stats"]


def _allocator(place: Place | int) -> storage.Allocator:
    return storage.allocator(place if isinstance(place, int) else place.index)


def stats(place: Place | int) -> dict[str, int]:
    """Return the statistics of the allocator of ``place``.

    Bytes: ``allocated`` (in blocks handed out), ``requested`` (of them asked for), ``reserved`` (held from the system),
    ``pending`` (freed, but still used by other streams) and ``cached``; and the peaks ``allocated_peak``,
    ``requested_peak`` and ``reserved_peak``. Counts: ``allocations``, ``frees``, ``source_allocations``,
    ``source_frees``, ``retries`` (room had to be made first) and ``failures``.
    """
    return _allocator(place).stats()


def reset_peaks(place: Place | int) -> None:
    """Let the peaks of ``place`` start again from what is in use now."""
    _allocator(place).reset_peaks()


def empty_cache(place: Place | int) -> int:
    """Give cached memory of ``place`` back to the system; returns how many bytes."""
    return _allocator(place).empty_cache()


def set_limit(place: Place | int, nbytes: int) -> None:
    """Let ``place`` hold at most ``nbytes`` of raw memory from now on; 0 lifts the limit."""
    if nbytes < 0:
        raise ValueError(f"set_limit requires a number of bytes of at least 0, got {nbytes}")
    _allocator(place).limit = nbytes


def get_limit(place: Place | int) -> int:
    """The limit of ``place`` in bytes, 0 when it has none."""
    return _allocator(place).limit


def on_pressure(place: Place | int, call: Callable[[int, int], int] | None) -> None:
    """Have memory of ``place`` given up by others before a request fails: ``call(nbytes, attempt)`` is asked when
    neither the cache nor the system has so many bytes and all work of the place is done, again and again (attempts
    count from 0) until there is room or nothing was given up. None: nobody is asked.

    Args:
        place: the place.
        call: gives memory up, for one by ``Storage.offload``, and returns how many bytes. Of storages whose addresses
            were read by who asks for memory it must leave the hands off.
    """
    _allocator(place).pressure = call
