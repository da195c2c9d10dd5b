"""Stored blocks by tensor, with an index that finds those of any box."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate

from umiak.checkpoint.box import Box, difference, flat_runs
from umiak.checkpoint.data_model import Block, Stored, TensorInfo
from umiak.checkpoint.dtypes import numpy_dtype


@cache
def itemsize(dtype: str) -> int:
    """Bytes of one element of the dtype of this name."""
    return numpy_dtype(dtype).itemsize


def runs(block: Block) -> tuple[tuple[Box, int], ...]:
    """The boxes of a block that lie in one piece each, and where they begin in its memory, in elements.

    That is the box of the block, or for a part of a flattening at most ``2 * rank - 1`` boxes.
    """
    if block.flat is None:
        return ((block.box, 0),)
    start, stop = block.flat
    return tuple((b.shifted(block.box.offset), at - start) for b, at in flat_runs(block.box.shape, start, stop))


class Run:
    """A box of a stored block that lies in one piece. ``copies`` are the positions in the list of the equal blocks."""

    __slots__ = ("box", "copies", "dtype", "number")

    def __init__(self, number: int, box: Box, dtype: str, copies: tuple[int, ...]) -> None:
        self.number = number
        self.box = box
        self.dtype = dtype
        self.copies = copies


class _Index:
    """Runs of one tensor, sorted along the axis that cuts it into most parts."""

    __slots__ = ("axis", "ends", "runs", "starts")

    def __init__(self, matching: list[Run]) -> None:
        self.runs = matching
        self.axis = 0
        if len(matching) > 1:
            rank = len(matching[0].box.offset)
            self.axis = max(range(rank), key=lambda a: len({r.box.offset[a] for r in matching}), default=0)
            if rank:
                matching.sort(key=lambda r: (r.box.offset[self.axis], r.number))
                self.starts = [r.box.offset[self.axis] for r in matching]
                self.ends = list(accumulate((r.box.offset[self.axis] + r.box.shape[self.axis] for r in matching), max))

    def near(self, box: Box) -> Sequence[Run]:
        """The runs that may have a part of the box: all that do, in a fixed order."""
        if len(self.runs) == 1 or not box.shape:
            return self.runs
        begin = box.offset[self.axis]
        return self.runs[bisect_right(self.ends, begin) : bisect_left(self.starts, begin + box.shape[self.axis])]


class Sources:
    """Stored blocks by key.

    Args:
        stored: blocks, in files or in the memories of ranks; equal ones are copies of one another.
        infos: what is known of the tensors. By default the parts of a tensor are its blocks; but those may have been
            cut further to be written.

    Raises:
        ValueError: blocks of one key that differ in dtype or global shape, or reach out of the tensor.
    """

    def __init__(self, stored: Iterable[Stored], infos: Mapping[str, TensorInfo] | None = None) -> None:
        self.stored = tuple(stored)
        copies: dict[Block, list[int]] = {}
        for i, s in enumerate(self.stored):
            copies.setdefault(s.block, []).append(i)
        self._runs: dict[str, list[Run]] = {}
        self._index: dict[str, _Index] = {}
        self.infos: dict[str, TensorInfo] = {}
        parts: dict[str, set[Box]] = {}
        firsts: dict[str, Block] = {}
        number = 0
        for block, positions in copies.items():
            key = block.key
            first = firsts.setdefault(key, block)
            if (first.dtype, first.global_shape) != (block.dtype, block.global_shape):
                raise ValueError(
                    f"[checkpoint] requires one shape and dtype for all blocks of {key!r}, got {first.dtype} "
                    f"{list(first.global_shape)} and {block.dtype} {list(block.global_shape)}"
                )
            if not Box.full(block.global_shape).contains(block.box):
                raise ValueError(
                    f"[checkpoint] requires blocks within their tensor, got {block.box} of {key!r} "
                    f"with shape {list(block.global_shape)}"
                )
            parts.setdefault(key, set()).add(block.box)
            known = self._runs.setdefault(key, [])
            positions_of = tuple(positions)
            for box, _ in runs(block):
                if box.size:
                    known.append(Run(number, box, block.dtype, positions_of))
                    number += 1
        for key, first in firsts.items():
            known_info = None if infos is None else infos.get(key)
            self.infos[key] = known_info or TensorInfo(key, first.global_shape, first.dtype, tuple(sorted(parts[key])))

    def __contains__(self, key: str) -> bool:
        return key in self.infos

    def find(self, key: str, box: Box) -> tuple[list[tuple[Run, Box]], list[Box]]:
        """Disjoint parts of ``box``, each with a run that holds it, and the boxes that nothing holds."""
        index = self._index.get(key)
        if index is None:
            index = self._index[key] = _Index(self._runs[key])
        left, runs = [box] if box.size else [], []
        for run in index.near(box):
            rest: list[Box] = []
            for b in left:
                common = b.intersect(run.box)
                if common is None:
                    rest.append(b)
                else:
                    runs.append((run, common))
                    if common != b:
                        rest.extend(difference(b, common))
            left = rest
            if not left:
                break
        return runs, left

    def held(self, key: str) -> Iterator[Box]:
        """The boxes of a tensor that there are."""
        return (run.box for run in self._runs[key])
