"""The kernel of random permutations: keys are drawn and sorted in one go, and never stored at full length."""

from __future__ import annotations

from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cpu.permutation import Permutation
from umiak.backends.cpu.registry import serves
from umiak.ops import random


@serves(random.RandPerm, opaque=True)
def kernel(call: Any) -> Kernel | None:
    """The kernel of a class of calls; None for results that are no integers of 4 or 8 bytes."""
    if call.op.dtype.name not in ("int32", "int64"):
        return None
    made = Permutation(call.op.dtype.itemsize)
    return Kernel(made.address, made.self_pointer, keep=made, dims=[])
