"""Switches of the environment for functions that are captured from bytecode, read when a capture begins."""

from __future__ import annotations

import functools
import os
import warnings

# Switches of the reference framework that are not read, and what there is instead.
_GUARDS = "what a capture has read is compared by one function and in C in any case"
_TOLD = "graph_breaks and fallbacks of the function, SOT_LOG_LEVEL and SOT_EXPORT tell what was captured"
_SIZES = (
    "sizes 0 and 1 have captures of their own, others are symbols once they differ; SOT_ALLOW_DYNAMIC_SHAPE=0 ends that"
)
UNREAD = {
    "SOT_ENABLE_FASTER_GUARD": _GUARDS,
    "SOT_ENABLE_STRICT_GUARD_CHECK": _GUARDS,
    "SOT_ENABLE_GUARD_TREE": _GUARDS,
    "SOT_UNSAFE_CACHE_FASTPATH": _GUARDS,
    "SOT_COLLECT_INFO": _TOLD,
    "SOT_SERIALIZE_INFO": _TOLD,
    "SOT_CE_DEBUG_MODE": _TOLD,
    "SOT_SPECIALIZED_DIM_NUMBERS": _SIZES,
    "SOT_ENABLE_0_SIZE_FALLBACK": _SIZES,
    "SOT_BREAK_GRAPH_ON_GET_SYMBOLIC_VALUE": "a size or number that Python needs is a constant of the capture; "
    "paddle.jit.marker.force_dynamic breaks the graph",
    "SOT_FORCE_FALLBACK_SIR_IDS": "graphs have no such numbers; paddle.jit.not_to_static keeps a function out of them",
    "ENV_SOT_TRACE_NUMPY": "NumPy functions of arrays run between two graphs, by full_graph=True inside of one",
    "ENABLE_SOT_STEP_PROFILER": "paddle.profiler measures captured functions, too",
}


def _on(name: str, default: bool) -> bool:
    value = os.environ.get(name)
    return default if value is None else value.lower() not in ("0", "false", "off", "")


def warn_of_unread() -> None:
    """Warn of each switch that is set and not read, once."""
    for name in UNREAD.keys() & os.environ.keys():
        _warn(name)


@functools.cache
def _warn(name: str) -> None:
    warnings.warn(f"{name} of the environment is not read: {UNREAD[name]}", stacklevel=3)


def falls_back() -> bool:
    """Return whether ``to_static`` captures bytecode, so that a function may run in part without a graph."""
    return _on("ENABLE_FALL_BACK", True)


def least_operations() -> int:
    """Return the operations that a graph must have; smaller ones run as they were written."""
    return int(os.environ.get("MIN_GRAPH_SIZE", "0"))


def strict() -> bool:
    """Return whether an error of the simulation is raised rather than leading to a run without a graph."""
    return _on("STRICT_MODE", False)


def sizes_vary() -> bool:
    """Return whether sizes and numbers that differ become symbols."""
    return _on("SOT_ALLOW_DYNAMIC_SHAPE", True)


def captures_control_flow() -> bool:
    """Return whether functions that are marked so have their branches on tensors captured."""
    return _on("SOT_WITH_CONTROL_FLOW", True)


def time_limit() -> float:
    """Return the seconds that captures of one function may take in all."""
    return 600.0 if _on("SOT_ENABLE_COMPILE_TIME_LIMIT", True) else float("inf")


def log_level() -> int:
    """Return how much is said on stderr: 1 names graph breaks and runs without a graph, 2 each capture, 3 guards."""
    return int(os.environ.get("SOT_LOG_LEVEL", "0"))


def export_folder() -> str | None:
    """Return the folder into which guards, graphs and what follows them are written, if one is named."""
    return os.environ.get("SOT_EXPORT") or None
