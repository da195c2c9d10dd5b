"""Kernels of products by integer weights: which calls the driver takes, and the integers and functions that it gets."""

from __future__ import annotations

from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cpu import few_rows_kernels, low_bit_kernels, low_bit_tiles, providers, work
from umiak.backends.cpu.few_rows_kernels import ROWS, STORED
from umiak.backends.cpu.low_bit import LowBit
from umiak.backends.cpu.low_bit_kernels import Kind
from umiak.backends.cpu.registry import serves
from umiak.compiler.render.target import Target
from umiak.ops import linalg
from umiak.ops import low_bit as ops


def launcher_of(kind: Kind, x: str, scales: str, matmul: Any, tiled: bool) -> LowBit:
    """The launcher of products of x and scales of these dtypes. Of more than a few rows, tiles take them, ``matmul``
    with restored weights, or else dot products of bytes."""
    functions, keep = low_bit_kernels.functions(kind, x, scales)
    tiles, kept = low_bit_tiles.functions(kind, x) if tiled else (None, None)
    return LowBit(
        functions,
        (keep, kept, matmul),
        rows=ROWS,
        unrolled=[kind.unrolled_rows(rows) for rows in ROWS],
        halves=kind.halves,
        digits=kind.digits,
        parts=len(kind.parts),
        group=kind.group,
        itemsize=STORED[x].bytes,
        scale_itemsize=STORED[scales].bytes,
        matmul=matmul.address if matmul else 0,
        matmul_self=matmul.pointer if matmul else 0,
        tiles=tiles,
    )


@serves(ops.WeightOnlyMatmul, ops.Int8Matmul, opaque=True)
def kernel(call: Any) -> Kernel | None:
    """The kernel of a class of calls; None where the processor has no dot products of bytes, and for float64."""
    op, metas = call.op, call.classes.metas
    names = [metas[i].dtype.name for i in (0, 2)]
    if not call.symbolic or not low_bit_kernels.supported(Target.host()):
        return None
    if any(name not in STORED or not few_rows_kernels.supported(name) for name in names):
        return None
    exact = isinstance(op, ops.WeightOnlyMatmul)
    group = max(op.group_size, 0) if exact else 0
    if group % low_bit_kernels.LINE or group > low_bit_kernels.LARGEST_GROUP:
        return None
    kind = Kind(op.bits if exact else 8, group, low_bit_kernels.DIGITS[names[0]] if exact else 1)
    tiled = low_bit_tiles.takes(kind, names[0])
    matmul = providers.find(linalg.Matmul(False, True), [metas[0], metas[0]]) if exact and not tiled else None
    launcher = launcher_of(kind, names[0], names[1], matmul, tiled)
    x, weight, scale = metas
    scales = call.strides(2) if group else (0, *call.strides(2))
    return Kernel(
        launcher.address,
        launcher.self_pointer,
        keep=launcher,
        dims=[*x.shape, weight.shape[0], *call.strides(0), *call.strides(1), *scales],
        work=work.of_op(op),
    )
