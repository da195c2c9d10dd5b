"""Classes of tiles by the bounds of the intervals of their keys, without a look at each key."""

from __future__ import annotations

import numpy as np

from umiak.masks.column_mask import ColumnMask
from umiak.masks.tiles import TILE, Tile


def cuts(length: int, chunk: int) -> np.ndarray:
    """Return where tiles begin that stay within chunks of ``chunk`` tokens: int64, ``length`` at the end."""
    within = np.arange(0, chunk, TILE)
    return np.append((np.arange(0, length, chunk)[:, None] + within).reshape(-1), length)


def bounded_tiles(mask: ColumnMask, rows: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the class of each tile between cuts: int8 ``[batch, heads, row tiles, key tiles]``.

    As the kernels of attention decide it before they look at scores: what is called ``SKIP`` or ``FULL`` is so; a tile
    that only several intervals together hide, or leave alone, is called ``PARTIAL``. The work is that of the tiles,
    where :meth:`ColumnMask.tiles` takes that of the tiles' keys.

    Args:
        mask: what queries see.
        rows, keys: where tiles begin, rising, and the number of queries, and of keys, at the end.
    """
    low, high, begins = rows[:-1, None], rows[1:, None], keys[:-1]
    hidden: np.ndarray | bool = False
    touched: np.ndarray | bool = False
    begin, end, second_begin, second_end = mask.intervals()
    for a, b in ((begin, end), (second_begin, second_end)):
        # An interval that holds no query hides nothing, whatever its ends are.
        starts, ends = np.where(a < b, a, mask.queries), np.where(a < b, b, 0)
        (least_a, most_a), (least_b, most_b) = (
            [bound.reduceat(x, begins, -1)[:, :, None] for bound in (np.minimum, np.maximum)] for x in (starts, ends)
        )
        hidden = hidden | ((low >= most_a) & (high <= least_b))
        touched = touched | ((low < most_b) & (high > least_a))
    if mask.causal:
        ahead = mask.keys - mask.queries
        hidden = hidden | (begins > high - 1 + ahead)
        touched = touched | (keys[1:] - 1 > low + ahead)
    return np.where(hidden, Tile.SKIP, np.where(touched, Tile.PARTIAL, Tile.FULL)).astype(np.int8)
