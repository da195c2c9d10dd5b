"""A sequence in chunks on ranks: which chunks a rank asks of which other, and its masks in places of its own.

Each rank has its chunks one after the other in their order in the sequence. So a half-open interval of places of the
sequence is one of a rank's places: its ends move to the numbers of the rank's tokens before them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from umiak.masks.bounds import bounded_tiles, cuts
from umiak.masks.column_mask import ColumnMask
from umiak.masks.tiles import Tile


@dataclass(frozen=True)
class Block:
    """Keys of some ranks that a rank's queries meet in one call of attention.

    Attributes:
        queries: first chunk of the rank, and the one behind the last, among which are all that see any of the keys.
        keys: chunks of the sequence, in the order of the ranks that have them.
    """

    queries: tuple[int, int]
    keys: tuple[int, ...]


class Layout:
    """Chunks of a sequence on ranks.

    Args:
        mask: what the sequence's tokens see of it.
        chunks: int ``[ranks, chunks per rank]``: each chunk of the sequence once, rising for each rank.
    """

    def __init__(self, mask: ColumnMask, chunks: np.ndarray) -> None:
        self.mask, self.chunks = mask, chunks
        self.length = mask.keys // chunks.size

    @cached_property
    def visible(self) -> np.ndarray:
        """Chunks of whose keys a query of a chunk sees one: bool ``[chunks, chunks]``, over all sequences and heads."""
        edges = cuts(self.mask.keys, self.length)
        seen = (bounded_tiles(self.mask, edges, edges) != Tile.SKIP).any((0, 1))
        begins = np.searchsorted(edges, np.arange(self.chunks.size) * self.length)
        return np.logical_or.reduceat(np.logical_or.reduceat(seen, begins, 0), begins, 1)

    def needed(self, rank: int, source: int) -> np.ndarray:
        """The chunks of rank ``source`` that a query of ``rank`` sees, rising."""
        own, theirs = self.chunks[rank], self.chunks[source]
        return theirs[self.visible[np.ix_(own, theirs)].any(0)]

    def block(self, rank: int, sources: tuple[int, ...]) -> Block:
        """The keys of some ranks that queries of ``rank`` see; of its own alone, all keys are in the block."""
        if sources == (rank,):
            keys = self.chunks[rank]
        else:
            keys = np.concatenate([self.needed(rank, source) for source in sources])
        (see,) = np.nonzero(self.visible[np.ix_(self.chunks[rank], keys)].any(1))
        queries = (int(see[0]), int(see[-1]) + 1) if len(see) else (0, 0)
        return Block(queries, tuple(keys.tolist()))

    @cached_property
    def _columns(self) -> np.ndarray:
        """Begin and end of both intervals in places of the sequence, for a mask that is not causal."""
        columns = np.moveaxis(self.mask.intervals(), 0, 3)
        if self.mask.causal:  # whose second interval is free
            columns[..., 3] = np.arange(self.mask.keys)
        return columns

    def local_mask(self, rank: int, block: Block) -> np.ndarray:
        """The mask of a block by columns, in places of its queries: int32 ``[batch, heads, keys, 4]``, not causal."""
        first, last = block.queries
        starts = self.chunks[rank, first:last] * self.length
        columns = self._columns[:, :, positions(np.array(block.keys, np.int64), self.length)]
        which = np.searchsorted(starts, columns, side="right") - 1  # the last chunk that begins there or before
        inside = np.minimum(columns - starts[np.maximum(which, 0)], self.length)
        return np.where(which < 0, 0, which * self.length + inside).astype(np.int32)


def positions(chunks: np.ndarray, length: int) -> np.ndarray:
    """Places in the sequence of the tokens of chunks, one chunk after the other: int64."""
    return (chunks.astype(np.int64)[:, None] * length + np.arange(length)).reshape(-1)
