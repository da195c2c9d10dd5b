"""Launches of a captured program that run side by side, each on one thread. See docs/design/launch.md."""

from collections.abc import Sequence

MODES: tuple[str, ...]

def install(lanes: int, count: int) -> None:
    """Have lanes run by ``int lanes(int (*part)(void*, int64_t), void*, int64_t)``, where there are ``int count()``
    threads; both are addresses."""

def grouped(
    before: Sequence[Sequence[int]],
    alone: Sequence[int],
    together: Sequence[int],
    allowed: Sequence[int],
    threads: int,
    price: int = ...,
) -> list[tuple[int, int, list[list[int]]]]:
    """Groups of launches as (begin, end, lanes), with which a list takes the least time.

    ``before``: for each launch those of smaller number that it has to follow. ``alone``, ``together``: what it takes on
    one thread, and on all, in ns. ``allowed``: whether it may be in a group. ``price``: what a group takes besides.
    Lanes are lists of launches, the longest lane first.
    """
