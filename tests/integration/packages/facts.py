"""Run a program of this folder with the ``paddle`` that is there, and write what it gives.

    python facts.py PROGRAM FILE

It needs NumPy, ``paddle`` and the program's package; nothing of this project but ``tests/programs``.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np


def numbers(x: Any) -> list[float]:
    """Mean, mean square and nine elements of a tensor, spread over it."""
    flat = np.asarray(x.numpy() if hasattr(x, "numpy") else x, "float64").reshape(-1)
    return [flat.mean(), (flat**2).mean(), *flat[np.linspace(0, flat.size - 1, 9).astype(int)]]


def gradients(layer: Any) -> dict[str, float]:
    """The norms of a layer's gradients: of the first, the middle and the last parameter that has one."""
    found = [(name, p.grad.numpy()) for name, p in layer.named_parameters() if p.grad is not None]
    picked = [found[0], found[len(found) // 2], found[-1]]
    return {name: float(np.linalg.norm(g.astype("float64"))) for name, g in picked} | {"count": len(found)}


def plain(value: Any) -> Any:
    """A result as JSON: numbers with seven digits."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.7g}")
    return int(value) if isinstance(value, np.integer) else value


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of the packages and of what they require
    program = importlib.import_module(f"{sys.argv[1]}_program")
    Path(sys.argv[2]).write_text(json.dumps(plain(program.run())))
