"""Every op of the engine. ``from umiak import ops as F`` gives a strict function per op: ``F.softmax(x, axis=1)``."""

from __future__ import annotations

import importlib
from typing import Any

from umiak.ops.base import FUNCTIONS, REGISTRY, Op, Param, Sample, Saved, param, register

FAMILIES = (
    "elementwise",
    "compare",
    "create",
    "random",
    "reduce",
    "scan",
    "window",
    "movement",
    "index",
    "sort",
    "linalg",
    "conv",
    "fft",
    "lapack",
    "attention",
    "collective",
    "custom",
    "activation",
    "math",
    "norm",
    "loss",
    "optimizer",
)

for _family in FAMILIES:
    importlib.import_module(f"umiak.ops.{_family}")


def __getattr__(name: str) -> Any:
    """Resolve ``F.softmax`` to the strict function and ``F.Softmax`` to the record."""
    found = FUNCTIONS.get(name)
    if found is None:
        found = next((cls for cls in REGISTRY.values() if cls.__name__ == name), None)
    if found is None:
        raise AttributeError(f"umiak.ops has no op {name!r}")
    globals()[name] = found
    return found


__all__ = ["FUNCTIONS", "REGISTRY", "Op", "Param", "Sample", "Saved", "param", "register"]
