"""Kernels of custom ops that bring one for this device."""

from __future__ import annotations

from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cpu.registry import serves
from umiak.ops.custom import CustomCall


@serves(CustomCall)
def kernel(call: Any) -> Kernel | None:
    """The target's own kernel of a class of calls; None where its function is to run on arrays."""
    make = call.op.resolved().cpu_kernel
    return make(call) if make is not None and call.symbolic else None
