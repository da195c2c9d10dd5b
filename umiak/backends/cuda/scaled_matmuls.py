"""Matmuls of codes of 8 bits with scales: by the library, else by tiles of the loop IR; codes are not widened."""

from __future__ import annotations

from typing import Any

from umiak import ops as F
from umiak.backends.base import Kernel
from umiak.backends.cuda.copies import dense
from umiak.backends.cuda.matmuls import Kernels
from umiak.backends.cuda.providers import gemm
from umiak.backends.cuda.providers.epilogue import Epilogue, Scales
from umiak.backends.matmul_work import Matrices
from umiak.backends.tile_matmul import DTYPES, RESULTS, tile_matmul_work
from umiak.core import dtype as dt
from umiak.core.buffer import Buffer
from umiak.core.tensor import empty
from umiak.ops.quantised import spread

STRIP = 128  # terms that share a scale, where the library knows blocks
ALIGNED = 16  # bytes of addresses and of the library's lines


def scaled_matmul(kernels: Kernels, call: Any) -> Kernel:
    """The kernel of :class:`umiak.ops.quantised.ScaledMatmul`."""
    op = call.op
    return Kernel(call=lambda operands, params: (_product(kernels, op, *operands),), name="scaled_matmul")


def _product(kernels: Kernels, op: Any, x: Any, y: Any, x_scale: Any, y_scale: Any, bias: Any) -> Any:
    out = empty((x.shape[0], y.shape[1]), op.dtype, x.place)
    if not (out.size and x.shape[1] and op.dtype.name in RESULTS):
        return op.decompose(x, y, x_scale, y_scale, bias)
    if bias is None or (op.dtype.name in DTYPES and bias.dtype is op.dtype):  # what the library adds in its launch
        # Both operands lie along what is contracted: tensor cores take bytes in no other way.
        a, b = Matrices(Buffer(x), False), Matrices(Buffer(y), False)
        a = a if a.column == 1 else dense(kernels.device, a, op.name)
        b = b if b.row == 1 else dense(kernels.device, b, op.name, transposed=True)
        given = Buffer(out), a, b, x_scale, y_scale, None if bias is None else _laid(bias)
        if _by_library(kernels, op, *given):
            return out
        # Where the library is there and refuses the bias alone, it is added behind the sums.
        if (bias is None or gemm.find(kernels.device, op.dtype) is None) and _by_tiles(kernels, op, *given):
            return out
    if bias is None:
        return op.decompose(x, y, x_scale, y_scale, None)
    sums = F.scaled_matmul(x, y, x_scale, y_scale, None, **{**op.attributes, "dtype": dt.float32})
    return F.cast(F.add(sums, F.cast(bias, dtype=dt.float32)), dtype=op.dtype)


def _by_library(
    kernels: Kernels, op: Any, out: Buffer, a: Matrices, b: Matrices, x_scale: Any, y_scale: Any, bias: Buffer | None
) -> bool:
    library = gemm.find(kernels.device, out.dtype)
    if library is None or a.columns % ALIGNED or b.columns % ALIGNED:
        return False
    if op.depth and (op.depth != STRIP or a.rows % 4):
        return False
    scales = _scales(op, a.rows, b.columns, x_scale, y_scale)
    return library.multiply(out, a, b, op.name, Epilogue(bias=bias), scales)


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


def _by_tiles(
    kernels: Kernels, op: Any, out: Buffer, a: Matrices, b: Matrices, x_scale: Any, y_scale: Any, bias: Buffer | None
) -> bool:
    if op.depth or not kernels.device.cores.bytes:
        return False
    right = F.permute(y_scale, (1, 0))
    sides = ((x_scale, op.rows, a.rows), (right, op.columns, b.columns))
    extras = [_laid(_vector(*side)) for side in sides]
    steps: tuple[str, ...] = ("rows", "columns")
    if bias is not None:
        extras, steps = [*extras, bias], (*steps, "bias")
    work = tile_matmul_work(out, a, b, kernels.device.units, steps, kernels.device.cores)
    if work is None:
        return False  # of two formats
    kernels.run(work, (a.x, b.x, *extras, out), op.name)
    return True
