"""Carrying out a plan: reads, messages, and values put where they belong.

What is exactly a part of a wanted block is read or received straight into it. The rest goes through scratch memory: a
slab at a time for what a rank reads for itself, and within the plan's budget for what is sent and received.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from umiak import ops as F
from umiak.checkpoint.box import Box
from umiak.checkpoint.data_model import Block, Stored, TensorInfo
from umiak.checkpoint.dtypes import numpy_dtype
from umiak.checkpoint.plan import BUDGET, Put, RankPlan, Read, Receive, plan_load, slabs, sub_target
from umiak.checkpoint.sources import Sources, runs
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.inplace import apply_into

if TYPE_CHECKING:
    from umiak.checkpoint.aoa import Layout
    from umiak.comm import Group, Task

SLAB = 4 << 20  # bytes that are read, then permuted or cast: they stay in the cache in between
READ, RELAYED = 0, 1  # tags of messages


class Source(Protocol):
    """Source of stored blocks."""

    def read(self, stored: Stored, box: Box, out: np.ndarray) -> Any:
        """``box`` of a stored block, in coordinates of the whole tensor, into ``out`` (of any strides)."""


@lru_cache(maxsize=4096)
def _runs(block: Block) -> tuple[tuple[Box, int], ...]:
    return runs(block)


def part(array: np.ndarray, block: Block, run: int, box: Box) -> np.ndarray:
    """The part of a block's array that holds ``box``, which lies in the run of that number."""
    run_box, at = _runs(block)[run]
    if block.flat is not None:
        array = array[at : at + run_box.size].reshape(run_box.shape)
    return array[box.relative_to(run_box.offset).slices]


class Memory:
    """Blocks in the memory of this rank as stored ones: ``Stored.begin`` is their position in ``arrays``."""

    def __init__(self, arrays: Sequence[np.ndarray]) -> None:
        self.arrays = arrays

    def read(self, stored: Stored, box: Box, out: np.ndarray) -> None:
        for run, (run_box, _) in enumerate(_runs(stored.block)):
            if run_box.contains(box):
                np.copyto(out, part(self.arrays[stored.begin], stored.block, run, box))
                return
        raise AssertionError(f"{box} is in no run of {stored.block}")


def _copy(out: np.ndarray, x: np.ndarray) -> None:
    """Values of ``x`` into ``out``, cast to its dtype."""
    if out.dtype == x.dtype and (x.flags.c_contiguous or x.size < 256):
        np.copyto(out, x)
    elif x.size:
        target = from_numpy(out, copy=False)
        apply_into(F.Cast(target.dtype), (target,), (from_numpy(x, copy=False),))


def put(out: np.ndarray, data: np.ndarray, axes: tuple[int, ...] | None, casts: tuple[str, ...]) -> None:
    """``data``, with its axes permuted and cast in turn, into ``out``."""
    if axes is not None:
        data = data.transpose(axes)
    for name in casts[:-1]:
        step = np.empty(data.shape, dt.convert(name).numpy)
        _copy(step, data)
        data = step
    _copy(out, data)


class _Run:
    """A plan under way on this rank."""

    def __init__(self, blocks: Sequence[Block], into: Sequence[np.ndarray], source: Source, group: Group | None):
        self.blocks, self.into, self.source, self.group = blocks, into, source, group
        self.scratch: dict[str, np.ndarray] = {}
        self.error: Exception | None = None

    def place(self, p: Put) -> np.ndarray:
        return part(self.into[p.want], self.blocks[p.want], p.run, p.target)

    def buffer(self, step: Read | Receive, dtype: str) -> tuple[np.ndarray, Put | None]:
        """Contiguous memory for what a step brings: that of a destination where that is all it takes."""
        for p in step.puts:
            if p.axes is None and not p.casts:
                view = self.place(p)
                if view.flags.c_contiguous:
                    return view, p
        return np.empty(step.box.shape, numpy_dtype(dtype)), None

    def deliver(self, step: Read | Receive, data: np.ndarray, done: Put | None) -> None:
        for p in step.puts:
            if p is not done:
                put(self.place(p), data, p.axes, p.casts)

    def read(self, stored: Stored, box: Box, out: np.ndarray) -> None:
        # A rank that cannot read goes on with its part in the exchange, so that no other waits for it for ever.
        try:
            self.source.read(stored, box, out)
        except Exception as error:  # raised by `together`
            out[...] = 0
            self.error = self.error or error

    def read_here(self, step: Read) -> None:
        """A read that is sent to nobody."""
        for p in step.puts:
            if p.axes is None and not p.casts:
                view = self.place(p)
                self.read(step.stored, step.box, view)
                self.deliver(step, view, p)
                return
        dtype = step.stored.block.dtype
        stored = numpy_dtype(dtype)
        memory = self.scratch.get(dtype)
        if memory is None:
            memory = self.scratch[dtype] = np.empty(SLAB // stored.itemsize, stored)
        for box in slabs(step.box, memory.size):
            data = memory[: box.size].reshape(box.shape)
            self.read(step.stored, box, data)
            for p in step.puts:
                target = sub_target(box, step.box, p.target, p.axes)
                put(part(self.into[p.want], self.blocks[p.want], p.run, target), data, p.axes, p.casts)

    def wave(self, steps: Sequence[Read | Receive]) -> None:
        """Start to receive, read and send, then take what has come, in the order of the plan.

        Nobody waits for ever: what a rank relays it has received before, and all ranks take things in the same order.
        """
        if self.group is None or not any(isinstance(s, Receive) or s.to for s in steps):
            for step in steps:
                assert isinstance(step, Read)
                self.read_here(step)
            return
        coming: list[tuple[Receive, np.ndarray, Put | None, Task]] = []
        sent: list[Task] = []
        for step in steps:
            if isinstance(step, Receive):
                data, done = self.buffer(step, step.dtype)
                task = self.group.recv(data, step.peer, RELAYED if step.relayed else READ)
                coming.append((step, data, done, task))
        for step in steps:
            if isinstance(step, Read) and step.to:
                data, done = self.buffer(step, step.stored.block.dtype)
                self.read(step.stored, step.box, data)
                sent.extend(self.group.send(data, to, READ) for to in step.to)
                self.deliver(step, data, done)
        for step in steps:
            if isinstance(step, Read) and not step.to:
                self.read_here(step)
        for got, data, done, task in coming:
            task.wait()
            sent.extend(self.group.send(data, to, RELAYED) for to in got.to)
            self.deliver(got, data, done)
        for task in sent:
            task.wait()


def execute(
    plan: RankPlan, blocks: Sequence[Block], into: Sequence[np.ndarray], source: Source, group: Group | None = None
) -> None:
    """Do what a plan says for this rank.

    Args:
        plan: made for ``blocks`` as what this rank wants.
        into: an array for each block: of its box's shape, any strides; of one axis for a part of a flattening.
        source: reads what the plan reads here.
        group: the ranks of the plan; None where it has no messages.

    Raises:
        Exception: what ``source`` raised, once the exchange with other ranks is over. Destinations then hold anything.
    """
    run = _Run(blocks, into, source, group)
    for _, steps in groupby(plan.steps, key=lambda s: s.wave):
        run.wave(list(steps))
    if run.error is not None:
        raise run.error


def targets_of(wants: Sequence[Sequence[Block]]) -> dict[str, TensorInfo]:
    """The tensors that ranks want, with the distinct boxes that they hold of each."""
    first: dict[str, Block] = {}
    parts: dict[str, set[Box]] = {}
    for blocks in wants:
        for block in blocks:
            first.setdefault(block.key, block)
            parts.setdefault(block.key, set()).add(block.box)
    return {
        key: TensorInfo(key, block.global_shape, block.dtype, tuple(sorted(parts[key]))) for key, block in first.items()
    }


def fetch(
    blocks: Sequence[Block],
    into: Sequence[np.ndarray],
    sources: Sources | Callable[[], Sources],
    source: Source,
    *,
    group: Group | None = None,
    root: int = 0,
    layout: Callable[[Mapping[str, TensorInfo], Mapping[str, TensorInfo]], Layout] | None = None,
    aliases: Callable[[str], str | None] | None = None,
    readable: frozenset[str] | None = None,
    exchange: str = "auto",
    budget: int = BUDGET,
    finish: Callable[[], object] | None = None,
) -> None:
    """Fill arrays with the blocks that this rank wants; every rank of the group calls it.

    Args:
        blocks, into: as of :func:`execute`.
        sources: what is stored, on rank ``root``, which makes the plan for all.
        layout: makes the layout out of the tensors that there are and those that are wanted.
        aliases: another name for a wanted tensor that is not there.
        readable: the files that this rank can open; all of them by default.
        finish: called once everything is read, and may raise an error then: on every rank, as one of reading.

    Raises:
        As :func:`umiak.checkpoint.plan.plan_load`, on every rank; RuntimeError where another rank could not read.
    """
    blocks = tuple(blocks)

    def planned(wants: Sequence[Sequence[Block]], seen: Any, hosts: Any) -> list[RankPlan]:
        stored = sources if isinstance(sources, Sources) else sources()
        arranged = layout(stored.infos, targets_of(wants)) if layout is not None else None
        if aliases is not None and arranged is None:
            wants = [[_named(b, stored, aliases) for b in own] for own in wants]
        plan = plan_load(wants, stored, layout=arranged, readable=seen, hosts=hosts, exchange=exchange, budget=budget)
        return plan.ranks()

    if group is None or group.size == 1:
        execute(planned([blocks], None if readable is None else [readable], None)[0], blocks, into, source)
        if finish is not None:
            finish()
        return
    told = group.gather_objects((blocks, readable, socket.gethostname()))
    parts: list[Any] | None = None
    if group.rank == root:
        seen = None if any(s is None for _, s, _ in told) else [s for _, s, _ in told]
        try:
            parts = list(planned([b for b, _, _ in told], seen, [h for _, _, h in told]))
        except Exception as error:  # raised on every rank
            parts = [error] * group.size
    mine = group.scatter_objects(parts, root)
    if isinstance(mine, Exception):
        raise mine
    failure: Exception | None = None
    try:
        execute(mine, blocks, into, source, group)
        if finish is not None:
            finish()
    except Exception as error:  # raised by `together`, on every rank
        failure = error
    together(failure, group)


def _named(block: Block, sources: Sources, aliases: Callable[[str], str | None]) -> Block:
    if block.key in sources:
        return block
    other = aliases(block.key)
    return replace(block, key=other) if other is not None and other in sources else block


def together(failure: Exception | None, group: Group) -> None:
    """Raise where any rank has failed: what happened here, or else what another rank tells."""
    failures = group.gather_objects(None if failure is None else f"{type(failure).__name__}: {failure}")
    if failure is not None:
        raise failure
    for rank, text in enumerate(failures):
        if text is not None:
            raise RuntimeError(f"[checkpoint] requires all ranks to succeed, got from rank {group.ranks[rank]}: {text}")
