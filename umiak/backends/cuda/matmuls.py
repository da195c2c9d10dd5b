"""Matmuls by a provider where there is one, else by kernels of the loop IR; the parts of convolutions as matmuls."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from umiak import ops as F
from umiak.backends.base import Kernel
from umiak.backends.cuda import copies
from umiak.backends.cuda.device import Device
from umiak.backends.cuda.launches import Given, prepare
from umiak.backends.cuda.providers import gemm
from umiak.backends.matmul_work import Geometry, Matrices, columns_work, images_work, matmul_work
from umiak.backends.strided import Run, densely
from umiak.backends.tile_matmul import DTYPES, tile_matmul_work
from umiak.compiler.loop.tree import Kernel as LoopKernel
from umiak.core.buffer import Buffer
from umiak.core.context import current
from umiak.ops.linalg import WideningMatmul


class Kernels:
    """The parts of matmuls and convolutions on one device (:class:`umiak.backends.im2col.Columns`)."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.copy = functools.partial(copies.copy, device)

    def multiply(self, out: Buffer, a: Matrices, b: Matrices, name: str) -> None:
        if not out.size:
            return
        library = gemm.find(self.device, out.dtype)
        if library is not None and library.multiply(out, a, b, name):
            return
        work = tile_matmul_work(out, a, b, self.device.units, cores=self.device.cores)
        if work is None and a.x.dtype is not out.dtype:  # neither rows nor columns of an operand are dense
            a, b = (copies.dense(self.device, x, name) for x in (a, b))
            work = tile_matmul_work(out, a, b, self.device.units, cores=self.device.cores)
        self.run(work or matmul_work(out, a, b), (a.x, b.x, out), name)

    def columns(self, s: Geometry, columns: Buffer, x: Buffer, steps: tuple[int, int, int], name: str) -> None:
        self.run(columns_work(s, x.shape[0], steps, x.dtype.name), (x, columns), name)

    def images(self, s: Geometry, x: Buffer, columns: Buffer, name: str) -> None:
        self.run(images_work(s, x.shape[0], x.dtype.name), (columns, x), name)

    def run(self, work: tuple[LoopKernel, tuple[int, ...]], buffers: Sequence[Buffer], name: str) -> None:
        queue = self.device.queue(current().get_stream(buffers[-1].place))
        launch = prepare(self.device, *work)
        given = Given([x.pointer for x in buffers], [])
        queue.put(name, lambda stream: launch.put(queue, given), uses=buffers)

    def densely(self, run: Run) -> Run:
        """A kernel that writes dense results as one that writes them wherever they lie."""
        return densely(run, self.copy)


def matmul(kernels: Kernels, call: Any) -> Kernel | None:
    """The kernel of ``matmul``; None for vectors, which are nests, and where ``widening_matmul`` widens nothing."""
    op, (x, y) = call.op, call.metas
    if min(len(x.shape), len(y.shape)) < 2 or (type(op) is WideningMatmul and x.dtype.name not in DTYPES):
        return None
    if x.dtype.is_complex:
        return Kernel(call=lambda operands, params: (_complex(op, *operands),))

    def run(op: Any, outs: Sequence[Buffer], ins: Sequence[Any], params: tuple) -> None:
        a, b = ins
        kernels.multiply(outs[0], Matrices(a, op.transpose_x), Matrices(b, op.transpose_y), op.name)

    return Kernel(run=kernels.densely(run), name="matmul")


def _complex(op: Any, x: Any, y: Any) -> Any:
    a, b, c, d = F.real(x), F.imag(x), F.real(y), F.imag(y)
    return F.complex(F.sub(op(a, c), op(b, d)), F.add(op(a, d), op(b, c)))
