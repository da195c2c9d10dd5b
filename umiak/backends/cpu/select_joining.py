"""Kernels of concat and stack of many tensors; of few, nests are as good, and fuse with what follows."""

from __future__ import annotations

from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cpu import nests
from umiak.backends.cpu.joining import Joining
from umiak.backends.cpu.registry import serves
from umiak.compiler.lower.builder import NotANest
from umiak.compiler.lower.movement import MOST_PARTS
from umiak.ir import sym as dim
from umiak.ops import movement


@serves(movement.Concat, movement.Stack)
def kernel(call: Any) -> Kernel | None:
    """The kernel of a class of calls; None for many tensors that are not contiguous."""
    metas = call.classes.metas
    if len(metas) <= MOST_PARTS:
        try:
            return nests.kernel(call)
        except NotANest:
            return None
    if not call.symbolic or metas[0].dtype.is_packed or not all(x.is_contiguous() for x in call.operands):
        return None
    axis = call.op.axis
    launcher = Joining(len(metas), metas[0].dtype.itemsize)
    runs = [dim.product(m.shape[axis:]) for m in metas]
    return Kernel(
        launcher.address, launcher.self_pointer, keep=launcher, dims=[dim.product(metas[0].shape[:axis]), *runs]
    )
