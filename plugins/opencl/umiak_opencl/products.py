"""Products of matrices: a kernel of register tiles, and what is brought into its form."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl

from umiak import ops as F
from umiak.backends.base import Kernel
from umiak.backends.matmul_work import Matrices
from umiak.backends.strided import Run, dense_strides, densely
from umiak.core import dtype as dt
from umiak.core.buffer import Buffer
from umiak.core.context import current
from umiak.core.tensor import empty
from umiak_opencl import copies
from umiak_opencl.counts import WRITTEN
from umiak_opencl.device import Device
from umiak_opencl.programs import program

# By dtype: the type in the text, and how many elements a vector has.
NUMBERS = {"float32": ("float", 16), "float64": ("double", 8), "int32": ("int", 16), "int64": ("long", 8)}
ROWS = 6  # of a tile: with more, their vectors do not stay in registers

PACKED_ROWS = 16  # of the first operand: fewer do not pay for another order of the second one


def kernel(device: Device, call: Any) -> Kernel | None:
    """The kernel of ``matmul``; None where it is a nest, or its operands are of a type that no device multiplies."""
    op, (x, y) = call.op, call.metas
    if min(len(x.shape), len(y.shape)) < 2:
        return None
    if x.dtype.name in NUMBERS:
        return Kernel(run=densely(_run(device), partial(copies.copy, device)), name="matmul")
    if x.dtype.is_complex:
        return Kernel(call=lambda operands, params: (_complex(op, *operands),))
    # Narrow floats and integers: in a wider type, rounded once.
    wide = dt.float32 if x.dtype.is_floating else dt.int32
    return Kernel(
        call=lambda operands, params: (F.cast(op(*(F.cast(z, dtype=wide) for z in operands)), dtype=x.dtype),)
    )


def _complex(op: Any, x: Any, y: Any) -> Any:
    a, b, c, d = F.real(x), F.imag(x), F.real(y), F.imag(y)
    return F.complex(F.sub(op(a, c), op(b, d)), F.add(op(a, d), op(b, c)))


def _run(device: Device) -> Run:
    def run(op: Any, outs: Sequence[Buffer], ins: Sequence[Any], params: tuple) -> None:
        x, y = ins
        multiply(device, outs[0], Matrices(x, op.transpose_x), Matrices(y, op.transpose_y), op.name)

    return run


def multiply(device: Device, out: Buffer, a: Matrices, b: Matrices, name: str) -> None:
    """Queue ``out = a b`` over broadcast batches; ``out`` is dense."""
    m, k, n = a.rows, a.columns, b.columns
    batch = out.shape[:-2]
    if not out.size:
        return
    WRITTEN.add(name)
    number, wide = NUMBERS[out.dtype.name]
    options = f"-DNUMBER={number} -DVECTOR={number}{wide} -DWIDE={wide} -DROWS={ROWS}"
    text = program(device, copies.text("matmul"), options)
    queue = device.queue(current().get_stream(out.place))
    find, item = device.memory.find, out.dtype.itemsize
    panels = -(-n // (2 * wide))
    of_b, b_row, b_panel, b_strides = b.x.pointer, b.row, 2 * wide, b.strides
    packed = k > 0 and (m >= PACKED_ROWS or (b.column != 1 and n > 1))
    if packed:
        count = math.prod(b.batch)
        room = empty([count * panels * k * 2 * wide], out.dtype, out.place)
        pack = cl.Kernel(text, "pack")
        (to, to_at), (of, of_at) = find(room.data_ptr()), find(of_b)
        pack.set_args(
            to, of, *map(np.int64, (to_at // item, of_at // item, k, n, b.row, b.column)),
            copies.numbers(device, _starts(b.batch, b.batch, b.strides)),
        )  # fmt: skip
        queue.put(name, lambda q: cl.enqueue_nd_range_kernel(q, pack, (k, panels, count), None))
        of_b, b_row, b_panel = room.data_ptr(), 2 * wide, 2 * wide * k
        b_strides = dense_strides(b.batch, panels * b_panel)
    found = [find(z) for z in (a.x.pointer, of_b, out.pointer)]
    starts = zip(_starts(batch, a.batch, a.strides), _starts(batch, b.batch, b_strides))
    made = cl.Kernel(text, "matmul")
    made.set_args(
        *(buffer for buffer, _ in found), *(np.int64(at // item) for _, at in found),
        *map(np.int64, (m, n, k, a.row, a.column, b_row, b_panel)), np.int32(packed),
        copies.numbers(device, tuple(itertools.chain.from_iterable(starts))),
    )  # fmt: skip
    tiles = (panels, -(-m // ROWS), math.prod(batch))
    queue.put(name, lambda q: cl.enqueue_nd_range_kernel(q, made, tiles, (1, 1, 1)))


def _starts(batch: Sequence[int], shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Where each matrix of a batch begins in an operand whose own batch is broadcast to it, in elements."""
    steps = [0] * (len(batch) - len(shape)) + [s if n != 1 else 0 for n, s in zip(shape, strides)]
    return tuple(sum(map(operator.mul, index, steps)) for index in itertools.product(*map(range, batch)))
