"""Time that a training step's attention takes on many ranks, by measured times of tiles and a model of links.

Ranks compute what their tiles take, and exchange keys and values as the kernels of this folder do in the ring form:
those of later steps are under way during a step, and a rank begins a step when its keys have come and those that it
sends in that step have left. A link carries one message each way at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from umiak.masks.tiles import TILE
from umiak.spmd.context_parallel.part import budget, prefetched
from umiak.spmd.context_parallel.plans import ContextPlan
from umiak.spmd.context_parallel.workload import TileTimes
from umiak.util.errors import op_error

# Of forward and backward together: two matmuls of seven (Dao et al., FlashAttention-2, 2023, section 3.1).
FORWARD = 1 / 3.5


@dataclass(frozen=True)
class Link:
    """A rank's way to the others.

    Attributes:
        latency: seconds of a message beside its bytes.
        bandwidth: bytes a second, each way.
    """

    latency: float = 10e-6
    bandwidth: float = 12.5e9

    def seconds(self, nbytes: np.ndarray) -> np.ndarray:
        """Return what messages take; 0 for those that there are not."""
        return np.where(nbytes > 0, self.latency + nbytes / self.bandwidth, 0.0)


@dataclass(frozen=True)
class SimulatedStep:
    """Attention, forward and backward, of one layer.

    Attributes:
        seconds: until the last rank is done.
        computing: of each rank, what its tiles take.
        sent: of each rank, bytes that leave it.
    """

    seconds: float
    computing: np.ndarray
    sent: np.ndarray


def simulate(
    plan: ContextPlan,
    times: TileTimes,
    link: Link,
    *,
    heads: int,
    key_heads: int,
    dim: int,
    batch: int = 1,
    itemsize: int = 4,
    send_all: bool = False,
) -> SimulatedStep:
    """Simulate attention of one layer in the ring form.

    Args:
        plan: chunks on ranks.
        times: seconds of tiles.
        link: between ranks.
        heads, key_heads, dim: of query, of key and value, and of a head.
        batch: sequences, where the mask is one for all of them.
        itemsize: bytes of an element.
        send_all: all keys go all the way around, from each rank to the next, as in Megatron-LM, whether a query sees
            them or not; otherwise those that are needed go straight to where they are.

    Raises:
        ValueError: heads that are no multiple of key heads.

    Example:
        >>> from umiak import masks
        >>> from umiak.spmd import context_parallel
        >>> mask = masks.causal_document([1500, 200, 2396])
        >>> options = {"heads": 8, "key_heads": 2, "dim": 64}
        >>> times, link = context_parallel.TileTimes(2e-4, 2e-4), context_parallel.Link(10e-6, 1e9)
        >>> plan, other = context_parallel.plan(mask, 4), context_parallel.dual_chunk(mask, 4)
        >>> ours = context_parallel.simulate(plan, times, link, **options)
        >>> ours.seconds < context_parallel.simulate(other, times, link, send_all=True, **options).seconds
        True
    """
    if key_heads < 1 or heads % key_heads:
        raise op_error(ValueError, "simulate", "heads that are a multiple of key heads", f"{heads} and {key_heads}")
    n, layout, masks = plan.ranks, plan.layout, plan.mask.indices.shape[0]
    batch = max(batch, masks)
    chunks, length = plan.chunks, plan.chunk_length
    pairs = heads * batch / masks * times.pair_weights(plan.mask, length)
    rank, step = np.arange(n)[:, None], np.arange(n)
    source = (rank - step) % n
    owners = np.empty(chunks.size, int)
    owners[chunks] = rank
    grouped = np.zeros((n, n))
    np.add.at(grouped, (owners[:, None], owners), pairs)
    work = grouped[rank, source]
    work[:, 0] += heads * times.rows * batch * chunks.shape[1] * length / TILE
    needed = np.array([[len(layout.needed(r, s)) for s in row] for r, row in enumerate(source)])
    come = np.full((n, n), chunks.shape[1]) if send_all else needed
    come[:, 0] = 0
    nbytes = come * (2 * batch * length * key_heads * dim * itemsize)
    # By distance: to whom and from whom a rank's messages of a step go.
    apart = np.minimum(step, 1) if send_all else step
    giver, taker = (rank - apart) % n, (rank + apart) % n
    duration = link.seconds(nbytes)
    # What goes all the way around is handed on when it has come: one step ahead.
    sizes = needed.max(0)
    sizes[0] = 0
    until = np.minimum(step + 2, n).tolist() if send_all else prefetched(sizes, budget(chunks))
    forward = _pass(FORWARD * work, duration, giver, taker, until, False)
    backward = _pass((1 - FORWARD) * work, duration, giver, taker, until, True)
    # Keys and values go twice, and a gradient back of those that have come.
    sent = 2 * np.take_along_axis(nbytes, taker, 0).sum(1) + nbytes.sum(1)
    return SimulatedStep(float(forward.max() + backward.max()), work.sum(1), sent)


def _pass(
    work: np.ndarray, duration: np.ndarray, giver: np.ndarray, taker: np.ndarray, until: Sequence[int], returns: bool
) -> np.ndarray:
    """Times when ranks have made all steps, and with ``returns`` have sent and got what goes back, too."""
    n, steps = work.shape
    in_free, out_free = np.zeros((2, n))  # when links are free
    there, back = np.zeros((2, n, steps))  # when a rank's messages of a step have come and left, and those back
    end, started, settled = np.zeros(n), 0, 0

    for step in range(steps):
        while started < until[step]:
            source, target = giver[:, started], taker[:, started]
            came = _transferred(duration[:, started], np.maximum(end, end[source]), in_free, out_free[source])
            left = came[target]
            in_free, out_free = np.maximum(in_free, came), np.maximum(out_free, left)
            there[:, started] = np.maximum(came, left)
            started += 1
        end = np.maximum(end, there[:, step]) + work[:, step]
        if returns:
            # Of what a rank has got it sends a gradient, when both sides have computed.
            source, target = giver[:, step], taker[:, step]
            left = _transferred(duration[:, step], np.maximum(end, end[source]), out_free, in_free[source])
            came = left[target]
            in_free, out_free = np.maximum(in_free, came), np.maximum(out_free, left)
            back[:, step] = np.maximum(came, left)
            while settled < step and until[settled] <= step:
                end = np.maximum(end, back[:, settled])
                settled += 1
    return np.maximum(end, back.max(1))


def _transferred(seconds: np.ndarray, *ready: np.ndarray) -> np.ndarray:
    """Return when messages have gone over, once all is ready; 0 for those that there are not."""
    return np.where(seconds > 0, np.maximum.reduce(ready) + seconds, 0.0)
