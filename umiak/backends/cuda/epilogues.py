"""Matmuls of narrow floats with what follows them in one launch, by tiles of the loop IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cuda.matmuls import Kernels
from umiak.backends.cuda.providers import gemm
from umiak.backends.matmul_work import Matrices
from umiak.backends.strided import is_dense
from umiak.backends.tile_matmul import DTYPES, tile_matmul_work
from umiak.core.buffer import Buffer
from umiak.core.tensor import empty
from umiak.ops.linalg import Matmul


def fuses(op: Any, metas: Sequence[Any], steps: Sequence[Any]) -> bool:
    """Return whether a matmul and what follows it had better be one launch: where tiles of the loop IR compute it."""
    if type(op) is not Matmul or not steps or not gemm.by_loop_ir():
        return False
    x, y = metas[:2]
    return x.dtype.name in DTYPES and y.dtype is x.dtype and min(len(x.shape), len(y.shape)) >= 2


def kernel(kernels: Kernels, call: Any) -> Kernel | None:
    """The kernel of a matmul with its epilogue; None: as its decomposition."""
    if not fuses(call.op.inner, call.metas, call.op.steps):
        return None

    def dense(x: Buffer, name: str) -> Buffer:
        if is_dense(x):
            return x
        copied = Buffer(empty(x.shape, x.dtype, x.place))
        kernels.copy(copied, x, name)
        return copied

    def run(op: Any, outs: Sequence[Buffer], ins: Sequence[Any], params: tuple) -> None:
        out, inner = outs[0], op.inner
        if not out.size:
            return
        extras = [dense(x, op.name) for x in ins[2:]]
        a, b = ins[:2]
        for _ in range(2):
            of_a, of_b = Matrices(a, inner.transpose_x), Matrices(b, inner.transpose_y)
            work = tile_matmul_work(out, of_a, of_b, kernels.device.units, op.steps)
            if work is not None:
                kernels.run(work, (a, b, *extras, out), op.name)
                return
            # Neither rows nor columns of an operand are dense.
            a, b = dense(a, op.name), dense(b, op.name)
        raise AssertionError(f"[{op.name}] has no kernel for dense operands of {out.dtype.name}")

    return Kernel(run=kernels.densely(run), name="matmul")
