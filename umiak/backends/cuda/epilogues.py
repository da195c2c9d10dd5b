"""Matmuls with what follows them in one launch: by a library, or, of narrow floats, by tiles of the loop IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cuda.matmuls import Kernels
from umiak.backends.cuda.providers import gemm
from umiak.backends.cuda.providers.epilogue import Epilogue, epilogue_of, says
from umiak.backends.matmul_work import Matrices
from umiak.backends.strided import is_dense
from umiak.backends.tile_matmul import DTYPES, tile_matmul_work
from umiak.core.buffer import Buffer
from umiak.core.tensor import empty
from umiak.ir.meta import Meta
from umiak.ops.linalg import Matmul

OF_LIBRARY = ("float32", *DTYPES)  # dtypes whose epilogues a library has


def fuses(op: Any, metas: Sequence[Any], steps: Sequence[Any]) -> bool:
    """Return whether a matmul and what follows it had better be one launch: where the library that multiplies does it
    all, or where tiles of the loop IR compute it."""
    if type(op) is not Matmul or not steps or not _of_matrices(metas):
        return False
    return metas[0].dtype.name in DTYPES if gemm.by_loop_ir() else says(steps)


def fuses_gradient(metas: Sequence[Any]) -> bool:
    """Return whether a library does relu's gradient and sums of operands in the launch of a matmul."""
    return _of_matrices(metas) and not gemm.by_loop_ir()


def _of_matrices(metas: Sequence[Any]) -> bool:
    x, y = metas[:2]
    return x.dtype.name in OF_LIBRARY and y.dtype is x.dtype and min(len(x.shape), len(y.shape)) >= 2


def kernel(kernels: Kernels, call: Any) -> Kernel | None:
    """The kernel of a matmul with its epilogue; None: as its decomposition."""
    op = call.op
    if type(op.inner) is not Matmul or not _of_matrices(call.metas):
        return None
    if op.mask or (says(op.steps) and not gemm.by_loop_ir()):
        return Kernel(call=lambda operands, params: _by_library(kernels, op, operands), name="matmul")
    return _by_tiles(kernels, call) if call.metas[0].dtype.name in DTYPES else None


def _by_tiles(kernels: Kernels, call: Any) -> Kernel:
    def run(op: Any, outs: Sequence[Buffer], ins: Sequence[Any], params: tuple) -> None:
        out, inner = outs[0], op.inner
        if not out.size:
            return
        extras = [dense(kernels, x, op.name) for x in ins[2:]]
        a, b = ins[:2]
        for _ in range(2):
            of_a, of_b = Matrices(a, inner.transpose_x), Matrices(b, inner.transpose_y)
            work = tile_matmul_work(out, of_a, of_b, kernels.device.units, op.steps, kernels.device.cores)
            if work is not None:
                kernels.run(work, (a, b, *extras, out), op.name)
                return
            # Neither rows nor columns of an operand are dense.
            a, b = dense(kernels, a, op.name), dense(kernels, b, op.name)
        raise AssertionError(f"[{op.name}] has no kernel for dense operands of {out.dtype.name}")

    return Kernel(run=kernels.densely(run), name="matmul")


def dense(kernels: Kernels, x: Buffer, name: str) -> Buffer:
    """The elements of a tensor, one after the other."""
    if is_dense(x):
        return x
    copied = Buffer(empty(x.shape, x.dtype, x.place))
    kernels.copy(copied, x, name)
    return copied


def _by_library(kernels: Kernels, op: Any, operands: tuple) -> tuple:
    """A matmul and its steps by the library; as its decomposition where that does not do it with these operands."""
    x, y, *more = operands
    outs = [empty(m.shape, m.dtype, x.place) for m in _results(op, operands)]
    extras = [dense(kernels, Buffer(e), op.name) for e in more]
    mask = Buffer(outs[1]) if op.mask else None
    done = says(op.steps) and _multiply(kernels, op, x, y, Buffer(outs[0]), epilogue_of(op.steps, extras, mask))
    return tuple(outs) if done else (_decomposed(op, operands)[0], *outs[1:])  # nobody reads a mask that is not written


def gradient(kernels: Kernels, call: Any) -> Kernel:
    """The kernel of a matmul of gradients (:class:`umiak.compiler.gradient_epilogue.FusedGradient`)."""
    op = call.op

    def run(operands: tuple, params: tuple) -> tuple:
        x, y, *more = operands
        outs = [empty(m.shape, m.dtype, x.place) for m in _results(op, operands)]
        gate = dense(kernels, Buffer(more[1]), op.name) if op.gated else None
        sums = Buffer(outs[1]) if op.summed else None
        epilogue = Epilogue(gate=gate, sums=sums, summed=op.summed)
        done = _multiply(kernels, op, x, y, Buffer(outs[0]), epilogue)
        return tuple(outs) if done else _decomposed(op, operands)

    return Kernel(call=run, name="matmul")


def _multiply(kernels: Kernels, op: Any, x: Any, y: Any, out: Buffer, epilogue: Epilogue) -> bool:
    library = gemm.find(kernels.device, out.dtype)
    if library is None or not out.size:
        return False
    a, b = Matrices(Buffer(x), op.inner.transpose_x), Matrices(Buffer(y), op.inner.transpose_y)
    return library.multiply(out, a, b, op.name, epilogue)


def _results(op: Any, operands: tuple) -> tuple:
    metas = op.infer(*(Meta(tuple(x.shape), x.dtype) for x in operands))
    return metas if isinstance(metas, tuple) else (metas,)


def _decomposed(op: Any, operands: tuple) -> tuple:
    results = op.decompose(*operands)
    return results if isinstance(results, tuple) else (results,)
