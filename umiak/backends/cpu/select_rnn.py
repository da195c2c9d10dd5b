"""Kernels of recurrent layers: which calls the drivers take, and the functions and integers that they get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cpu import recurrent_kernels, tile_registers, work
from umiak.backends.cpu.recurrent import NARROW, Recurrent
from umiak.backends.cpu.registry import serves
from umiak.compiler.render.target import Target
from umiak.compiler.strip_rnn import StripRnn
from umiak.ops import recurrent as ops

RANKS = (3, 2, 2, 2, 1, 1, 2, 2, 1, 3, 3, 3, 3, 2, 2)  # of the operands
LAID_OUT, LENGTHS = (2, 3), 8  # which operands: weights that may come in strips


def strip_of(dtype: str, low: str) -> tuple[int, int] | None:
    """Return (width, block) of the strips in which a layer of ``dtype`` reads weights of type ``low``; None where there
    is no kernel for it."""
    if dtype != "float32":
        return None
    if low == "bfloat16":
        return NARROW if "avx512bf16" in Target.host().has else None
    return (recurrent_kernels.functions(dtype)[1].width, 1) if low == dtype else None


@serves(ops.Rnn, ops.RnnTrain, ops.RnnGrad, StripRnn, opaque=True)
def kernel(call: Any) -> Kernel | None:
    """The kernel of a class of calls; None for 16-bit floats, and lengths that are neither int32 nor int64."""
    op, metas = call.op, call.classes.metas
    strip, low = None, ""
    if isinstance(op, StripRnn):
        op, strip, low = op.inner, op.strip, metas[LAID_OUT[0]].dtype.name
        if strip != strip_of(metas[0].dtype.name, low) or not all(call.operands[i].is_contiguous() for i in LAID_OUT):
            return None
    dtype = metas[0].dtype.name
    lengths, w_ho = metas[LENGTHS], metas[7]
    if not call.symbolic or dtype not in ("float32", "float64"):
        return None
    if lengths is not None and lengths.dtype.name not in ("int32", "int64"):
        return None
    apart = (LENGTHS,) if strip is None else (LENGTHS, *LAID_OUT)
    if any(m is not None and m.dtype is not metas[0].dtype for i, m in enumerate(metas) if i not in apart):
        return None
    gradient, mode = isinstance(op, ops.RnnGrad), op.mode
    if gradient and (
        metas[9] is None or (ops.KEPT[mode] and metas[10] is None) or (mode == "lstm" and metas[11] is None)
    ):
        return None
    train = gradient or isinstance(op, ops.RnnTrain) or call.needs is not None
    masked, projected = lengths is not None, w_ho is not None
    gates, held = ops.GATES[mode], masked and not projected

    def of(name: str, *config: Any) -> Any:
        return recurrent_kernels.kernel_of(name, dtype, *config)

    if gradient:
        past = (held or mode == "gru") and not projected
        at = ops.KEPT[mode] + (2 if mode == "lstm" else 1) + (1 if projected else 2) + past + (mode == "lstm")
        step = (of("step_back", mode, masked, projected), at if masked else -1)
        project = (of("gather", masked), 3 if masked else -1) if projected else None
    else:
        at = 3 * gates + (mode == "gru") + (mode in ("lstm", "gru"))
        step = (of("step", mode, train, masked, projected), at if masked else -1)
        project = (of("project"), 2) if projected and masked else None
    functions, tile, keep = recurrent_kernels.functions(dtype)
    launcher = Recurrent(
        functions,
        keep,
        step=step,
        project=project,
        gates=gates,
        kept=ops.KEPT[mode],
        lstm=mode == "lstm",
        gru=mode == "gru",
        reverse=op.reverse,
        train=train,
        masked=masked,
        projected=projected,
        gradient=gradient,
        wide=dtype == "float64",
        lengths_wide=masked and lengths.dtype.itemsize == 8,
        lanes=tile.lanes,
        width=tile.width,
        rows=tile.rows,
        strips=strip is not None,
        narrow=low == "bfloat16",
        units=low == "bfloat16" and tile_registers.permitted(Target.host()),
    )
    return Kernel(
        launcher.address,
        launcher.self_pointer,
        residuals=True,
        keep=launcher,
        dims=dims(call, w_ho),
        work=work.of_op(call.op),
    )


def dims(call: Any, w_ho: Any) -> list[Any]:
    """Steps, batch, features, units, size of the state; strides of each operand, 0 for absent ones."""
    x, h0 = call.classes.metas[:2]
    asked = [*x.shape, h0.shape[1] if w_ho is None else w_ho.shape[0], h0.shape[1]]
    strides: Sequence[Any]
    for i, m in enumerate(call.classes.metas):
        laid_out = isinstance(call.op, StripRnn) and i in LAID_OUT
        strides = (0,) * RANKS[i] if m is None or laid_out else call.strides(i)
        asked += strides
    return asked
