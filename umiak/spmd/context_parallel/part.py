"""One rank's part of a layout, on which the ranks of a group have agreed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from umiak.comm.errors import CommError
from umiak.core.array import from_numpy, host_values
from umiak.core.context import current
from umiak.core.tensor import Tensor
from umiak.masks.column_mask import ColumnMask
from umiak.spmd.context_parallel.layout import Layout
from umiak.util.errors import op_error

PARTS = "context_parts"  # in the values of a rank's state: by digest and group, those used last
KEPT = 16  # of them
AHEAD = 4  # ranks whose keys may be under way, or waiting to be used, at once; or a quarter of all
REFUSED = -1  # in place of a digest


class Part:
    """One rank's messages and calls of attention, step by step.

    A step is one call of attention. In the ring form the keys of step d are those of the rank d before; in the other
    there is one step, with the keys of all ranks.
    """

    def __init__(self, layout: Layout, rank: int, form: str) -> None:
        n = len(layout.chunks)
        self.layout, self.rank = layout, rank
        self.sources: list[tuple[int, ...]]
        self.targets: list[tuple[int, ...]]
        if form == "ring":
            self.sources = [((rank - d) % n,) for d in range(n)]
            self.targets = [((rank + d) % n,) for d in range(n)]
        else:
            self.sources = self.targets = [tuple(range(n))]
        self.blocks = [layout.block(rank, sources) for sources in self.sources]
        # By step, the most chunks that a rank gets: what all ranks know.
        self.most = [self._most(step) for step in range(len(self.blocks))]
        self.until = prefetched(self.most, budget(layout.chunks))
        self._masks: dict[tuple, Tensor] = {}

    def local(self, step: int) -> bool:
        """Return whether a step's keys are the rank's own: all of them are used, where they lie."""
        return self.sources[step] == (self.rank,)

    def moves(self, step: int) -> bool:
        """Return whether any rank sends something in a step: all of them know, and leave it out otherwise."""
        return self.most[step] > 0

    def _most(self, step: int) -> int:
        layout, n = self.layout, len(self.layout.chunks)
        if self.local(step):
            return 0
        distances = {(self.rank - source) % n for source in self.sources[step]}
        return max(sum(len(layout.needed(r, (r - d) % n)) for d in distances) for r in range(n))

    def sent(self, step: int) -> dict[int, list[int]]:
        """Return the rank's chunks, counted within it, that go to each rank that needs some."""
        own = self.layout.chunks[self.rank]
        chunks = {p: np.searchsorted(own, self.layout.needed(p, self.rank)).tolist() for p in self.targets[step]}
        return {p: c for p, c in chunks.items() if c}

    def received(self, step: int) -> dict[int, int]:
        """Return how many chunks come from each rank that sends some."""
        counts = {p: len(self.layout.needed(self.rank, p)) for p in self.sources[step]}
        return {p: n for p, n in counts.items() if n}

    def mask(self, step: int, place: Any) -> Tensor:
        """Return the mask of a step's block by columns, made when it is first asked for."""
        key = step, place
        if key not in self._masks:
            self._masks[key] = from_numpy(self.layout.local_mask(self.rank, self.blocks[step]), place)
        return self._masks[key]


def budget(chunks: np.ndarray) -> int:
    """Return how many chunks of others a rank holds at most, where that leaves one step to be ahead."""
    return max(AHEAD * chunks.shape[1], chunks.size // 4)


def prefetched(sizes: Sequence[int], limit: int) -> list[int]:
    """Return for each step the one behind the last that is started before it is computed.

    Steps differ from rank to rank in what they take: a rank that has its keys early does not wait for those that have
    more to do. So as many are under way as ``limit`` allows for, the next one at least.

    Args:
        sizes: of each step what is held for it, from its start to its use.
        limit: how much may be held.
    """
    ends = np.cumsum(np.asarray(sizes))
    held = ends - np.asarray(sizes)  # before a step's own
    fits = np.searchsorted(ends, held + limit, side="right")
    return np.minimum(np.maximum(fits, np.arange(len(sizes)) + 2), len(sizes)).tolist()


def agreed_part(op: Any, group: Any, rows: Tensor, chunks: Tensor, xs: Sequence[Tensor], scale: float) -> Part:
    """Return this rank's part, once all ranks of the group have said that they have the same mask, chunks and sizes.

    Raises:
        ValueError: chunks that are not each on one rank, rising.
        CommError: another rank has other operands, or has refused its own.
    """
    parts, indices = np.ascontiguousarray(host_values(chunks)), np.ascontiguousarray(host_values(rows))
    said = [op.causal, op.form, indices.shape, parts.shape, float(scale), *((x.dtype.name, tuple(x.shape)) for x in xs)]
    digest = hashlib.blake2b(repr(said).encode(), digest_size=7)
    digest.update(indices.data)
    digest.update(parts.data)
    word = int.from_bytes(digest.digest(), "little")
    fits = (np.sort(parts, axis=None) == np.arange(parts.size)).all() and (np.diff(parts, axis=1) > 0).all()
    heard = np.empty(group.size, np.int64)
    group.all_gather(heard, np.array([word if fits else REFUSED], np.int64)).wait()
    if not fits:
        required = f"each chunk from 0 to {parts.size - 1} on one rank, rising"
        raise op_error(ValueError, op.name, required, parts.tolist())
    others = [group.ranks[p] for p in range(group.size) if heard[p] != word]
    if others:
        refused = [group.ranks[p] for p in range(group.size) if heard[p] == REFUSED]
        raise CommError(
            f"[{op.name}] requires the same mask, chunks, shapes, dtypes and scale on all ranks of group "
            f"{group.name!r}, got others on ranks {others} than on rank {group.ranks[group.rank]}"
            + (f"; ranks {refused} have refused theirs" if refused else "")
        )
    known = current().state.values.setdefault(PARTS, {})
    part = known.pop((word, group.name), None)
    if part is None:
        mask = ColumnMask(indices.copy(), op.causal, indices.shape[2])
        part = Part(Layout(mask, parts.copy()), group.rank, op.form)
        while len(known) >= KEPT:
            del known[next(iter(known))]
    known[word, group.name] = part
    return part
