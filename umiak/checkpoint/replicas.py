"""Assignment of replicated blocks to the ranks that save them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from umiak.checkpoint.box import Box
from umiak.checkpoint.data_model import Block
from umiak.checkpoint.plan import Loads
from umiak.checkpoint.sources import itemsize

SPLIT = 16 << 20  # bytes from which a block is shared out among those that hold it


@dataclass(frozen=True, slots=True)
class Save:
    """Write ``block``, which is the own block ``number`` or some rows of it. ``replica`` counts its copies from 0."""

    number: int
    block: Block
    replica: int = 0


def plan_save(
    blocks: Sequence[Sequence[Block]], *, replicas: bool = False, split: int | None = SPLIT
) -> tuple[tuple[Save, ...], ...]:
    """Plan the writes of each rank, so that every block is written once and ranks write about equally many bytes.

    The result depends on the arguments alone, so that all ranks may make it for themselves.

    Args:
        blocks: the blocks of every rank.
        replicas: every rank writes all it has; copies beyond the first are marked as such.
        split: a block of at least so many bytes that several ranks hold is cut along its first axis, and each writes
            a part of it. None: blocks stay whole.

    Raises:
        ValueError: blocks of one key that differ in dtype or global shape, naming the ranks.
    """
    holders: dict[Block, list[tuple[int, int]]] = {}
    first: dict[str, tuple[Block, int]] = {}
    for rank, own in enumerate(blocks):
        for number, block in enumerate(own):
            known, owner = first.setdefault(block.key, (block, rank))
            if (known.dtype, known.global_shape) != (block.dtype, block.global_shape):
                raise ValueError(
                    f"[checkpoint] requires one dtype and global shape of {block.key!r} on all ranks, got "
                    f"{known.dtype} {list(known.global_shape)} on rank {owner} and {block.dtype} "
                    f"{list(block.global_shape)} on rank {rank}"
                )
            if block.size or not block.box.size:  # an empty range of a buffer is nothing; an empty tensor is one
                holders.setdefault(block, []).append((rank, number))
    out: list[list[Save]] = [[] for _ in blocks]
    loads = Loads(len(blocks))

    def nbytes(block: Block) -> int:
        return block.size * itemsize(block.dtype)

    order = sorted(holders, key=lambda b: (len(holders[b]), -nbytes(b), b.key, b.box, b.flat or ()))
    for block in order:
        at = holders[block]
        if replicas:
            for copy, (rank, number) in enumerate(at):
                out[rank].append(Save(number, block, copy))
            continue
        ranks = tuple(dict.fromkeys(rank for rank, _ in at))
        numbers = dict(reversed(at))
        parts = [block]
        if split is not None and len(ranks) > 1 and block.flat is None and block.box.shape and nbytes(block) >= split:
            parts = [replace(block, box=b) for b in _rows(block.box, len(ranks))]
        for part in parts:
            rank = loads.give(ranks, nbytes(part))
            out[rank].append(Save(numbers[rank], part))
    return tuple(tuple(sorted(saves, key=lambda s: (s.number, s.block.box))) for saves in out)


def _rows(box: Box, count: int) -> list[Box]:
    """A box cut along its first axis into at most ``count`` parts of about the same size."""
    rows = box.shape[0]
    count = min(count, rows)
    edges = [rows * i // count for i in range(count + 1)]
    return [Box((box.offset[0] + a, *box.offset[1:]), (b - a, *box.shape[1:])) for a, b in zip(edges, edges[1:])]
