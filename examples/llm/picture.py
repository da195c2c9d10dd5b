"""A picture of the cache: the blocks of the pool, and those of each text with the tokens that they hold."""

from __future__ import annotations

from collections.abc import Mapping

from paging import Pool, Table

from umiak.util.svg import Canvas, Look, text_width

SIDE, GAP, MARGIN = 34, 6, 24  # pixels
ABREAST = 16  # blocks of the pool in a row
COLOURS = ("#8fb5e3", "#8fc7a6", "#f0c27f", "#dd9d95", "#c0abda", "#92cdd6")
FREE = Look(fill="#f4f5f7", stroke="#c9ced6")
KEPT = Look(fill="#ffffff", stroke="#5b6573", dashes="3 2")
SHARED = Look(fill="#d9dde3", stroke="#1b222c", width=2)


def svg(pool: Pool, tables: Mapping[str, Table]) -> str:
    """Return a picture of a pool and of texts that have blocks of it, as SVG.

    Args:
        pool: of whose blocks all are drawn, by number.
        tables: of each text, by name.
    """
    canvas = Canvas()
    owners: dict[int, int] = {}
    for n, table in enumerate(tables.values()):
        for block in table.blocks:
            owners.setdefault(block, n)

    def look(block: int) -> Look:
        if block not in owners:
            return KEPT if pool.is_idle(block) else FREE
        return SHARED if pool.is_shared(block) else Look(fill=COLOURS[owners[block] % len(COLOURS)])

    def box(x: float, y: float, block: int) -> None:
        canvas.box(x, y, SIDE, SIDE, look(block))
        canvas.text(x + (SIDE - text_width(str(block))) / 2, y + SIDE / 2 + 4, str(block))

    canvas.text(MARGIN, MARGIN, f"{pool.count} blocks of {pool.block_size} tokens, {pool.free} free", bold=True)
    top = MARGIN + 12
    for block in range(pool.count):
        row, column = divmod(block, ABREAST)
        box(MARGIN + column * (SIDE + GAP), top + row * (SIDE + GAP), block)
    top += (-(-pool.count // ABREAST)) * (SIDE + GAP) + MARGIN
    left = MARGIN + max((text_width(name) for name in tables), default=0.0) + 12
    for n, (name, table) in enumerate(tables.items()):
        y = top + n * (SIDE + 12 + GAP)
        canvas.text(MARGIN, y + SIDE / 2 + 4, name)
        for i, block in enumerate(table.blocks):
            x = left + i * (SIDE + GAP)
            box(x, y, block)
            held = min(max(table.held - i * pool.block_size, 0), pool.block_size)
            bar = Look(fill="#1b222c", stroke="none", radius=0, width=0)
            canvas.box(x, y + SIDE + 3, SIDE * held / pool.block_size, 4, bar)
    y, x = top + len(tables) * (SIDE + 12 + GAP) + 6, float(MARGIN)
    for text, kind in (("free", FREE), ("kept until it is needed", KEPT), ("shared", SHARED)):
        canvas.box(x, y, 14, 14, kind)
        canvas.text(x + 20, y + 12, text)
        x += 20 + text_width(text) + MARGIN
    canvas.text(x, y + 12, "bars: tokens of a block")
    return canvas.render()
