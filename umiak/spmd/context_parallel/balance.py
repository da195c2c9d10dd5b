"""Assignment of chunks to ranks: equally many for each, with the least load of the busiest rank.

The problem is NP-hard (it holds 3-partition). Up to ``EXACT`` chunks it is solved; beyond, chunks are dealt out from
the heaviest to the lightest, and swaps of chunks between ranks lower the largest load while they can. What is returned
says by its bound how far from the best it may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from umiak.util.errors import op_error

EXACT = 16  # chunks up to which the search is complete
NODES = 4_000_000  # places of chunks that the search tries at most; hundreds of thousands are the most that were seen
EPSILON = 1e-12  # of the mean load: what differs by less is equal


@dataclass(frozen=True)
class Assignment:
    """Chunks of each rank, and what is known about them.

    Attributes:
        chunks: for each rank its chunks, rising.
        loads: for each rank the sum of their weights.
        bound: no assignment of equally many chunks to each rank has a smaller largest load.
        optimal: whether this one's is known to be the least.
    """

    chunks: tuple[tuple[int, ...], ...]
    loads: tuple[float, ...]
    bound: float
    optimal: bool

    @property
    def imbalance(self) -> float:
        """Return the largest load over the mean of all, less 1."""
        mean = sum(self.loads) / len(self.loads)
        return max(self.loads) / mean - 1 if mean else 0.0

    @property
    def gap(self) -> float:
        """Return by how much the largest load may exceed the least possible, relative to that; 0 if optimal."""
        return max(self.loads) / self.bound - 1 if self.bound and not self.optimal else 0.0


def assign(weights: Sequence[float] | np.ndarray, ranks: int) -> Assignment:
    """Assign chunks to ranks, equally many to each.

    The result depends on the arguments alone: ranks that call it with the same weights get the same.

    Args:
        weights: of each chunk what it costs, 0 at least, in any unit.
        ranks: how many there are; a divisor of the number of chunks.

    Raises:
        ValueError: the number of chunks is no multiple of ``ranks``, or a weight is negative or not a number.

    Example:
        >>> from umiak.spmd.context_parallel import assign
        >>> best = assign([1, 2, 3, 4], 2)
        >>> best.chunks, best.optimal
        (((0, 3), (1, 2)), True)
    """
    w = np.asarray(weights, np.float64)
    if ranks < 1 or w.ndim != 1 or not len(w) or len(w) % ranks:
        raise op_error(ValueError, "assign", f"a vector of weights, a multiple of {ranks} ranks of them", w.shape)
    if not (w >= 0).all() or not np.isfinite(w).all():
        raise op_error(ValueError, "assign", "finite weights of 0 at least", w[~(np.isfinite(w) & (w >= 0))].tolist())
    bound = lower_bound(w, ranks)
    owner = _swapped(w, _dealt(w, ranks), ranks)
    optimal = _largest(w, owner, ranks) <= bound * (1 + EPSILON)
    if not optimal and len(w) <= EXACT:
        owner, optimal = _searched(w, owner, ranks, bound)
    loads = np.bincount(owner, w, ranks)
    # Ranks in the order of their first chunks: an assignment has one form.
    sets = sorted((np.flatnonzero(owner == r).tolist(), float(loads[r])) for r in range(ranks))
    top = max(float(loads.max()), 0.0)
    return Assignment(
        tuple(tuple(c) for c, _ in sets), tuple(x for _, x in sets), top if optimal else bound, bool(optimal)
    )


def lower_bound(weights: np.ndarray, ranks: int) -> float:
    """Return a load that some rank has at least, however equally many chunks are assigned to each.

    The mean load; and, since among the ``k * ranks + 1`` heaviest chunks a rank has ``k + 1``, the lightest of such
    with the lightest of all.
    """
    heavy = np.sort(weights)[::-1]
    each = len(heavy) // ranks
    bound = heavy.sum() / ranks
    for k in range(each):
        several = heavy[k * ranks - k : k * ranks + 1].sum()  # the k + 1 lightest of the k * ranks + 1 heaviest
        lightest = heavy[len(heavy) - (each - k - 1) :].sum()
        bound = max(bound, several + lightest)
    return float(bound)


def _largest(w: np.ndarray, owner: np.ndarray, ranks: int) -> float:
    return float(np.bincount(owner, w, ranks).max())


def _dealt(w: np.ndarray, ranks: int) -> np.ndarray:
    """From the heaviest chunk to the lightest, each to the rank with the least load that still takes one."""
    owner, loads, room = np.zeros(len(w), int), np.zeros(ranks), np.full(ranks, len(w) // ranks)
    for i in np.argsort(-w, kind="stable"):
        to = int(np.argmin(np.where(room > 0, loads, np.inf)))
        owner[i], loads[to], room[to] = to, loads[to] + w[i], room[to] - 1
    return owner


def _swapped(w: np.ndarray, owner: np.ndarray, ranks: int) -> np.ndarray:
    """Swaps of one chunk, or of two, of the busiest rank with as many of another, while they lower the larger load."""
    owner = owner.copy()
    loads = np.bincount(owner, w, ranks)
    mean = loads.mean()
    while True:
        busy = int(np.argmax(loads))
        best, pick = loads[busy] - EPSILON * mean, None
        own = _tuples(np.flatnonzero(owner == busy))
        for other in np.argsort(loads, kind="stable"):
            if other == busy or (best + loads[other]) / 2 >= best:
                continue
            theirs = _tuples(np.flatnonzero(owner == other))
            for mine, those in zip(own, theirs, strict=True):
                if not len(mine):
                    continue
                moved = w[mine].sum(1)[:, None] - w[those].sum(1)
                after = np.maximum(loads[busy] - moved, loads[other] + moved)
                at = int(after.argmin())
                if after.flat[at] < best:
                    i, j = divmod(at, after.shape[1])
                    best, pick = float(after.flat[at]), (mine[i], those[j], int(other))
        if pick is None:
            return owner
        mine, those, other = pick
        owner[mine], owner[those] = other, busy
        loads = np.bincount(owner, w, ranks)


PAIRED = 24  # chunks of a rank up to which pairs of them are swapped, too


def _tuples(chunks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The chunks one by one, and in pairs."""
    a, b = np.triu_indices(len(chunks) if len(chunks) <= PAIRED else 0, 1)
    return chunks[:, None], np.stack([chunks[a], chunks[b]], 1)


def _searched(w: np.ndarray, owner: np.ndarray, ranks: int, bound: float) -> tuple[np.ndarray, bool]:
    """The best assignment, by branch and bound from the heaviest chunk on; and whether the search was complete."""
    order = np.argsort(-w, kind="stable")
    x = w[order].tolist()
    each = len(x) // ranks
    best, kept = _largest(w, owner, ranks), owner
    loads, counts, places = [0.0] * ranks, [0] * ranks, [0] * len(x)
    left = NODES

    def place(i: int) -> bool:
        """Assign the chunks from number ``i`` on; True where nothing more needs to be tried."""
        nonlocal best, kept, left
        if i == len(x):
            if max(loads) < best:
                best = max(loads)
                kept = np.empty(len(x), int)
                kept[order] = places
            return best <= bound * (1 + EPSILON)
        tried = set()
        for to in sorted(range(ranks), key=loads.__getitem__):
            # Ranks that are alike so far are tried once.
            alike = loads[to], counts[to]
            if counts[to] == each or loads[to] + x[i] >= best * (1 - EPSILON) or alike in tried:
                continue
            tried.add(alike)
            left -= 1
            if left < 0:
                return True
            loads[to] += x[i]
            counts[to] += 1
            places[i] = to
            if place(i + 1):
                return True
            loads[to], counts[to] = alike
        return False

    place(0)
    return kept, left >= 0
