"""Kernels of sort and top-k."""

from __future__ import annotations

from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cpu.registry import serves
from umiak.backends.cpu.sorting import KINDS, Sorting
from umiak.ops import sorting as ops


@serves(ops.Sort, ops.TopK)
def kernel(call: Any) -> Kernel | None:
    """The kernel of a class of calls; None for types that have no keys."""
    op, meta = call.op, call.classes.metas[0]
    if not call.symbolic or not meta.shape or meta.dtype.name not in (*KINDS, "uint8"):
        return None
    top = isinstance(op, ops.TopK)
    launcher = Sorting(
        meta.dtype.name, meta.dtype.itemsize, len(meta.shape), op.axis, op.largest if top else op.descending
    )
    wanted = call.classes.params[0] if top else meta.shape[op.axis]
    return Kernel(
        launcher.address,
        launcher.self_pointer,
        residuals=True,
        keep=launcher,
        dims=[wanted, *meta.shape, *call.strides(0)],
    )
