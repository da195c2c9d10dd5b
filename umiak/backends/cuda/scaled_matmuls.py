"""Matmuls of codes of 8 bits with scales: by the library, else by tiles of the loop IR; codes are not widened."""

from __future__ import annotations

from typing import Any

from umiak import ops as F
from umiak.backends.base import Kernel
from umiak.backends.cuda.copies import dense
from umiak.backends.cuda.matmuls import Kernels
from umiak.backends.cuda.providers import gemm
from umiak.backends.cuda.providers.epilogue import PLAIN, Scales
from umiak.backends.matmul_work import Matrices
from umiak.backends.tile_matmul import RESULTS, tile_matmul_work
from umiak.core.buffer import Buffer
from umiak.core.tensor import empty
from umiak.ops.quantised import spread

STRIP = 128  # terms that share a scale, where the library knows blocks
ALIGNED = 16  # bytes of addresses and of the library's lines


def scaled_matmul(kernels: Kernels, call: Any) -> Kernel:
    """The kernel of :class:`umiak.ops.quantised.ScaledMatmul`."""
    op = call.op

    def run(operands: tuple, params: tuple) -> tuple:
        x, y, *scales = operands
        out = empty((x.shape[0], y.shape[1]), op.dtype, x.place)
        if out.size and x.shape[1] and op.dtype.name in RESULTS:
            # Both operands lie along what is contracted: tensor cores take bytes in no other way.
            a, b = Matrices(Buffer(x), False), Matrices(Buffer(y), False)
            a = a if a.column == 1 else dense(kernels.device, a, op.name)
            b = b if b.row == 1 else dense(kernels.device, b, op.name, transposed=True)
            to = Buffer(out)
            if _by_library(kernels, op, to, a, b, *scales) or _by_tiles(kernels, op, to, a, b, *scales):
                return (out,)
        return (op.decompose(*operands),)

    return Kernel(call=run, name="scaled_matmul")


def _by_library(kernels: Kernels, op: Any, out: Buffer, a: Matrices, b: Matrices, x_scale: Any, y_scale: Any) -> bool:
    library = gemm.find(kernels.device, out.dtype)
    if library is None or a.columns % ALIGNED or b.columns % ALIGNED:
        return False
    if op.depth and (op.depth != STRIP or a.rows % 4):
        return False
    return library.multiply(out, a, b, op.name, PLAIN, _scales(op, a.rows, b.columns, x_scale, y_scale))


def _scales(op: Any, rows: int, columns: int, x_scale: Any, y_scale: Any) -> Scales:
    """The scales as the library has them in memory: those of strips lie along rows of the left, and columns of the
    right operand, those of squares along what is contracted, lines of four."""
    if not op.depth:
        if not op.rows and not op.columns:
            return Scales(_laid(x_scale), _laid(y_scale), "tensor", "tensor")
        sides = ((x_scale, op.rows, rows), (F.permute(y_scale, (1, 0)), op.columns, columns))
        left, right = (_laid(_vector(*side)) for side in sides)
        return Scales(left, right, "vector", "vector")
    kinds = ["squares" if n == STRIP else "strips" for n in (op.rows, op.columns)]
    if kinds == ["squares", "squares"]:
        kinds[0] = "strips"  # of two squares the library knows nothing
    laid = []
    for kind, scale, block, size in zip(
        kinds, (x_scale, F.permute(y_scale, (1, 0))), (op.rows, op.columns), (rows, columns), strict=True
    ):
        if kind == "squares":
            laid.append(_laid(F.pad(scale, 0.0, axes=(1,), lo=(0,), hi=(-scale.shape[1] % 4,))))
        else:
            wide = spread(scale, (block, 0), (size, scale.shape[1]))
            wide = F.broadcast_to(wide, (size, scale.shape[1]))
            laid.append(_laid(F.permute(wide, (1, 0))))
    return Scales(laid[0], laid[1], kinds[0], kinds[1])


def _vector(scale: Any, block: int, size: int) -> Any:
    """A scale for each row: ``[size, 1]``."""
    return F.broadcast_to(spread(scale, (block, 0), (size, 1)), (size, 1))


def _laid(x: Any) -> Buffer:
    """Elements one after the other, from an address on that the library takes."""
    return Buffer(x if x.is_contiguous() and Buffer(x).pointer % ALIGNED == 0 else F.copy(x))


def _by_tiles(kernels: Kernels, op: Any, out: Buffer, a: Matrices, b: Matrices, x_scale: Any, y_scale: Any) -> bool:
    if op.depth or not kernels.device.cores.bytes:
        return False
    right = F.permute(y_scale, (1, 0))
    sides = ((x_scale, op.rows, a.rows), (right, op.columns, b.columns))
    extras = [_laid(_vector(*side)) for side in sides]
    work = tile_matmul_work(out, a, b, kernels.device.units, ("rows", "columns"), kernels.device.cores)
    if work is None:
        return False  # of two formats
    kernels.run(work, (a.x, b.x, *extras, out), op.name)
    return True
