"""Kernels of libraries: matmuls and convolutions by the providers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cpu import providers, work
from umiak.backends.cpu.providers import table
from umiak.backends.cpu.providers.common import NO_MEMORY
from umiak.backends.cpu.registry import serves
from umiak.backends.cpu.steps import ORDERED, fit
from umiak.compiler import statistics
from umiak.compiler.epilogue import FusedEpilogue
from umiak.compiler.layout import ChannelsLast, to_first
from umiak.compiler.strips import StripConv, StripMatmul
from umiak.ir.meta import dense
from umiak.ops import convolution, linalg, recurrent

# What a convolution's launch does at least as fast as a kernel behind it does: no functions, no residual.
CONVOLUTION_EPILOGUES = re.compile(",bias(,relu)?")
# The same in bfloat16, which a kernel behind it would widen and round once more.
NARROW_EPILOGUES = re.compile(",bias(,relu|,hard_swish)?")
# Of one channel each, which are bound by memory.
DEPTHWISE_EPILOGUES = re.compile(",bias(,relu|,hard_swish)?(,scale)?(,shift)?")

LONG_SUM = 64  # terms from which on a pass for the bias takes less than a primitive (providers/matmul.pyx)

# Of a matmul of float32 by a matrix in strips, whose kernel has them in registers.
STRIP_EPILOGUES = re.compile("(,bias)?(,add)?(,relu|,hard_swish)?")
SMALLEST_PACKED = 1 << 14  # elements, which are multiplied as they are
MOST_FILLING = 4  # columns for each that fills up the last strip, at least

# Of products that are faster by matrices that were transposed before.
MANY_ROWS, FEW_COLUMNS, MANY_TERMS, PAGE = 1024, 384, 64, 4096

statistics.MAKING.append(table.making_seconds)


@serves(linalg.WideningMatmul, opaque=True)
def kernel(call: Any) -> Kernel | None:
    """The kernel of a provider, if one has the op on these operands."""
    if not call.symbolic:
        return None
    op, metas, images, image = call.op, call.metas, (), False
    if isinstance(op, linalg.MatmulOp) and is_matvec(metas):
        return None
    if isinstance(op, ChannelsLast):
        op, images, image = op.inner, op.images, op.image
    inner, steps = (op.inner, op.steps) if isinstance(op, FusedEpilogue) else (op, ())
    # Of kernels in strips the provider is told what they hold, whose sizes may be symbols, too.
    strips = inner if isinstance(inner, (StripConv, StripMatmul)) else None
    if isinstance(op, linalg.Linear) and metas[2] is not None and call.operands[2].is_contiguous():
        launch = providers.find(linalg.Matmul(False, False), metas[:2], ("bias",))
    else:
        # A bias is a vector without gaps, a residual lies like the result, and strips are given as they were made.
        dense_operands = call.operands[2 if strips is None else 1 :] if steps or strips is not None else ()
        if not all(x.is_contiguous() for x in dense_operands):
            return None
        if strips is None:
            launch = providers.find(inner, metas[:2] if steps else metas, steps)
        else:
            inner = strips.inner
            launch = providers.find(inner, [metas[0], strips.kernels(metas[1])], steps, strips.strip)
    if launch is None:
        return None
    count = len(metas)
    last = (*(images or (False,) * count), image)

    def integer(d: providers.Dim) -> Any:
        operand = min(d.operand, count)
        shape = tuple(call.classes.metas[operand].shape if operand < count else call.outs[0].shape)
        if strips is not None and operand == 1:
            shape = strips.kernels(call.classes.metas[1]).shape
            return shape[d.axis] if d.extent == "size" else dense(shape).strides[d.axis]
        # The provider thinks of channels as the second axis.
        axis = to_first(len(shape))[d.axis] if last[operand] else d.axis
        if d.extent == "size":
            return shape[axis]
        return call.strides(operand)[axis] if operand < count else dense(shape).strides[axis]

    return Kernel(
        launch.address,
        launch.pointer,
        keep=launch,
        dims=[integer(d) for d in launch.dims],
        explain=explain,
        name=f"{'+'.join((inner.name, *(s if isinstance(s, str) else s[0] for s in steps)))} ({launch.provider})",
        work=work.of_op(inner if strips is None else strips),
    )


def explain(op: Any, operands: tuple, params: tuple, code: int) -> None:
    """Raise the error of a launch that failed."""
    if code == NO_MEMORY:
        shapes = [list(x.shape) for x in operands if hasattr(x, "shape")]
        raise MemoryError(
            f"[{op.name}] requires scratch memory for operands of shapes {shapes}, and there is none left"
        )
    raise RuntimeError(f"[{op.name}] requires a library that takes its operands, got its error {code}")


def is_matvec(metas: Sequence[Any]) -> bool:
    """Return whether a matmul is a matrix-vector product of floats: libraries add up long ones in one accumulator."""
    return min(len(m.shape) for m in metas[:2]) == 1 and metas[0].dtype.is_floating


def fuses_epilogue(op: Any, metas: Sequence[Any], params: Sequence[Any], steps: Sequence[Any]) -> bool:
    """Return whether a provider had better do ``steps`` in the launch of ``op``: measured, see
    docs/design/providers.md."""
    dtype = metas[0].dtype.name
    if next(providers.available(), "") != "onednn" or metas[1].dtype.name != dtype:
        return False  # others do them in plain loops
    if isinstance(op, StripConv):
        return fit(ORDERED, steps)
    if isinstance(op, convolution.Conv):
        kernel = metas[1].shape[2:]
        # Kernels of one point are matmuls; the library's primitive does the others.
        known = all(type(k) is int for k in kernel) and type(params[0]) is int
        ungrouped = NARROW_EPILOGUES if dtype == "bfloat16" else CONVOLUTION_EPILOGUES
        return (
            (dtype == "float32" or (dtype == "bfloat16" and native_bfloat16()))
            and known
            and params[0] in (1, metas[1].shape[0])
            and any(k != 1 for k in kernel)
            and fit(ungrouped if params[0] == 1 else DEPTHWISE_EPILOGUES, steps)
        )
    if isinstance(op, StripMatmul):
        return dtype != "float32" or fit(STRIP_EPILOGUES, steps)
    return isinstance(op, linalg.Matmul) and dtype == "bfloat16" and len(metas[1].shape) > 1 and native_bfloat16()


def adds_bias(op: Any, metas: Sequence[Any]) -> bool:
    """Return whether a launch adds a bias sooner than a kernel does: in place, as ``linear`` does behind sums that
    are long enough."""
    if next(providers.available(), "") != "onednn" or any(m.dtype.name != "float32" for m in metas):
        return False
    if not isinstance(op, linalg.Matmul) or op.transpose_x or op.transpose_y or is_matvec(metas):
        return False
    terms = metas[0].shape[-1]
    return type(terms) is int and terms >= LONG_SUM


def channels_last(op: Any, metas: Sequence[Any]) -> bool:
    """Return whether a convolution had better have channels last: where the library does it."""
    dtype = metas[0].dtype.name
    known = dtype == "float32" or (dtype == "bfloat16" and native_bfloat16())
    return known and next(providers.available(), "") == "onednn"


def kernel_strip(op: Any, metas: Sequence[Any], params: Sequence[Any]) -> tuple[int, int] | None:
    """Return (output channels, multiple of input channels) of the strips in which the library has its kernels, or the
    second matrix of a matmul, or a recurrent layer its weights; None: others compute it, or it had better lie as it
    is."""
    dtype = metas[0].dtype
    if isinstance(op, recurrent.Rnn):
        from umiak.backends.cpu import select_rnn

        return select_rnn.strip_of(dtype.name, metas[1].dtype.name)
    if not channels_last(op, metas) or any(m.dtype is not dtype for m in metas):
        return None
    if isinstance(op, linalg.Matmul):
        from umiak.backends.cpu.providers import matmul, packed_matmul

        terms, columns = metas[1].shape
        if dtype.name == "float32":
            if not packed_matmul.available() or terms * columns < SMALLEST_PACKED:
                return None
            strip = packed_matmul.STRIP
            return (strip, 1) if -columns % strip * MOST_FILLING <= columns else None
        return matmul.strip_of(math.prod(metas[0].shape[:-1]), columns, terms)
    from umiak.backends.cpu.providers import convolution as launcher

    groups, strides, pads_lo, pads_hi, dilations = params
    dims = [n for m in metas for n in (*m.shape, *dense(m.shape).strides)]
    return launcher.strip_of(
        providers.DTYPES[dtype.name],
        op.nd,
        providers.PROVIDERS["onednn"][1],
        tuple(dims),
        (groups, *strides, *pads_lo, *pads_hi, *dilations),
    )


def lays_out(op: Any, metas: Sequence[Any]) -> bool:
    """Return whether a product by a transposed matrix is slower by more than transposing it takes: where the library
    multiplies without packing, which takes long for many rows, and few columns (docs/design/providers.md)."""
    x, y = metas
    if next(providers.available(), "") != "onednn" or op.transpose_x or any(m.dtype.name != "float32" for m in metas):
        return False
    if any(type(n) is not int for m in metas for n in m.shape):
        return False
    rows, (columns, terms) = math.prod(x.shape[:-1]), y.shape
    # Rows that are whole pages apart are slow to transpose: they meet in the same lines of the cache.
    return rows >= MANY_ROWS and columns <= FEW_COLUMNS and terms >= MANY_TERMS and terms * 4 % PAGE != 0


def native_bfloat16() -> bool:
    """Return whether the processor multiplies bfloat16 itself: elsewhere the library may have no primitive worth
    running."""
    from umiak.backends.cpu.providers import matmul

    return matmul.native_bfloat16()
