"""Kernels of libraries: products and convolutions by the providers."""

from __future__ import annotations

from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cpu import providers, work
from umiak.backends.cpu.providers import table
from umiak.compiler import statistics
from umiak.ir.meta import dense
from umiak.ops import linalg

statistics.MAKING.append(table.making_seconds)


def kernel(call: Any) -> Kernel | None:
    """The kernel of a provider, if one has the op on these operands."""
    if not call.symbolic:
        return None
    op, metas = call.op, call.metas
    if isinstance(op, linalg.Linear) and metas[2] is not None and call.operands[2].is_contiguous():
        launch = providers.find(linalg.Matmul(False, False), metas[:2], ("bias",))
    else:
        launch = providers.find(op, metas)
    if launch is None:
        return None
    count = len(metas)

    def integer(d: providers.Dim) -> Any:
        if d.operand < count:
            return call.classes.metas[d.operand].shape[d.axis] if d.what == "size" else call.strides(d.operand)[d.axis]
        shape = tuple(call.outs[d.operand - count].shape)
        return shape[d.axis] if d.what == "size" else dense(shape).strides[d.axis]

    return Kernel(
        launch.address,
        launch.pointer,
        keep=launch,
        dims=[integer(d) for d in launch.dims],
        name=f"{op.name} ({launch.provider})",
        work=work.of_library(op),
    )
