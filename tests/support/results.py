"""Results of programs, as JSON has them, compared."""

from __future__ import annotations

from typing import Any

import numpy as np


def differences(ours: Any, theirs: Any, tolerance: float, key: str = "") -> list[str]:
    """What two results say differently; numbers may differ by ``tolerance``, beside the largest of their list."""
    if isinstance(theirs, dict):
        if not isinstance(ours, dict) or ours.keys() != theirs.keys():
            return [f"{key}: {ours} in place of {theirs}"]
        return [line for k in theirs for line in differences(ours[k], theirs[k], tolerance, f"{key}.{k}" if key else k)]
    if isinstance(theirs, list) and theirs and isinstance(theirs[0], list):
        if not isinstance(ours, list) or len(ours) != len(theirs):
            return [f"{key}: {ours} in place of {theirs}"]
        pairs = enumerate(zip(ours, theirs))
        return [line for i, (a, b) in pairs for line in differences(a, b, tolerance, f"{key}[{i}]")]
    numbers = np.asarray(theirs)
    if numbers.dtype.kind not in "fi":
        return [] if ours == theirs else [f"{key}: {ours} in place of {theirs}"]
    found = np.asarray(ours)
    if found.shape != numbers.shape or found.dtype.kind not in "fi":
        return [f"{key}: {ours} in place of {theirs}"]
    if numbers.dtype.kind == "i":
        return [] if np.array_equal(found, numbers) else [f"{key}: {ours} in place of {theirs}"]
    allowed = tolerance * np.abs(numbers).max(initial=1e-6)
    worst = np.abs(found - numbers).max(initial=0.0)
    return [] if worst <= allowed else [f"{key}: apart by {worst:.3g}, allowed are {allowed:.3g}"]
