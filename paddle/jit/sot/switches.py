"""Switches of the environment for functions that are captured from bytecode, read when a capture begins."""

from __future__ import annotations

import os


def _on(name: str, default: bool) -> bool:
    value = os.environ.get(name)
    return default if value is None else value.lower() not in ("0", "false", "off", "")


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
