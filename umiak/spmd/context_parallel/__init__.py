"""Context parallelism: attention of long sequences whose tokens lie on several ranks, with masks of any family."""

from umiak.spmd.context_parallel.balance import Assignment, assign
from umiak.spmd.context_parallel.layout import Layout
from umiak.spmd.context_parallel.picture import svg
from umiak.spmd.context_parallel.plans import ContextPlan, PlanTensors, dual_chunk, plan
from umiak.spmd.context_parallel.sharded_attention import attention
from umiak.spmd.context_parallel.simulation import Link, SimulatedStep, simulate
from umiak.spmd.context_parallel.workload import TileTimes, measure_tile_times

__all__ = [
    "Assignment",
    "ContextPlan",
    "Layout",
    "Link",
    "PlanTensors",
    "SimulatedStep",
    "TileTimes",
    "assign",
    "attention",
    "dual_chunk",
    "measure_tile_times",
    "plan",
    "simulate",
    "svg",
]
