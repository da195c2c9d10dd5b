"""Streams of devices that are used for a while and then again: a device has a limited number."""

from __future__ import annotations

import contextlib

from umiak.core.place import Place
from umiak.core.stream import Stream, new_stream

_spare: dict[int, list[Stream]] = {}  # by index of the place


def take(place: Place) -> Stream:
    """A stream of a device that nobody else has."""
    try:
        return _spare[place.index].pop()
    except (KeyError, IndexError):
        return new_stream(place.index)


def give(stream: Stream) -> None:
    """Let others have a stream, when its work is done; who has had it is not told of failures any more."""
    with contextlib.suppress(RuntimeError):
        stream.synchronize()
    _spare.setdefault(stream.place, []).append(stream)
