"""NumPy kernels of windows: a loop over the positions of a window, each a strided slice of the padded operand."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import window as ops


def slices(positions, counts, strides, dilations):
    """The slice, over the windowed dims, of one position in every window."""
    return (
        ...,
        *(
            slice(o * d, o * d + (m - 1) * t + 1, t)
            for o, m, t, d in zip(positions, counts, strides, dilations, strict=True)
        ),
    )


def padded(x, n, lo, hi, fill):
    return np.pad(x, [(0, 0)] * (x.ndim - n) + list(zip(lo, hi, strict=True)), constant_values=fill)


def best_of(candidates: Any, shape: tuple, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """The first largest of candidates (values, flat index or -1 for a pad), with NaN above all."""
    lowest = -np.inf if dtype.kind == "f" else np.iinfo(dtype).min
    best, where = np.full(shape, lowest, dtype), np.full(shape, -1)
    for value, index in candidates:
        better = (index >= 0) & ((where < 0) | (value > best) | ((value != value) & (best == best)))
        best, where = np.where(better, value, best), np.where(better, index, where)
    return best, np.maximum(where, 0)


def pooled(op, x, shape, kernel, strides, lo, hi, dilations):
    flat = np.arange(int(np.prod(x.shape[x.ndim - op.n :]))).reshape(x.shape[x.ndim - op.n :])
    xp, fp = padded(x, op.n, lo, hi, 0), padded(flat, op.n, lo, hi, -1)
    counts = shape[len(shape) - op.n :]
    positions = (slices(p, counts, strides, dilations) for p in itertools.product(*map(range, kernel)))
    return best_of(((xp[s], fp[s]) for s in positions), shape, x.dtype)


@kernel(ops.WindowReduce)
def window_reduce(op, out, x, kernel, strides, lo, hi, dilations):
    if op.kind == "max":
        out[...] = pooled(op, x, out.shape, kernel, strides, lo, hi, dilations)[0]
        return
    xp = padded(x, op.n, lo, hi, 0)
    out[...] = 0
    for p in itertools.product(*map(range, kernel)):
        out += xp[slices(p, out.shape[out.ndim - op.n :], strides, dilations)]


@kernel(ops.MaxPool)
def max_pool(op, out, x, kernel, strides, lo, hi, dilations):
    out[0][...], out[1][...] = pooled(op, x, out[0].shape, kernel, strides, lo, hi, dilations)


@kernel(ops.WindowSpread)
def window_spread(op, out, x, kernel, strides, lo, hi, dilations, sizes):
    lead = x.shape[: x.ndim - op.n]
    total = np.zeros(lead + tuple(s + a + b for s, a, b in zip(sizes, lo, hi, strict=True)), x.dtype)
    for p in itertools.product(*map(range, kernel)):
        total[slices(p, x.shape[x.ndim - op.n :], strides, dilations)] += x
    inner = (..., *(slice(a, a + s) for a, s in zip(lo, sizes, strict=True)))
    out[...] = total[inner]


def regions(n, m):
    """Return the bounds of each of ``m`` regions over ``n`` elements."""
    return [(i * n // m, -((-(i + 1) * n) // m)) for i in range(m)]


@kernel(ops.AdaptiveSum)
def adaptive_sum(op, out, x, sizes):
    for axis, m in zip(range(x.ndim - op.n, x.ndim), sizes, strict=True):
        rows = np.moveaxis(x, axis, 0)
        x = np.moveaxis(np.stack([rows[a:b].sum(0) for a, b in regions(len(rows), m)]), 0, axis)
    out[...] = x


@kernel(ops.AdaptiveSpread)
def adaptive_spread(op, out, x, sizes):
    for axis, n in zip(range(x.ndim - op.n, x.ndim), sizes, strict=True):
        rows = np.moveaxis(x, axis, 0)
        total = np.zeros((n, *rows.shape[1:]), x.dtype)
        for row, (a, b) in zip(rows, regions(n, len(rows)), strict=True):
            total[a:b] += row
        x = np.moveaxis(total, 0, axis)
    out[...] = x


@kernel(ops.AdaptiveMaxPool)
def adaptive_max_pool(op, out, x, sizes):
    spatial = x.shape[x.ndim - op.n :]
    flat = np.arange(int(np.prod(spatial))).reshape(spatial)
    spans = [regions(n, m) for n, m in zip(spatial, sizes, strict=True)]
    for position in itertools.product(*map(range, sizes)):
        box = tuple(slice(*span[i]) for span, i in zip(spans, position, strict=True))
        inner, here = (..., *box), (..., *position)
        index = flat[box].reshape(-1)
        values = x[inner].reshape(*x.shape[: x.ndim - op.n], len(index))
        steps = ((values[..., i], index[i]) for i in range(len(index)))
        best, where = best_of(steps, values.shape[:-1], x.dtype)
        out[0][here], out[1][here] = best, where
