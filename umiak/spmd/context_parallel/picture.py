"""Pictures of plans: the ranks that compute a mask's tiles, and their loads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from umiak.masks.bounds import bounded_tiles, cuts
from umiak.masks.tiles import Tile
from umiak.util.svg import Canvas, Look

if TYPE_CHECKING:
    from umiak.spmd.context_parallel.plans import ContextPlan

SIDE = 260  # pixels of a mask
MARGIN = 24
BARS = 90  # pixels of the load that is the mean
COLOURS = ("#3d6fb4", "#e39b3f", "#5aa277", "#b4574d", "#8a6bb1", "#4aa7b5", "#c77fa5", "#8d8d54")
HIDDEN = Look(fill="#f4f5f7", stroke="none", radius=0, width=0)
MEAN = Look(stroke="#1b222c", dashes="4 3", fill="none")
TILES = 64  # along a side, at most: longer sequences are drawn coarser


def svg(plans: Mapping[str, ContextPlan]) -> str:
    """Return a picture of plans side by side, each under its name.

    A tile that some score of counts has the colour of the rank that has its queries. Below are the loads of ranks, over
    their mean.

    Args:
        plans: by name; of the same length.
    """
    canvas = Canvas()
    highest = max(1.0, *(1 + plan.imbalance for plan in plans.values()))
    for i, (name, plan) in enumerate(plans.items()):
        _draw(canvas, MARGIN + i * (SIDE + 2 * MARGIN), name, plan, highest)
    return canvas.render()


def _draw(canvas: Canvas, left: float, name: str, plan: ContextPlan, highest: float) -> None:
    """Draw a plan, with room for a load of ``highest`` times the mean."""
    n, length = plan.mask.keys, plan.chunk_length
    canvas.text(left, MARGIN, name, bold=True)
    canvas.text(left, MARGIN + 18, f"busiest rank: {plan.imbalance:.1%} over the mean")
    top = MARGIN + 30
    # Rows of tiles stay within chunks, so that each has one rank.
    rows, keys = cuts(n, length), np.unique(np.append(np.arange(0, n, max(n // TILES, 1)), n))
    kinds = bounded_tiles(plan.mask, rows, keys)
    seen = (kinds != Tile.SKIP).any((0, 1))
    owner = np.empty(plan.chunks.size, int)
    owner[plan.chunks] = np.arange(plan.ranks)[:, None]
    scale = SIDE / n
    canvas.box(left, top, SIDE, SIDE, HIDDEN)
    for i, row in enumerate(seen):
        colour = COLOURS[owner[rows[i] // length] % len(COLOURS)]
        look = Look(fill=colour, stroke="none", radius=0, width=0)
        # Neighbours are one box.
        edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(int), [0]])))
        for a, b in zip(edges[::2], edges[1::2]):
            width = (keys[b] - keys[a]) * scale
            canvas.box(left + keys[a] * scale, top + rows[i] * scale, width, (rows[i + 1] - rows[i]) * scale, look)
    mean = sum(plan.assignment.loads) / plan.ranks or 1.0
    bottom = top + SIDE + MARGIN + highest * BARS
    step = SIDE / plan.ranks
    for rank, load in enumerate(plan.assignment.loads):
        height = BARS * load / mean
        look = Look(fill=COLOURS[rank % len(COLOURS)], stroke="none", radius=0, width=0)
        canvas.box(left + (rank + 0.1) * step, bottom - height, 0.8 * step, height, look)
    canvas.path(f"M{left} {bottom - BARS:.1f} H{left + SIDE}", MEAN)
    canvas.text(left, bottom + 18, f"loads of {plan.ranks} ranks; dashed: their mean")
