"""Batch norms with fixed statistics, as part of the kernels of the convolution before them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from umiak import ops as F
from umiak.compiler.passes.fusion import Found, Made, fuse_operations, orders, same_sizes, tensor
from umiak.compiler.passes.registry import register_pass
from umiak.ir.passes import remove_dead
from umiak.ir.program import Operation, Program, Value


@register_pass("conv2d_bn_fuse_pass")
def fold_batch_norms(program: Program) -> None:
    """Scale the kernels of convolutions instead of their results, where batch norm follows with known statistics.

    Kernels and offsets are computed from the parameters at every run; ``constant_folding_pass`` with ``scope`` makes
    them constants.
    """
    fuse_operations(program, [("batch_norm_infer", _folded)])
    remove_dead(program)


def _folded(found: Found, o: Operation) -> Callable[[], Made] | None:
    y, mean, var, weight, bias = o.operands
    if o.op.axis != 1 or type(y) is not Value:
        return None
    reader, offset = o, None
    added = found.inside(y, "add", o)
    for a, b in () if added is None else orders(added):
        channels = _per_channel(b, y)
        if channels is not None and found.inside(a, "conv", added) is not None:  # type: ignore[arg-type]
            reader, y, offset = added, a, channels  # type: ignore[assignment]
            break
    conv = found.inside(y, "conv", reader)
    if conv is None or any(type(v) is not Value or v.meta.dtype is not y.meta.dtype for v in (mean, var)):
        return None
    n = y.meta.ndim
    x, w = conv.operands

    def build() -> Made:
        scale = F.rsqrt(F.add(tensor(var), o.params[0]))
        if weight is not None:
            scale = F.mul(scale, tensor(weight))
        kernels = F.mul(tensor(w), F.reshape(scale, shape=(scale.shape[0], *(1 for _ in range(n - 1)))))
        shift = F.sub(tensor(offset), tensor(mean)) if offset is not None else F.neg(tensor(mean))
        shift = F.mul(shift, scale)
        if bias is not None:
            shift = F.add(shift, tensor(bias))
        shift = F.reshape(shift, shape=(shift.shape[0], *(1 for _ in range(n - 2))))
        return F.add(conv.op(tensor(x), kernels, *conv.params), shift)

    return build


def _per_channel(b: Any, y: Value) -> Value | None:
    """The vector over channels that a value is, as it is added to images."""
    o = b.operation if type(b) is Value else None
    if o is None or o.name != "reshape":
        return None
    (v,) = o.operands
    n = y.meta.shape[1]
    laid_out = (n, *(1 for _ in range(y.meta.ndim - 2)))
    if not any(same_sizes(b.meta.shape, s) for s in (laid_out, (1, *laid_out))) or not same_sizes(v.meta.shape, (n,)):  # type: ignore[union-attr]
        return None
    return v  # type: ignore[return-value]
