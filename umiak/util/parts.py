"""Lists cut into parts of a limited weight."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def parts_of(items: Iterable[T], weight: Callable[[T], int], limit: int) -> Iterator[list[T]]:
    """Items in order, as many together as weigh ``limit`` at most, or one that weighs more."""
    part: list[T] = []
    total = 0
    for item in items:
        own = weight(item)
        if part and total + own > limit:
            yield part
            part, total = [], 0
        part.append(item)
        total += own
    if part:
        yield part
