"""What two records of a call (`worker.py`) say of each other."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

# Relative to the largest number of the array: sums are rounded in other orders.
TOLERANCES = {
    "float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "complex64": 2e-5, "float64": 1e-9, "complex128": 1e-9,
}  # fmt: skip

# The reference has the function, but not for these operands: there is nothing to compare.
NO_KERNEL = re.compile(
    r"is not registered|not support|Unavailable|Unimplemented|must be one of|should be one of|not implemented|"
    r"only support|kernel_key\.backend|no kernels",
    re.IGNORECASE,
)

# What computing a part in float32 makes of a float64.
ROUNDING = 1e-6


def array_of(record: dict[str, Any]) -> np.ndarray:
    data = base64.b64decode(record["data"])
    return np.frombuffer(data, dtype=record["dtype"]).reshape(record["shape"])


# Of a gradient, relative to the largest one of the call: some are 0 but for what sums leave of others.
REMAINDERS = 0.1

# The reference asserts what it requires of operands; here that is an error of values or types.
ASSERTED = {"ValueError", "TypeError"}


def largest(records: list[Any]) -> float:
    """The largest finite number of all records of gradients."""
    found = [np.abs(array_of(item)).ravel() for item in records if item is not None and "tensor" in item]
    finite = np.concatenate([*found, np.zeros(1)])
    return float(finite[np.isfinite(finite)].max())


def differ_numbers(theirs: dict[str, Any], ours: dict[str, Any], tolerance: float, floor: float = 0.0) -> str | None:
    if theirs["shape"] != ours["shape"]:
        return f"shape {theirs['shape']} here {ours['shape']}"
    a, b = array_of(theirs), array_of(ours)
    if a.dtype.kind not in "fc" or b.dtype.kind not in "fc":
        if a.dtype == b.dtype == np.uint8 and not np.array_equal(a, b) and np.abs(a.astype(int) - b).max() == 1:
            return f"rounding, of {int((a != b).sum())} of {a.size}"  # of numbers that are cut to bytes
        return None if np.array_equal(a, b) else f"values {a.ravel()[:8].tolist()} here {b.ravel()[:8].tolist()}"
    finite = np.abs(a[np.isfinite(a)])
    scale = float(finite.max()) if finite.size else 0.0
    scale = max(scale, REMAINDERS * floor)
    same = np.isclose(a, b, rtol=tolerance, atol=tolerance * max(scale, 1e-30), equal_nan=True)
    if same.all():
        return None
    where = np.unravel_index(int(np.argmin(same)), same.shape)
    near = np.isclose(a, b, rtol=ROUNDING, atol=ROUNDING * max(scale, 1e-30), equal_nan=True)
    if near.all():
        return f"rounding {a[where]!r} here {b[where]!r}"
    return f"values {a[where]!r} here {b[where]!r} ({int((~same).sum())} of {same.size})"


def differ(theirs: Any, ours: Any, random: bool, inputs: Sequence[str] = (), floor: float = 0.0) -> str | None:
    """Why two records of values are not the same, or None. Results have the precision of the narrowest of the
    ``inputs``, which are dtypes: where they are mixed, the reference computes parts of a formula in that. ``floor`` is
    the size of numbers beside them."""
    if theirs is None or ours is None:  # no gradient counts as one of zeros
        other = theirs or ours
        if other is None or not array_of(other).any():
            return None
        return f"{'none' if theirs is None else 'one'} here {'none' if ours is None else 'one'}"
    kinds = ("tensor", "array", "image", "number", "items", "repr")
    kind = next(kind for kind in kinds if kind in theirs)
    if kind not in ours:
        return f"{kind} here {next(kind for kind in kinds if kind in ours)}"
    if kind == "items":
        if len(theirs["items"]) != len(ours["items"]) or theirs.get("keys") != ours.get("keys"):
            return f"{len(theirs['items'])} items here {len(ours['items'])}"
        for index, (a, b) in enumerate(zip(theirs["items"], ours["items"])):
            if said := differ(a, b, random, inputs, floor):
                return f"[{index}] {said}"
        return None
    if kind == "repr":
        return None if random or theirs["repr"] == ours["repr"] else f"{theirs['repr']} here {ours['repr']}"
    if theirs[kind] != ours[kind]:
        return f"dtype {theirs[kind]} here {ours[kind]}"
    if random:
        return None if theirs["shape"] == ours["shape"] else f"shape {theirs['shape']} here {ours['shape']}"
    tolerance = max(TOLERANCES.get(dtype, 2e-5) for dtype in (theirs[kind], *inputs))
    return differ_numbers(theirs, ours, tolerance, floor)


def no_answer(error: dict[str, Any]) -> bool:
    """Whether the reference cannot say what it makes of these operands: it has no kernel, or breaks down."""
    return bool(NO_KERNEL.search(error["words"])) or error["error"] in ("crash", "SystemError")


def verdict(theirs: dict[str, Any], ours: dict[str, Any], random: bool) -> tuple[str, str] | None:
    """(what differs, in words), or None where the frameworks agree."""
    if "error" in theirs and no_answer(theirs):
        return "nothing to compare", theirs["words"]
    if "error" in theirs or "error" in ours:
        if "error" not in theirs:
            return "refused here", f"{ours['error']}: {ours['words']}"
        if "error" not in ours:
            return "accepted here", f"{theirs['error']}: {theirs['words']}"
        if theirs["error"] in ours["kinds"] or ours["error"] in theirs["kinds"]:
            return None
        if theirs["error"] == "AssertionError" and ours["error"] in ASSERTED:
            return None
        return "error", f"{theirs['error']} here {ours['error']} ({theirs['words'][-120:]} here {ours['words'][-120:]})"
    inputs = ours.get("inputs", ())
    if said := differ(theirs["value"], ours["value"], random, inputs):
        return "value", said
    a, b = theirs.get("gradients"), ours.get("gradients")
    if isinstance(a, dict) and no_answer(a):  # forward has a kernel, backward has none
        return None
    if a is None or b is None:
        if a is None and b is None:
            return None
        present = a or b
        if isinstance(present, list) and all(differ(None, item, random) is None for item in present):
            return None
        return "gradient", f"{'none' if a is None else 'one'} here {'none' if b is None else 'one'}"
    if isinstance(a, dict) or isinstance(b, dict):
        if isinstance(a, dict) and isinstance(b, dict):
            return None
        return "gradient", "error " + (a["words"] if isinstance(a, dict) else f"here {b['words']}")
    floor = largest(a)
    for index, (left, right) in enumerate(zip(a, b)):
        if said := differ(left, right, random, inputs, floor):
            return "gradient", f"of input {index}: {said}"
    return None
