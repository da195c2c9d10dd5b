"""Sharded tensors on a mesh of ranks: placements, their propagation through ops, and the local call of each rank."""

from umiak.spmd.local import local_shard, run_local
from umiak.spmd.placement import Layout, Partial, Placement, Replicate, Shard
from umiak.spmd.propagate import PassPartial, Propagation, backward, forward
from umiak.spmd.rule import Call, Factor, Rule, call, parse

__all__ = [
    "Call",
    "Factor",
    "Layout",
    "Partial",
    "PassPartial",
    "Placement",
    "Propagation",
    "Replicate",
    "Rule",
    "Shard",
    "backward",
    "call",
    "forward",
    "local_shard",
    "parse",
    "run_local",
]  # fmt: skip
