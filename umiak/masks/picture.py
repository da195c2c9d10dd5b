"""Pictures of masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from umiak.masks.tiles import Tile
from umiak.util.svg import Canvas, Look

if TYPE_CHECKING:
    from umiak.masks.column_mask import ColumnMask

SIDE = 480  # pixels of the longer side
MARGIN = 24
LOOKS = {
    Tile.SKIP: Look(fill="#f4f5f7", stroke="#c9ced6", radius=0),
    Tile.PARTIAL: Look(fill="#ffe2b8", stroke="#c9ced6", radius=0),
    Tile.FULL: Look(fill="#8fc7a6", stroke="#c9ced6", radius=0),
}
SCORE = Look(fill="#3d6fb4", stroke="none", radius=0, width=0)
MOST_SCORES = 64  # queries, or keys, of which each score is drawn


def svg(mask: ColumnMask, rows: int, columns: int) -> str:
    """Return a picture of the first head's mask: tiles with their classes, of small masks the scores, too."""
    queries, keys = mask.queries, mask.keys
    scale = SIDE / max(queries, keys, 1)
    canvas = Canvas()
    kinds, part = mask.tiles(rows, columns)[0, 0], mask.count(0, queries)[0, 0].sum() / max(queries * keys, 1)
    canvas.text(MARGIN, MARGIN - 8, f"{queries} queries, {keys} keys; {part:.1%} visible")
    for (i, k), kind in np.ndenumerate(kinds):
        top, left = i * rows, k * columns
        height, width = min(rows, queries - top), min(columns, keys - left)
        canvas.box(MARGIN + left * scale, MARGIN + top * scale, width * scale, height * scale, LOOKS[Tile(int(kind))])
    if max(queries, keys) <= MOST_SCORES:
        for i, k in zip(*np.nonzero(mask.visible()[0, 0])):
            canvas.box(MARGIN + (k + 0.2) * scale, MARGIN + (i + 0.2) * scale, 0.6 * scale, 0.6 * scale, SCORE)
    y = MARGIN + queries * scale + 20
    for n, kind in enumerate(Tile):
        x = MARGIN + n * 150
        canvas.box(x, y, 14, 14, LOOKS[kind])
        canvas.text(x + 20, y + 12, f"{kind.name.lower()}: {int((kinds == kind).sum())}")
    return canvas.render()
