"""NumPy kernels of the ops in ``umiak.ops.index``."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import index as ops
from umiak.util.errors import IndexingError

COMBINE = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def inside(op: ops.Op, index: np.ndarray, n: int, from_end: bool = True) -> np.ndarray:
    """The index without negatives, which count from the end; refuses what lies outside a dim of size ``n``."""
    low = -n if from_end else 0
    bad = (index < low) | (index >= n)
    if bad.any():
        op.fail(IndexingError, f"an index from {low} to {n - 1}", int(index[bad].flat[0]))
    return np.where(index < 0, index + n, index).astype(np.int64)


def identity_of(mode: str, dtype: np.dtype):
    """The value that leaves others as they are."""
    if mode in ("add", "mul"):
        return dtype.type(mode == "mul")
    if dtype.kind == "b":
        return mode == "min"
    if dtype.kind == "f":
        return dtype.type(np.inf if mode == "min" else -np.inf)
    info = np.iinfo(dtype)
    return info.max if mode == "min" else info.min


def combine(out: np.ndarray, positions: tuple, updates, mode: str) -> None:
    """``updates`` into ``out[positions]``, where a position may come more than once."""
    if mode == "set":
        out[positions] = updates
    else:
        COMBINE[mode].at(out, positions, updates)


@kernel(ops.Take, returns=True, raw=True)
def take(op, x, index):
    return np.take(x, inside(op, index, x.shape[op.axis], op.from_end), op.axis)


@kernel(ops.TakeAlong, returns=True, raw=True)
def take_along(op, x, index):
    return np.take_along_axis(x, inside(op, index, x.shape[op.axis], op.from_end), op.axis)


def coordinates(op: ops.GatherNd | ops.ScatterNd, x: np.ndarray, index: np.ndarray) -> tuple:
    """Coordinates in the last dim of ``index`` as a tuple of index arrays."""
    return tuple(inside(op, index[..., k], x.shape[k]) for k in range(op.depth))


@kernel(ops.GatherNd, returns=True, raw=True)
def gather_nd(op, x, index):
    if not op.depth:
        return np.broadcast_to(x, (*index.shape[:-1], *x.shape))
    return x[coordinates(op, x, index)]


@kernel(ops.ScatterNd)
def scatter_nd(op, out, x, index, updates):
    out[...] = x
    if op.depth:
        combine(out, coordinates(op, x, index), updates, op.mode)
        return
    updates = np.broadcast_to(updates, (*index.shape[:-1], *x.shape))
    updates = updates.reshape(np.prod(index.shape[:-1], dtype=int), *x.shape)
    for update in updates:
        out[...] = update if op.mode == "set" else COMBINE[op.mode](out, update)


@kernel(ops.Put)
def put(op, out, x, index, updates):
    out[...] = x
    index = inside(op, index, x.shape[op.axis])
    combine(out, (*(slice(None),) * op.axis, index), updates, op.mode)


@kernel(ops.ScatterAlong)
def scatter_along(op, out, x, index, updates):
    out[...] = x
    index = inside(op, index, x.shape[op.axis])
    grid = np.ogrid[tuple(map(slice, index.shape))]
    positions = tuple(index if i == op.axis else g for i, g in enumerate(grid))
    if not op.include_self and op.mode != "set":
        out[positions] = identity_of(op.mode, out.dtype)
    combine(out, positions, updates, op.mode)


@kernel(ops.OneHot, returns=True)
def one_hot(op, x, num_classes):
    return (x[..., None] == np.arange(num_classes)).astype(op.dtype.compute.numpy)


@kernel(ops.CountTrue, raw=True)
def count_true(op, out, x):
    out[...] = np.count_nonzero(x.astype(bool))


@kernel(ops.NonzeroSized, raw=True)
def nonzero_sized(op, out, x, count):
    out[...] = np.argwhere(x.astype(bool))


@kernel(ops.MaskedSelectSized, raw=True)
def masked_select_sized(op, out, x, mask, count):
    out[...] = x[mask]


@kernel(ops.MaskedScatter, raw=True)
def masked_scatter(op, out, x, mask, values):
    out[...] = x
    need = np.count_nonzero(mask)
    if need > values.size:
        op.fail(ValueError, f"a value for each of the {need} elements of the mask", values.size)
    out[mask] = values.reshape(-1)[:need]


def runs(op, x):
    """Values, first positions, inverse and counts of the distinct elements, or of the runs."""
    if not op.consecutive:
        unique = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=op.axis)
        return unique[0], unique[1], unique[2].reshape(-1), unique[3]
    axis = 0 if op.axis is None else op.axis
    x = x.reshape(-1) if op.axis is None else x
    rows = np.moveaxis(x, axis, 0)
    rows = rows.reshape(len(rows), int(np.prod(rows.shape[1:])))
    new = np.ones(len(rows), bool)
    new[1:] = (rows[1:] != rows[:-1]).any(1)
    first = np.flatnonzero(new)
    return np.take(x, first, axis), first, np.cumsum(new) - 1, np.diff(np.append(first, len(rows)))


@kernel(ops.UniqueCount)
def unique_count(op, out, x):
    out[...] = len(runs(op, x)[1])


@kernel(ops.UniqueSized)
def unique_sized(op, out, x, count):
    for part, result in zip(out, runs(op, x), strict=True):
        part[...] = result


@kernel(ops.BincountSized)
def bincount_sized(op, out, x, weights, count):
    out[...] = 0
    np.add.at(out, inside(op, x, count), 1 if weights is None else weights)


@kernel(ops.SearchSorted, returns=True)
def search_sorted(op, rows, values):
    side = "right" if op.right else "left"
    if rows.ndim == 1:
        positions = np.searchsorted(rows, values, side)
    else:
        positions = np.empty(values.shape, np.int64)
        for i in np.ndindex(values.shape[:-1]):
            positions[i] = np.searchsorted(rows[i], values[i], side)
    return np.asarray(positions).astype(op.dtype.numpy)


@kernel(ops.Histogram, returns=True)
def histogram(op, x, weights, bins, lo, hi):
    counts, _ = np.histogram(x, bins, (lo, hi), weights=weights)
    return counts.astype(np.int64) if weights is None else counts


@kernel(ops.Tril, raw=True)
def tril(op, out, x, diagonal):
    out[...] = np.tril(x, diagonal)


@kernel(ops.Triu, raw=True)
def triu(op, out, x, diagonal):
    out[...] = np.triu(x, diagonal)
