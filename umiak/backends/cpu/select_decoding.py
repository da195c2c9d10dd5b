"""Kernels of decoders."""

from __future__ import annotations

from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cpu.decoding import Viterbi
from umiak.backends.cpu.registry import serves
from umiak.ops import decoding as ops


@serves(ops.ViterbiDecode)
def viterbi(call: Any) -> Kernel | None:
    """The kernel of a class of calls; None for low precision, which NumPy computes in float32."""
    meta = call.classes.metas[0]
    if not call.symbolic or meta.dtype.name not in ("float32", "float64"):
        return None
    launcher = Viterbi(meta.dtype.name == "float64", call.op.with_ends)
    dims = [*meta.shape, *call.strides(0), *call.strides(1), *call.strides(2)]
    return Kernel(launcher.run, launcher.self_pointer, keep=launcher, dims=dims)
