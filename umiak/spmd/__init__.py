"""Tensors in parts on a mesh of ranks: placements, what an op does to them, and what each rank computes."""

from umiak.spmd.part import part_of, run_on_part
from umiak.spmd.placement import Layout, Partial, Placement, Replicate, Shard
from umiak.spmd.propagate import Propagation, Through, backward, forward
from umiak.spmd.rule import Call, Factor, Rule, call, parse

__all__ = [
    "Call", "Factor", "Layout", "Partial", "Placement", "Propagation", "Replicate", "Rule", "Shard", "Through",
    "backward", "call", "forward", "parse", "part_of", "run_on_part",
]  # fmt: skip
