"""Whole tensors out of the blocks that ranks hold in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from paddle.distributed.flex_checkpoint.dcp.load_state_dict import layout_of
from paddle.distributed.flex_checkpoint.dcp.sharded_weight import ShardedStateDict
from paddle.distributed.flex_checkpoint.dcp.utils import comm_group, on_host, weights_of
from umiak import comm
from umiak.checkpoint.box import Box
from umiak.checkpoint.data_model import Block, Stored, TensorInfo
from umiak.checkpoint.dtypes import numpy_dtype
from umiak.checkpoint.execute import Memory, execute
from umiak.checkpoint.plan import BUDGET, plan_load
from umiak.checkpoint.sources import Sources, itemsize
from umiak.core.array import from_numpy
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error
from umiak.util.parts import parts_of

GROWTH = 8 << 30


def full_param(
    sharded_state_dict: ShardedStateDict,
    aoa_config: Mapping[str, Any] | None = None,
    *,
    process_group: Any = None,
    h_group: Any = None,
    v_group: Any = None,
    num_splits: int = 1,
    shard_idx: int = 0,
    memory_growth_threshold: int = GROWTH,
) -> Iterator[tuple[str, Tensor]]:
    """``Layer.full`` of a state dict."""
    if (h_group is None) != (v_group is None):
        raise op_error(ValueError, "full", "h_group and v_group together", "one of them")
    if not 0 <= shard_idx < num_splits:
        raise op_error(ValueError, "full", f"0 <= shard_idx < num_splits = {num_splits}", shard_idx)
    if h_group is None:
        group: Any = comm_group(process_group)
    else:
        group = _Grid(comm_group(h_group), comm_group(v_group))
    weights, _ = weights_of(sharded_state_dict, "full")
    arrays = [on_host(w.local_tensor) for w in weights]
    blocks = tuple(w.block for w in weights)
    told = group.gather_objects(blocks)
    # The memory of a rank is a file that this rank alone can read.
    stored = [Stored(b, f"rank {r}", i) for r, own in enumerate(told) for i, b in enumerate(own)]
    sources = Sources(stored)
    readable = [frozenset({f"rank {r}"}) for r in range(group.size)]
    make = layout_of(aoa_config)
    layout = None if make is None else make(sources.infos, None)
    infos: Mapping[str, TensorInfo] = sources.infos if layout is None else layout.targets
    names = sorted(infos)
    if h_group is not None:
        names = names[len(names) * shard_idx // num_splits : len(names) * (shard_idx + 1) // num_splits]
    memory = Memory(arrays)
    place = weights[0].local_tensor.place if weights else None
    for batch in parts_of((infos[n] for n in names), _bytes_of, min(memory_growth_threshold, BUDGET)):
        wanted = [Block(i.key, i.dtype, i.shape, Box.full(i.shape)) for i in batch]
        # Every rank makes the same plan, as it has the same facts.
        plan = plan_load([wanted] * group.size, sources, layout=layout, readable=readable)
        buffers = [np.empty(i.shape, numpy_dtype(i.dtype)) for i in batch]
        execute(plan.rank(group.rank), wanted, buffers, memory, group)
        for info, array in zip(batch, buffers):
            t = from_numpy(array, Place("cpu"), copy=None)
            yield info.key, t if place is None or t.place is place else t.to(place)


def _bytes_of(info: TensorInfo) -> int:
    return math.prod(info.shape) * itemsize(info.dtype)


class _Grid:
    """The ranks of two groups that cross, as one group. Messages go by way of the group of all ranks."""

    TAGS = 1 << 14  # apart from those of other messages

    def __init__(self, h_group: comm.Group, v_group: comm.Group) -> None:
        self.h, self.v, self.world = h_group, v_group, comm.world()
        told = [rank for column in h_group.gather_objects(v_group.gather_objects(self.world.rank)) for rank in column]
        self.ranks = tuple(sorted(set(told)))
        self.size = len(self.ranks)
        self.rank = self.ranks.index(self.world.rank)
        if self.size != h_group.size * v_group.size:
            need = f"groups of {h_group.size} and {v_group.size} ranks that cross in one rank"
            raise op_error(ValueError, "full", need, f"{self.size} ranks in all")

    def gather_objects(self, obj: Any) -> list[Any]:
        pairs = self.h.gather_objects(self.v.gather_objects((self.world.rank, obj)))
        by_rank = {rank: one for column in pairs for rank, one in column}
        return [by_rank[rank] for rank in self.ranks]

    def send(self, x: np.ndarray, peer: int, tag: int = 0) -> comm.Task:
        return self.world.send(x, self.ranks[peer], self.TAGS + tag)

    def recv(self, x: np.ndarray, peer: int, tag: int = 0) -> comm.Task:
        return self.world.recv(x, self.ranks[peer], self.TAGS + tag)
