"""Tiles of a mask: what attention skips, computes as it is, and computes with a look at each score."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

TILE = 128  # queries, and keys, of a tile


class Tile(IntEnum):
    """The class of a tile of scores."""

    SKIP = 0  # none of its scores counts
    PARTIAL = 1
    FULL = 2  # all of its scores count


def tiles_of(visible: np.ndarray, rows: int = TILE, columns: int = TILE) -> np.ndarray:
    """Return the class of every tile of a mask ``[..., queries, keys]`` as int8 ``[..., row tiles, column tiles]``.

    Exact, also at the ends, where tiles are smaller.
    """
    queries, keys = visible.shape[-2:]
    starts = np.arange(0, queries, rows), np.arange(0, keys, columns)
    sums = np.add.reduceat(np.add.reduceat(visible.astype(np.int64), starts[0], -2), starts[1], -1)
    sizes = np.minimum(rows, queries - starts[0])[:, None] * np.minimum(columns, keys - starts[1])
    kinds = np.full(sums.shape, Tile.PARTIAL, np.int8)
    kinds[sums == 0] = Tile.SKIP
    kinds[sums == sizes] = Tile.FULL
    return kinds
