"""Plans of context parallelism: which rank has which chunks of a sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from umiak import ops as F
from umiak.core.array import from_numpy
from umiak.core.tensor import Tensor
from umiak.masks.column_mask import ColumnMask
from umiak.spmd.context_parallel import picture
from umiak.spmd.context_parallel.balance import Assignment, assign, lower_bound
from umiak.spmd.context_parallel.layout import Layout, positions
from umiak.spmd.context_parallel.workload import DEFAULT, TileTimes
from umiak.util.errors import op_error

MOST_CHUNKS = 64  # of a rank, that are tried
SHORTEST = 32  # tokens of a chunk, that are tried


class PlanTensors(NamedTuple):
    """A plan as operands of attention. Captured functions take them as arguments: another plan of equal sizes is no
    reason to capture again."""

    rows: Tensor
    chunks: Tensor
    causal: bool


@dataclass(frozen=True, eq=False)
class ContextPlan:
    """Chunks of a sequence on ranks.

    Attributes:
        mask: what the tokens of the sequences see of each other; queries and keys are the same tokens.
        assignment: the chunks of each rank, with their loads and what is known about the balance.
    """

    mask: ColumnMask
    assignment: Assignment

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return len(self.assignment.chunks)

    @property
    def chunks(self) -> np.ndarray:
        """Chunks of each rank, rising: int64 ``[ranks, chunks per rank]``."""
        return np.array(self.assignment.chunks, np.int64)

    @property
    def chunk_length(self) -> int:
        """Tokens of a chunk."""
        return self.mask.keys // self.chunks.size

    @property
    def imbalance(self) -> float:
        """The largest load of a rank over the mean of all, less 1."""
        return self.assignment.imbalance

    @property
    def layout(self) -> Layout:
        """The chunks that ranks need of each other."""
        return Layout(self.mask, self.chunks)

    def positions(self, rank: int) -> np.ndarray:
        """Return the places in the sequence of a rank's tokens, in the order in which it has them: int64."""
        self._need(rank)
        return positions(self.chunks[rank], self.chunk_length)

    def part(self, x: Any, rank: int, axis: int = 1) -> Any:
        """Return a rank's tokens of a whole sequence.

        Args:
            x: tensor or array, with the tokens of the sequence along ``axis``.
            rank: whose tokens.
            axis: of the tokens.
        """
        own = self.positions(rank)
        if x.shape[axis] != self.mask.keys:
            raise op_error(ValueError, "ContextPlan.part", f"{self.mask.keys} tokens along axis {axis}", x.shape[axis])
        if isinstance(x, np.ndarray):
            return np.take(x, own, axis)
        return F.take(x, from_numpy(own, x.place), axis=axis % x.ndim)

    def join(self, parts: list, axis: int = 1) -> np.ndarray:
        """Return the whole sequence from the tokens of all ranks, in the order of ranks: arrays."""
        if len(parts) != self.ranks:
            raise op_error(ValueError, "ContextPlan.join", f"parts of {self.ranks} ranks", len(parts))
        order = np.concatenate([self.positions(r) for r in range(self.ranks)])
        return np.take(np.concatenate(parts, axis), np.argsort(order), axis)

    def tensors(self) -> PlanTensors:
        """Return the plan as operands of :func:`~umiak.spmd.context_parallel.attention`, in the host's memory."""
        return PlanTensors(from_numpy(self.mask.indices), from_numpy(self.chunks), self.mask.causal)

    def svg(self, name: str = "plan") -> str:
        """Return a picture: the ranks that compute the tiles of the mask, and their loads."""
        return picture.svg({name: self})

    def _need(self, rank: int) -> None:
        if not 0 <= rank < self.ranks:
            raise op_error(ValueError, "ContextPlan", f"a rank from 0 to {self.ranks - 1}", rank)


def plan(
    mask: ColumnMask,
    ranks: int,
    *,
    chunks: int | None = None,
    times: TileTimes = DEFAULT,
    imbalance: float = 0.03,
) -> ContextPlan:
    """Assign chunks of a sequence to ranks so that attention takes them equally long.

    What a chunk takes is estimated by the tiles of 128 by 128 scores of its queries. Every rank gets equally many
    chunks. Ranks that plan the same mask with the same times get the same plan, without a word.

    Args:
        mask: what the tokens of the sequences see of each other. Its batch entries share the plan; heads, too.
        ranks: how many there are.
        chunks: how many each rank gets. By default the fewest, doubled from 2 on, whose ``imbalance`` is not exceeded;
            or those with the least, where chunks of less than 32 tokens would be needed.
        times: what tiles take; :func:`measure_tile_times` measures them.
        imbalance: how far the busiest rank's load may exceed the mean, where the number of chunks is free.

    Raises:
        ValueError: queries and keys that are not equally many, or a length that cannot be cut into equal chunks.

    Example:
        >>> from umiak import masks
        >>> from umiak.spmd import context_parallel
        >>> candidate = context_parallel.plan(masks.causal_document([1500, 200, 2396]), 4)
        >>> candidate.imbalance < 0.03
        True
    """
    length = _length(mask, ranks)
    if chunks is not None:
        if chunks < 1 or length % (ranks * chunks):
            required = f"a number of chunks for each rank that divides its {length // ranks} tokens"
            raise op_error(ValueError, "plan", required, chunks)
        return ContextPlan(mask, assign(times.chunk_weights(mask, length // (ranks * chunks)), ranks))
    best: ContextPlan | None = None
    for each in _numbers(length // ranks):
        candidate = ContextPlan(mask, assign(times.chunk_weights(mask, length // (ranks * each)), ranks))
        if best is None or candidate.imbalance < best.imbalance:
            best = candidate
        if best.imbalance <= imbalance:
            break
    assert best is not None, "one chunk for each rank is always possible"
    return best


def dual_chunk(mask: ColumnMask, ranks: int, *, times: TileTimes = DEFAULT) -> ContextPlan:
    """Return the plan of Megatron-LM: of ``2 * ranks`` chunks, rank r has the r-th from the front and from the back.

    It is balanced where the mask is causal and nothing else. Others are what it is compared with.

    Args:
        mask: as for :func:`plan`.
        ranks: how many there are.
        times: what tiles take.

    References:
        Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models, 2022; context parallelism of
        Megatron-LM.
    """
    length = _length(mask, 2 * ranks)
    weights = times.chunk_weights(mask, length // (2 * ranks))
    pairs = tuple((r, 2 * ranks - 1 - r) for r in range(ranks))
    loads = tuple(float(weights[list(pair)].sum()) for pair in pairs)
    return ContextPlan(mask, Assignment(pairs, loads, lower_bound(weights, ranks), False))


def _length(mask: ColumnMask, parts: int) -> int:
    if mask.queries != mask.keys:
        required = "a mask whose queries and keys are the same tokens"
        raise op_error(ValueError, "plan", required, f"{mask.queries} queries and {mask.keys} keys")
    if parts < 1 or mask.keys < parts or mask.keys % parts:
        hint = "Pad the sequence: tokens behind the last document may be one of their own."
        raise op_error(ValueError, "plan", f"a length that is a multiple of {parts}", mask.keys, hint)
    return mask.keys


def _numbers(tokens: int) -> list[int]:
    """Numbers of chunks to try for a rank of so many tokens."""
    numbers = [
        n for n in (2**i for i in range(1, MOST_CHUNKS.bit_length())) if tokens % n == 0 and tokens // n >= SHORTEST
    ]
    return numbers or [2 if tokens % 2 == 0 else 1]
