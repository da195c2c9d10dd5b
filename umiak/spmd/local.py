"""The local call of one rank: its shards of operands and results, and their computation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak.core import eager
from umiak.ops import LocalShard
from umiak.spmd.placement import box
from umiak.spmd.propagate import Propagation
from umiak.spmd.rule import Call


def local_shard(call: Call, propagation: Propagation, mesh: Sequence[int], at: Sequence[int]) -> LocalShard:
    """Return the shard of a call that belongs to the rank at coordinates ``at`` of the mesh."""
    operands = tuple(
        None if layout is None or m is None else box(layout, m.shape, mesh, at)
        for layout, m in zip(propagation.operands, call.operands, strict=True)
    )
    results = tuple(box(layout, m.shape, mesh, at) for layout, m in zip(propagation.results, call.results, strict=True))
    indices: dict[str, int] = {}
    for axis, choice in enumerate(propagation.choices):
        if isinstance(choice, str):
            indices[choice] = indices.get(choice, 0) * mesh[axis] + at[axis]
    return LocalShard(operands, results, indices)


def run_local(call: Call, shard: LocalShard, operands: Sequence[Any]) -> tuple:
    """Compute the local results of a sharded call from the local operands."""
    if call.op.on_shard is None:
        results = eager.apply(call.op, tuple(operands), call.params)
    else:
        results = call.op.on_shard(shard, *operands, *call.params)
    return results if isinstance(results, tuple) else (results,)
