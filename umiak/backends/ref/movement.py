"""NumPy kernels of the ops in ``umiak.ops.movement``."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ir.meta import Strided
from umiak.ops import REGISTRY
from umiak.ops import movement as ops
from umiak.ops.movement import contiguous_strides, unflatten_params


def view_of(array: np.ndarray, op: ops.View, params: tuple) -> np.ndarray | None:
    """The region of a C-contiguous array that a view op selects, sharing memory; None where a copy is needed."""
    view = op.strides(Strided(array.shape, contiguous_strides(array.shape)), *params)
    if view is None:
        return None
    dtype = array.dtype
    if isinstance(op, ops.AsReal):
        dtype = array.real.dtype
    strides = tuple(t * dtype.itemsize for t in view.strides)
    if 0 in view.shape:
        return np.empty(view.shape, dtype)
    return np.ndarray(view.shape, dtype, array, view.offset * dtype.itemsize, strides)


@kernel(ops.AsComplex, raw=True)
def as_complex(op, out, x):
    out.real, out.imag = x[..., 0], x[..., 1]


VIEWS = [cls for cls in REGISTRY.values() if cls.view and cls.__module__ == "umiak.ops.movement"]


@kernel(*VIEWS, raw=True)
def view(op, out, x, *rest):
    """Only where no view can serve, or in a backend that has no strides."""
    params = rest[len(op.inputs) - 1 :]  # behind further operands, which say when, not what
    out[...] = view_of(np.ascontiguousarray(x).reshape(x.shape), op, params)


@kernel(ops.ScatterView, returns=True)
def scatter_view(op, base, value, args):
    out = np.array(base, order="C")
    params = unflatten_params(op.region, args)
    if not op.accumulate:
        view_of(out, op.region, params)[...] = value
    elif op.region.injective:
        seen = view_of(out, op.region, params)
        np.add(seen, value, out=seen)
    else:
        positions = view_of(np.arange(out.size).reshape(out.shape), op.region, params)
        flat = out.reshape(-1)
        np.add.at(flat, positions.ravel(), np.broadcast_to(value, positions.shape).ravel())
    return out


def _sources(mode, n, lo, hi):
    """The element of a dim of size ``n`` that each position of the padded dim repeats."""
    i = np.arange(-lo, n + hi)
    if mode == "circular":
        return i % max(n, 1)
    if mode == "replicate":
        return np.clip(i, 0, max(n - 1, 0))
    return (n - 1) - np.abs((n - 1) - np.abs(i))


@kernel(ops.Pad, raw=True)
def pad(op, out, x, value, lo, hi):
    each = op.each(x.ndim, lo, hi)
    if op.mode != "constant":
        for axis, a, b in each:
            if a or b:
                x = np.take(x, _sources(op.mode, x.shape[axis], a, b), axis)
        out[...] = x
        return
    source, target = [slice(None)] * x.ndim, [slice(None)] * x.ndim
    for axis, a, b in each:
        source[axis] = slice(max(-a, 0), x.shape[axis] - max(-b, 0))
        target[axis] = slice(max(a, 0), out.shape[axis] - max(b, 0))
    if any(a > 0 or b > 0 for _, a, b in each):
        out[...] = value
    out[tuple(target)] = x[tuple(source)]


@kernel(ops.PadFold)
def pad_fold(op, out, x, lo, hi):
    for axis, a, b in op.each(x.ndim, lo, hi):
        if a or b:
            rows = np.moveaxis(x, axis, 0)
            folded = np.zeros((len(rows) - a - b, *rows.shape[1:]), x.dtype)
            np.add.at(folded, _sources(op.mode, len(folded), a, b), rows)
            x = np.moveaxis(folded, 0, axis)
    out[...] = x


@kernel(ops.Concat, raw=True)
def concat(op, out, *xs):
    np.concatenate(xs, axis=op.axis, out=out)


@kernel(ops.Flip, raw=True)
def flip(op, out, x):
    out[...] = np.flip(x, op.axes)


@kernel(ops.Roll, raw=True)
def roll(op, out, x, shifts):
    out[...] = np.roll(x, shifts, op.axes) if op.axes else x


@kernel(ops.Tile, raw=True)
def tile(op, out, x, repeats):
    out[...] = np.tile(x, repeats)


@kernel(ops.RepeatInterleave, raw=True)
def repeat_interleave(op, out, x, repeats):
    out[...] = np.repeat(x, repeats, op.axis)


@kernel(ops.RepeatInterleaveSized, raw=True)
def repeat_interleave_sized(op, out, x, repeats, count):
    if repeats.size and repeats.min() < 0:
        op.fail(ValueError, "repeats of 0 or more", int(repeats.min()))
    if (total := int(repeats.sum())) != count:
        op.fail(ValueError, f"repeats that add up to {count}", total)
    out[...] = np.repeat(x, repeats, op.axis)


@kernel(ops.Stack, raw=True)
def stack(op, out, *xs):
    np.stack(xs, axis=op.axis, out=out)


@kernel(ops.Split, raw=True)
def split(op, out, x, sections):
    start = 0
    for part, n in zip(out, sections, strict=True):
        part[...] = np.take(x, range(start, start + n), op.axis)
        start += n


@kernel(ops.Unbind, raw=True)
def unbind(op, out, x):
    for part, y in zip(out, np.moveaxis(x, op.axis, 0), strict=True):
        part[...] = y
