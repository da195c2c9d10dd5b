"""Pictures of masks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from umiak.masks.tiles import TILE, Tile
from umiak.util.errors import op_error
from umiak.util.png import encode
from umiak.util.svg import Canvas, Look

if TYPE_CHECKING:
    from umiak.masks.column_mask import ColumnMask

SIDE = 480  # pixels of the longer side
SMALL_SIDE = 176  # of one of several masks
ABREAST = 4  # masks in a row of a gallery
MARGIN = 24
LOOKS = {
    Tile.SKIP: Look(fill="#f4f5f7", stroke="#c9ced6", radius=0),
    Tile.PARTIAL: Look(fill="#ffe2b8", stroke="#c9ced6", radius=0),
    Tile.FULL: Look(fill="#8fc7a6", stroke="#c9ced6", radius=0),
}
SCORE = "#3d6fb4"
MOST_SCORES = 64  # queries, or keys, of which each score is drawn
GAP = 0.2  # of a score's side that is left on each side of its square
LEAST_TILE = 4  # pixels of a tile that has a border


def svg(mask: ColumnMask, rows: int, columns: int) -> str:
    """Return a picture of the first head's mask: tiles with their classes, of small masks the scores, too."""
    canvas = Canvas()
    _draw(canvas, MARGIN, MARGIN, SIDE, mask, rows, columns)
    canvas.text(MARGIN, MARGIN - 8, _caption(mask))
    kinds = mask.tiles(rows, columns)[0, 0]
    y = MARGIN + mask.queries * _scale(mask, SIDE) + 20
    _legend(canvas, y, {kind: _number_of(kinds, kind) for kind in Tile})
    return canvas.render()


def gallery(masks: Mapping[str, ColumnMask], rows: int = TILE, columns: int = TILE) -> str:
    """Return a picture of several masks beside each other, each under its name, as SVG.

    Args:
        masks: by name; of each its first head is drawn.
        rows, columns: queries and keys of a tile.

    Raises:
        ValueError: no mask at all.

    Example:
        >>> from umiak import masks
        >>> picture = masks.gallery({"causal": masks.causal(24), "full": masks.full(24)}, 8, 8)
        >>> picture.startswith("<svg"), "causal" in picture
        (True, True)
    """
    if not masks:
        raise op_error(ValueError, "gallery", "a mask or more", "none")
    canvas = Canvas()
    for n, (name, mask) in enumerate(masks.items()):
        row, column = divmod(n, ABREAST)
        left, top = MARGIN + column * (SMALL_SIDE + MARGIN), MARGIN + row * (SMALL_SIDE + 3 * MARGIN)
        canvas.text(left, top, name, bold=True)
        canvas.text(left, top + 17, f"{mask.density():.0%} visible")
        _draw(canvas, left, top + MARGIN, SMALL_SIDE, mask, rows, columns)
    _legend(canvas, top + SMALL_SIDE + 2 * MARGIN, {kind: kind.name.lower() for kind in Tile})
    return canvas.render()


def _scale(mask: ColumnMask, side: float) -> float:
    """Pixels of a score, on a picture with so long a side."""
    return side / max(mask.queries, mask.keys, 1)


def _draw(canvas: Canvas, left: float, top: float, size: float, mask: ColumnMask, rows: int, columns: int) -> None:
    queries, keys, scale = mask.queries, mask.keys, _scale(mask, size)
    for (i, k), kind in np.ndenumerate(mask.tiles(rows, columns)[0, 0]):
        y, x = i * rows, k * columns
        height, width = min(rows, queries - y), min(columns, keys - x)
        canvas.box(left + x * scale, top + y * scale, width * scale, height * scale, LOOKS[Tile(int(kind))])
    if max(queries, keys) <= MOST_SCORES:
        # One path of all squares: boxes of their own would take ten times the text.
        side = f"{(1 - 2 * GAP) * scale:.1f}"
        squares = (
            f"M{left + (k + GAP) * scale:.1f} {top + (i + GAP) * scale:.1f}h{side}v{side}h-{side}z"
            for i, k in zip(*np.nonzero(mask.visible()[0, 0]))
        )
        canvas.element("path", d="".join(squares), fill=SCORE)


def _legend(canvas: Canvas, y: float, texts: Mapping[Tile, str]) -> None:
    for n, (kind, text) in enumerate(texts.items()):
        x = MARGIN + n * 150
        canvas.box(x, y, 14, 14, LOOKS[kind])
        canvas.text(x + 20, y + 12, text)


def png(mask: ColumnMask, rows: int, columns: int) -> bytes:
    """Return the same picture as pixels; its text is in the file, where viewers show it."""
    queries, keys = mask.queries, mask.keys
    kinds = mask.tiles(rows, columns)[0, 0]
    text = "; ".join([_caption(mask), *(_number_of(kinds, kind) for kind in Tile)])
    scale = _scale(mask, SIDE)
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
            pixels[seen & inner_y[:, None] & inner_x] = _rgb(SCORE)
    return encode(pixels, text)


def _caption(mask: ColumnMask) -> str:
    part = mask.count(0, mask.queries)[0, 0].sum() / max(mask.queries * mask.keys, 1)
    return f"{mask.queries} queries, {mask.keys} keys; {part:.1%} visible"


def _number_of(kinds: np.ndarray, kind: Tile) -> str:
    return f"{kind.name.lower()}: {int((kinds == kind).sum())}"


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))
