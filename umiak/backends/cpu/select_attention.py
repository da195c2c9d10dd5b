"""Kernels of attention: which calls the drivers take, and the integers and functions that they get."""

from __future__ import annotations

from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cpu import attention_kernels, attention_rows, gemm_kernel, work
from umiak.backends.cpu.attention import Attention
from umiak.backends.cpu.attention_gradient import LAUNCH
from umiak.backends.cpu.registry import serves
from umiak.compiler.loop.types import BF16, BOOL, F16, F32, F64
from umiak.ops import dot_product_attention as ops

STORED = {"float32": F32, "float64": F64, "float16": F16, "bfloat16": BF16}


@serves(ops.Attention, ops.AttentionTrain, ops.AttentionGrad, opaque=True)
def kernel(call: Any) -> Kernel | None:
    """The kernel of a class of calls; None for types that the processor does not convert, and for mixtures of types."""
    op = call.op
    gradient = isinstance(op, ops.AttentionGrad)
    metas = call.classes.metas
    stored = STORED.get(metas[0].dtype.name)
    if stored is None or not attention_kernels.supported(stored) or not call.symbolic:
        return None
    if gradient and [m.dtype for m in metas[3:6]] != [metas[0].dtype, metas[0].dtype.compute, metas[0].dtype]:
        return None
    at = 6 if gradient else 3
    mask, blocks = metas[at], None if isinstance(op, ops.Attention) else metas[at + 1]
    grad_lse = metas[8] if gradient else None
    if grad_lse is not None and grad_lse.dtype is not metas[4].dtype:
        return None
    hides_rows = mask is not None and mask.dtype.is_integer
    kind = None if mask is None else BOOL if mask.dtype.is_bool or hides_rows else stored
    dropout = not isinstance(op, ops.Attention) and op.dropout
    softcap = 0.0 if isinstance(op, ops.Attention) else op.softcap
    functions, tile, keep = attention_kernels.functions(stored, kind, gradient, dropout, softcap != 0)
    with_lse = isinstance(op, ops.AttentionTrain) or call.needs is not None
    launcher = Attention(
        functions,
        keep,
        gradient=LAUNCH if gradient else 0,
        by_rows=attention_rows.GRADIENT if gradient else attention_rows.FORWARD,
        inputs=len(op.inputs),
        mask_at=at,
        wide=stored is F64,
        stored=stored.bytes,
        lanes=tile.lanes,
        width=tile.width,
        sizes=gemm_kernel.sizes_of(tile),
        keys=attention_kernels.KEYS,
        causal=op.causal,
        mask=None if kind is None else "bool" if kind is BOOL else "added",
        mask_stored=0 if mask is None else mask.dtype.itemsize,
        hides_rows=hides_rows,
        blocks=blocks is not None,
        dropout=dropout,
        with_lse=with_lse,
        with_mask=gradient and op.with_mask,
        with_grad_lse=grad_lse is not None,
        softcap=softcap,
    )
    return Kernel(
        launcher.address,
        launcher.self_pointer,
        residuals=True,
        keep=launcher,
        dims=dims(call, at, blocks is not None, grad_lse is not None),
        work=work.of_op(op),
    )


def dims(call: Any, at: int, blocks: bool, grad_lse: bool) -> list[Any]:
    """Return the integers that ``prepare`` in attention.pyx reads; the mask is operand ``at``, ``blocks`` the next."""
    q, k, v, mask = (call.classes.metas[i] for i in (0, 1, 2, at))
    asked = [*q.shape, k.shape[1], k.shape[2], v.shape[3]]
    lead = [] if mask is None else [1] * (4 - len(mask.shape))
    sizes = [1] * 4 if mask is None else [*lead, *mask.shape]
    strides = [0] * 4 if mask is None else [*([0] * len(lead)), *call.strides(at)]
    asked += sizes
    for i in range(3):
        asked += call.strides(i)
    asked += strides
    asked += call.strides(at + 1) if blocks else [0] * 4
    for i in range(3, at):
        asked += call.strides(i)
    if at == 6:
        asked += call.strides(8) if grad_lse else [0] * 3
    return asked
