"""Scales and shifts of the images of a convolution, as part of its kernels and of an offset."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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
        channels = _per_channel(b, y) or (b if _laid_out(b, y) else None)
        if channels is not None and type(a) is Value and _convolution(found, a, added) is not None:  # type: ignore[arg-type]
            reader, y, offset = added, a, channels  # type: ignore[assignment]
            break
    conv = _convolution(found, y, reader)
    if conv is None or any(type(v) is not Value or v.meta.dtype is not y.meta.dtype for v in (mean, var)):
        return None

    def build() -> Made:
        scale = F.rsqrt(F.add(tensor(var), o.params[0]))
        if weight is not None:
            scale = F.mul(scale, tensor(weight))
        if offset is None:
            shift = F.neg(tensor(mean))
        else:
            shift = F.sub(F.reshape(tensor(offset), shape=(scale.shape[0],)), tensor(mean))
        shift = F.mul(shift, scale)
        return _scaled(conv, scale, F.add(shift, tensor(bias)) if bias is not None else shift)

    return build


@register_pass("conv2d_affine_fuse_pass")
def fold_affine(program: Program) -> None:
    """Scale the kernels of convolutions, and shift their offsets, instead of their results: by numbers or a number per
    channel that are constants, as the kernels must be.

    Kernels and offsets are computed at every run; ``constant_folding_pass`` with ``scope`` makes them constants.
    """
    constants = {id(v) for n, v in program.constants.items() if n in program.captured}
    constants -= {id(w.target) for w in program.effects}
    fuse_operations(program, [(name, partial(_affine, constants)) for name in ("mul", "add")])
    remove_dead(program)


def _affine(constants: set[int], found: Found, o: Operation) -> Callable[[], Made] | None:
    for y, s in orders(o):
        if type(y) is not Value or (o.op.name == "add" and type(s) is Value and _per_channel(s, y) is not None):
            continue
        reader, offset, z = o, None, y
        added = found.inside(y, "add", o)
        for a, b in () if added is None else orders(added):
            channels = _per_channel(b, y) if type(b) is Value else None
            if channels is not None:
                reader, z, offset = added, a, channels  # type: ignore[assignment]
                break
        conv = _convolution(found, z, reader) if type(z) is Value else None
        if conv is None or (o.op.name == "add" and offset is None):
            continue
        by = _vector(s, y)
        parts = [conv.operands[1], *([offset] if offset is not None else []), *([by] if type(by) is Value else [])]
        if by is not None and all(_is_constant(v, constants) for v in parts):
            return partial(_affine_made, o.op.name, conv, offset, by)
    return None


def _affine_made(name: str, conv: Operation, offset: Value | None, by: Any) -> Made:
    if type(by) is Value:
        by = F.reshape(tensor(by), shape=(by.meta.shape[-conv.op.nd - 1] if by.meta.ndim > conv.op.nd else 1,))
    if name == "add":
        assert offset is not None
        return _shifted(conv.op(*map(tensor, conv.operands), *conv.params), F.add(tensor(offset), by))
    return _scaled(conv, by, None if offset is None else F.mul(tensor(offset), by))


def _vector(s: Any, y: Value) -> Any:
    """A number, or a value of one element or of one per channel, that an operation has beside images ``y``."""
    if type(s) in (int, float):
        return float(s)
    if type(s) is not Value or s.meta.dtype is not y.meta.dtype or s.meta.ndim > y.meta.ndim:
        return None
    shape = (1,) * (y.meta.ndim - s.meta.ndim) + tuple(s.meta.shape)
    alone = all(type(n) is int and n == 1 for i, n in enumerate(shape) if i != 1)
    return s if alone and (same_sizes(shape[1:2], (1,)) or same_sizes(shape[1:2], y.meta.shape[1:2])) else None


def _is_constant(v: Any, constants: set[int]) -> bool:
    """Return whether a value is made of constants alone."""
    if type(v) is not Value or id(v) in constants:
        return type(v) is Value
    o = v.operation
    return o is not None and bool(o.values) and not o.op.random and all(_is_constant(x, constants) for x in o.values)


CONVOLUTIONS = {"conv": 0, "conv_transpose": 1}  # by name: the axis of kernels along which output channels lie


def _convolution(found: Found, y: Value, reader: Operation) -> Operation | None:
    """The convolution that makes ``y``, transposed ones in one group included."""
    conv = found.inside(y, "conv", reader)
    if conv is not None:
        return conv
    conv = found.inside(y, "conv_transpose", reader)
    return conv if conv is not None and type(conv.params[0]) is int and conv.params[0] == 1 else None


def _scaled(conv: Operation, scale: Any, shift: Any) -> Made:
    """The convolution with its results scaled, by a number or one per channel, and shifted by one per channel."""
    x, w = map(tensor, conv.operands)
    if type(scale) is not float:
        shape = [1] * w.ndim
        shape[CONVOLUTIONS[conv.op.name]] = scale.shape[0]
        scale = F.reshape(scale, shape=tuple(shape))
    return _shifted(conv.op(x, F.mul(w, scale), *conv.params), shift)


def _shifted(y: Any, shift: Any) -> Made:
    if shift is None:
        return y
    return F.add(y, F.reshape(shift, shape=(shift.shape[0], *(1 for _ in range(y.ndim - 2)))))


def _per_channel(b: Any, y: Value) -> Value | None:
    """The vector over channels that a value is, as it is added to images."""
    o = b.operation if type(b) is Value else None
    if o is None or o.name != "reshape":
        return None
    (v,) = o.operands
    if not _laid_out(b, y) or not same_sizes(v.meta.shape, y.meta.shape[1:2]):  # type: ignore[union-attr]
        return None
    return v  # type: ignore[return-value]


def _laid_out(b: Any, y: Value) -> bool:
    """Return whether a value has an element for each channel of images, and none beside."""
    if y.meta.ndim < 2:
        return False
    shape = (y.meta.shape[1], *(1 for _ in range(y.meta.ndim - 2)))
    return type(b) is Value and any(same_sizes(b.meta.shape, s) for s in (shape, (1, *shape)))
