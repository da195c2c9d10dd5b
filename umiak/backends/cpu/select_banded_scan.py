"""Kernels of banded scans."""

from __future__ import annotations

from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cpu.banded_scan import MOST_BANDS, BandedScan
from umiak.backends.cpu.registry import serves
from umiak.ops import banded_scan as ops


@serves(ops.BandedLogsumexpScan, ops.BandedLinearScan)
def kernel(call: Any) -> Kernel | None:
    """The kernel of a class of calls; None for low precision, which NumPy computes in float32."""
    op, meta = call.op, call.classes.metas[0]
    if not call.symbolic or meta.dtype.name not in ("float32", "float64") or op.bands > MOST_BANDS:
        return None
    logs = isinstance(op, ops.BandedLogsumexpScan)
    launcher = BandedScan(op.bands, meta.dtype.name == "float64", not logs and op.transpose)
    dims = [*meta.shape, *call.strides(0), *call.strides(1)]
    return Kernel(launcher.log_sums if logs else launcher.sums, launcher.self_pointer, keep=launcher, dims=dims)
