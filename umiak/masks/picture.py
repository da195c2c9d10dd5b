"""Pictures of masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from umiak.masks.tiles import Tile
from umiak.util.png import encode
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
GAP = 0.2  # of a score's side that is left on each side of its square
LEAST_TILE = 4  # pixels of a tile that has a border


def svg(mask: ColumnMask, rows: int, columns: int) -> str:
    """Return a picture of the first head's mask: tiles with their classes, of small masks the scores, too."""
    queries, keys = mask.queries, mask.keys
    scale = SIDE / max(queries, keys, 1)
    canvas = Canvas()
    kinds = mask.tiles(rows, columns)[0, 0]
    canvas.text(MARGIN, MARGIN - 8, _caption(mask))
    for (i, k), kind in np.ndenumerate(kinds):
        top, left = i * rows, k * columns
        height, width = min(rows, queries - top), min(columns, keys - left)
        canvas.box(MARGIN + left * scale, MARGIN + top * scale, width * scale, height * scale, LOOKS[Tile(int(kind))])
    if max(queries, keys) <= MOST_SCORES:
        for i, k in zip(*np.nonzero(mask.visible()[0, 0])):
            side = (1 - 2 * GAP) * scale
            canvas.box(MARGIN + (k + GAP) * scale, MARGIN + (i + GAP) * scale, side, side, SCORE)
    y = MARGIN + queries * scale + 20
    for n, kind in enumerate(Tile):
        x = MARGIN + n * 150
        canvas.box(x, y, 14, 14, LOOKS[kind])
        canvas.text(x + 20, y + 12, _number_of(kinds, kind))
    return canvas.render()


def png(mask: ColumnMask, rows: int, columns: int) -> bytes:
    """Return the same picture as pixels; its text is in the file, where viewers show it."""
    queries, keys = mask.queries, mask.keys
    kinds = mask.tiles(rows, columns)[0, 0]
    text = "; ".join([_caption(mask), *(_number_of(kinds, kind) for kind in Tile)])
    scale = SIDE / max(queries, keys, 1)
    y, x = ((np.arange(max(1, round(n * scale))) + 0.5) / scale for n in (queries, keys))  # in scores
    pixels = np.empty((len(y), len(x), 3), np.uint8)
    pixels[:] = _rgb(LOOKS[Tile.SKIP].fill)
    if kinds.size:
        fills = np.array([_rgb(LOOKS[kind].fill) for kind in Tile], np.uint8)
        row, column = (np.minimum(at // n, m - 1).astype(int) for at, n, m in zip((y, x), (rows, columns), kinds.shape))
        pixels[:] = fills[kinds[row[:, None], column]]
        border = _rgb(LOOKS[Tile.SKIP].stroke)
        if min(rows, queries) * scale >= LEAST_TILE:
            pixels[np.diff(row, prepend=-1) != 0] = border
        if min(columns, keys) * scale >= LEAST_TILE:
            pixels[:, np.diff(column, prepend=-1) != 0] = border
        if max(queries, keys) <= MOST_SCORES:
            inner_y, inner_x = (np.abs(at % 1 - 0.5) < 0.5 - GAP for at in (y, x))
            seen = mask.visible()[0, 0][y.astype(int)[:, None], x.astype(int)]
            pixels[seen & inner_y[:, None] & inner_x] = _rgb(SCORE.fill)
    return encode(pixels, text)


def _caption(mask: ColumnMask) -> str:
    part = mask.count(0, mask.queries)[0, 0].sum() / max(mask.queries * mask.keys, 1)
    return f"{mask.queries} queries, {mask.keys} keys; {part:.1%} visible"


def _number_of(kinds: np.ndarray, kind: Tile) -> str:
    return f"{kind.name.lower()}: {int((kinds == kind).sum())}"


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))
