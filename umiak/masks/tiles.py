"""Tiles of a mask: what attention skips, computes as it is, and computes with a look at each score."""

from __future__ import annotations

from enum import IntEnum

TILE = 128  # queries, and keys, of a tile


class Tile(IntEnum):
    """The class of a tile of scores."""

    SKIP = 0  # none of its scores counts
    PARTIAL = 1
    FULL = 2  # all of its scores count
