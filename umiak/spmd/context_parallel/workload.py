"""Costs of attention by tiles of its mask: measured times of tiles, and what chunks of queries take by them."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from umiak import masks
from umiak import ops as F
from umiak.core import tape
from umiak.core.array import from_numpy
from umiak.core.dtype import convert
from umiak.masks.bounds import bounded_tiles, cuts
from umiak.masks.column_mask import ColumnMask
from umiak.masks.tiles import TILE, Tile


@dataclass(frozen=True)
class TileTimes:
    """Seconds of a head for a tile of 128 queries by 128 keys, forward and backward together, by its class; or times in
    any other unit, where only their ratios count.

    Attributes:
        full: all of its scores count.
        partial: some do.
        skip: none does.
        rows: what 128 queries take, whatever they see.
    """

    full: float = 1.0
    partial: float = 1.0
    skip: float = 0.0
    rows: float = 0.0

    def chunk_weights(self, mask: ColumnMask, length: int) -> np.ndarray:
        """Return what each chunk of ``length`` queries takes, over all sequences and heads of the mask: ``[chunks]``.

        Tiles at the ends of chunks count by their size.
        """
        return self.pair_weights(mask, length).sum(1) + self.rows * mask.indices.shape[0] * length / TILE

    def pair_weights(self, mask: ColumnMask, length: int) -> np.ndarray:
        """Return what tiles of chunks of queries by chunks of keys take: ``[query chunks, key chunks]``."""
        edges = cuts(mask.queries, length)
        sizes = np.diff(edges) / TILE
        cost = np.array([self.skip, self.partial, self.full])
        assert (Tile.SKIP, Tile.PARTIAL, Tile.FULL) == (0, 1, 2), "costs are in the order of classes"
        kinds = bounded_tiles(mask, edges, edges)
        per_head = cost[kinds].mean(1).sum(0) * sizes[:, None] * sizes
        begins = np.searchsorted(edges, np.arange(0, mask.queries, length))
        return np.add.reduceat(np.add.reduceat(per_head, begins, 0), begins, 1)


# A Xeon (AVX-512), heads of 128 of float32: what `measure_tile_times` gave, relative to a full tile.
DEFAULT = TileTimes(1.0, 1.01, 0.01, 0.0)


def measure_tile_times(
    heads: int = 4,
    key_heads: int | None = None,
    dim: int = 128,
    dtype: str = "float32",
    length: int = 2048,
    repeats: int = 5,
) -> TileTimes:
    """Measure what tiles take on this processor: processor time of one thread or more, the least of some runs.

    Forward and backward of attention with masks of known numbers of tiles are timed, and the times of tiles fitted to
    them by least squares, none below 0. Every rank of a group must plan with the same times: measure on one and
    broadcast, or keep what was measured.

    Args:
        heads, key_heads: query heads, and key heads that serve equally many of them (default: as many).
        dim: size of a head.
        dtype: of the operands.
        length: tokens of the masks that are timed.
        repeats: runs of each mask.

    Example:
        >>> from umiak.spmd import context_parallel
        >>> times = context_parallel.measure_tile_times(heads=1, dim=16, length=512, repeats=1)
        >>> times.full > 0
        True
    """
    from scipy.optimize import nnls

    half = TILE // 2
    families = [
        masks.full(length),
        masks.causal(length),
        masks.sliding_window(length, half, half),
        masks.sliding_window(length, length // 4),
        masks.document([half] + [TILE] * (length // TILE - 1) + [length - half - TILE * (length // TILE - 1)]),
        masks.causal_document([length // 3, length // 4, length - length // 3 - length // 4]),
    ]
    edges = cuts(length, length)
    counts = np.array(
        [[*np.bincount(bounded_tiles(m, edges, edges).reshape(-1), minlength=3), length / TILE] for m in families]
    )
    seconds = _times(families, heads, key_heads or heads, dim, dtype, length, repeats)
    # Relative errors: a mask that takes long does not outweigh the others.
    scale = seconds[:, None]
    (skip, partial, full, rows), _ = nnls(counts / scale, np.ones(len(seconds)))
    return TileTimes(*(float(x) / heads for x in (full, partial, skip, rows)))


def _times(
    families: list[ColumnMask], heads: int, key_heads: int, dim: int, dtype: str, length: int, repeats: int
) -> np.ndarray:
    """Least processor times of forward and backward with each mask, in turn."""
    draw = np.random.default_rng(0)

    def operand(heads: int) -> F.Any:
        x = F.cast(from_numpy(draw.normal(size=(1, length, heads, dim)).astype(np.float32)), dtype=convert(dtype))
        x.stop_gradient = False
        return x

    q, k, v = operand(heads), operand(key_heads), operand(key_heads)
    rows = [from_numpy(m.indices) for m in families]
    best = np.full(len(families), np.inf)
    for _ in range(repeats + 1):  # the first compiles
        for i, mask in enumerate(families):
            start = time.process_time()
            out = F.attention(q, k, v, rows[i], causal=mask.causal, scale=dim**-0.5)
            tape.grad([out], [q, k, v], [out.detach()])
            best[i] = min(best[i], time.process_time() - start)
    return best
