"""Kernels of Kronecker products; of other dtypes, nests."""

from __future__ import annotations

from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cpu import nests
from umiak.backends.cpu.kron import DTYPES, Kron
from umiak.backends.cpu.registry import serves
from umiak.compiler.lower.builder import NotANest
from umiak.ops import linalg


@serves(linalg.Kron)
def kernel(call: Any) -> Kernel | None:
    """The kernel of a class of calls. A nest's loop begins anew for each element of x, which is slow on short rows."""
    x, y = call.classes.metas
    if call.symbolic and x is not None and y is not None and x.shape and x.dtype.name in DTYPES and x.dtype is y.dtype:
        launcher = Kron(x.dtype.name, len(x.shape))
        dims = [*x.shape, *call.strides(0), *y.shape, *call.strides(1)]
        return Kernel(launcher.address, launcher.self_pointer, keep=launcher, dims=dims)
    try:
        return nests.kernel(call)
    except NotANest:
        return None
